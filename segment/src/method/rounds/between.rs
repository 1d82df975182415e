//! Pieces between two barriers.
//!
//! Programs whose ranks all meet between two phases hardly change what they do elsewhere. The first
//! and last round before a barrier are exceptions: some ranks are late, others wait, and a piece of
//! a round looks different. So a few rounds that only do what their neighbour does belong to that
//! neighbour, unless a barrier lies between them.

use super::segments::Segments;

/// A piece has at most this number of its neighbour's rounds.
const FEW: f64 = 3.0;
/// The neighbour of a piece holds at least this number of rounds.
const ROUNDS: f64 = 3.0;
/// A piece has at most this part of messages that its neighbour does not have.
const STRANGE: f32 = 0.25;

/// Joins pieces to the segments beside them. Returns whether there were any.
pub(super) fn pieces(segments: &mut Segments<'_>) -> bool {
    if !segments.units.iter().any(|unit| unit.meets) {
        return false;
    }
    let before = segments.list.len();
    let mut number = 1;
    while number < segments.list.len() {
        let alike = is_piece(segments, number, number - 1) || is_piece(segments, number - 1, number);
        if alike && !segments.meet(number, number - 1) {
            segments.join(number - 1);
            number = number.saturating_sub(1).max(1);
        } else {
            number += 1;
        }
    }
    segments.list.len() < before
}

/// Whether a segment is a piece of its host.
fn is_piece(segments: &Segments<'_>, number: usize, host: usize) -> bool {
    let (own, phase) = (&segments.list[number], &segments.list[host]);
    let Some(round) = segments.round(phase) else { return false };
    let few = own.behaviour.messages <= FEW * round && own.behaviour.messages < phase.behaviour.messages;
    few && segments.holds(phase, ROUNDS)
        && own.behaviour.stray == phase.behaviour.stray
        && !segments.is_quiet(number)
        // Messages of the barrier belong to neither.
        && own.behaviour.strange_to(&phase.behaviour) - own.behaviour.barriers()
            <= STRANGE * (1.0 - own.behaviour.barriers())
}
