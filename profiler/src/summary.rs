//! Sums over a run directory, in one pass and without matching of messages.

use std::collections::BTreeMap;
use std::io;

use crate::{Direction, Level, Record, Run, State};

/// Messages and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many.
    pub messages: u64,
    /// Their payload.
    pub bytes: u64,
}

impl Sum {
    fn add(&mut self, bytes: u64) {
        self.messages += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// The content of a run directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Recordings.
    pub processes: u32,
    /// Of these, how many did not reach `MPI_Finalize`.
    pub ended_early: u32,
    /// Of these, how many ran out of space.
    pub out_of_space: u32,
    /// Of these, how many recorded calls only.
    pub calls_only: u32,
    /// Sent messages, by the senders; with one-sided operations, unless these also appear as
    /// messages.
    pub sent: Sum,
    /// Received messages with a recorded completion.
    pub received: Sum,
    /// Receives without a recorded completion, except cancelled ones.
    pub pending: u64,
    /// Sends from persistent requests of the program.
    pub persistent: u64,
    /// MPI calls.
    pub calls: u64,
    /// `MPI_Pcontrol`.
    pub marks: u64,
    /// Polls without success.
    pub polls: u64,
    /// [`sent`](Self::sent) by sender and receiver.
    pub sent_pairs: BTreeMap<(u32, u32), Sum>,
    /// [`received`](Self::received) by sender and receiver.
    pub received_pairs: BTreeMap<(u32, u32), Sum>,
}

impl Summary {
    /// Adds up a run.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn of(run: &Run) -> io::Result<Self> {
        let mut summary = Self::default();
        for (rank, recording) in run.processes() {
            let header = recording.header();
            let first = Run::first_rank(rank, header);
            summary.processes += 1;
            summary.ended_early += u32::from(header.state != State::Finalized);
            summary.out_of_space += u32::from(header.state == State::OutOfSpace);
            summary.calls_only += u32::from(header.level == Level::Calls);
            for lane in recording.lanes() {
                summary.polls = summary.polls.saturating_add(lane.polls);
                for record in recording.records(lane) {
                    summary.record(rank, first, header.one_sided_as_messages, &record?);
                }
            }
        }
        Ok(summary)
    }

    fn record(&mut self, rank: u32, first: u32, carried: bool, record: &Record) {
        let message = match record {
            Record::Message(message) if message.is_cancelled() => return,
            Record::Message(message) => message,
            Record::Call(_) => {
                self.calls += 1;
                return;
            }
            Record::Mark(_) => {
                self.marks += 1;
                return;
            }
            Record::Counts(_) => return,
        };
        let peer = message.peer.map(|peer| peer.saturating_add(first));
        let one_sided = !matches!(message.direction, Direction::Send | Direction::Receive);
        if one_sided && carried {
            return;
        }
        let Some(bytes) = message.bytes else {
            self.pending += 1;
            return;
        };
        let pair = |peer: u32| match message.direction {
            Direction::Receive | Direction::Get => (peer, rank),
            _ => (rank, peer),
        };
        let (sum, pairs) = if message.direction == Direction::Receive {
            (&mut self.received, &mut self.received_pairs)
        } else {
            (&mut self.sent, &mut self.sent_pairs)
        };
        sum.add(bytes);
        if let Some(peer) = peer {
            pairs.entry(pair(peer)).or_default().add(bytes);
        }
        let persistent = message.flags & crate::format::flags::PERSISTENT != 0;
        if message.direction == Direction::Send && persistent && !message.is_internal() {
            self.persistent += 1;
        }
    }
}
