//! The replayer: any number of replays side by side over one network.
//!
//! A rank executes its operations until it waits for a message or for the end of a computation. An
//! operation takes O(1) and a wait one event, for any number of messages in flight.

use phaseflow_collect::Error;

use super::account::{Account, RankSum};
use super::active::{ActiveReplay, MessageState, RankState};
use super::context::{Context, Crossing, Event, InFlightMessage};
use super::deadlock::describe;
use super::message_parts::Part;
use super::operations::Operations;
use super::options::Options;
use super::result::ReplayResult;
use super::sums::Sums;
use super::transport::Transport;
use crate::engine::{Picoseconds, beyond_clock};
use crate::topology::HostId;

/// Replays side by side over one network.
///
/// Memory beside the operations, which are shared: 24 bytes a message and 120 a rank of active
/// replays, 32 for each time that a rank waited, and what the transport needs.
#[derive(Debug)]
pub struct Replayer<'o, T> {
    context: Context<T>,
    /// By slot.
    active: Vec<Option<Box<ActiveReplay<'o>>>>,
    free_slots: Vec<u32>,
    arrived: Vec<u32>,
    /// Replays so far.
    begun: u64,
    records_ranks_by_stretch: bool,
    /// An event lies beyond the clock; the replayer stops.
    is_beyond_clock: bool,
}

/// The hosts of a job.
#[derive(Clone, Copy, Debug)]
pub struct JobHosts<'h> {
    /// By rank.
    pub ranks: &'h [HostId],
    /// Of the servers that sum.
    pub servers: &'h [HostId],
}

impl<'h> JobHosts<'h> {
    /// By rank, then those of this many servers, which share hosts if there are more than hosts.
    pub fn all(&self, servers: u32) -> impl Iterator<Item = HostId> + use<'h> {
        let of_servers = self.servers.iter().chain(self.ranks).cycle().take(servers as usize);
        self.ranks.iter().chain(of_servers).copied()
    }
}

/// A replay to begin.
#[derive(Clone, Copy, Debug)]
pub struct ReplayRequest<'r, 'o> {
    /// Identifies the replay; it is unique within the replayer.
    pub token: u64,
    /// The job of its messages.
    pub job: u32,
    /// The operations of the ranks.
    pub operations: &'o Operations,
    /// Their hosts.
    pub hosts: JobHosts<'r>,
    /// By rank: when it starts, now or later. The makespan counts from the last start.
    pub starts: &'r [Picoseconds],
    /// Options for computation and messages.
    pub options: Options,
}

impl<'o, T: Transport> Replayer<'o, T> {
    /// A replayer without active replays.
    pub fn new(transport: T) -> Self {
        Self::after(0, transport)
    }

    /// The same, whose first replay has the noise of one that comes after `begun` others.
    pub fn after(begun: u64, transport: T) -> Self {
        Self {
            context: Context::new(transport),
            active: Vec::new(),
            free_slots: Vec::new(),
            arrived: Vec::new(),
            begun,
            records_ranks_by_stretch: false,
            is_beyond_clock: false,
        }
    }

    /// Records the account of each rank in each stretch for replays that begin from now on. Memory:
    /// 40 bytes per rank and stretch.
    pub fn record_ranks_by_stretch(&mut self) {
        self.records_ranks_by_stretch = true;
    }

    /// The carrier of messages.
    pub fn transport(&mut self) -> &mut T {
        &mut self.context.transport
    }

