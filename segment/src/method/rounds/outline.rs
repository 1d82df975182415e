//! The outline of a run whose phases are too many to be read.
//!
//! Real programs do not repeat themselves to the letter: every so many steps something else happens, some ranks are late, and
//! loops of phases are not found. What a person sees is that a stretch goes on as it began: the mixture of what happens
//! stays the same. So neighbours are merged again, now those first of which the least is lost: the difference of the two
//! times their weight, n₁n₂/(n₁+n₂) (as in Ward's method, 1963, and in the agglomerative information bottleneck, Slonim and Tishby
//! 1999). The weight of a stretch is its part of the run, half by time and half by messages: phases that take long may send little,
//! and the reverse. Short stretches vanish in what is around them, series of short ones become what they are together.

use super::label;
use super::measure::Behaviour;
use super::merge::Tolerance;
use super::segments::{Segment, Segments};
use super::{LIMIT, LIMITS};
use crate::agglomerate::agglomerate_neighbours;
use crate::level::READABLE;
use crate::survey::Run;

/// A merge that loses less than this is made however few stretches are left: about that of an eighth of a percent of the run with a
/// neighbour from which it differs in two of the six views completely.
const LOSS: f64 = 0.0007;

/// Mixtures are alike if they differ by less than neighbours have to.
const ALIKE: Tolerance = Tolerance { least: LIMIT, ..LIMITS };

/// Where the outline's stretches begin, and their labels, counted from 0. At most [`READABLE`].
pub(super) fn outline(run: &Run, segments: &mut Segments<'_>) -> Vec<(u64, u32)> {
    let leaves = &segments.list;
    let weight = |segment: &Segment| {
        let time = segments.end_ns(segment) - segments.start_ns(segment);
        0.5 * (time as f64 / run.duration_ns as f64 + segment.behaviour.messages / run.messages as f64)
    };
    let stretches = leaves.iter().map(|leaf| (leaf.clone(), weight(leaf))).collect();
    let groups = merge(stretches);
    let leaves = std::mem::replace(&mut segments.list, groups);
    let labels = label::labels(segments, &ALIKE);
    let groups = std::mem::replace(&mut segments.list, leaves);
    groups.iter().map(|group| segments.start_ns(group)).zip(labels).collect()
}

/// Merges neighbours, those first of which the least is lost.
fn merge(stretches: Vec<(Segment, f64)>) -> Vec<Segment> {
    let loss = |(left, one): &(Segment, f64), (right, other): &(Segment, f64)| {
        let weight = one * other / (one + other).max(f64::MIN_POSITIVE);
        Some(weight * difference(&left.behaviour, &right.behaviour))
    };
    let join = |(kept, weight): &mut (Segment, f64), (gone, added): (Segment, f64)| {
        kept.units.end = gone.units.end;
        kept.behaviour.merge(&gone.behaviour);
        *weight += added;
    };
    let go_on = |loss: f64, left: usize| left > READABLE || loss < LOSS;
    let merged = agglomerate_neighbours(stretches, loss, join, go_on);
    merged.into_iter().map(|((segment, _), _)| segment).collect()
}

fn difference(one: &Behaviour, other: &Behaviour) -> f64 {
    f64::from(one.difference(other).sure)
}
