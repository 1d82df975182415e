//! Agglomerative clustering of windows with the constraint that only neighbours are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::measure::Behaviour;

/// Neighbours of which the two most alike are merged first, until none differ by less than `limit`. The number of items in
/// each of what is left, in order; `items` becomes what is left.
///
/// Time O(n log n) comparisons; ties go to the earlier pair.
pub(super) fn merge_neighbours(items: &mut Vec<Behaviour>, limit: f32) -> Vec<usize> {
    let count = items.len();
    let mut slots: Vec<Option<Behaviour>> = items.drain(..).map(Some).collect();
    let mut sizes = vec![1usize; count];
    // A list; `stamp` tells comparisons of what has changed since.
    let mut before: Vec<usize> = (0..count).map(|i| i.wrapping_sub(1)).collect();
    let mut after: Vec<usize> = (1..=count).collect();
    let mut stamp = vec![0u32; count];
    let mut heap = BinaryHeap::new();
    let push =
        |heap: &mut BinaryHeap<_>, slots: &[Option<Behaviour>], stamp: &[u32], one: usize, other: usize| {
            let Some(Some(left)) = slots.get(one) else { return };
            let Some(Some(right)) = slots.get(other) else { return };
            let difference = left.difference(right);
            if difference < limit {
                // Bits of floats that are not negative are in their order.
                heap.push(Reverse((difference.to_bits(), one, other, stamp[one], stamp[other])));
            }
        };
    for i in 1..count {
        push(&mut heap, &slots, &stamp, i - 1, i);
    }
    while let Some(Reverse((_, one, other, first, second))) = heap.pop() {
        if stamp[one] != first || stamp[other] != second {
            continue;
        }
        let Some(gone) = slots[other].take() else { continue };
        if let Some(kept) = &mut slots[one] {
            kept.merge(&gone);
        }
        sizes[one] += sizes[other];
        stamp[one] += 1;
        stamp[other] += 1;
        let next = after[other];
        after[one] = next;
        if next < count {
            before[next] = one;
        }
        push(&mut heap, &slots, &stamp, before[one], one);
        push(&mut heap, &slots, &stamp, one, next);
    }
    let left: Vec<usize> = (0..count).filter(|i| slots[*i].is_some()).collect();
    items.extend(slots.into_iter().flatten());
    left.into_iter().map(|i| sizes[i]).collect()
}
