//! Bottom-up merging: the two nearest become one, again and again. Of all items, or of neighbours
//! only.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Merges the two nearest of `items`, as `merge` says, while `go_on` agrees to their distance and
/// the number of items left. What each item became part of: the lowest index among those it was
/// merged with.
///
/// Distances are kept in a table; an item that took in another is compared anew. Quadratic in
/// memory; in time quadratic per merge, with one computation of `distance` per item left.
pub(crate) fn agglomerate<T>(
    items: Vec<T>,
    distance: impl Fn(&T, &T) -> f64,
    merge: impl Fn(&mut T, T),
    go_on: impl Fn(f64, usize) -> bool,
) -> Vec<usize> {
    let count = items.len();
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    let mut becomes: Vec<usize> = (0..count).collect();
    let between = |items: &[Option<T>], one: usize, other: usize| match (&items[one], &items[other]) {
        (Some(one), Some(other)) => distance(one, other),
        _ => f64::INFINITY,
    };
    // Row i holds the distances to the items after i.
    let mut table: Vec<Vec<f64>> =
        (0..count).map(|i| (i + 1..count).map(|j| between(&items, i, j)).collect()).collect();
    for left in (2..=count).rev() {
        let pairs = table.iter().enumerate().flat_map(|(i, row)| {
            row.iter().enumerate().map(move |(step, distance)| (*distance, i, i + 1 + step))
        });
        let Some((nearest, kept, gone)) = pairs.min_by(|a, b| a.0.total_cmp(&b.0)) else { break };
        if !nearest.is_finite() || !go_on(nearest, left) {
            break;
        }
        if let (Some(gone), Some(kept)) = (items[gone].take(), &mut items[kept]) {
            merge(kept, gone);
        }
        for other in (0..count).filter(|other| *other != kept) {
            let (low, high) = (kept.min(other), kept.max(other));
            table[low][high - low - 1] = between(&items, low, high);
        }
        for other in (0..count).filter(|other| *other != gone) {
            let (low, high) = (gone.min(other), gone.max(other));
            table[low][high - low - 1] = f64::INFINITY;
        }
        becomes.iter_mut().filter(|item| **item == gone).for_each(|item| *item = kept);
    }
    becomes
}

/// Merges the two nearest neighbours of `items`, as `merge` says, while `go_on` agrees to their
/// distance and the number of items left; neighbours without a distance stay apart. What is left,
/// in order, and of how many items each is made.
///
/// Distances are not negative. Time O(n log n), with one computation of `distance` a pair and two a
/// merge; ties go to the earlier pair.
pub(crate) fn agglomerate_neighbours<T>(
    items: Vec<T>,
    distance: impl Fn(&T, &T) -> Option<f64>,
    merge: impl Fn(&mut T, T),
    go_on: impl Fn(f64, usize) -> bool,
) -> Vec<(T, usize)> {
    let count = items.len();
    let mut items: Vec<Option<(T, usize)>> = items.into_iter().map(|item| Some((item, 1))).collect();
    // A list; `stamp` tells distances of what has changed since.
    let mut before: Vec<usize> = (0..count).map(|i| i.wrapping_sub(1)).collect();
    let mut after: Vec<usize> = (1..=count).collect();
    let mut stamp = vec![0u32; count];
    let mut heap = BinaryHeap::new();
    let between = |items: &[Option<(T, usize)>], stamp: &[u32], one: usize, other: usize| {
        let (Some(Some((left, _))), Some(Some((right, _)))) = (items.get(one), items.get(other)) else {
            return None;
        };
        // Bits of floats that are not negative are in their order.
        let bits = distance(left, right)?.to_bits();
        Some(Reverse((bits, one, other, stamp[one], stamp[other])))
    };
    heap.extend((1..count).filter_map(|i| between(&items, &stamp, i - 1, i)));
    let mut left = count;
    while let Some(Reverse((bits, one, other, first, second))) = heap.pop() {
        if stamp[one] != first || stamp[other] != second {
            continue;
        }
        if !go_on(f64::from_bits(bits), left) {
            break;
        }
        let Some((gone, size)) = items[other].take() else { continue };
        if let Some(kept) = &mut items[one] {
            merge(&mut kept.0, gone);
            kept.1 += size;
        }
        left -= 1;
        stamp[one] += 1;
        stamp[other] += 1;
        let next = after[other];
        after[one] = next;
        if next < count {
            before[next] = one;
        }
        heap.extend(between(&items, &stamp, before[one], one));
        heap.extend(between(&items, &stamp, one, next));
    }
    items.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers with their weights.
    fn merged(numbers: &[f64], go_on: impl Fn(f64, usize) -> bool) -> Vec<usize> {
        let items = numbers.iter().map(|number| (*number, 1.0)).collect();
        let merge = |one: &mut (f64, f64), other: (f64, f64)| {
            let weight = one.1 + other.1;
            *one = ((one.0 * one.1 + other.0 * other.1) / weight, weight);
        };
        agglomerate(items, |a, b| (a.0 - b.0).abs(), merge, go_on)
    }

    #[test]
    fn the_nearest_go_first() {
        // 10 and 11 become 10.5, then 13 joins them at 2.5 before 0 and 4 do at 4.
        let numbers = [10.0, 0.0, 13.0, 11.0, 4.0];
        assert_eq!(merged(&numbers, |_, left| left > 4), [0, 1, 2, 0, 4]);
        assert_eq!(merged(&numbers, |_, left| left > 3), [0, 1, 0, 0, 4]);
        assert_eq!(merged(&numbers, |distance, _| distance < 4.5), [0, 1, 0, 0, 1]);
        assert_eq!(merged(&numbers, |_, _| true), [0; 5]);
        assert!(merged(&[], |_, _| true).is_empty());
    }

    #[test]
    fn neighbours_stay_in_order() {
        // 4 and 5 first, then 1 and 2; 9 and 1 have no distance, however long it goes on.
        let distance = |a: &f64, b: &f64| Some((a - b).abs()).filter(|distance| *distance < 8.0);
        let numbers = || vec![9.0, 1.0, 2.5, 4.0, 5.0];
        let merged = |least| agglomerate_neighbours(numbers(), distance, |_, _| (), |_, left| left > least);
        assert_eq!(merged(4), [(9.0, 1), (1.0, 1), (2.5, 1), (4.0, 2)]);
        assert_eq!(merged(3), [(9.0, 1), (1.0, 2), (4.0, 2)]);
        assert_eq!(merged(1), [(9.0, 1), (1.0, 4)]);
    }
}
