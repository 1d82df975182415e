//! Records of a process, thread by thread, as events on the time line of the run.

use phaseflow_profiler::format::{Kind, flags};
use phaseflow_profiler::{self as profiler, Direction, Record, RecordingFile, Records};

use super::process::Process;
use crate::import::ranks::{self, Event, Expandable, Leaving, NO_COMMUNICATOR, Received, Source, Wanted};
use crate::trace::{Call, Mark, Message, Operation, Rank};
use crate::{Error, Result};

/// Most that a thread's clock may go back, nanoseconds, when it moves to a core whose counter is
/// behind: Linux rejects counters that differ by more than microseconds. More is damage.
const MOST_BACK_NS: u64 = 1_000_000;

/// Records of a lane in program order, their times never descending.
pub(super) struct Lane<'a> {
    process: &'a Process<'a>,
    records: Records<'a, RecordingFile>,
    /// Records read so far.
    count: u64,
    last_ns: i64,
    /// The largest step back of the clock.
    back_ns: u64,
}

impl<'a> Lane<'a> {
    pub(super) fn new(process: &'a Process<'a>, records: Records<'a, RecordingFile>) -> Self {
        Self { process, records, count: 0, last_ns: i64::MIN, back_ns: 0 }
    }

    #[cold]
    fn went_back(&mut self, back_ns: u64) -> Result<()> {
        if back_ns > MOST_BACK_NS {
            return Err(Error::data(format!(
                "record {} of its kinds goes back in time by {back_ns} ns, expected ascending times: the file is damaged",
                self.count
            )));
        }
        self.back_ns = self.back_ns.max(back_ns);
        Ok(())
    }

    /// The time of a record, not before that of the one before it.
    #[inline]
    fn ascending_ns(&mut self, ticks: u64) -> Result<i64> {
        let time_ns = self.process.time_ns(ticks);
        if time_ns < self.last_ns {
            self.went_back(self.last_ns.abs_diff(time_ns))?;
        }
        self.last_ns = self.last_ns.max(time_ns);
        Ok(self.last_ns)
    }
}

/// Kinds of records that determine the order; receives follow their sends.
const LEADING: [Kind; 6] = [Kind::Send, Kind::Put, Kind::Get, Kind::Accumulate, Kind::Call, Kind::Mark];

impl ranks::Process for Process<'_> {
    type Lane<'a>
        = Lane<'a>
    where
        Self: 'a;

    fn rank(&self) -> u32 {
        self.rank
    }

    fn file(&self) -> &str {
        &self.file
    }

    fn lanes(&self, wanted: Wanted) -> Result<Vec<Lane<'_>>> {
        let kinds = match wanted {
            Wanted::Leading => &LEADING[..],
            Wanted::Receives => &[Kind::Receive],
            Wanted::Collectives => &[Kind::Call, Kind::Counts],
        };
        let lanes = self.recording.lanes().iter();
        Ok(lanes.map(|lane| Lane::new(self, self.recording.records(lane).only(kinds))).collect())
    }

    fn members(&self, communicator: u32, all: &[Self]) -> Option<Vec<u32>> {
        let details = self.details(communicator).filter(|details| details.remote.is_none())?;
        let count = u32::try_from(details.size()).ok()?;
        (0..count)
            .map(|member| {
                let rank = self.in_run(details.world_rank(member)?);
                all[ranks::place(all, rank)?].is_calls_only().then_some(rank)
            })
            .collect()
    }
}

impl ranks::Lane for Lane<'_> {
    #[inline]
    fn peek_ns(&mut self) -> Result<Option<i64>> {
        Ok(self.records.peek()?.map(|ticks| self.process.time_ns(ticks).max(self.last_ns)))
    }

    #[inline(always)]
    fn next(&mut self) -> Result<Option<(i64, Event)>> {
        let Some(record) = self.records.next().transpose()? else { return Ok(None) };
        self.count += 1;
        let event = match &record {
            Record::Message(found) => {
                let post_ns = self.ascending_ns(found.post)?;
                message(self.process, post_ns, found)
            }
            Record::Call(found) => {
                let enter_ns = self.ascending_ns(found.enter)?;
                call(self.process, enter_ns, found)
            }
            Record::Mark(mark) => {
                let time_ns = self.ascending_ns(mark.time)?;
                Event::Mark(Mark { time_ns, rank: Rank(self.process.rank), level: mark.level })
            }
            Record::Counts(counts) => Event::Counts(counts.bytes, counts.len),
        };
        Ok(Some((self.last_ns, event)))
    }

    fn back_ns(&self) -> u64 {
        self.back_ns
    }
}

#[inline]
fn message(process: &Process<'_>, post_ns: i64, message: &profiler::Message) -> Event {
    if message.is_cancelled() {
        return Event::Nothing;
    }
    let communicator = process.communicator(message.communicator);
    let peer = message.peer.map(|peer| process.in_run(peer));
    let complete_ns = message.complete.map(|ticks| process.time_ns(ticks).max(post_ns));
    if message.direction == Direction::Receive {
        let source = Source { communicator, src: peer, tag: message.tag };
        let (bytes, is_internal) = (message.bytes, message.is_internal());
        return Event::Receive {
            source,
            received: Received { post_ns, complete_ns, bytes, position: 0, is_internal },
        };
    }
    let one_sided = message.direction != Direction::Send;
    // One-sided operations that appear as messages are recorded as messages.
    if one_sided && process.recording.header().one_sided_as_messages {
        return Event::Nothing;
    }
    let Some(peer) = peer else { return Event::Foreign };
    let mut sent = Message {
        send_post_ns: post_ns,
        src: Rank(process.rank),
        dst: Rank(peer),
        bytes: message.bytes.unwrap_or(0),
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
    Event::Message(Leaving { message: sent, is_received: !one_sided, is_sized: true })
}

fn call(process: &Process<'_>, enter_ns: i64, call: &profiler::Call) -> Event {
    let communicator = call.communicator.map(|number| process.communicator(number));
    let collective = match call.communicator {
        _ if !process.is_calls_only() || !is_collective(call) => Expandable::No,
        Some(number) => Expandable::On(number),
        None => Expandable::Unknown,
    };
    let call = Call {
        enter_ns,
        leave_ns: call.leave.map(|ticks| process.time_ns(ticks).max(enter_ns)),
        rank: Rank(process.rank),
        operation: call.operation,
        communicator: communicator.filter(|number| *number != NO_COMMUNICATOR),
        root: call.root.map(|root| Rank(process.in_run(root))),
        bytes: part(call),
    };
    Event::Call { call, collective }
}

/// A call's bytes, if they are defined.
fn part(call: &profiler::Call) -> Option<u64> {
    use Operation as Op;
    match call.operation {
        // Below MPI's own interface the size is unknown; see docs/profiling.md.
        Op::NeighborAllgatherv | Op::NeighborAlltoallv | Op::NeighborAlltoallw if call.bytes == 0 => None,
        Op::FileRead | Op::FileWrite => Some(call.bytes),
        operation => (Op::Barrier..=Op::NeighborAlltoallw).contains(&operation).then_some(call.bytes),
    }
}

/// A collective that takes place: persistent ones are prepared by a call, and each start is that
/// call again.
fn is_collective(call: &profiler::Call) -> bool {
    let is_prepared = call.flags & (flags::PERSISTENT | flags::NONBLOCKING) == flags::PERSISTENT;
    !is_prepared && (Operation::Barrier..=Operation::NeighborAlltoallw).contains(&call.operation)
}
