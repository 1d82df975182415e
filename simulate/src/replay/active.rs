//! An active replay: the state of its ranks, messages and sums.

use super::account::{Account, RankSum};
use super::operations::Operations;
use super::options::Options;
use super::sums::Sums;
use crate::engine::Picoseconds;
use crate::flow::Delay;
use crate::topology::HostId;

/// No wait.
pub(super) const NONE: u32 = u32::MAX;

/// A replay that has begun and not ended.
#[derive(Debug)]
pub(super) struct ActiveReplay<'o> {
    /// Number of replays begun so far, this one included.
    pub(super) number: u64,
    /// Slot among the active replays.
    pub(super) slot: u32,
    pub(super) token: u64,
    pub(super) job: u32,
    pub(super) operations: &'o Operations,
    pub(super) options: Options,
    /// By rank.
    pub(super) hosts: Vec<HostId>,
    pub(super) ranks: Vec<RankState>,
    pub(super) messages: Vec<MessageState>,
    /// By message: its delays, where they are requested and known.
    pub(super) delays: Option<Vec<Box<[Delay]>>>,
    pub(super) sums: Sums,
    pub(super) waits: Vec<Wait>,
    /// Ranks that have not ended.
    pub(super) unfinished: u32,
    /// Start of the last rank.
    pub(super) began: Picoseconds,
    /// By boundary: when the last rank so far passed it.
    pub(super) boundaries: Vec<Picoseconds>,
    /// By boundary: sum over ranks of the time from `began` until they passed it.
    pub(super) passed: Vec<u128>,
    /// By boundary: number of ranks that passed it.
    pub(super) passers: Vec<u32>,
    /// By stretch.
    pub(super) accounts: Vec<RankSum>,
    /// By stretch, then rank; empty unless requested.
    pub(super) accounts_by_stretch: Vec<Account>,
}

/// A rank of an active replay.
#[derive(Clone, Debug)]
pub(super) struct RankState {
    /// Its next operation.
    pub(super) next: usize,
    /// The message or sum that it waits for; numbers of sums follow those of messages.
    pub(super) waiting: Option<u32>,
    /// Start of the wait.
    pub(super) since: Picoseconds,
    /// True if the overhead of the next operation has passed.
    pub(super) paid: bool,
    pub(super) last_wait: u32,
    pub(super) ended: Option<Picoseconds>,
    /// The stretch that it is in.
    pub(super) stretch: usize,
    pub(super) account: Account,
}

/// A message of an active replay.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MessageState {
    pub(super) started: Picoseconds,
    pub(super) arrived: Picoseconds,
    pub(super) sent: bool,
    pub(super) ready: bool,
    /// True if it was sent and waits for its receiver to be ready.
    pub(super) held: bool,
    /// The request of its rendezvous is at the receiver.
    pub(super) is_requested: bool,
    pub(super) is_there: bool,
    /// True if it started when its receiver was ready, and not when it was sent.
    pub(super) late_receiver: bool,
}

/// A time that a rank waited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    /// The message or sum; numbers of sums follow those of messages.
    pub(super) message: u32,
    /// The wait of the same rank before it, or [`NONE`].
    pub(super) before: u32,
    pub(super) end: Picoseconds,
}

impl ActiveReplay<'_> {
    /// True if this is the number of a sum.
    pub(super) fn is_sum(&self, message: u32) -> bool {
        message as usize >= self.messages.len()
    }

    /// Adds time to the account of a rank and to that of the stretch that it is in.
    pub(super) fn spend(&mut self, rank: u32, time: Account) {
        let (ranks, number) = (self.ranks.len(), rank as usize);
        let rank = &mut self.ranks[number];
        rank.account.add(&time, 1);
        self.accounts[rank.stretch].include(&time);
        if let Some(account) = self.accounts_by_stretch.get_mut(rank.stretch * ranks + number) {
            account.add(&time, 1);
        }
    }
}

impl RankState {
    /// A rank that starts at a time.
    pub(super) fn starting(began: Picoseconds) -> Self {
        Self {
            next: 0,
            waiting: None,
            since: began,
            paid: false,
            last_wait: NONE,
            ended: None,
            stretch: 0,
            account: Account::default(),
        }
    }

    pub(super) fn wait_for(&mut self, message: u32, now: Picoseconds) {
        self.waiting = Some(message);
        self.since = now;
    }

    /// Ends the wait for a message, if the rank waited for that one; returns the start of the wait.
    pub(super) fn end_wait(&mut self, message: u32) -> Option<Picoseconds> {
        self.waiting.take_if(|waiting| *waiting == message).map(|_| self.since)
    }

    /// Moves on to the next operation once the overhead has passed; true if it is still to come.
    pub(super) fn owes(&mut self, overhead: Picoseconds) -> bool {
        self.paid = overhead > 0 && !self.paid;
        self.next += usize::from(!self.paid);
        self.paid
    }
}
