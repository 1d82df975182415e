//! Extraction of the operations of ranks from a trace.
//!
//! A trace has the times of one network. A replay on another network needs the dependencies instead
//! of the times. For each rank, the moments of its messages (receive posted, payload received, send
//! posted, buffer free again) are sorted by time. Between two moments the rank computes or waits.
//!
//! # Which waits are inferred
//!
//! - **What a rank does after it received a message depends on that message.** Every receive
//!   becomes a wait at the moment of its completion. Where a program waits for several messages, or
//!   for any, the trace has the order of completion. Wildcards therefore match as recorded.
//! - The buffer of a send is treated alike, where the moment of its release is known.
//! - A receive whose completion is **not known** (text formats, expanded collectives) becomes a
//!   wait at the earlier of two moments: the receiver's next send that is posted after the message,
//!   and the end of a call that encloses the post at the receiver. Without either, the wait is at
//!   the end.
//!
//! # What is computation
//!
//! - Time outside of calls, unless it ends with the completion of a request. Such a gap is a wait:
//!   blocking receives and sends are not calls of their own in a trace.
//! - If that completion is inside a call, the time before the call is computation.
//! - A gap that ends with a completion that is not known is computation.
//! - Calls and messages across the edge of the interval count with their part inside;
//!   [margins](phaseflow_segment::Margins) describe them.
//! - Time inside of calls is no computation; this includes the arithmetic of reductions.
//!
//! # What holds because of it
//!
//! The moments by time, equal times in the order of `Class`, are a feasible order of execution: the
//! replay of a consistent trace has no deadlock. Only messages whose receive was posted before the
//! send's buffer was free can be a rendezvous. This is necessary for one, but no proof. Errors
//! between the clocks of two ranks do not change the order on each rank; they can only make an
//! eager message look like a rendezvous.
//!
//! # Collectives
//!
//! The messages inside a collective are replayed as the trace has them. Where the calls are known
//! too, the operations list the messages of each [collective](Operations::collectives), so that a
//! [`Replacement`](super::Replacement) can take their place.
//!
//! # Where it fails
//!
//! Known errors: the recorder leaves out short waits. A rank that receives without blocking,
//! computes, and then finds the message complete looks like one that waits all the time; its
//! computation is lost. A message that is sent before the interval delays no rank in the replay.

use phaseflow_collect::trace::{Message, Operation};
use phaseflow_collect::{Error, Result};

use super::collectives::Collectives;
use super::inside::{Calls, Outside, is_inside};
use super::interval::TraceInterval;
use super::moments::{Class, Moment, MomentsByRank, Sends, is_received, outside, receiving, sending};
use super::op::{Op, Transfer, too_many_messages};
use super::operations::{NAMED, Operations};

impl Operations {
    /// Operations of `ranks` ranks from `start_ns` to `end_ns` on the clock of the interval.
    /// Stretches begin at `start_ns` and at each of `boundaries_ns`, which ascend.
    ///
    /// # Errors
    /// A rank beyond those of the run; more than 2³²−1 messages.
    pub fn new(
        interval: &TraceInterval,
        ranks: u32,
        span: (i64, i64),
        boundaries_ns: &[i64],
    ) -> Result<Self> {
        let count = u32::try_from(interval.len()).map_err(|_| too_many_messages())?;
        check_ranks(interval, ranks)?;
        let source = Source::new(interval, (count, ranks), span, boundaries_ns);
        let moments = MomentsByRank::new(ranks, |visit| source.moments(visit));
        let messages = interval.messages();
        let transfers = (0..interval.len()).map(|i| transfer(&messages.get(i), &source.collectives));
        let mut operations = Self {
            ops: Vec::with_capacity(moments.len()),
            ends: Vec::with_capacity(ranks as usize),
            messages: transfers.collect(),
            stretches: boundaries_ns.len() + 1,
            unmatched: unmatched(interval, source.knows_receives),
            ..Self::default()
        };
        moments.sorted(|rank, own| operations.rank(own, source.calls.of(rank), span))?;
        (operations.collectives, operations.groups) = (source.collectives.all, source.collectives.groups);
        Ok(operations)
    }

