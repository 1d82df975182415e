//! Messages that reach into an occurrence from outside.
//!
//! A message belongs to the occurrence in which it is posted. One that was posted before can still
//! be on its way, or waited for, when an occurrence begins, and what a rank waits for at its end
//! may be posted after it. Without them, waiting at the edges of an occurrence would look like
//! computation.
//!
//! Only what is posted at most as long before or after an occurrence as it lasts counts: nobody has
//! to read the whole run for it.

use std::ops::Range;

use phaseflow_collect::trace::{Message, MessageBlock};

use crate::samples::Span;

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

    /// Rows of a block whose messages may reach over an edge; the others are in no margin.
    /// `start_ns` is the start of the run on the block's clock.
    pub(crate) fn rows(&self, block: &MessageBlock, start_ns: i64) -> impl Iterator<Item = usize> {
        let posts = &block.columns().send_post_ns[..];
        let since = move |time: i64| time.wrapping_sub(start_ns);
        let span = posts.first().zip(posts.last()).filter(|_| !self.edges.is_empty());
        let (before, after) = span.map_or((0, 0), |_| block.reach_ns());
        // A message reaches over an edge from `after` before it until `before` behind it.
        let edges = span.map_or(&[][..], |(first, last)| {
            let from = self.edges.partition_point(|edge| edge.saturating_add(before) <= since(*first));
            let to = self.edges.partition_point(|edge| edge.saturating_sub(after) <= since(*last));
            &self.edges[from..to.max(from)]
        });
        let mut reached = 0;
        edges.iter().flat_map(move |edge| {
            let (from, to) = (edge.saturating_sub(after), edge.saturating_add(before));
            let first = reached.max(posts.partition_point(|post| since(*post) < from));
            reached = first.max(posts.partition_point(|post| since(*post) < to));
            first..reached
        })
    }

    /// True if an occurrence begins or ends after `first` and not after `last`: only then can
    /// messages of this time reach into one.
    fn is_edge_between(&self, first: i64, last: i64) -> bool {
        let next = self.edges.partition_point(|edge| *edge <= first);
        self.edges.get(next).is_some_and(|edge| *edge <= last)
    }

    /// The numbers of the occurrences into which a message reaches that is posted outside of them;
    /// times are since the start of the run. Most messages cross no edge, which takes no more than
    /// a binary search.
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

    #[test]
    fn rows_hold_every_message_that_reaches_over_an_edge() {
        let mut state = 1u64;
        let mut random = |below: i64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33).cast_signed() % below
        };
        let mut reached = 0;
        for start_ns in [0, -5_000, 1 << 40] {
            let spans = [(100, 180), (180, 420), (700, 705), (990, 1000)];
            let span = |(start_ns, end_ns)| Span { start_ns, end_ns };
            let margins = Margins::new(spans.map(span).into_iter().enumerate());
            let mut times: Vec<i64> = (0..1000).map(|_| random(1000)).collect();
            times.sort_unstable();
            let mut block = MessageBlock::default();
            for time in times {
                let send_post_ns = start_ns + time;
                let mut around = |most| (random(3) > 0).then(|| send_post_ns - most / 2 + random(most));
                let (receive_post_ns, receive_complete_ns) = (around(30), around(50));
                block.push(&Message {
                    send_post_ns,
                    receive_post_ns,
                    receive_complete_ns,
                    ..Message::default()
                });
            }
            let since = |message: Message| Message {
                send_post_ns: message.send_post_ns - start_ns,
                receive_post_ns: message.receive_post_ns.map(|time| time - start_ns),
                receive_complete_ns: message.receive_complete_ns.map(|time| time - start_ns),
                ..message
            };
            let reaches = |row: &usize| margins.of(&since(block.get(*row))).next().is_some();
            let expected: Vec<usize> = (0..block.len()).filter(reaches).collect();
            let rows: Vec<usize> = margins.rows(&block, start_ns).collect();
            assert_eq!(rows.iter().copied().filter(reaches).collect::<Vec<_>>(), expected);
            assert!(rows.len() < block.len() && rows.is_sorted_by(|one, next| one < next));
            reached += expected.len();
        }
        assert!(reached > 50, "{reached}");
    }
}
