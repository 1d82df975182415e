//! Where a rhythm changes, told by how long it takes until the same messages come again.
//!
//! A message of the old phase came last as long ago as messages of the old phase do, one of the new
//! phase comes next as soon as those of the new phase do. The interval across the change, which is
//! of neither length, lies after the last message of the old phase and before the first one of the
//! new one, and is charged to none of them. So the change is the place where the intervals before
//! the messages that precede it, and those after the messages that follow it, fit best. Each kind
//! of message has its own usual intervals: ranks may be late, each in its own way, and a message
//! may come twice a round.

/// The part of the time on each side of the expected change, far from it, in which it is known
/// which phase messages are of. Where a kind does not come twice in it, the whole side counts.
const SURE: u64 = 2;

/// Intervals are as long as usual if they differ by no more than this, in natural logarithms: a
/// tenth.
const USUAL: f64 = 0.1;

/// By how much each message fits the old rhythm worse than the new one, in natural logarithms; 0
/// where nothing is known. `kinds` are those of the messages in order, `times_ns` when they are
/// posted; about `expected_ns` the rhythm changes.
///
/// Time O(n log n), memory 24 bytes a message.
pub(crate) fn misfits(kinds: &[u64], times_ns: &[u64], expected_ns: u64) -> Vec<f64> {
    let count = kinds.len().min(times_ns.len());
    let mut misfits = vec![0.0; count];
    let (Some(first), Some(last)) = (times_ns.first(), times_ns.last()) else { return misfits };
    let expected_ns = expected_ns.clamp(*first, *last);
    let (old_until, new_from) = (first + (expected_ns - first) / SURE, last - (last - expected_ns) / SURE);
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_unstable_by_key(|at| (kinds[*at], *at));
    for same in order.chunk_by(|one, other| kinds[*one] == kinds[*other]) {
        let interval = |pair: &[usize]| ((times_ns[pair[1]] - times_ns[pair[0]]).max(1) as f64).ln();
        let until = |until_ns: u64| {
            let pairs = same.windows(2).take_while(|pair| times_ns[pair[1]] <= until_ns);
            median(pairs.map(interval).collect())
        };
        let since = |from_ns: u64| {
            let pairs = same.windows(2).rev().take_while(|pair| times_ns[pair[0]] >= from_ns);
            median(pairs.map(interval).collect())
        };
        let old = until(old_until).or_else(|| until(expected_ns));
        let new = since(new_from).or_else(|| since(expected_ns));
        let (Some(old), Some(new)) = (old, new) else { continue };
        let most = (old - new).abs();
        let cost = |interval: f64, usual: f64| ((interval - usual).abs() - USUAL).clamp(0.0, most);
        for pair in same.windows(2) {
            let interval = interval(pair);
            misfits[pair[1]] += cost(interval, old);
            misfits[pair[0]] -= cost(interval, new);
        }
    }
    misfits
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of the kinds 0, 1 and 2 at these times, each kind late by some nanoseconds, of which
    /// the rhythm is expected to change at some time: where the misfits say the change is.
    fn change(rounds_ns: &[u64], late_ns: [u64; 3], expected_ns: u64) -> usize {
        let mut messages: Vec<(u64, u64)> = Vec::new();
        for round_ns in rounds_ns {
            messages.extend((0..3).map(|kind: u64| (round_ns + late_ns[kind as usize], kind)));
        }
        messages.sort_unstable();
        let (times_ns, kinds): (Vec<u64>, Vec<u64>) = messages.into_iter().unzip();
        let mut sum = 0.0;
        let mut sums = vec![0.0];
        sums.extend(misfits(&kinds, &times_ns, expected_ns).into_iter().map(|misfit| {
            sum += misfit;
            sum
        }));
        sums.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)).unwrap().0
    }

    /// Begins of rounds: `count` of `first_ns`, then the same of `second_ns`, and between them the
    /// mean of both.
    fn rounds(count: u64, first_ns: u64, second_ns: u64) -> Vec<u64> {
        let change_ns = (count - 1) * first_ns + (first_ns + second_ns) / 2;
        let (old, new) = (0..count, 0..count);
        old.map(|i| i * first_ns).chain(new.map(|i| change_ns + i * second_ns)).collect()
    }

    #[test]
    fn the_change_is_where_rounds_become_slower_or_faster() {
        assert_eq!(change(&rounds(20, 1000, 3000), [0, 5, 10], 22_000), 60);
        assert_eq!(change(&rounds(20, 3000, 1000), [0, 5, 10], 55_000), 60);
        // Each kind has a rhythm of its own, however late it is.
        assert_eq!(change(&rounds(20, 1000, 3000), [0, 400, 900], 22_000), 60);
    }

    #[test]
    fn the_change_may_be_near_an_end() {
        // Twenty rounds take as long as the last half of one before them.
        assert_eq!(change(&rounds(20, 100_000, 2000), [0, 5, 10], 1_950_000), 60);
        assert_eq!(change(&rounds(20, 2000, 100_000), [0, 5, 10], 50_000), 60);
    }

    #[test]
    fn two_rounds_after_the_change_are_enough() {
        // Of the second half of these, one round is left, which has no interval.
        let mut short = rounds(20, 1000, 3000);
        short.truncate(23);
        assert_eq!(change(&short, [0, 5, 10], 22_000), 60);
    }

    #[test]
    fn one_rhythm_tells_nothing() {
        assert!(
            misfits(&[1, 2].repeat(50), &(0..100).map(|i| i * 7).collect::<Vec<_>>(), 350)
                .iter()
                .all(|m| *m == 0.0)
        );
        assert!(misfits(&[], &[], 5).is_empty());
        assert_eq!(misfits(&[3], &[9], 9), [0.0]);
    }
}