    /// Appends what a rank does.
    fn rank(
        &mut self,
        moments: &[Moment],
        calls: &[(i64, i64)],
        (start_ns, end_ns): (i64, i64),
    ) -> Result<()> {
        // Whether the gap before a moment is a wait; a boundary is in the middle of one.
        let mut is_wait = vec![false; moments.len() + 1];
        for (i, moment) in moments.iter().enumerate().rev() {
            is_wait[i] = match moment.class {
                Class::Boundary => is_wait[i + 1],
                _ => moment.class.completes() && !is_inside(calls, moment.time_ns),
            };
        }
        let (mut at, mut calls) = (start_ns, Outside::new(calls));
        for (moment, is_wait) in moments.iter().zip(is_wait) {
            // Computation after the end belongs to the next interval.
            let time = moment.time_ns.clamp(at, end_ns.max(at));
            let outside = calls.until(at, time);
            if !is_wait {
                self.compute(outside)?;
            }
            self.ops.extend(moment.op());
            at = time;
        }
        self.compute(calls.until(at, end_ns.max(at)))?;
        self.ends.push(self.ops.len());
        Ok(())
    }

    fn compute(&mut self, gap_ns: u64) -> Result<()> {
        if gap_ns > 0 {
            let index = u32::try_from(self.gaps_ns.len()).map_err(|_| too_many_messages())?;
            self.gaps_ns.push(gap_ns);
            self.ops.push(Op::Compute(index));
        }
        Ok(())
    }
}

fn check_ranks(interval: &TraceInterval, ranks: u32) -> Result<()> {
    let messages = interval.messages();
    for i in 0..interval.len() {
        let message = messages.get(i);
        let rank = message.src.0.max(message.dst.0);
        if rank >= ranks {
            return Err(Error::data(format!("message {i} is of rank {rank}, the run has {ranks} ranks")));
        }
    }
    Ok(())
}

/// The input of operations.
struct Source<'a> {
    interval: &'a TraceInterval,
    count: u32,
    ranks: u32,
    span: (i64, i64),
    boundaries_ns: &'a [i64],
    /// True if a receive is known of any message.
    knows_receives: bool,
    calls: Calls,
    sends: Sends,
    collectives: Collectives,
}

impl<'a> Source<'a> {
    fn new(
        interval: &'a TraceInterval,
        (count, ranks): (u32, u32),
        span: (i64, i64),
        boundaries_ns: &'a [i64],
    ) -> Self {
        let messages = interval.messages();
        Self {
            interval,
            count,
            ranks,
            span,
            boundaries_ns,
            knows_receives: (0..interval.len()).any(|i| is_received(&messages.get(i))),
            calls: Calls::new(interval.stays(), ranks),
            sends: Sends::new(interval, ranks),
            collectives: Collectives::new(interval.collectives(), ranks, span),
        }
    }

    /// Visits all moments of all ranks.
    fn moments(&self, visit: &mut dyn FnMut(u32, Moment)) {
        let (start_ns, _) = self.span;
        let messages = self.interval.messages();
        for number in 0..self.count {
            let message = messages.get(number as usize);
            sending(&message, number, start_ns, visit);
            if is_received(&message) || !self.knows_receives {
                receiving(&message, number, start_ns, &self.calls, &self.sends, visit);
            }
        }
        for message in self.interval.margin().iter() {
            outside(&message, self.span, self.ranks, visit);
        }
        self.collectives.entries(&mut |rank, time_ns, number| {
            let time_ns = time_ns.max(start_ns);
            visit(rank, Moment { time_ns, class: Class::Join, number });
        });
        for rank in 0..self.ranks {
            for (number, time_ns) in (0..).zip(self.boundaries_ns) {
                visit(rank, Moment { time_ns: *time_ns, class: Class::Boundary, number });
            }
        }
    }
}

fn transfer(message: &Message, collectives: &Collectives) -> Transfer {
    let buffered =
        message.send_complete_ns.zip(message.receive_post_ns).is_some_and(|(free, ready)| free < ready);
    Transfer {
        src: message.src.0,
        dst: message.dst.0,
        bytes: message.bytes,
        buffered,
        announced: message.receive_post_ns.is_some(),
        collective: collectives.has(message),
    }
}

fn is_one_sided(message: &Message) -> bool {
    matches!(message.operation, Operation::Put | Operation::Get | Operation::Accumulate)
}

fn unmatched(interval: &TraceInterval, knows_receives: bool) -> (Vec<u32>, u64) {
    // A source without any receives has no unmatched sends to report.
    if !knows_receives {
        return (Vec::new(), 0);
    }
    let messages = interval.messages();
    // One-sided operations have no receive.
    let is_lacking = |message: &Message| !is_received(message) && !is_one_sided(message);
    let lacking = || (0..interval.len()).filter(|i| is_lacking(&messages.get(*i)));
    (lacking().take(NAMED).map(|i| i as u32).collect(), lacking().count() as u64)
}
