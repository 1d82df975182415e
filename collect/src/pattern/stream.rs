//! Streams of sends at nominal times, as a trace in order of time.
//!
//! Undisturbed ranks send in trace order. Messages of late ranks wait in a queue until no earlier
//! one can follow. Memory is thus that of the messages of the longest delay, and bounded.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::tracker::{Name, Tracker};
use crate::archive::columns::LARGEST_BLOCK;
use crate::trace::{Block, Call, Mark, Message, MessageBlock, Operation, Rank, Sink};
use crate::{Error, Result};

/// Bytes that a rank sends in a nanosecond: 8 Gbit/s, a round number near 10 Gbit/s Ethernet.
pub const BYTES_PER_NS: u64 = 1;

/// Time of a message beyond its bytes, from post to arrival, nanoseconds: a typical latency of MPI.
pub const OVERHEAD_NS: u64 = 1_000;

/// Most records that wait: about a gigabyte.
const MOST_WAITING: usize = 1 << 24;

/// From post to arrival.
pub(super) fn step_ns(bytes: u64) -> u64 {
    (bytes / BYTES_PER_NS).saturating_add(OVERHEAD_NS)
}

/// A send of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Send {
    pub(super) dst: u32,
    pub(super) bytes: u64,
    pub(super) operation: Operation,
    /// Time at which the receiver is ready.
    pub(super) receive_post_ns: i64,
    /// The stretch that it belongs to; noise belongs to none.
    pub(super) stretch: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Mark(i32),
    Call { leave_ns: i64, operation: Operation, bytes: u64 },
    Send(Send),
}

/// Ordered by time, then rank, then the order in which the rank did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    time_ns: i64,
    rank: u32,
    number: u64,
    what: What,
}

/// A trace in the making.
pub(super) struct Stream<'a> {
    sink: &'a mut dyn Sink,
    tracker: Tracker<'a>,
    /// Events come in order.
    ordered: bool,
    /// The number that each rank goes by; empty if its own.
    numbers: Vec<u32>,
    waiting: BinaryHeap<Reverse<Event>>,
    most_waiting: usize,
    /// Events so far.
    added: u64,
    messages: MessageBlock,
    calls: Vec<Call>,
    marks: Vec<Mark>,
    end_ns: i64,
}

impl<'a> Stream<'a> {
    pub(super) fn new(
        sink: &'a mut dyn Sink,
        tracker: Tracker<'a>,
        ordered: bool,
        numbers: Vec<u32>,
    ) -> Self {
        Self {
            sink,
            tracker,
            ordered,
            numbers,
            waiting: BinaryHeap::new(),
            most_waiting: MOST_WAITING,
            added: 0,
            messages: MessageBlock::default(),
            calls: Vec::new(),
            marks: Vec::new(),
            end_ns: 0,
        }
    }

    /// The program goes on to another stretch; its number.
    pub(super) fn begin(&mut self, name: Name, idle: bool) -> u64 {
        self.tracker.begin(name, idle)
    }

    pub(super) fn mark(&mut self, time_ns: i64, rank: u32, level: i32) -> Result<()> {
        self.add(time_ns, rank, What::Mark(level))
    }

    pub(super) fn call(
        &mut self,
        (enter_ns, leave_ns): (i64, i64),
        rank: u32,
        (operation, bytes): (Operation, u64),
    ) -> Result<()> {
        self.add(enter_ns, rank, What::Call { leave_ns, operation, bytes })
    }

    pub(super) fn send(&mut self, post_ns: i64, src: u32, send: Send) -> Result<()> {
        if send.stretch.is_some() {
            self.tracker.sent();
        }
        let dst = self.number(send.dst);
        self.add(post_ns, src, What::Send(Send { dst, ..send }))
    }

    fn number(&self, rank: u32) -> u32 {
        self.numbers.get(rank as usize).copied().unwrap_or(rank)
    }

