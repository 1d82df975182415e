//! All processes' records in one stream, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use phaseflow_profiler::{Direction, Record};

use super::collectives::Collectives;
use super::lane::Lane;
use super::piece::Pieces;
use super::process::{NO_COMMUNICATOR, Process};
use super::receives::{Envelope, Match, Receives};
use super::remarks::Remarks;
use crate::trace::{Call, Mark, Message, Operation, Rank};
use crate::{At, Result};

/// Merges what the threads of all processes did: sends and one-sided operations with their receives, calls, marks.
///
/// Memory: a chunk of 16 KiB for each thread and each of the two or three places at which it is read, and what
/// [`Receives`] and [`Collectives`] keep.
pub(super) struct Merge<'a> {
    processes: &'a [Process<'a>],
    /// By the place of their process.
    receives: Vec<Receives<'a>>,
    collectives: Collectives<'a>,
    threads: Vec<Thread<'a>>,
    remarks: Remarks,
}

/// A thread and its next record.
struct Thread<'a> {
    process: usize,
    lane: Lane<'a>,
    next: Option<Record>,
}

impl<'a> Merge<'a> {
    /// # Errors
    /// What the operating system says.
    pub(super) fn new(processes: &'a [Process<'a>], collectives: Collectives<'a>) -> Result<Self> {
        let receives = processes.iter().map(Receives::new).collect::<Result<_>>()?;
        let mut threads = Vec::new();
        for (process, lanes) in processes.iter().map(Process::lanes).enumerate() {
            threads.extend(lanes.map(|lane| Thread { process, lane, next: None }));
        }
        Ok(Self { processes, receives, collectives, threads, remarks: Remarks::default() })
    }

    /// Writes everything into `out`.
    ///
    /// # Errors
    /// What the operating system says, or `out`.
    pub(super) fn run(mut self, out: &mut Pieces) -> Result<Remarks> {
        let mut heap = BinaryHeap::with_capacity(self.threads.len());
        for number in 0..self.threads.len() {
            heap.extend(self.advance(number)?.map(|time_ns| Reverse((time_ns, number))));
        }
        while let Some(mut least) = heap.peek_mut() {
            let Reverse((time_ns, number)) = *least;
            if let Some(message) = self.collectives.before(time_ns) {
                drop(least);
                out.message(&message)?;
                continue;
            }
            let record = self.threads[number].next.take();
            let process = self.threads[number].process;
            match self.advance(number)? {
                Some(next_ns) => {
                    least.0.0 = next_ns;
                    drop(least);
                }
                None => drop(PeekMut::pop(least)),
            }
            match record {
                Some(Record::Message(message)) => self.message(process, time_ns, &message, out)?,
                Some(Record::Call(call)) => self.call(process, time_ns, &call, out)?,
                Some(Record::Mark(mark)) => {
                    let rank = Rank(self.processes[process].rank);
                    out.mark(Mark { time_ns, rank, level: mark.level })?;
                }
                Some(Record::Counts(_)) | None => {}
            }
        }
        while let Some(message) = self.collectives.before(i64::MAX) {
            out.message(&message)?;
        }
        for thread in &self.threads {
            self.remarks.back_ns = self.remarks.back_ns.max(thread.lane.back_ns());
        }
        for receives in self.receives {
            let (unsent, owed) = receives.finish()?;
            self.remarks.unsent += unsent;
            self.remarks.unreceived += owed;
        }
        self.collectives.finish(&mut self.remarks);
        Ok(self.remarks)
    }

    /// Reads a thread's next record and says its time.
    fn advance(&mut self, number: usize) -> Result<Option<i64>> {
        let thread = &mut self.threads[number];
        let process = &self.processes[thread.process];
        let wanted = |record: &Record| match record {
            Record::Message(message) => message.direction != Direction::Receive && !message.is_cancelled(),
            Record::Call(_) | Record::Mark(_) => true,
            Record::Counts(_) => false,
        };
        let next = thread.lane.next(wanted).at(|| &process.file)?;
        let (time_ns, record) = next.unzip();
        thread.next = record;
        Ok(time_ns)
    }

    fn message(
        &mut self,
        place: usize,
        post_ns: i64,
        message: &phaseflow_profiler::Message,
        out: &mut Pieces,
    ) -> Result<()> {
        let process = &self.processes[place];
        let one_sided = message.direction != Direction::Send;
        // What travels as messages is there as messages.
        if one_sided && process.recording.header().one_sided_as_messages {
            return Ok(());
        }
        let bytes = message.bytes.unwrap_or(0);
        let Some(peer) = message.peer.map(|peer| process.in_run(peer)) else {
            self.remarks.foreign += 1;
            return Ok(());
        };
        let communicator = process.communicator(message.communicator);
        let complete_ns = message.complete.map(|ticks| process.time_ns(ticks).max(post_ns));
        let mut sent = Message {
            send_post_ns: post_ns,
            src: Rank(process.rank),
            dst: Rank(peer),
            bytes,
            tag: message.tag,
            communicator: (communicator != NO_COMMUNICATOR).then_some(communicator),
            operation: message.operation,
            send_complete_ns: complete_ns,
            receive_post_ns: None,
            receive_complete_ns: None,
        };
        if one_sided {
            sent.tag = None;
            match message.direction {
                Direction::Get => {
                    (sent.src, sent.dst) = (sent.dst, sent.src);
                    (sent.send_complete_ns, sent.receive_complete_ns) = (None, complete_ns);
                    sent.operation = Operation::Get;
                }
                Direction::Put => sent.operation = Operation::Put,
                _ => sent.operation = Operation::Accumulate,
            }
            return out.message(&sent);
        }
        let envelope = Envelope { communicator, src: process.rank, tag: message.tag.unwrap_or(0) };
        match self.receives_of(peer) {
            None => self.remarks.unreceived += 1,
            Some(receives) => match receives.take(envelope)? {
                Match::None => self.remarks.unreceived += 1,
                Match::Owed => self.remarks.owed += 1,
                Match::Found(received) => {
                    sent.receive_post_ns = Some(received.post_ns);
                    sent.receive_complete_ns = received.complete_ns;
                    if received.bytes.is_some_and(|received| received != bytes) {
                        self.remarks.unlike += 1;
                    }
                }
            },
        }
        out.message(&sent)
    }

    fn receives_of(&mut self, rank: u32) -> Option<&mut Receives<'a>> {
        self.receives.get_mut(Process::place(self.processes, rank)?)
    }

    fn call(
        &mut self,
        place: usize,
        enter_ns: i64,
        call: &phaseflow_profiler::Call,
        out: &mut Pieces,
    ) -> Result<()> {
        let process = &self.processes[place];
        let communicator = call.communicator.map(|number| process.communicator(number));
        out.call(Call {
            enter_ns,
            leave_ns: call.leave.map(|ticks| process.time_ns(ticks).max(enter_ns)),
            rank: Rank(process.rank),
            operation: call.operation,
            communicator: communicator.filter(|number| *number != NO_COMMUNICATOR),
            root: call.root.map(|root| Rank(process.in_run(root))),
            bytes: part(call),
        })?;
        self.collectives.entered(place, call)
    }
}

/// A call's bytes, where they mean something.
fn part(call: &phaseflow_profiler::Call) -> Option<u64> {
    use Operation as Op;
    match call.operation {
        // Below MPI's own interface nobody says how much; see docs/profiling.md.
        Op::NeighborAllgatherv | Op::NeighborAlltoallv | Op::NeighborAlltoallw if call.bytes == 0 => None,
        Op::FileRead | Op::FileWrite => Some(call.bytes),
        operation => (Op::Barrier..=Op::NeighborAlltoallw).contains(&operation).then_some(call.bytes),
    }
}
