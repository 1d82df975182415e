//! Agglomerative clustering of windows with the constraint that only neighbours are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::measure::{Behaviour, Difference};

/// How much stretches must differ to stay apart: by `most` in all; or in partners by `least`, or so many `times` as much as
/// windows within them do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tolerance {
    pub(super) least: f32,
    pub(super) most: f32,
    pub(super) times: f32,
}

impl Tolerance {
    /// How different two stretches are whose windows differ by `spreads`; from 1 on they stay apart. A single window has no
    /// spread, so only a large difference tells.
    pub(super) fn apart(&self, difference: &Difference, spreads: (Spread, Spread)) -> f32 {
        let limit = match (spreads.0.mean(), spreads.1.mean()) {
            (Some(one), Some(other)) => (one.max(other) * self.times).clamp(self.least, self.most),
            _ => self.most,
        };
        (difference.sure / self.most).max(difference.sure_partners / limit)
    }
}

/// Differences between neighbouring windows of a stretch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spread {
    pub(super) sum: f32,
    pub(super) count: u32,
}

impl Spread {
    pub(super) fn mean(self) -> Option<f32> {
        (self.count > 0).then(|| self.sum / self.count as f32)
    }
}

/// Neighbours of which the two most alike are merged first, until all surely differ by more than `limits` allow. The number of
/// items in each of what is left, in order; `items` becomes what is left.
///
/// `spreads` are those of the items, `steps` the differences between an item's last window and the first one of the next.
///
/// Time O(n log n) comparisons; ties go to the earlier pair.
pub(super) fn merge_neighbours(
    items: &mut Vec<Behaviour>,
    mut spreads: Vec<Spread>,
    steps: &[f32],
    limits: &Tolerance,
) -> Vec<usize> {
    let count = items.len();
    let mut slots: Vec<Option<Behaviour>> = items.drain(..).map(Some).collect();
    let mut sizes = vec![1usize; count];
    // A list; `stamp` tells comparisons of what has changed since.
    let mut before: Vec<usize> = (0..count).map(|i| i.wrapping_sub(1)).collect();
    let mut after: Vec<usize> = (1..=count).collect();
    let mut stamp = vec![0u32; count];
    let mut heap = BinaryHeap::new();
    let push = |heap: &mut BinaryHeap<_>,
                slots: &[Option<Behaviour>],
                spreads: &[Spread],
                stamp: &[u32],
                one: usize,
                other: usize| {
        let Some(Some(left)) = slots.get(one) else { return };
        let Some(Some(right)) = slots.get(other) else { return };
        let difference = left.difference(right);
        if limits.apart(&difference, (spreads[one], spreads[other])) < 1.0 {
            // Bits of floats that are not negative are in their order.
            heap.push(Reverse((difference.all.to_bits(), one, other, stamp[one], stamp[other])));
        }
    };
    for i in 1..count {
        push(&mut heap, &slots, &spreads, &stamp, i - 1, i);
    }
    while let Some(Reverse((_, one, other, first, second))) = heap.pop() {
        if stamp[one] != first || stamp[other] != second {
            continue;
        }
        let Some(gone) = slots[other].take() else { continue };
        if let Some(kept) = &mut slots[one] {
            kept.merge(&gone);
        }
        spreads[one].sum += spreads[other].sum + steps[other - 1];
        spreads[one].count += spreads[other].count + 1;
        sizes[one] += sizes[other];
        stamp[one] += 1;
        stamp[other] += 1;
        let next = after[other];
        after[one] = next;
        if next < count {
            before[next] = one;
        }
        push(&mut heap, &slots, &spreads, &stamp, before[one], one);
        push(&mut heap, &slots, &spreads, &stamp, one, next);
    }
    let left: Vec<usize> = (0..count).filter(|i| slots[*i].is_some()).collect();
    items.extend(slots.into_iter().flatten());
    left.into_iter().map(|i| sizes[i]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::cutter::RoundWindow;
    use super::*;

    const LIMITS: Tolerance = Tolerance { least: 0.012, most: 0.17, times: 3.0 };

    /// Stretches of windows of one kind each, merged: how many windows each of what is left has.
    fn merged(kinds: &[u32]) -> Vec<usize> {
        let window = |kind: &u32| {
            let (src, dst): (Vec<u32>, Vec<u32>) = (0..64).map(|rank| (rank, (rank + kind) % 64)).unzip();
            let mut window = RoundWindow { messages: 64, ..RoundWindow::default() };
            window.sketch.add_columns(&src, &dst, &[8; 64], &[0; 64]);
            window.pairs.add_columns(&src, &dst);
            Behaviour::new(&window, None)
        };
        let mut items: Vec<Behaviour> = kinds.iter().map(window).collect();
        let steps = vec![0.0; kinds.len().saturating_sub(1)];
        merge_neighbours(&mut items, vec![Spread::default(); kinds.len()], &steps, &LIMITS)
    }

    #[test]
    fn equal_neighbours_become_one() {
        assert_eq!(merged(&[1, 1, 1, 5, 5, 1, 1, 9]), [3, 2, 2, 1]);
        assert_eq!(merged(&[1]), [1]);
        assert!(merged(&[]).is_empty());
        assert_eq!(merged(&[3; 1000]), [1000]);
    }
}
