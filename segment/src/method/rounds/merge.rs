//! Agglomerative clustering of windows with the constraint that only neighbours are merged.

use super::measure::{Behaviour, Difference};
use crate::agglomerate::agglomerate_neighbours;

/// How much stretches must differ to stay apart.
///
/// They differ by `most` in all, or in partners by `times` the difference of the windows within
/// them. The latter limit lies between `least` and `most`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tolerance {
    pub(super) least: f32,
    pub(super) most: f32,
    pub(super) times: f32,
}

impl Tolerance {
    /// How different two stretches are whose windows differ by `spreads`; from 1 on they stay
    /// apart. A single window has no spread, so only `most` counts.
    pub(super) fn apart(&self, difference: &Difference, spreads: (Spread, Spread)) -> f32 {
        let limit = match (spreads.0.mean(), spreads.1.mean()) {
            (Some(one), Some(other)) => (one.max(other) * self.times).clamp(self.least, self.most),
            _ => self.most,
        };
        (difference.sure / self.most).max(difference.sure_partners / limit)
    }
}

/// Neighbours that differ by less are one stretch. A complete change in one of the six views makes
/// √(1/6) ≈ 0.41.
pub(super) const LIMIT: f32 = 0.17;

/// Limits for neighbours and for labels.
pub(super) const LIMITS: Tolerance = Tolerance { least: 0.012, most: LIMIT, times: 3.0 };

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

/// Merges neighbours, the two most alike first, until all surely differ by more than `limits`
/// allow. Returns the number of items in each stretch, in order; `items` becomes the stretches.
///
/// `spreads` are the spreads of the items. `steps` are the differences between an item's last
/// window and the next item's first one. Ties go to the earlier pair.
pub(super) fn merge_neighbours(
    items: &mut Vec<Behaviour>,
    spreads: Vec<Spread>,
    steps: &[f32],
    limits: &Tolerance,
) -> Vec<usize> {
    // Each item with the step before it.
    let steps = std::iter::once(0.0).chain(steps.iter().copied());
    let stretches: Vec<_> = items.drain(..).zip(spreads).zip(steps).collect();
    let distance = |((one, own), _): &Stretch, ((other, others), _): &Stretch| {
        let difference = one.difference(other);
        (limits.apart(&difference, (*own, *others)) < 1.0).then(|| f64::from(difference.all))
    };
    let merge = |((one, own), _): &mut Stretch, ((other, others), step): Stretch| {
        one.merge(&other);
        own.sum += others.sum + step;
        own.count += others.count + 1;
    };
    let merged = agglomerate_neighbours(stretches, distance, merge, |_, _| true);
    let (left, sizes) = merged.into_iter().map(|(((behaviour, _), _), size)| (behaviour, size)).unzip();
    *items = left;
    sizes
}

/// Behaviour and spread of a stretch, and how much its first window differs from the window before.
type Stretch = ((Behaviour, Spread), f32);

#[cfg(test)]
mod tests {
    use super::super::windows::RoundWindow;
    use super::*;

    /// Merges windows of these kinds. Returns the number of windows in each stretch.
    fn merged(kinds: &[u32]) -> Vec<usize> {
        let window = |kind: &u32| {
            let (src, dst): (Vec<u32>, Vec<u32>) = (0..64).map(|rank| (rank, (rank + kind) % 64)).unzip();
            let mut window = RoundWindow { messages: 64, ..RoundWindow::default() };
            window.add_columns(&src, &dst, &[8; 64], &[0; 64]);
            Behaviour::new(&window, None, None)
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
