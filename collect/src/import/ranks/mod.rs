//! What each rank saw becomes one trace.
//!
//! A source gives the events of each rank in the order of time ([`Process`], [`Lane`]). They are
//! merged by time ([`merge()`]), and each send gets its receive ([`matching`], [`receives`]).
//! Collectives that are recorded only as calls become messages on request ([`collectives`]).
//!
//! Memory: up to 65 536 receives a rank that wait for their sends (4 MB), and a few blocks;
//! independent of the number of messages.

mod causality;
mod collectives;
mod matching;
mod merge;
mod pending;
mod piece;
mod receives;
mod remarks;
mod requests;
mod tournament;

use std::sync::mpsc::{channel, sync_channel};

pub(super) use self::causality::{align, host_numbers};
use self::collectives::Collectives;
pub(super) use self::matching::Matching;
use self::merge::Merge;
pub(super) use self::pending::{Advance, Completion, Pending, finish};
pub(super) use self::piece::Leaving;
use self::piece::Pieces;
pub(super) use self::receives::{Received, Source};
pub(super) use self::remarks::Remarks;
use crate::expand::Rules;
use crate::trace::{Block, Call, Mark, MessageBlock, Sink};
use crate::{Error, Result};

/// Number of an unknown communicator.
pub(super) const NO_COMMUNICATOR: u32 = u32::MAX;

/// Most pieces between two threads: enough for both to work, with one piece each, one ready and one
/// returning.
const IN_FLIGHT: usize = 4;

/// A rank's part of a run.
pub(super) trait Process: Sync + Sized {
    /// Events of one of its threads.
    type Lane<'a>: Lane
    where
        Self: 'a;

    /// Its rank in the run.
    fn rank(&self) -> u32;

    /// Where it is read from, for errors.
    fn file(&self) -> &str;

    /// The events of all its threads, those that are wanted; others may be among them.
    ///
    /// # Errors
    /// Errors of the operating system.
    fn lanes(&self, wanted: Wanted) -> Result<Vec<Self::Lane<'_>>>;

    /// The ranks of a communicator, given as [`Expandable::On`], in their order; `None` if it is
    /// not known, for intercommunicators, and if one of them has its collectives' messages
    /// recorded.
    fn members(&self, communicator: u32, all: &[Self]) -> Option<Vec<u32>>;
}

/// Which events a lane is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Those that determine the order: messages sent, one-sided operations, calls, marks.
    Leading,
    /// Receives.
    Receives,
    /// Calls of collectives, with their counts.
    Collectives,
}

/// Events of one thread in program order, their times never descending.
pub(super) trait Lane {
    /// Time of the next event before it is taken.
    ///
    /// # Errors
    /// Damage, or errors of the operating system.
    fn peek_ns(&mut self) -> Result<Option<i64>>;

    /// The next event and its time.
    ///
    /// # Errors
    /// Damage, or errors of the operating system.
    fn next(&mut self) -> Result<Option<(i64, Event)>>;

    /// The largest step back of its clock, nanoseconds.
    fn back_ns(&self) -> u64;
}

/// What a rank saw.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// It sent a message, or transferred one in a one-sided operation.
    Message(Leaving),
    /// It sent to a process outside of the run.
    Foreign,
    /// It received a message, or tried to.
    Receive {
        /// From whom.
        source: Source,
        /// What and when.
        received: Received,
    },
    /// It called MPI.
    Call {
        /// The call.
        call: Call,
        /// Whether messages can be made of it.
        collective: Expandable,
    },
    /// Bytes to the next members, of the call before: some of the three.
    Counts([u64; 3], usize),
    /// It marked a moment.
    Mark(Mark),
    /// Nothing that a trace has.
    Nothing,
}

/// Whether a call's messages are missing in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expandable {
    /// It is no collective, or its messages are recorded.
    No,
    /// It is a collective of an unknown communicator.
    Unknown,
    /// It is a collective on a communicator with this number of the process.
    On(u32),
}

/// Where the process of a rank is among all, which are in the order of their ranks.
pub(super) fn place<P: Process>(all: &[P], rank: u32) -> Option<usize> {
    match all.get(rank as usize) {
        // Nearly always no rank is missing.
        Some(process) if process.rank() == rank => Some(rank as usize),
        _ => all.binary_search_by_key(&rank, P::rank).ok(),
    }
}

/// Merges in one thread, matches in another, and passes the records to the sink.
///
/// # Errors
/// Errors of the processes, or of `sink`.
pub(super) fn merge<P: Process>(
    processes: &[P],
    expand: Option<Rules>,
    sink: &mut dyn Sink,
) -> Result<Remarks> {
    std::thread::scope(|scope| {
        let (to_matching, merged) = sync_channel(IN_FLIGHT);
        let (merged_back, merged_used) = channel();
        let merging = scope.spawn(move || -> Result<Remarks> {
            let mut out = Pieces::new(to_matching, merged_used);
            let remarks = Merge::new(processes, Collectives::new(expand, processes)?)?.run(&mut out)?;
            out.finish()?;
            Ok(remarks)
        });
        let (to_sink, matched) = sync_channel(IN_FLIGHT);
        let (matched_back, matched_used) = channel::<Matched>();
        let matching = scope.spawn(move || -> Result<Remarks> {
            let mut matching = Matching::new(processes)?;
            for mut piece in merged {
                // Buffers go around, as large ones are costly to allocate anew.
                let mut used = matched_used.try_recv().unwrap_or_default();
                used.messages.clear();
                used.calls.clear();
                used.marks.clear();
                let Matched { mut messages, mut calls, mut marks } = used;
                for leaving in &mut piece.messages {
                    matching.complete(leaving)?;
                    if leaving.is_sized {
                        messages.push(&leaving.message);
                    }
                }
                std::mem::swap(&mut calls, &mut piece.calls);
                std::mem::swap(&mut marks, &mut piece.marks);
                // A thread that ends early has an error, which its join reports.
                let _ = merged_back.send(piece);
                if to_sink.send(Matched { messages, calls, marks }).is_err() {
                    return Err(Error::data("stopped"));
                }
            }
            matching.finish()
        });
        let taken: Result<()> = matched.iter().try_for_each(|piece| {
            piece.write(sink)?;
            let _ = matched_back.send(piece);
            Ok(())
        });
        drop(matched);
        let joined = |outcome: std::thread::Result<Result<Remarks>>| {
            outcome.unwrap_or_else(|_| Err(Error::data("a thread failed")))
        };
        let (matched, merged) = (joined(matching.join()), joined(merging.join()));
        // A failure stops the threads before it, so the last thread has the cause.
        taken?;
        Ok(matched?.and(&merged?))
    })
}

/// A piece on its last way.
#[derive(Default)]
struct Matched {
    messages: MessageBlock,
    calls: Vec<Call>,
    marks: Vec<Mark>,
}

impl Matched {
    fn write(&self, sink: &mut dyn Sink) -> Result<()> {
        if !self.calls.is_empty() {
            sink.block(Block::Calls(&self.calls))?;
        }
        if !self.marks.is_empty() {
            sink.block(Block::Marks(&self.marks))?;
        }
        if !self.messages.is_empty() {
            sink.block(Block::Messages(&self.messages))?;
        }
        Ok(())
    }
}
