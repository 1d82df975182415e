//! All processes' records in one stream, in the order of time; receives are left to
//! [`matching`](super::matching).

use phaseflow_profiler::format::Kind;
use phaseflow_profiler::{Direction, Record};

use super::collectives::Collectives;
use super::lane::Lane;
use super::piece::{Leaving, Pieces};
use super::process::{NO_COMMUNICATOR, Process};
use super::remarks::Remarks;
use super::tournament::Tournament;
use crate::trace::{Call, Mark, Message, Operation, Rank};
use crate::{At, Result};

/// Kinds of records that determine the order; receives follow their sends.
const LEADING: [Kind; 6] = [Kind::Send, Kind::Put, Kind::Get, Kind::Accumulate, Kind::Call, Kind::Mark];

/// Merges what the threads of all processes did: sends, one-sided operations, calls, marks.
pub(super) struct Merge<'a> {
    processes: &'a [Process<'a>],
    collectives: Collectives<'a>,
    threads: Vec<Thread<'a>>,
    remarks: Remarks,
}

/// A thread of a process.
struct Thread<'a> {
    process: usize,
    lane: Lane<'a>,
}

impl<'a> Merge<'a> {
    pub(super) fn new(processes: &'a [Process<'a>], collectives: Collectives<'a>) -> Self {
        let mut threads = Vec::new();
        for (place, process) in processes.iter().enumerate() {
            let lanes = process.lanes(&LEADING);
            threads.extend(lanes.map(|lane| Thread { process: place, lane }));
        }
        Self { processes, collectives, threads, remarks: Remarks::default() }
    }

    /// Writes everything into `out`.
    ///
    /// # Errors
    /// Errors of the operating system, or of `out`.
    pub(super) fn run(mut self, out: &mut Pieces) -> Result<Remarks> {
        let firsts: Vec<_> =
            (0..self.threads.len()).map(|number| self.peek_ns(number)).collect::<Result<_>>()?;
        let mut tournament = Tournament::new(&firsts);
        while let Some((earliest_ns, number)) = tournament.earliest() {
            if let Some(message) = self.collectives.before(earliest_ns) {
                out.message(Leaving { message, is_received: false })?;
                continue;
            }
            let thread = &mut self.threads[number];
            let place = thread.process;
            let next = thread.lane.next().at(|| &self.processes[place].file)?;
            tournament.replace(self.peek_ns(number)?);
            match next {
                Some((_, Record::Message(message))) if message.is_cancelled() => {}
                Some((time_ns, Record::Message(message))) => self.message(place, time_ns, &message, out)?,
                Some((time_ns, Record::Call(call))) => self.call(place, time_ns, &call, out)?,
                Some((time_ns, Record::Mark(mark))) => {
                    let rank = Rank(self.processes[place].rank);
                    out.mark(Mark { time_ns, rank, level: mark.level })?;
                }
                Some((_, Record::Counts(_))) | None => {}
            }
        }
        while let Some(message) = self.collectives.before(i64::MAX) {
            out.message(Leaving { message, is_received: false })?;
        }
        for thread in &self.threads {
            self.remarks.back_ns = self.remarks.back_ns.max(thread.lane.back_ns());
        }
        self.collectives.finish(&mut self.remarks);
        Ok(self.remarks)
    }

    /// Time at which a thread continues.
    #[inline]
    fn peek_ns(&mut self, number: usize) -> Result<Option<i64>> {
        let Thread { process, lane } = &mut self.threads[number];
        lane.peek_ns().at(|| &self.processes[*process].file)
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
        // One-sided operations that appear as messages are recorded as messages.
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
        }
        out.message(Leaving { message: sent, is_received: !one_sided })
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

/// A call's bytes, if they are defined.
fn part(call: &phaseflow_profiler::Call) -> Option<u64> {
    use Operation as Op;
    match call.operation {
        // Below MPI's own interface the size is unknown; see docs/profiling.md.
        Op::NeighborAllgatherv | Op::NeighborAlltoallv | Op::NeighborAlltoallw if call.bytes == 0 => None,
        Op::FileRead | Op::FileWrite => Some(call.bytes),
        operation => (Op::Barrier..=Op::NeighborAlltoallw).contains(&operation).then_some(call.bytes),
    }
}
