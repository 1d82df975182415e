//! How long ranks compute and wait for each other, whatever the network: what is known of every
//! stretch of a run before anything of it is simulated.
//!
//! Each rank has a clock. It runs while the rank is outside of MPI, and a message that a rank waits
//! for sets it to what the sender's showed when it sent, if that is later: the longest path through
//! the run where messages take no time (Yang and Miller, *Critical path analysis for the execution
//! of parallel and distributed programs*, ICDCS 1988), by the rules that a replay goes by. By how
//! much the mean of the clocks goes on in a stretch tells what a replay of it takes where
//! computation decides, and nothing where the network does; whoever uses it has to look whether it
//! explains what was measured.
//!
//! Receives whose completion is not known hold nobody up. Waits for buffers of sends are no
//! computation, and hold nobody up.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use phaseflow_collect::Result;
use phaseflow_collect::archive::columns::UNKNOWN;
use phaseflow_collect::trace::{Block, Call, Details, MessageBlock, TraceReader};

use crate::input::Rewindable;

/// Entries of the table, roughly.
const ENTRIES: u64 = 1 << 17;
/// Messages under way and calls to come, at most.
const MOST_WAITING: usize = 1 << 20;

/// The mean of the clocks at every so manieth message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Critical {
    step: u64,
    /// Before message 0, `step`, 2 × `step`, …, and at the end.
    means_ns: Vec<u64>,
    messages: u64,
}

impl Critical {
    /// Reads a run of this size that begins at `start_ns`. `None` if more is on
    /// its way than is worth remembering, or no receive is known.
    ///
    /// # Errors
    /// A damaged trace.
    pub(crate) fn read(
        trace: &mut dyn Rewindable,
        start_ns: i64,
        ranks: u32,
        messages: u64,
    ) -> Result<Option<Self>> {
        let details = Details { arrivals: true, others: true, ..Details::default() };
        let mut reader = TraceReader::open(trace.rewind()?)?.with_details(details);
        let step = (messages / ENTRIES).max(u64::from(ranks)).max(1);
        let mut clocks = Clocks::new(start_ns, ranks, step);
        while let Some(block) = reader.next_block()? {
            match block {
                Block::Messages(block) => clocks.add(block),
                Block::Calls(calls) => clocks.add_calls(calls),
                Block::Marks(_) | Block::Matrix(_) | Block::Sizes(_) => {}
            }
            if clocks.waiting > MOST_WAITING {
                return Ok(None);
            }
        }
        Ok(clocks.finish())
    }

    /// What the mean of the clocks shows before a message.
    pub(crate) fn at(&self, message: u64) -> u64 {
        let place = (message / self.step) as usize;
        let [Some(from), Some(to)] = [place, place + 1].map(|place| self.means_ns.get(place)) else {
            return self.means_ns.last().copied().unwrap_or(0);
        };
        let (since, length) = (message % self.step, self.step.min(self.messages - place as u64 * self.step));
        let part = u128::from(to - from) * u128::from(since.min(length)) / u128::from(length.max(1));
        from + part as u64 // at most the difference
    }
}

/// The clocks of all ranks while messages pass.
struct Clocks {
    ranks: Vec<Clock>,
    step: u64,
    means_ns: Vec<u64>,
    messages: u64,
    /// Of all ranks.
    waiting: usize,
    /// True if any receive is known.
    knows_receives: bool,
}

/// The clock of a rank.
#[derive(Clone, Debug, Default)]
struct Clock {
    shows_ns: u64,
    /// What it was outside of MPI for since it was set.
    owed_ns: u64,
    /// Until when all of that is known.
    known_ns: i64,
    /// When it leaves the calls that it is in.
    leaves_ns: i64,
    /// Calls to come.
    calls: VecDeque<(i64, i64)>,
    /// What is known to come, and when.
    moments: BinaryHeap<Reverse<(i64, Moment)>>,
}

/// What happens to a rank; at the same nanosecond, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    /// It is ready for a message that is there at once.
    ReadyLate,
    /// It has a message, whose sender's clock showed this when it was sent.
    Received(u64),
    /// A buffer is free again.
    Free,
    /// It is ready for a message.
    Ready,
}

