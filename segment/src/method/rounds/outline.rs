//! The outline of a run whose phases are too many to be read.
//!
//! Real programs do not repeat themselves to the letter: every so many steps something else happens, some ranks are late, and
//! loops of phases are not found. What a person sees is that a stretch goes on as it began: the mixture of what happens
//! stays the same. So neighbours are merged again, now those first of which the least is lost: the difference of the two
//! times their weight, n₁n₂/(n₁+n₂) (as in Ward's method, 1963, and in the agglomerative information bottleneck, Slonim and Tishby
//! 1999). The weight of a stretch is its part of the run, half by time and half by messages: phases that take long may send little,
//! and the reverse. Short stretches vanish in what is around them, series of short ones become what they are together.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::label;
use super::measure::Behaviour;
use super::merge::Tolerance;
use super::segments::{Segment, Segments};
use super::{LIMIT, LIMITS};
use crate::level::READABLE;
use crate::survey::Run;

/// A merge that loses less than this is made however few stretches are left: about that of an eighth of a percent of the run with a
/// neighbour from which it differs in two of the six views completely.
const LOSS: f64 = 0.0007;

/// Mixtures are alike if they differ by less than neighbours have to.
const ALIKE: Tolerance = Tolerance { least: LIMIT, ..LIMITS };

/// Where the outline's stretches begin, and their labels, counted from 0. At most [`READABLE`].
pub(super) fn outline(run: &Run, segments: &mut Segments<'_>) -> Vec<(u64, u32)> {
    let leaves = segments.list.clone();
    let weight = |segment: &Segment| {
        let time = segments.end_ns(segment) - segments.start_ns(segment);
        0.5 * (time as f64 / run.duration_ns as f64 + segment.behaviour.messages / run.messages as f64)
    };
    let weights = leaves.iter().map(weight).collect();
    let groups = merge(leaves, weights);
    let leaves = std::mem::replace(&mut segments.list, groups);
    let labels = label::labels(segments, &ALIKE);
    let groups = std::mem::replace(&mut segments.list, leaves);
    groups.iter().map(|group| segments.start_ns(group)).zip(labels).collect()
}

/// Merges neighbours, those first of which the least is lost.
fn merge(list: Vec<Segment>, mut weights: Vec<f64>) -> Vec<Segment> {
    let count = list.len();
    let mut left = count;
    let mut slots: Vec<Option<Segment>> = list.into_iter().map(Some).collect();
    let mut before: Vec<usize> = (0..count).map(|i| i.wrapping_sub(1)).collect();
    let mut after: Vec<usize> = (1..=count).collect();
    // Tells comparisons of what has changed since.
    let mut stamp = vec![0u32; count];
    let mut heap = BinaryHeap::new();
    let loss = |slots: &[Option<Segment>], weights: &[f64], one: usize, other: usize| {
        let Some(Some(left)) = slots.get(one) else { return None };
        let Some(Some(right)) = slots.get(other) else { return None };
        let weight = weights[one] * weights[other] / (weights[one] + weights[other]).max(f64::MIN_POSITIVE);
        Some(weight * difference(&left.behaviour, &right.behaviour))
    };
    for i in 1..count {
        // Bits of floats that are not negative are in their order.
        heap.extend(loss(&slots, &weights, i - 1, i).map(|loss| Reverse((loss.to_bits(), i - 1, i, 0, 0))));
    }
    while let Some(Reverse((lost, one, other, first, second))) = heap.pop() {
        if stamp[one] != first || stamp[other] != second {
            continue;
        }
        if left <= READABLE && f64::from_bits(lost) >= LOSS {
            break;
        }
        let Some(gone) = slots[other].take() else { continue };
        if let Some(kept) = &mut slots[one] {
            kept.units.end = gone.units.end;
            kept.behaviour.merge(&gone.behaviour);
        }
        weights[one] += weights[other];
        left -= 1;
        stamp[one] += 1;
        stamp[other] += 1;
        let next = after[other];
        after[one] = next;
        if next < count {
            before[next] = one;
        }
        for (one, other) in [(before[one], one), (one, next)] {
            if let Some(loss) = loss(&slots, &weights, one, other) {
                heap.push(Reverse((loss.to_bits(), one, other, stamp[one], stamp[other])));
            }
        }
    }
    slots.into_iter().flatten().collect()
}

fn difference(one: &Behaviour, other: &Behaviour) -> f64 {
    f64::from(one.difference(other).sure)
}
