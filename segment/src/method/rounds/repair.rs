//! What merging from the bottom up gets wrong, put right.

use super::measure::Behaviour;
use super::segments::{Segment, Segments};
use super::{LIMIT, LIMITS};

/// Behaviour drifts, and the two ends of a long stretch can differ as much as two phases. A boundary is a boundary if there
/// is a difference between what is near to it: this part of the stretches, …
const NEAR: usize = 8;
/// … which has to be this part of the difference between the whole stretches.
const ABRUPT: f32 = 0.5;

/// A segment of at most so many units may be a piece of a round, …
const FEW: usize = 2;
/// … and so may one of at most so many rounds of what is beside it, as pieces come again earlier than rounds; …
const PIECE: f64 = 3.0;
/// … of which so many are tried to be whole rounds together.
const PIECES: usize = 64;

/// Pieces of rounds are not so many times slower than the rounds, …
const SLOWER: f64 = 4.0;
/// … over so many of them.
const LASTING: u64 = 2;

/// An excerpt of a round is not longer than it by more than this factor, …
const LONGER: f64 = 1.5;
/// … and this part of it is known from there.
const COVERED: f32 = 0.75;
/// What is so many times shorter than a round is nothing of its own.
const SCRAP: f64 = 4.0;

/// Parts of the one and the other of which a window is tried to be the mixture, in quarters.
const MIXTURES: [f64; 3] = [0.25, 0.5, 0.75];

/// Ranks change over from one phase to the next in less than this part of either, …
const TRANSITION: f64 = 4.0;
/// … and the shares of both in it are known to this part.
const SHARES: u32 = 8;

/// Takes back boundaries that are gradual, and windows that straddle two stretches.
pub(super) fn repair(segments: &mut Segments<'_>) {
    fragments(segments);
    excerpts(segments);
    straddlers(segments);
    gradual(segments);
    segments.merge(&LIMITS);
}

/// What is less than a round of its neighbour, and does not repeat itself, is a part of a round if the neighbour has all of its
/// messages, or if it is too short to be anything.
fn excerpts(segments: &mut Segments<'_>) {
    let mut number = 0;
    while number < segments.list.len() {
        let own = &segments.list[number];
        let messages = own.behaviour.messages;
        let repeats = segments.round(own).is_some_and(|round| 1.5 * round < messages);
        let mut best: Option<(f32, usize)> = None;
        if own.units.len() <= FEW && !repeats && !own.behaviour.stray {
            let neighbours = [number.checked_sub(1), Some(number + 1)].into_iter().flatten();
            for neighbour in neighbours.filter(|neighbour| *neighbour < segments.list.len()) {
                let other = &segments.list[neighbour];
                let Some(round) = segments.round(other).filter(|round| messages < *round * LONGER) else {
                    continue;
                };
                let covered = own.behaviour.covered_by(&other.behaviour);
                if (covered >= COVERED || messages * SCRAP < round)
                    && best.is_none_or(|(most, _)| covered > most)
                {
                    best = Some((covered, neighbour));
                }
            }
        }
        match best {
            Some((_, neighbour)) => {
                segments.join(number.min(neighbour));
                number = number.saturating_sub(1);
            }
            None => number += 1,
        }
    }
}

/// Before a rhythm is noticed, and where it ends, pieces of rounds are segments of their own; together they are like what is
/// beside them.
fn fragments(segments: &mut Segments<'_>) {
    let mut number = 0;
    while number < segments.list.len() {
        let whole = &segments.list[number];
        if whole.units.len() <= FEW {
            number += 1;
            continue;
        }
        let longest = segments.round(whole).unwrap_or(0.0) * PIECE;
        let small = |segment: &Segment| {
            !segment.behaviour.stray && (segment.units.len() <= FEW || segment.behaviour.messages <= longest)
        };
        let before =
            segments.list[..number].iter().rev().take_while(|segment| small(segment)).take(PIECES).count();
        let after =
            segments.list[number + 1..].iter().take_while(|segment| small(segment)).take(PIECES).count();
        let own = &segments.list[number].behaviour;
        let mut best: Option<(f32, usize, bool)> = None;
        for back in [true, false] {
            let mut all: Option<Behaviour> = None;
            for count in 1..=(if back { before } else { after }) {
                let piece = if back { number - count } else { number + count };
                let piece = &segments.list[piece].behaviour;
                let all = match &mut all {
                    None => all.insert(piece.clone()),
                    Some(all) => {
                        all.merge(piece);
                        all
                    }
                };
                let apart = own.difference_of_messages(all).sure;
                let range = if back { number - count..number } else { number + 1..number + count + 1 };
                // Together with what belongs to it no more, what does is less alike.
                if apart < LIMIT
                    && !is_slower(segments, range, number)
                    && best.is_none_or(|(least, ..)| apart <= least)
                {
                    best = Some((apart, count, back));
                }
            }
        }
        match best {
            Some((_, count, true)) => {
                (0..count).for_each(|_| segments.join(number - count));
                number -= count;
            }
            Some((_, count, false)) => (0..count).for_each(|_| segments.join(number)),
            None => number += 1,
        }
    }
}