impl Clocks {
    fn new(start_ns: i64, ranks: u32, step: u64) -> Self {
        let clock = Clock { known_ns: start_ns, leaves_ns: start_ns, ..Clock::default() };
        Self {
            ranks: vec![clock; ranks as usize],
            step,
            means_ns: Vec::new(),
            messages: 0,
            waiting: 0,
            knows_receives: false,
        }
    }

    fn add_calls(&mut self, calls: &[Call]) {
        for call in calls {
            if let Some(clock) = self.ranks.get_mut(call.rank.0 as usize) {
                clock.calls.push_back((call.enter_ns, call.leave_ns.unwrap_or(i64::MAX).max(call.enter_ns)));
                self.waiting += 1;
            }
        }
    }

    fn add(&mut self, block: &MessageBlock) {
        let (columns, times) = (block.columns(), block.more_times());
        self.knows_receives |= !times[2].is_empty();
        for row in 0..columns.src.len() {
            let now_ns = columns.send_post_ns[row];
            if self.messages.is_multiple_of(self.step) {
                self.note(now_ns);
            }
            self.messages += 1;
            let [src, dst] = [columns.src[row], columns.dst[row]].map(|rank| rank as usize);
            let Some(sender) = self.ranks.get_mut(src) else { continue };
            self.waiting -= sender.go_on(now_ns);
            let shows_ns = sender.compute(now_ns);
            let known = times.map(|times| times.get(row).copied().filter(|after| *after != UNKNOWN));
            let [free, ready, received] = known.map(|after| after.map(|after| now_ns.saturating_add(after)));
            // What takes no time holds nobody up.
            if let Some(free_ns) = free.filter(|free_ns| *free_ns > now_ns) {
                self.waiting += sender.will(free_ns, Moment::Free);
            }
            let Some(receiver) = self.ranks.get_mut(dst) else { continue };
            if let Some(received_ns) = received {
                self.waiting += receiver.will(received_ns, Moment::Received(shows_ns));
            }
            if let Some(ready_ns) = ready.filter(|ready_ns| *ready_ns > receiver.known_ns) {
                let is_late = received.is_some_and(|received_ns| received_ns <= ready_ns);
                let moment = if is_late { Moment::ReadyLate } else { Moment::Ready };
                self.waiting += receiver.will(ready_ns, moment);
            }
        }
    }

    /// Writes down what clocks show.
    fn note(&mut self, now_ns: i64) {
        for clock in &mut self.ranks {
            self.waiting -= clock.go_on(now_ns);
        }
        let sum: u128 = self.ranks.iter().map(|clock| u128::from(clock.shows_ns)).sum();
        let mean = (sum / self.ranks.len().max(1) as u128) as u64; // at most the latest
        self.means_ns.push(mean);
    }

    fn finish(mut self) -> Option<Critical> {
        self.note(i64::MAX);
        let Self { step, means_ns, messages, knows_receives, .. } = self;
        knows_receives.then_some(Critical { step, means_ns, messages })
    }
}

impl Clock {
    /// Does all that is over by now; returns how many calls and messages that were.
    fn go_on(&mut self, now_ns: i64) -> usize {
        let mut count = 0;
        while let Some(Reverse((time_ns, moment))) = self.moments.peek().copied() {
            if time_ns > now_ns {
                break;
            }
            self.moments.pop();
            count += 1 + self.enter(time_ns);
            match moment {
                Moment::Ready | Moment::ReadyLate => _ = self.compute(time_ns),
                _ if time_ns <= self.leaves_ns => _ = self.compute(time_ns),
                // The time before it was a wait.
                Moment::Received(_) | Moment::Free => {
                    (self.owed_ns, self.known_ns) = (0, self.known_ns.max(time_ns));
                }
            }
            if let Moment::Received(shows_ns) = moment {
                self.shows_ns = self.shows_ns.max(shows_ns);
            }
        }
        count + self.enter(now_ns)
    }

    /// Something is known to happen; returns how much more it has to remember.
    fn will(&mut self, time_ns: i64, moment: Moment) -> usize {
        self.moments.push(Reverse((time_ns, moment)));
        1
    }

    /// Enters the calls until a time; returns how many.
    fn enter(&mut self, until_ns: i64) -> usize {
        let mut count = 0;
        while let Some(&(enter_ns, leave_ns)) = self.calls.front()
            && enter_ns <= until_ns
        {
            self.calls.pop_front();
            self.owe(enter_ns);
            self.leaves_ns = self.leaves_ns.max(leave_ns);
            count += 1;
        }
        count
    }

