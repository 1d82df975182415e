//! What merging from the bottom up gets wrong, put right.

use super::LIMIT;
use super::measure::Behaviour;
use super::segments::Segments;

/// Behaviour drifts, and the two ends of a long stretch can differ as much as two phases. A boundary is a boundary if there
/// is a difference between what is near to it: this part of the stretches, …
const NEAR: usize = 8;
/// … which has to be this part of the difference between the whole stretches.
const ABRUPT: f32 = 0.5;

/// Parts of the one and the other of which a window is tried to be the mixture, in quarters.
const MIXTURES: [f64; 3] = [0.25, 0.5, 0.75];

/// Takes back boundaries that are gradual, and windows that straddle two stretches.
pub(super) fn repair(segments: &mut Segments) {
    straddlers(segments);
    gradual(segments);
    segments.merge(LIMIT);
}

fn gradual(segments: &mut Segments) {
    let mut number = 0;
    while number + 1 < segments.list.len() {
        if is_gradual(segments, number) {
            segments.join(number);
            number = number.saturating_sub(1);
        } else {
            number += 1;
        }
    }
}

fn is_gradual(segments: &Segments, number: usize) -> bool {
    let (one, other) = (&segments.list[number], &segments.list[number + 1]);
    if one.units.len() < 4 || other.units.len() < 4 {
        return false;
    }
    let near = |len: usize| (len / NEAR).max(2);
    // The window at the boundary may hold something of both.
    let left = one.units.end - 1 - near(one.units.len()).min(one.units.len() - 2)..one.units.end - 1;
    let right = other.units.start + 1..other.units.start + 1 + near(other.units.len());
    let (Some(left), Some(right)) = (segments.behaviour(left), segments.behaviour(right)) else {
        return false;
    };
    let local = left.difference(&right);
    local < LIMIT && local < ABRUPT * one.behaviour.difference(&other.behaviour)
}

fn straddlers(segments: &mut Segments) {
    let mut number = 1;
    while number + 1 < segments.list.len() {
        let own = &segments.list[number];
        let (before, after) = (&segments.list[number - 1], &segments.list[number + 1]);
        let small = own.units.len() == 1
            && (before.units.len() > 1 || before.behaviour.messages > own.behaviour.messages)
            && (after.units.len() > 1 || after.behaviour.messages > own.behaviour.messages);
        if small && is_mixture(&own.behaviour, &before.behaviour, &after.behaviour) {
            let nearer = own.behaviour.difference_of_messages(&before.behaviour)
                <= own.behaviour.difference_of_messages(&after.behaviour);
            segments.join(if nearer { number - 1 } else { number });
            number = number.saturating_sub(1).max(1);
        } else {
            number += 1;
        }
    }
}

fn is_mixture(own: &Behaviour, before: &Behaviour, after: &Behaviour) -> bool {
    let differs = |share: &f64| own.difference_of_messages(&before.mixture(after, *share));
    MIXTURES.iter().map(differs).fold(f32::INFINITY, f32::min) < LIMIT / 2.0
}
