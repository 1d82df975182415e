//! What merging from the bottom up gets wrong, put right.

use std::ops::Range;

use super::measure::Behaviour;
use super::merge::{LIMIT, LIMITS};
use super::segments::{Segment, Segments};
use super::trend;

/// Behaviour drifts, and the two ends of a long stretch can differ as much as two phases. A
/// boundary is a boundary if there is a difference between what is near to it: this part of the
/// stretches, …
const NEAR: usize = 8;
/// … which has to be this part of the difference between the whole stretches.
const ABRUPT: f32 = 0.5;

/// A segment of at most so many units may be a piece of a round, …
const FEW: usize = 2;
/// … and so may one of at most so many rounds of what is beside it, as pieces come again earlier
/// than rounds; …
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

/// Rounds from which on what comes again is known.
const KNOWN: f64 = 10.0;

/// Ranks change over from one phase to the next in less than this part of either, …
const TRANSITION: f64 = 4.0;
/// … in at most so many segments, …
const STEPS: usize = 6;
/// … and the shares of both in it are known to this part.
const SHARES: u32 = 8;

/// Takes back boundaries that are gradual, and windows that straddle two stretches.
pub(super) fn repair(segments: &mut Segments<'_>) {
    fragments(segments);
    excerpts(segments);
    straddlers(segments);
    transitions(segments);
    gradual(segments);
    segments.merge(&LIMITS);
}

/// What is less than a round of its neighbour, and does not repeat itself, is a part of a round if
/// the neighbour has all of its messages, or if it is too short to be anything.
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

/// Before a rhythm is noticed, and where it ends, pieces of rounds are segments of their own;
/// together they are like what is beside them.
fn fragments(segments: &mut Segments<'_>) {
    let mut number = 0;
    while number < segments.list.len() {
        let whole = &segments.list[number];
        if whole.units.len() <= FEW {
            number += 1;
            continue;
        }
        // What comes again only after all of this has no rounds to be pieces of.
        let messages = whole.behaviour.messages;
        let round = segments.round(whole).filter(|round| PIECE * round <= messages);
        let longest = round.unwrap_or(0.0) * PIECE;
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

/// True if segments are so much slower than another one, and for so long, that they are no pieces
/// of its rounds.
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
        if is_gradual(segments, number) || trend::goes_on(segments, number) {
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
    let left = near(segments, one.units.start..one.units.end - beside, true);
    let right = near(segments, other.units.start + beside..other.units.end, false);
    let (Some(left), Some(right)) = (segments.behaviour(left), segments.behaviour(right)) else {
        return false;
    };
    let whole = one.behaviour.difference(&other.behaviour).sure;
    // What comes again on both sides is known, so that all that chance explains can be left out.
    let recurs = |segment: &Segment| segments.holds(segment, KNOWN);
    let local = if whole < LIMIT || (recurs(one) && recurs(other)) {
        left.difference(&right).sure
    } else {
        let rates = left.gap_of_rates(&right) * one.behaviour.trust(&other.behaviour);
        left.difference_of_messages(&right).fair + rates
    };
    local < LIMIT && local < ABRUPT * whole
}

/// The last of these units, or the first ones, that are one part in [`NEAR`] of them and of their
/// messages; not all of them.
fn near(segments: &Segments<'_>, units: Range<usize>, last: bool) -> Range<usize> {
    let all: f64 = segments.units[units.clone()].iter().map(|unit| unit.messages).sum();
    let least = (units.len() / NEAR).max(1);
    let (mut messages, mut count) = (0.0, 0);
    while count + 1 < units.len() && (count < least || messages * (NEAR as f64) < all) {
        let unit = if last { units.end - 1 - count } else { units.start + count };
        messages += segments.units[unit].messages;
        count += 1;
    }
    if last { units.end - count.max(1)..units.end } else { units.start..units.start + count.max(1) }
}

fn straddlers(segments: &mut Segments<'_>) {
    let mut number = 1;
    while number + 1 < segments.list.len() {
        let own = &segments.list[number];
        let (before, after) = (&segments.list[number - 1], &segments.list[number + 1]);
        let larger =
            |other: &Segment| other.units.len() > 1 || other.behaviour.messages > own.behaviour.messages;
        let straddles = own.units.len() == 1
            && !own.behaviour.stray
            && larger(before)
            && larger(after)
            && is_mixture(&own.behaviour, &before.behaviour, &after.behaviour);
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

/// Joins what lies between two phases while ranks change over.
fn transitions(segments: &mut Segments<'_>) {
    let mut number = 1;
    while number + 1 < segments.list.len() {
        let found = (1..=STEPS).find_map(|count| Some((count, transition(segments, number, count)?)));
        let Some((count, old)) = found else {
            number += 1;
            continue;
        };
        (0..old).for_each(|_| segments.join(number - 1));
        (old..count).for_each(|_| segments.join(number));
    }
}

/// How many of `count` segments are more like what is before them, if they are a transition to what
/// is after them: while some ranks are still in the old phase and others in the new one already,
/// there is less and less of the old one. A phase of its own that does what both do is a mixture of
/// the same shares all along.
fn transition(segments: &Segments<'_>, number: usize, count: usize) -> Option<usize> {
    let (before, after) =
        (&segments.list[number - 1].behaviour, &segments.list.get(number + count)?.behaviour);
    let own = &segments.list[number..number + count];
    let messages: f64 = own.iter().map(|own| own.behaviour.messages).sum();
    if own.iter().any(|own| own.behaviour.stray)
        || messages * TRANSITION > before.messages.min(after.messages)
    {
        return None;
    }
    let pieces: Vec<Behaviour> = match own {
        [own] if own.units.len() > 1 => {
            let middle = own.units.start + own.units.len().div_ceil(2);
            let halves = [own.units.start..middle, middle..own.units.end];
            halves.into_iter().filter_map(|units| segments.behaviour(units)).collect()
        }
        own => own.iter().map(|own| own.behaviour.clone()).collect(),
    };
    let shares: Vec<(f64, f32)> = pieces.iter().map(|piece| share(piece, before, after)).collect();
    let declines = shares.first()?.0 > shares.last()?.0 && shares.is_sorted_by(|one, other| one.0 >= other.0);
    if !declines || shares.iter().any(|share| share.1 >= LIMIT) {
        return None;
    }
    let old = shares.iter().filter(|share| share.0 >= 0.5).count();
    let nearer = |own: &Behaviour, other| own.difference_of_messages(other).all;
    Some(match own {
        [own] => usize::from(nearer(&own.behaviour, before) <= nearer(&own.behaviour, after)),
        _ => old,
    })
}

/// The share of the one in the mixture of both that is most like `own`, and how different it still
/// is.
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
