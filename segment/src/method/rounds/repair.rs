//! Repairs what merging from the bottom up gets wrong.

use std::ops::Range;

use super::measure::Behaviour;
use super::merge::{LIMIT, LIMITS};
use super::segments::{Segment, Segments};
use super::trend;

/// Behaviour drifts, so the two ends of a long stretch can differ as much as two phases do. A
/// boundary is therefore checked by the units near it: 1/`NEAR` of each stretch.
const NEAR: usize = 8;
/// Least part of the difference between the whole stretches that the units near a boundary must
/// show.
const ABRUPT: f32 = 0.5;

/// A segment of at most this number of units may be a piece of a round.
const FEW: usize = 2;
/// So may a segment of at most this number of its neighbour's rounds, as pieces come again earlier
/// than rounds.
const PIECE: f64 = 3.0;
/// Pieces, at most, that are tried as whole rounds together.
const PIECES: usize = 64;

/// Segments that send this many times more slowly than their neighbour are no pieces of its rounds,
/// if they last long enough.
const SLOWER: f64 = 4.0;
/// They last long enough if they take more than this number of rounds.
const LASTING: u64 = 2;

/// An excerpt of a round has at most this many times the round's messages.
const LONGER: f64 = 1.5;
/// At least this part of an excerpt's messages occurs in the round.
const COVERED: f32 = 0.75;
/// A segment this many times shorter than its neighbour's round is no phase.
const SCRAP: f64 = 4.0;

/// Shares of the stretch before in a mixture that a window is compared with.
const MIXTURES: [f64; 3] = [0.25, 0.5, 0.75];

/// From this number of rounds on, it is known which messages come again.
const KNOWN: f64 = 10.0;

/// A transition, in which ranks change over one by one, has less than 1/`TRANSITION` of the
/// messages of either phase.
const TRANSITION: f64 = 4.0;
/// A transition spans at most this number of segments.
const STEPS: usize = 6;
/// Steps in which the shares of both phases in a transition are tried.
const SHARES: u32 = 8;

/// Removes boundaries that are gradual, and windows that straddle two stretches.
pub(super) fn repair(segments: &mut Segments<'_>) {
    fragments(segments);
    excerpts(segments);
    straddlers(segments);
    transitions(segments);
    gradual(segments);
    segments.merge(&LIMITS);
}

/// Joins parts of a round to the neighbour whose round it is.
///
/// Such a segment has less than about a round of its neighbour and does not repeat itself. The
/// neighbour has its messages, or it is too short to be a phase.
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

/// Joins pieces of rounds that are segments of their own, before a rhythm is noticed and where it
/// ends. Together they are like the segment beside them.
fn fragments(segments: &mut Segments<'_>) {
    let mut number = 0;
    while number < segments.list.len() {
        let whole = &segments.list[number];
        if whole.units.len() <= FEW {
            number += 1;
            continue;
        }
        // Messages that come again only after the whole segment make no rounds.
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
                // A group that includes pieces of something else is less alike.
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

/// Whether segments are too slow, for too long, to be pieces of another segment's rounds.
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
    // The window at the boundary may hold messages of both sides. Where there are few windows, they
    // are long.
    let beside = usize::from(few >= 4);
    let left = near(segments, one.units.start..one.units.end - beside, true);
    let right = near(segments, other.units.start + beside..other.units.end, false);
    let (Some(left), Some(right)) = (segments.behaviour(left), segments.behaviour(right)) else {
        return false;
    };
    let whole = one.behaviour.difference(&other.behaviour).sure;
    // Where rounds come again on both sides, all that chance explains can be subtracted.
    let recurs = |segment: &Segment| segments.holds(segment, KNOWN);
    let local = if whole < LIMIT || (recurs(one) && recurs(other)) {
        left.difference(&right).sure
    } else {
        let rates = left.gap_of_rates(&right) * one.behaviour.trust(&other.behaviour);
        left.difference_of_messages(&right).fair + rates
    };
    local < LIMIT && local < ABRUPT * whole
}

/// The last units of these, or the first ones: one part in [`NEAR`] of the units and of their
/// messages, but not all units.
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

/// Joins segments between two phases in which ranks change over.
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

/// Number of segments, of `count`, that belong to the phase before them; `None` if they are no
/// transition.
///
/// In a transition, some ranks are still in the old phase and others already in the new one, so the
/// old phase's share declines. A phase that does what both do has the same shares throughout.
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

/// The share of `before` in the mixture of both that is most like `own`, and how much that mixture
/// differs from `own`.
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
