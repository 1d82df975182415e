//! True and found boundaries, paired one to one, as many as possible.

use std::collections::BTreeSet;
use std::ops::Range;

/// Harmonic mean of precision and recall, where each true boundary may be one of a range of the
/// `found` ones; 1 if there are none of either.
pub(super) fn f1(ranges: Vec<Range<usize>>, found: usize) -> f64 {
    let boundaries = ranges.len() + found;
    if boundaries == 0 { 1.0 } else { 2.0 * pairs(ranges, found) as f64 / boundaries as f64 }
}

/// The most pairs of a true boundary and a found one of its range. Ranges are served in order of
/// their ends, each with the first boundary left (earliest deadline first, which is best for
/// intervals and points).
fn pairs(mut ranges: Vec<Range<usize>>, found: usize) -> usize {
    ranges.sort_by_key(|range| (range.end, range.start));
    let mut free: BTreeSet<usize> = (0..found).collect();
    let served = |range: &Range<usize>| {
        let first = (!range.is_empty()).then(|| free.range(range.clone()).next().copied()).flatten();
        first.is_some_and(|first| free.remove(&first))
    };
    ranges.into_iter().filter(served).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All ways to give each range a boundary or none.
    fn most_pairs(ranges: &[Range<usize>], free: &[usize]) -> usize {
        let Some((range, rest)) = ranges.split_first() else { return 0 };
        let mut best = most_pairs(rest, free);
        for at in free.iter().filter(|at| range.contains(at)) {
            let left: Vec<usize> = free.iter().copied().filter(|own| own != at).collect();
            best = best.max(1 + most_pairs(rest, &left));
        }
        best
    }

    proptest! {
        #[test]
        fn as_many_pairs_as_there_can_be(
            ranges in prop::collection::vec((0usize..6, 0usize..4), 0..6),
            found in 0usize..6,
        ) {
            let ranges: Vec<_> = ranges.into_iter().map(|(first, length)| first..first + length).collect();
            let all: Vec<usize> = (0..found).collect();
            prop_assert_eq!(pairs(ranges.clone(), found), most_pairs(&ranges, &all));
        }
    }
}
