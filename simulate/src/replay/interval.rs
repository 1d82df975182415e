//! The messages and calls of an interval of a trace.

use phaseflow_collect::trace::{Call, Message, MessageBlock};
use phaseflow_segment::{Margins, Records, Span};

use super::collectives::is_replaceable;

/// Messages and calls of an interval of a trace.
///
/// Memory: up to 72 bytes a message and 24 a call, until
/// [`Operations::new`](super::Operations::new) has made operations of them.
#[derive(Clone, Debug, Default)]
pub struct TraceInterval {
    messages: MessageBlock,
    margin: MessageBlock,
    stays: Vec<Stay>,
    /// Calls that can be replaced.
    collectives: Vec<Call>,
}

/// A rank was inside MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stay {
    pub(super) rank: u32,
    pub(super) enter_ns: i64,
    /// [`i64::MAX`] if it never returned.
    pub(super) leave_ns: i64,
}

impl TraceInterval {
    /// Adds what an archive holds.
    pub fn push(&mut self, records: Records<'_>) {
        match records {
            Records::Messages(block) => self.messages.append(block, 0..block.len()),
            Records::Margin(block) => self.margin.append(block, 0..block.len()),
            Records::Calls(calls) => calls.iter().for_each(|call| self.call(call)),
        }
    }

    /// Adds a message.
    pub fn message(&mut self, message: &Message) {
        self.messages.push(message);
    }

    /// Adds a call.
    pub fn call(&mut self, call: &Call) {
        let leave_ns = call.leave_ns.unwrap_or(i64::MAX).max(call.enter_ns);
        self.stays.push(Stay { rank: call.rank.0, enter_ns: call.enter_ns, leave_ns });
        if is_replaceable(call.operation) {
            self.collectives.push(*call);
        }
    }

    /// Number of messages.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// True without messages.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(super) fn messages(&self) -> &MessageBlock {
        &self.messages
    }

    pub(super) fn margin(&self) -> &MessageBlock {
        &self.margin
    }

    /// Adds a message that is posted outside the interval; it only shows when ranks waited.
    pub fn outside(&mut self, message: &Message) {
        self.margin.push(message);
    }

    pub(super) fn collectives(&self) -> &[Call] {
        &self.collectives
    }

    pub(super) fn stays(&self) -> &[Stay] {
        &self.stays
    }
}

impl TraceInterval {
    /// Parts of the interval, each with the messages and calls that overlap it. A part that ends
    /// with the run, at `last_ns`, includes what is posted at that time.
    pub(super) fn cut(&self, spans: &[Span], last_ns: Option<u64>, start_ns: i64) -> Vec<Self> {
        // The latest end of a call that begins by this time.
        let mut latest = i64::MIN;
        let leaves: Vec<i64> = self
            .stays
            .iter()
            .map(|stay| {
                latest = latest.max(stay.leave_ns);
                latest
            })
            .collect();
        let part = |span: &Span| {
            let mut interval = Self::default();
            let (start, end) = (trace_time(span.start_ns, start_ns), trace_time(span.end_ns, start_ns));
            let end = if Some(span.end_ns) == last_ns { end.saturating_add(1) } else { end };
            let rows = self.posted(start, end);
            interval.messages.append(&self.messages, rows);
            let first = leaves.partition_point(|leave_ns| *leave_ns <= start);
            let stays = self.stays[first..].iter().take_while(|stay| stay.enter_ns < end);
            interval.stays.extend(stays.filter(|stay| stay.leave_ns > start));
            let overlaps =
                |call: &&Call| call.enter_ns < end && call.leave_ns.is_none_or(|leave| leave > start);
            interval.collectives.extend(self.collectives.iter().filter(overlaps));
            interval
        };
        let mut parts: Vec<Self> = spans.iter().map(part).collect();
        let margins = Margins::new(spans.iter().copied().enumerate());
        for message in self.messages.iter().chain(self.margin.iter()) {
            let shift = |time: i64| time.wrapping_sub(start_ns);
            let since = Message {
                send_post_ns: shift(message.send_post_ns),
                send_complete_ns: message.send_complete_ns.map(shift),
                receive_post_ns: message.receive_post_ns.map(shift),
                receive_complete_ns: message.receive_complete_ns.map(shift),
                ..message
            };
            margins.of(&since).for_each(|part| parts[part].outside(&message));
        }
        parts
    }

    /// Which messages are posted from `start` to before `end`, on their own clock.
    pub(super) fn posted(&self, start: i64, end: i64) -> std::ops::Range<usize> {
        let posts = &self.messages.columns().send_post_ns;
        let first = posts.partition_point(|time| *time < start);
        first..posts.partition_point(|time| *time < end).max(first)
    }
}

/// A time of a segmentation on the clock of the messages.
pub(super) fn trace_time(time_ns: u64, start_ns: i64) -> i64 {
    start_ns.saturating_add_unsigned(time_ns)
}
