//! Boundaries that are right to the message.
//!
//! A true boundary is a zone where ranks are late: any place from the first message of the new
//! phase to the last one of the old is as good as any other, and so is any place among messages
//! between the two that belong to neither: noise, and barriers. So is, where an idle stretch begins
//! or ends, any place among the noise in it. A boundary is exact if it lies in the zone or at most
//! one message beside it.

use std::ops::Range;

use super::Interval;
use super::pairs::f1;

/// How far beside its zone a boundary may be, in messages.
const BESIDE: u64 = 1;

/// Zones of the true boundaries, and places of the found ones, in messages before them.
pub(super) struct Places {
    /// Empty if the truth does not know its messages.
    zones: Vec<(u64, u64)>,
    /// In ascending order.
    found: Vec<u64>,
}

impl Places {
    pub(super) fn new(truth: &[Interval], found: &[Interval]) -> Self {
        let known = truth.iter().any(|own| own.messages.is_some());
        Self {
            zones: if known { zones(truth) } else { Vec::new() },
            // Found stretches share no message, so these zones are places.
            found: zones(found).into_iter().map(|zone| zone.0).collect(),
        }
    }

    /// Which found boundaries are exact for a true one.
    pub(super) fn exact(&self, boundary: usize) -> Range<usize> {
        let Some((first, last)) = self.zones.get(boundary) else { return 0..0 };
        let before = |most: u64| self.found.partition_point(|place| *place < most);
        before(first.saturating_sub(BESIDE))..before(last.saturating_add(BESIDE + 1))
    }
}

/// Harmonic mean of precision and recall of exact boundaries; `None` if the truth does not know its
/// messages.
pub(super) fn exact_f1(truth: &[Interval], found: &[Interval]) -> Option<f64> {
    truth.iter().any(|own| own.messages.is_some()).then(|| {
        let places = Places::new(truth, found);
        let ranges = (0..places.zones.len()).map(|boundary| places.exact(boundary)).collect();
        f1(ranges, places.found.len())
    })
}

/// For each boundary the least and the greatest number of messages that may be before it.
fn zones(stretches: &[Interval]) -> Vec<(u64, u64)> {
    let count = stretches.len();
    // The first message of what comes from a stretch on; without one, nothing is known but that it
    // is not before the last.
    let mut next = vec![None; count + 1];
    for i in (0..count).rev() {
        next[i] = stretches[i].messages.map(|messages| messages.0).or(next[i + 1]);
    }
    let mut last: Option<u64> = None;
    let mut zones = Vec::with_capacity(count.saturating_sub(1));
    for i in 0..count.saturating_sub(1) {
        last = stretches[i].messages.map(|messages| messages.1).or(last);
        let end = last.map_or(0, |last| last + 1);
        let begin = next[i + 1].unwrap_or(end);
        zones.push((end.min(begin), end.max(begin)));
    }
    zones
}

#[cfg(test)]
mod tests {
    use super::super::tiled;
    use super::*;
    use crate::list::IDLE;

    /// Stretches of 10 ns: label, first and last message.
    fn stretches(stretches: &[(&str, Option<(u64, u64)>)]) -> Vec<Interval> {
        let mut end_ns = 0;
        let interval = |(label, messages): &(&str, _)| {
            end_ns += 10;
            Interval { start_ns: end_ns - 10, end_ns, label: (*label).into(), messages: *messages }
        };
        let all: Vec<Interval> = stretches.iter().map(interval).collect();
        tiled(&all, end_ns)
    }

    /// A segmentation of 1000 messages; `places` are the numbers of messages before its boundaries.
    fn found(places: &[u64]) -> Vec<Interval> {
        let edges = [&[0], places, &[1000]].concat();
        let interval = |(at, pair): (usize, &[u64])| {
            let messages = (pair[0] < pair[1]).then(|| (pair[0], pair[1] - 1));
            Interval { start_ns: at as u64, end_ns: at as u64 + 1, label: at.to_string(), messages }
        };
        edges.windows(2).enumerate().map(interval).collect()
    }

    #[test]
    fn by_hand() {
        // b begins with message 98 while a still sends until 103: from 98 to 104 messages may stand
        // before it, one more or less.
        let late = stretches(&[("a", Some((0, 103))), ("b", Some((98, 999)))]);
        for (at, expected) in [(96, 0.0), (97, 1.0), (100, 1.0), (105, 1.0), (106, 0.0)] {
            assert_eq!(exact_f1(&late, &found(&[at])), Some(expected), "{at}");
        }
        // One right of two found, one of one true: 2·1/3.
        assert_eq!(exact_f1(&late, &found(&[50, 100])), Some(2.0 / 3.0));
        assert_eq!(exact_f1(&late, &found(&[])), Some(0.0));
        // Noise between the two: messages 90 to 93 are neither's.
        let noisy = stretches(&[("a", Some((0, 89))), ("b", Some((94, 200)))]);
        assert_eq!(zones(&noisy), [(90, 94)]);
        // A boundary between equal labels is none.
        let same = stretches(&[("a", Some((0, 9))), ("a", Some((10, 19))), ("b", Some((20, 29)))]);
        assert_eq!(zones(&same), [(20, 20)]);
        assert_eq!(exact_f1(&stretches(&[("a", Some((0, 9)))]), &found(&[])), Some(1.0));
    }

    #[test]
    fn an_idle_stretch_has_two_boundaries_between_the_messages_around_it() {
        let plain = stretches(&[("a", Some((0, 9))), (IDLE, None), ("b", Some((10, 999)))]);
        assert_eq!(zones(&plain), [(10, 10), (10, 10)]);
        // Two boundaries at one place, both right; one alone is half of them.
        assert_eq!(exact_f1(&plain, &found(&[10, 10])), Some(1.0));
        assert_eq!(exact_f1(&plain, &found(&[10])), Some(2.0 / 3.0));
        // Messages 10 to 14 are noise while idle.
        let noisy = stretches(&[("a", Some((0, 9))), (IDLE, None), ("b", Some((15, 19))), (IDLE, None)]);
        assert_eq!(zones(&noisy), [(10, 15), (10, 15), (20, 20)]);
    }

    #[test]
    fn a_truth_without_messages_has_no_exact_score() {
        assert_eq!(exact_f1(&stretches(&[("a", None), ("b", None)]), &found(&[3])), None);
    }
}