    /// Begins a replay.
    pub fn begin(&mut self, request: ReplayRequest<'_, 'o>) {
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.active.push(None);
            (self.active.len() - 1) as u32
        });
        let replay = self.activate(&request, slot);
        let starts = request.starts.iter().copied().chain(std::iter::repeat(replay.began));
        for (rank, start) in (0..request.operations.ranks()).zip(starts) {
            self.context.schedule(start, slot, rank);
        }
        self.active[slot as usize] = Some(Box::new(replay));
    }

    fn activate(&mut self, request: &ReplayRequest<'_, 'o>, slot: u32) -> ActiveReplay<'o> {
        let ReplayRequest { token, job, operations, hosts, starts, options } = *request;
        self.begun += 1;
        let transport = &mut self.context.transport;
        let sums = Sums::open(operations, hosts.ranks, hosts.servers, token as u32, transport);
        let began = starts.iter().copied().max().unwrap_or(0);
        let ready = |announced: bool| MessageState { ready: !announced, ..MessageState::default() };
        let messages = operations.messages().iter();
        let (ranks, stretches) = (operations.ranks() as usize, operations.stretches());
        let by_stretch = if self.records_ranks_by_stretch { stretches * ranks } else { 0 };
        let attributes_delays = options.blame && transport.attributes_delays();
        ActiveReplay {
            number: self.begun,
            slot,
            token,
            job,
            operations,
            options,
            hosts: hosts.all(operations.servers()).collect(),
            ranks: vec![RankState::starting(began); ranks],
            messages: messages.map(|message| ready(message.announced)).collect(),
            delays: attributes_delays.then(|| vec![Box::default(); operations.messages().len()]),
            sums,
            waits: Vec::new(),
            unfinished: operations.ranks(),
            began,
            boundaries: vec![began; stretches - 1],
            passed: vec![0; stretches - 1],
            passers: vec![0; stretches - 1],
            accounts: vec![RankSum::default(); stretches],
            accounts_by_stretch: vec![Account::default(); by_stretch],
        }
    }

    /// Time of the next event. If it is not before `limit`, the result is any time from `limit` on,
    /// and no replay may begin before it. `None` if there is no event.
    pub fn next(&mut self, limit: Picoseconds) -> Option<Picoseconds> {
        if self.is_beyond_clock {
            return None;
        }
        let own = self.context.queue.peek_time();
        let network = self.context.transport.next(limit.min(own.unwrap_or(Picoseconds::MAX)));
        own.into_iter().chain(network).min()
    }

    /// Processes all events of `now`, which is [`next`](Self::next); appends the results of replays
    /// that end.
    pub fn advance(&mut self, now: Picoseconds, ended: &mut Vec<ReplayResult>) {
        // The last value of the clock represents all later times.
        if now == Picoseconds::MAX {
            self.is_beyond_clock = true;
            return;
        }
        self.deliver(now);
        while self.context.queue.peek_time() == Some(now) {
            let Some((_, event)) = self.context.queue.pop() else { break };
            let (slot, rank) = match event {
                Event::Rank { replay, rank } => (replay, rank),
                Event::Part(key) => {
                    self.send_part(key, now);
                    continue;
                }
            };
            let Some(replay) = self.active[slot as usize].as_deref_mut() else { continue };
            replay.run_rank(rank, now, &mut self.context);
            if replay.unfinished == 0 {
                ended.extend(self.end(slot, now));
            }
        }
    }

    /// A part of a message leaves, unless its replay has ended meanwhile.
    fn send_part(&mut self, key: u32, now: Picoseconds) {
        let InFlightMessage { replay, message, part, token, .. } = self.context.in_flight.remove(key);
        let replay = self.active[replay as usize].as_deref_mut();
        if let Some(replay) = replay.filter(|replay| replay.token == token) {
            replay.carry(message, part, now, &mut self.context);
        }
    }

    /// Passes messages and sums that have arrived to their replays.
    fn deliver(&mut self, now: Picoseconds) {
        let mut arrived = std::mem::take(&mut self.arrived);
        self.context.transport.advance(now, &mut arrived);
        for key in arrived.drain(..) {
            let delays = self.context.transport.take_delays(key);
            let InFlightMessage { replay, message, worker, part, token } = self.context.in_flight.remove(key);
            // A message without a waiting rank may arrive after the end of its replay.
            let replay = self.active[replay as usize].as_deref_mut();
            match replay.filter(|replay| replay.token == token) {
                Some(replay) if replay.is_sum(message) => {
                    replay.complete_sum(message, worker, now, &mut self.context);
                }
                Some(replay) => {
                    if let Some(known) = &mut replay.delays {
                        let known = &mut known[message as usize];
                        *known = std::mem::take(known).into_iter().chain(delays).collect();
                    }
                    match part {
                        Part::Request => replay.requested(message, now, &mut self.context),
                        Part::Reply => replay.answer(message, Part::Data, now, &mut self.context),
                        Part::Data => replay.arrive(message, now, &mut self.context),
                    }
                }
                None => {}
            }
        }
        self.arrived = arrived;
    }

    /// Ends the replay in a slot.
    fn end(&mut self, slot: u32, now: Picoseconds) -> Option<ReplayResult> {
        let replay = self.active[slot as usize].take()?;
        let transport = &mut self.context.transport;
        replay.sums.close(transport);
        let result = ReplayResult::new(*replay, now, transport);
        self.free_slots.push(slot);
        let earliest = self.active.iter().flatten().map(|replay| replay.began).min();
        transport.forget(earliest.unwrap_or(now));
        Some(result)
    }

    /// The error that makes results invalid: a failure of the transport, or an end beyond the
    /// clock.
    pub fn failure(&mut self) -> Option<Error> {
        let refused = self.context.transport.failure();
        refused.or_else(|| self.is_beyond_clock.then(beyond_clock))
    }

    /// Boundaries that the last rank has passed since the previous call, in that order.
    pub fn take_crossed(&mut self) -> impl Iterator<Item = Crossing> + '_ {
        self.context.crossed.drain(..)
    }

    /// Describes a deadlock, no event although replays are active: the token of one of them, and
    /// the rank and message of each wait.
    pub fn deadlock(&mut self) -> Option<(u64, String)> {
        if self.next(Picoseconds::MAX).is_some() {
            return None;
        }
        let replay = self.active.iter().flatten().next()?;
        let network = self.context.transport.stuck().map_or_else(String::new, |text| format!("; {text}"));
        Some((replay.token, describe(replay) + &network))
    }
}

/// Replays operations alone, and returns the transport with the result; `None` for a deadlock. Each
/// rank starts `skew` picoseconds before the last one.
pub fn replay_alone<T: Transport>(
    transport: T,
    operations: &Operations,
    hosts: &[HostId],
    skew: &[Picoseconds],
    options: Options,
) -> (Option<ReplayResult>, T) {
    let mut replayer = Replayer::new(transport);
    let last = skew.iter().copied().max().unwrap_or(0);
    let starts: Vec<Picoseconds> = skew.iter().map(|lead| last - lead).collect();
    let hosts = JobHosts { ranks: hosts, servers: &[] };
    replayer.begin(ReplayRequest { token: 0, job: 0, operations, hosts, starts: &starts, options });
    let mut ended = Vec::new();
    while let Some(now) = replayer.next(Picoseconds::MAX).filter(|_| ended.is_empty()) {
        replayer.advance(now, &mut ended);
    }
    (ended.pop(), replayer.context.transport)
}