/// True if segments are so much slower than another one, and for so long, that they are no pieces of its rounds.
fn is_slower(segments: &Segments<'_>, pieces: std::ops::Range<usize>, host: usize) -> bool {
    let (pieces, host) = (&segments.list[pieces], &segments.list[host]);
    let messages: f64 = pieces.iter().map(|piece| piece.behaviour.messages).sum();
    let ns: u64 = pieces.iter().map(|piece| segments.active_ns(piece)).sum();
    let slower = messages * SLOWER < segments.rate(host) * ns as f64;
    slower && ns > segments.round_ns(host).saturating_mul(LASTING)
}

fn gradual(segments: &mut Segments<'_>) {
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

fn is_gradual(segments: &Segments<'_>, number: usize) -> bool {
    let (one, other) = (&segments.list[number], &segments.list[number + 1]);
    let few = one.units.len().min(other.units.len());
    if few < 2 {
        return false;
    }
    // The window at the boundary may hold something of both; few windows are long ones.
    let beside = usize::from(few >= 4);
    let near = |len: usize| if few < 4 { 1 } else { (len / NEAR).max(1) };
    let end = one.units.end - beside;
    let left = end - near(one.units.len()).min(one.units.len() - 1 - beside)..end;
    let start = other.units.start + beside;
    let right = start..start + near(other.units.len());
    let (Some(left), Some(right)) = (segments.behaviour(left), segments.behaviour(right)) else {
        return false;
    };
    let local = left.difference(&right).sure;
    local < LIMIT && local < ABRUPT * one.behaviour.difference(&other.behaviour).sure
}

fn straddlers(segments: &mut Segments<'_>) {
    let mut number = 1;
    while number + 1 < segments.list.len() {
        let own = &segments.list[number];
        let (before, after) = (&segments.list[number - 1], &segments.list[number + 1]);
        let larger =
            |other: &Segment| other.units.len() > 1 || other.behaviour.messages > own.behaviour.messages;
        let straddles = if own.behaviour.stray {
            false
        } else if own.units.len() == 1 {
            larger(before) && larger(after) && is_mixture(&own.behaviour, &before.behaviour, &after.behaviour)
        } else {
            is_transition(segments, number)
        };
        if straddles {
            let nearer = own.behaviour.difference_of_messages(&before.behaviour).all
                <= own.behaviour.difference_of_messages(&after.behaviour).all;
            segments.join(if nearer { number - 1 } else { number });
            number = number.saturating_sub(1).max(1);
        } else {
            number += 1;
        }
    }
}

/// While some ranks are still in the old phase and others in the new one already, there is less and less of the old one. A phase
/// of its own that does what both do is a mixture of the same shares all along.
fn is_transition(segments: &Segments<'_>, number: usize) -> bool {
    let own = &segments.list[number];
    let (before, after) = (&segments.list[number - 1].behaviour, &segments.list[number + 1].behaviour);
    let messages = own.behaviour.messages * TRANSITION;
    if messages > before.messages.min(after.messages) {
        return false;
    }
    let middle = own.units.start + own.units.len().div_ceil(2);
    let halves = (segments.behaviour(own.units.start..middle), segments.behaviour(middle..own.units.end));
    let (Some(first), Some(second)) = halves else { return false };
    let (first, second) = (share(&first, before, after), share(&second, before, after));
    first.1 < LIMIT && second.1 < LIMIT && first.0 > second.0
}

/// The share of the one in the mixture of both that is most like `own`, and how different it still is.
fn share(own: &Behaviour, before: &Behaviour, after: &Behaviour) -> (f64, f32) {
    let differs = |share: f64| (share, own.difference_of_messages(&before.mixture(after, share)).sure);
    (0..=SHARES)
        .map(|part| differs(f64::from(part) / f64::from(SHARES)))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap_or((0.0, f32::INFINITY))
}

fn is_mixture(own: &Behaviour, before: &Behaviour, after: &Behaviour) -> bool {
    let differs = |share: &f64| own.difference_of_messages(&before.mixture(after, *share)).sure;
    MIXTURES.iter().map(differs).fold(f32::INFINITY, f32::min) < LIMIT / 2.0
}
