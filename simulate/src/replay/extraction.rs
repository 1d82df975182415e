//! Extraction of the operations of ranks from a trace.
//!
//! A trace tells when things happened on one network. To tell when they would happen on another
//! one, the times have to go and the reasons have to stay. For each rank the moments of its
//! messages (receive posted, payload received, send posted, buffer free again) are put in the order
//! of time; between two of them the rank computed or waited.
//!
//! # Which waits are inferred
//!
//! - **What a rank does after it received a message depends on that message.** Every receive
//!   becomes a wait at the moment of its completion. Where a program waited for several, or for
//!   any, the trace says what it got, and in which order: wildcards match as they did when the
//!   trace was taken.
//! - Likewise for the buffer of a send, where the moment of its release is known.
//! - A receive whose completion is **not known** (text formats, expanded collectives) is waited for
//!   before the receiver's next send that was posted later than the message, or when the receiver
//!   leaves a call that it was in when the message was posted, whatever comes first; if there is
//!   neither, at the end.
//!
//! # What is computation
//!
//! - Time outside of calls, unless it ends with the completion of a request. Such a gap is a wait:
//!   blocking receives and sends are not calls of their own in a trace.
//! - If that completion is inside a call, the time before the call is computation.
//! - A gap that ends with a completion that is not known is computation.
//! - What begins before the interval or ends after it counts with its part inside;
//!   [margins](phaseflow_segment::Margins) tell what it was.
//! - Time inside of calls is none, so neither are the operations of a reduction.
//!
//! # What holds because of it
//!
//! Taking the moments by time, at equal times in the order of `Class`, is an order in which every
//! rank could do its part: a replay made of a sound trace has no deadlock. A rendezvous is only
//! asked of messages whose receive was posted before the send's buffer was free, which proves no
//! rendezvous but allows one. Errors between the clocks of two ranks do not matter where the order
//! is that of one rank; they can make a message look as if it could have been a rendezvous.
//!
//! # Collectives
//!
//! The messages inside a collective are replayed as the trace has them. Where the calls are known
//! too, the operations also tell which messages belong to which
//! [collective](Operations::collectives), so that something else can take their place:
//! [`Replacement`](super::Replacement).
//!
//! # Where it fails
//!
//! A rank that receives without blocking, computes, and then finds the message there without having
//! waited looks like one that waited all the time, if the recorder left out the short wait: its
//! computation is lost. What a rank waited for at the start of an interval may have been sent
//! before: nothing holds it up in the replay.

use phaseflow_collect::trace::{Message, Operation};
use phaseflow_collect::{Error, Result};

use super::collectives::Collectives;
use super::inside::{Calls, Outside, is_inside};
use super::interval::TraceInterval;
use super::moments::{Class, Moment, MomentsByRank, Sends, is_received, outside, receiving, sending};
use super::op::{Op, Transfer, too_many_messages};
use super::operations::{NAMED, Operations};

impl Operations {
    /// What `ranks` ranks do from `start_ns` to `end_ns` on the clock of the interval; stretches
    /// begin at `start_ns` and at each of `boundaries_ns`, which ascend.
    ///
    /// # Errors
    /// A rank that the run does not have; more than 2³²−1 messages.
    pub fn new(
        interval: &TraceInterval,
        ranks: u32,
        span: (i64, i64),
        boundaries_ns: &[i64],
    ) -> Result<Self> {
        let count = u32::try_from(interval.len()).map_err(|_| too_many_messages())?;
        check_ranks(interval, ranks)?;
        let source = Source::new(interval, (count, ranks), span, boundaries_ns);
        let mut moments = MomentsByRank::new(ranks, |visit| source.moments(visit));
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
        for rank in 0..ranks {
            operations.rank(moments.sorted(rank), source.calls.of(rank), span)?;
        }
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
            // What a rank computes beyond the end is the concern of the next interval.
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

/// What operations are made of.
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
    // A source that knows of no receive at all does not tell of unmatched ones.
    if !knows_receives {
        return (Vec::new(), 0);
    }
    let messages = interval.messages();
    // Nobody receives what is put into memory, or got from it.
    let is_lacking = |message: &Message| !is_received(message) && !is_one_sided(message);
    let lacking = || (0..interval.len()).filter(|i| is_lacking(&messages.get(*i)));
    (lacking().take(NAMED).map(|i| i as u32).collect(), lacking().count() as u64)
}
