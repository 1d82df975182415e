//! Boundaries that are right to the message.
//!
//! A true boundary is a zone where ranks are late: any place from the first message of the new
//! phase to the last one of the old is as good as any other, and so is any place among messages
//! between the two that belong to neither: noise, and barriers. So is, where an idle stretch begins
//! or ends, any place among the noise in it. A boundary is exact if it lies in the zone or at most
//! one message beside it. Boundaries are paired one to one, as many as possible.

use super::truth::join;
use super::{IDLE, Truth};

/// How far beside its zone a boundary may be, in messages.
const BESIDE: u64 = 1;

/// Harmonic mean of precision and recall of exact boundaries. `found` are boundaries as numbers of
/// messages before them, in ascending order; `None` if the truth does not know its messages.
pub(super) fn exact_f1(truth: &Truth, found: &[u64]) -> Option<f64> {
    if truth.messages.len() != truth.stretches.len() {
        return None;
    }
    let zones = zones(truth);
    let boundaries = zones.len() + found.len();
    if boundaries == 0 {
        return Some(1.0);
    }
    Some(2.0 * pairs(zones, found) as f64 / boundaries as f64)
}

/// For each true boundary the least and the greatest number of messages that may be before it.
fn zones(truth: &Truth) -> Vec<(u64, u64)> {
    // Stretches without boundaries between equal labels, and gaps as idle.
    let mut stretches: Vec<(&str, Option<(u64, u64)>)> = Vec::with_capacity(truth.stretches.len());
    let mut at = 0;
    for (stretch, messages) in truth.stretches.iter().zip(&truth.messages) {
        let gap = (stretch.start_ns > at).then_some((IDLE, None));
        let own = (stretch.end_ns > stretch.start_ns || messages.is_some())
            .then_some((stretch.label.as_str(), *messages));
        for (label, messages) in gap.into_iter().chain(own) {
            match stretches.last_mut() {
                Some(last) if last.0 == label => last.1 = join(last.1, messages),
                _ => stretches.push((label, messages)),
            }
        }
        at = stretch.end_ns;
    }
    let count = stretches.len();
    // The first message of what comes from a stretch on; without one, nothing is known but that it
    // is not before the last.
    let mut next = vec![None; count + 1];
    for i in (0..count).rev() {
        next[i] = stretches[i].1.map(|messages| messages.0).or(next[i + 1]);
    }
    let mut last: Option<u64> = None;
    let mut zones = Vec::with_capacity(count.saturating_sub(1));
    for i in 0..count.saturating_sub(1) {
        last = stretches[i].1.map(|messages| messages.1).or(last);
        let end = last.map_or(0, |last| last + 1);
        let begin = next[i + 1].unwrap_or(end);
        zones.push((end.min(begin), end.max(begin)));
    }
    zones
}

/// The most pairs of a zone and a boundary in it. Zones are served in order of their ends, each
/// with the first boundary left (earliest deadline first, which is best for intervals and points).
fn pairs(mut zones: Vec<(u64, u64)>, found: &[u64]) -> usize {
    zones.sort_by_key(|zone| (zone.1, zone.0));
    let mut free: std::collections::BTreeMap<u64, usize> = std::collections::BTreeMap::new();
    found.iter().for_each(|at| *free.entry(*at).or_default() += 1);
    let mut hits = 0;
    for (first, last) in zones {
        let range = first.saturating_sub(BESIDE)..=last.saturating_add(BESIDE);
        let Some(at) = free.range(range).next().map(|(at, _)| *at) else { continue };
        hits += 1;
        match free.get_mut(&at) {
            Some(left) if *left > 1 => *left -= 1,
            _ => {
                free.remove(&at);
            }
        }
    }
    hits
}

#[cfg(test)]
mod tests {
    use super::super::Interval;
    use super::*;
    use proptest::prelude::*;

    /// Stretches of 10 ns: label, first and last message.
    fn truth(stretches: &[(&str, Option<(u64, u64)>)]) -> Truth {
        let interval = |(i, (label, _)): (usize, &(&str, _))| Interval {
            start_ns: i as u64 * 10,
            end_ns: i as u64 * 10 + 10,
            label: (*label).into(),
        };
        Truth {
            stretches: stretches.iter().enumerate().map(interval).collect(),
            outer: Vec::new(),
            messages: stretches.iter().map(|stretch| stretch.1).collect(),
        }
    }

    #[test]
    fn by_hand() {
        // b begins with message 98 while a still sends until 103: from 98 to 104 messages may stand
        // before it, one more or less.
        let late = truth(&[("a", Some((0, 103))), ("b", Some((98, 200)))]);
        for (at, expected) in [(96, 0.0), (97, 1.0), (100, 1.0), (105, 1.0), (106, 0.0)] {
            assert_eq!(exact_f1(&late, &[at]), Some(expected), "{at}");
        }
        // One right of two found, one of one true: 2·1/3.
        assert_eq!(exact_f1(&late, &[50, 100]), Some(2.0 / 3.0));
        assert_eq!(exact_f1(&late, &[]), Some(0.0));
        // Noise between the two: messages 90 to 93 are neither's.
        let noisy = truth(&[("a", Some((0, 89))), ("b", Some((94, 200)))]);
        assert_eq!(zones(&noisy), [(90, 94)]);
        // A boundary between equal labels is none.
        let same = truth(&[("a", Some((0, 9))), ("a", Some((10, 19))), ("b", Some((20, 29)))]);
        assert_eq!(zones(&same), [(20, 20)]);
        assert_eq!(exact_f1(&truth(&[("a", Some((0, 9)))]), &[]), Some(1.0));
    }

    #[test]
    fn an_idle_stretch_has_two_boundaries_between_the_messages_around_it() {
        let plain = truth(&[("a", Some((0, 9))), (IDLE, None), ("b", Some((10, 19)))]);
        assert_eq!(zones(&plain), [(10, 10), (10, 10)]);
        // Two boundaries at one place, both right; one alone is half of them.
        assert_eq!(exact_f1(&plain, &[10, 10]), Some(1.0));
        assert_eq!(exact_f1(&plain, &[10]), Some(2.0 / 3.0));
        // Messages 10 to 14 are noise while idle.
        let noisy = truth(&[("a", Some((0, 9))), (IDLE, None), ("b", Some((15, 19))), (IDLE, None)]);
        assert_eq!(zones(&noisy), [(10, 15), (10, 15), (20, 20)]);
    }

    #[test]
    fn a_truth_without_messages_has_no_exact_score() {
        let mut unknown = truth(&[("a", None), ("b", None)]);
        unknown.messages.clear();
        assert_eq!(exact_f1(&unknown, &[3]), None);
    }

    /// All ways to give each zone a boundary or none.
    fn most_pairs(zones: &[(u64, u64)], found: &[u64]) -> usize {
        let Some((zone, rest)) = zones.split_first() else { return 0 };
        let mut best = most_pairs(rest, found);
        for (i, at) in found.iter().enumerate() {
            if zone.0 <= at + BESIDE && *at <= zone.1 + BESIDE {
                let left = [&found[..i], &found[i + 1..]].concat();
                best = best.max(1 + most_pairs(rest, &left));
            }
        }
        best
    }

    proptest! {
        #[test]
        fn as_many_pairs_as_there_can_be(
            zones in prop::collection::vec((0u64..20, 0u64..6), 0..5),
            found in prop::collection::vec(0u64..26, 0..6),
        ) {
            let zones: Vec<_> = zones.into_iter().map(|(first, length)| (first, first + length)).collect();
            prop_assert_eq!(pairs(zones.clone(), &found), most_pairs(&zones, &found));
        }
    }
}