    fn add(&mut self, time_ns: i64, rank: u32, what: What) -> Result<()> {
        let event = Event { time_ns, rank: self.number(rank), number: self.added, what };
        self.added += 1;
        if self.ordered {
            return self.emit(event);
        }
        if self.waiting.len() == self.most_waiting {
            return Err(Error::usage(format!(
                "ranks are so late that more than {} messages wait for their turn; expected less skew, jitter or noise",
                self.most_waiting
            )));
        }
        self.waiting.push(Reverse(event));
        Ok(())
    }

    /// No later record is before `now_ns`.
    pub(super) fn release(&mut self, now_ns: i64) -> Result<()> {
        while self.waiting.peek().is_some_and(|event| event.0.time_ns < now_ns) {
            if let Some(Reverse(event)) = self.waiting.pop() {
                self.emit(event)?;
            }
        }
        Ok(())
    }

    fn emit(&mut self, Event { time_ns, rank, what, .. }: Event) -> Result<()> {
        let full = match what {
            What::Mark(level) => {
                self.end_ns = self.end_ns.max(time_ns);
                self.marks.push(Mark { time_ns, rank: Rank(rank), level });
                self.marks.len()
            }
            What::Call { leave_ns, operation, bytes } => {
                self.end_ns = self.end_ns.max(leave_ns);
                self.calls.push(Call {
                    enter_ns: time_ns,
                    leave_ns: Some(leave_ns),
                    rank: Rank(rank),
                    operation,
                    communicator: None,
                    root: None,
                    bytes: Some(bytes),
                });
                self.calls.len()
            }
            What::Send(send) => {
                let arrival = time_ns.checked_add_unsigned(step_ns(send.bytes));
                let arrival = arrival.map(|arrival| arrival.max(send.receive_post_ns));
                self.messages.push(&Message {
                    send_post_ns: time_ns,
                    src: Rank(rank),
                    dst: Rank(send.dst),
                    bytes: send.bytes,
                    operation: send.operation,
                    // Sums beyond the limit end the run at the end of this step.
                    send_complete_ns: time_ns.checked_add_unsigned(send.bytes / BYTES_PER_NS),
                    receive_post_ns: Some(send.receive_post_ns),
                    receive_complete_ns: arrival,
                    ..Message::default()
                });
                let arrival = arrival.unwrap_or(i64::MAX);
                self.end_ns = self.end_ns.max(arrival);
                self.tracker.seen(send.stretch, time_ns, arrival)?;
                self.messages.len()
            }
        };
        if full == LARGEST_BLOCK { self.flush() } else { Ok(()) }
    }

    /// Passes on emitted records; marks and calls precede the messages that they govern.
    fn flush(&mut self) -> Result<()> {
        if !self.marks.is_empty() {
            self.sink.block(Block::Marks(&self.marks))?;
            self.marks.clear();
        }
        if !self.calls.is_empty() {
            self.sink.block(Block::Calls(&self.calls))?;
            self.calls.clear();
        }
        if !self.messages.is_empty() {
            self.sink.block(Block::Messages(&self.messages))?;
            self.messages.clear();
        }
        Ok(())
    }

    /// Passes on all records at the end of the program, `now_ns`. Returns the end of the run.
    pub(super) fn finish(mut self, now_ns: i64) -> Result<i64> {
        self.release(i64::MAX)?;
        // Records at the greatest time have to be passed on too.
        while let Some(Reverse(event)) = self.waiting.pop() {
            self.emit(event)?;
        }
        self.flush()?;
        let end = self.end_ns.max(now_ns);
        self.tracker.settle(Some(end))?;
        Ok(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::CsvExport;

    #[test]
    fn what_waits_is_bounded() {
        let mut sink = CsvExport::new(std::io::sink());
        let mut truth = |_: &crate::truth::TrueStretch<'_>| Ok(());
        let mut stream = Stream::new(&mut sink, Tracker::new(&[], &mut truth), false, Vec::new());
        stream.most_waiting = 3;
        (0..3).for_each(|time| stream.mark(time, 0, 1).unwrap());
        assert_eq!(
            stream.mark(3, 0, 1).unwrap_err().to_string(),
            "ranks are so late that more than 3 messages wait for their turn; expected less skew, jitter or noise"
        );
        stream.release(2).unwrap();
        assert_eq!(stream.waiting.len(), 1);
    }
}