    /// Adds up the time outside of calls.
    fn owe(&mut self, until_ns: i64) {
        let from_ns = self.known_ns.max(self.leaves_ns);
        self.owed_ns = self.owed_ns.saturating_add(until_ns.saturating_sub(from_ns).max(0).cast_unsigned());
        self.known_ns = self.known_ns.max(until_ns);
    }

    /// The time outside of calls until then was computation; returns what it shows then.
    fn compute(&mut self, until_ns: i64) -> u64 {
        self.owe(until_ns);
        self.shows_ns = self.shows_ns.saturating_add(std::mem::take(&mut self.owed_ns));
        self.shows_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rewind;
    use phaseflow_collect::trace::{Message, Operation, Rank, RunFacts, TraceWriter};
    use std::io::Cursor;

    /// A message from one rank to another that is posted, received, and for which the receiver is
    /// ready at these times.
    fn message((src, dst): (u32, u32), [post, ready, received]: [i64; 3]) -> Message {
        Message {
            send_post_ns: post,
            src: Rank(src),
            dst: Rank(dst),
            send_complete_ns: Some(post),
            receive_post_ns: Some(ready),
            receive_complete_ns: Some(received),
            ..Message::default()
        }
    }

    fn call(rank: u32, enter_ns: i64, leave_ns: i64) -> Call {
        Call {
            enter_ns,
            leave_ns: Some(leave_ns),
            rank: Rank(rank),
            operation: Operation::Barrier,
            ..Call::default()
        }
    }

    /// The mean of the clocks of two ranks before each message and at the end, if the run starts at
    /// 1000.
    fn means(calls: &[Call], messages: &[Message]) -> Vec<u64> {
        let mut writer = TraceWriter::new(Vec::new(), false, "test").unwrap();
        calls.iter().for_each(|call| writer.call(call).unwrap());
        messages.iter().for_each(|message| writer.message(message).unwrap());
        let mut trace = Rewind(Cursor::new(writer.finish(&RunFacts::default()).unwrap().1));
        let critical = Critical::read(&mut trace, 1000, 2, messages.len() as u64).unwrap().unwrap();
        (0..=messages.len() as u64).map(|number| critical.at(number)).collect()
    }

    #[test]
    fn who_waits_has_the_time_of_who_sends_and_not_what_the_message_took() {
        // Rank 0 computes 100 ns; rank 1 is ready after 40, waits, computes 30 after it has the
        // message, and sends it back. Rank 0 waits for it.
        let there = message((0, 1), [1100, 1040, 1150]);
        let back = message((1, 0), [1180, 1100, 1300]);
        // At the second message rank 0 has 100 and rank 1 100 + 30, then both have 130. The table
        // has every second message.
        let found = means(&[], &[there, back]);
        assert_eq!(found, [0, 65, 130]);
    }

    #[test]
    fn time_in_calls_is_none_and_time_before_a_receive_is_posted_is_computation() {
        // Rank 0 computes 20, is in a call for 60, computes 20 more and sends; rank 1 computes 70,
        // and waits.
        let only = message((0, 1), [1100, 1070, 1110]);
        assert_eq!(means(&[call(0, 1020, 1080)], &[only]), [0, (40 + 70) / 2]);
        assert_eq!(means(&[], &[only]), [0, 100]);
    }

    #[test]
    fn computation_before_a_receive_inside_of_a_call_counts() {
        // Rank 1 is ready at once, and computes 90 before the call in which it has the message of
        // rank 0, which computed 50.
        let only = message((0, 1), [1050, 1000, 1100]);
        assert_eq!(means(&[call(1, 1090, 1200)], &[only]), [0, (50 + 90) / 2]);
        // Without the call it waited all the time.
        assert_eq!(means(&[], &[only]), [0, 50]);
    }

    #[test]
    fn nothing_is_known_without_receives() {
        let mut writer = TraceWriter::new(Vec::new(), false, "test").unwrap();
        writer.message(&Message { send_post_ns: 5, dst: Rank(1), ..Message::default() }).unwrap();
        let mut trace = Rewind(Cursor::new(writer.finish(&RunFacts::default()).unwrap().1));
        assert_eq!(Critical::read(&mut trace, 0, 2, 1).unwrap(), None);
    }
}
