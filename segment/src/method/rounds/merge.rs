//! Agglomerative clustering of neighbours: the boundary of least evidence goes first, until all are
//! worth the price.

use std::collections::BTreeSet;

use super::cost::{PRICE, evidence};
use super::features::Units;
use super::noise::Noise;

/// Merges neighbouring stretches that begin at `starts` (the first at 0) until all boundaries are
/// worth the price. Returns where the remaining stretches begin.
///
/// Boundaries with more units at their sides are judged later, by one nat for each doubling. Both
/// sides of a faint boundary have grown by then.
pub(super) fn merged(units: &Units<'_>, noise: &Noise, starts: &[usize]) -> Vec<usize> {
    let count = starts.len();
    let end = |next: usize| starts.get(next).copied().unwrap_or(units.len());
    // Neighbours on both sides, `count` for none.
    let mut before: Vec<usize> = (0..count).map(|at| at.checked_sub(1).unwrap_or(count)).collect();
    let mut after: Vec<usize> = (1..=count).collect();
    let cost = |left: usize, own: usize, right: usize| {
        if units.locked[starts[own]] {
            return None;
        }
        let (from, to) = (starts[left], end(right));
        let nats = evidence(units, noise, from, starts[own], to);
        // Of numbers that are not negative, the bits have the same order.
        (nats < PRICE).then(|| (nats + ((to - from) as f64).log2()).to_bits())
    };
    let mut costs: Vec<Option<u64>> = vec![None; count];
    let mut queue = BTreeSet::new();
    for (own, known) in costs.iter_mut().enumerate().skip(1) {
        *known = cost(own - 1, own, own + 1);
        queue.extend(known.map(|cost| (cost, own)));
    }
    let mut left = vec![true; count];
    while let Some((_, own)) = queue.pop_first() {
        let (one, other) = (before[own], after[own]);
        left[own] = false;
        after[one] = other;
        if other < count {
            before[other] = one;
        }
        // Both boundaries of the joined stretch now have other sides.
        for at in [one, other] {
            if at == 0 || at >= count {
                continue;
            }
            if let Some(cost) = costs[at] {
                queue.remove(&(cost, at));
            }
            costs[at] = cost(before[at], at, after[at]);
            queue.extend(costs[at].map(|cost| (cost, at)));
        }
    }
    (0..count).filter(|at| left[*at]).map(|at| starts[at]).collect()
}
