//! Messages that reach into an occurrence from outside.
//!
//! A message belongs to the occurrence in which it is posted. One that was posted before can still be on its way, or waited for, when an
//! occurrence begins, and what a rank waits for at its end may be posted after it. Without them, waiting at the edges of an occurrence would
//! look like computation.
//!
//! Only what is posted at most as long before or after an occurrence as it lasts counts: nobody has to read the whole run for it.

use std::ops::Range;

use phaseflow_collect::trace::Message;

use crate::sample::Span;

/// What is posted within this time may reach into an occurrence of this span.
pub(crate) fn near(span_ns: &Range<i64>) -> Range<i64> {
    let length = span_ns.end.saturating_sub(span_ns.start);
    span_ns.start.saturating_sub(length)..span_ns.end.saturating_add(length)
}

/// The edges of some stretches of a run.
#[derive(Clone, Debug)]
pub struct Margins {
    /// Number, start and end of each; nanoseconds since the start of the run.
    spans: Vec<(usize, i64, i64)>,
    /// Starts and ends in order.
    edges: Vec<i64>,
}

impl Margins {
    /// Of stretches, each with a number.
    pub fn new(stretches: impl Iterator<Item = (usize, Span)>) -> Self {
        let span =
            |(number, span): (usize, Span)| (number, span.start_ns.cast_signed(), span.end_ns.cast_signed());
        let spans: Vec<(usize, i64, i64)> = stretches.map(span).collect();
        let mut edges: Vec<i64> = spans.iter().flat_map(|(_, start, end)| [*start, *end]).collect();
        edges.sort_unstable();
        edges.dedup();
        Self { spans, edges }
    }

    /// True if an occurrence begins or ends after `first` and not after `last`: only then can messages of this time reach into one.
    pub(crate) fn is_edge_between(&self, first: i64, last: i64) -> bool {
        let next = self.edges.partition_point(|edge| *edge <= first);
        self.edges.get(next).is_some_and(|edge| *edge <= last)
    }

    /// The numbers of the occurrences into which a message reaches that is posted outside of them; times are since the start of the run.
    /// Most messages cross no edge, which takes no more than a binary search.
    pub fn of(&self, message: &Message) -> impl Iterator<Item = usize> {
        let post = message.send_post_ns;
        let times = [message.receive_post_ns, message.send_complete_ns, message.receive_complete_ns];
        let (first, last) = times
            .iter()
            .flatten()
            .fold((post, post), |(first, last), time| (first.min(*time), last.max(*time)));
        let spans = if self.is_edge_between(first, last) { &self.spans[..] } else { &[] };
        spans.iter().filter_map(move |(number, start, end)| {
            let outside = (post < *start || post >= *end) && near(&(*start..*end)).contains(&post);
            (outside && first < *end && last >= *start).then_some(*number)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_reach_in() {
        let span = |start_ns, end_ns| Span { start_ns, end_ns };
        let margins = Margins::new([span(10, 20), span(20, 30), span(50, 60)].into_iter().enumerate());
        let reached = |post: i64, ready: i64, there: i64| {
            let message = Message {
                send_post_ns: post,
                receive_post_ns: Some(ready),
                receive_complete_ns: Some(there),
                ..Message::default()
            };
            margins.of(&message).collect::<Vec<_>>()
        };
        assert_eq!(reached(12, 11, 19), [0; 0], "stays inside");
        assert_eq!(reached(12, 11, 25), [1], "is received later");
        assert_eq!(reached(29, 15, 40), [0], "is waited for before it is posted");
        assert_eq!(reached(31, 31, 49), [0; 0], "lies between");
        assert_eq!(reached(41, 41, 70), [2], "passes over");
        assert_eq!(reached(31, 31, 70), [0; 0], "was posted too long before");
    }
}
