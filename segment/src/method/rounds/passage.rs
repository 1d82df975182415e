//! What lies between phases of real programs: starting up, barriers, and ranks that are not done
//! yet.
//!
//! Processes start one after the other, and synchronise before they work together: a few messages
//! that never come again, over more time than many later rounds. That is no phase. Nor is a barrier
//! by itself: it separates phases. And where ranks do not wait for each other, or more ranks than
//! cores take turns, some send the last rounds of a phase when the others are through; these
//! messages look unlike the phase, but make it whole.

use super::merge::LIMIT;
use super::segments::{Segment, Segments};

/// A phase holds so many rounds at least; what holds fewer may be a part of something else.
const ROUNDS: f64 = 3.0;
/// What starts is so many times rarer than what comes then, …
const QUIET: f64 = 4.0;
/// … takes so many of its rounds, at least, …
const LASTING: u64 = 2;
/// … and has so many times fewer messages than the run.
const FEW: f64 = 16.0;
/// Less than this part of a unit at the start is known from the first phase.
const KNOWN: f32 = 0.5;
/// A scrap has so many times fewer messages than what it belongs to.
const SCRAP: f64 = 6.0;
/// … and so many times if it comes again.
const SPECK: f64 = 40.0;
/// What is alike elsewhere has so many times fewer or more messages, at most.
const SIZE: f64 = 2.0;
/// Rounds that are about one.
const ONE: f64 = 1.25;
/// So many segments beside a silence are looked at.
const NEAR: usize = 8;
/// The messages of stragglers are all known from their phase, but for this part, …
const STRANGE: f32 = 0.2;
/// … and fewer ranks send than this part of all; …
const PRESENT: f32 = 0.9;
/// … and they are so many times fewer.
const FEWER: f64 = 2.0;

/// Takes what is sent while the program starts out of the list of segments.
pub(super) fn start(segments: &mut Segments<'_>) {
    let Some(first) = segments.list.iter().position(|segment| segments.holds(segment, ROUNDS)) else {
        return;
    };
    let phase = &segments.list[first];
    let strange = |unit: &usize| {
        segments.behaviour(*unit..unit + 1).is_some_and(|own| {
            own.covered_by(&phase.behaviour) < KNOWN || own.strange_to(&phase.behaviour) > 1.0 - KNOWN
        })
    };
    let lead = (0..phase.units.start).take_while(strange).count();
    let Some(begin) = segments.units.first() else { return };
    let Some(last) = lead.checked_sub(1) else {
        // Where the first unit ends up being mostly of the phase, the second pass looks for its
        // first message in it.
        let length_ns = begin.end_ns - begin.start_ns;
        let rare = begin.messages * QUIET < segments.rate(phase) * length_ns as f64;
        segments.starting = rare && length_ns > segments.round_ns(phase).saturating_mul(LASTING);
        return;
    };
    let length_ns = segments.units[last].end_ns - begin.start_ns;
    let messages: f64 = segments.units[..lead].iter().map(|unit| unit.messages).sum();
    let starting = segments.behaviour(0..lead).is_some_and(|lead| lead.is_barrier());
    let all: f64 = segments.units.iter().map(|unit| unit.messages).sum();
    let rare = messages * FEW < all && messages * QUIET < segments.rate(phase) * length_ns as f64;
    if !starting && (!rare || length_ns < segments.round_ns(phase).saturating_mul(LASTING)) {
        return;
    }
    let mut kept = Vec::with_capacity(segments.list.len());
    for segment in std::mem::take(&mut segments.list) {
        let units = segment.units.start.max(lead)..segment.units.end;
        if units == segment.units {
            kept.push(segment);
        } else if !units.is_empty()
            && let Some(behaviour) = segments.behaviour(units.clone())
        {
            kept.push(Segment { units, behaviour });
        }
    }
    segments.list = kept;
    segments.lead = lead;
    segments.starting = true;
}

/// Before and after a long silence, what is too short to be a phase belongs to the phase at its own
/// side.
pub(super) fn sides(segments: &mut Segments<'_>) {
    for silence in 0..segments.idle.len() {
        let to_ns = segments.idle[silence].to_ns;
        let after = segments.list.partition_point(|segment| segments.start_ns(segment) < to_ns);
        let is_phase = |number: &usize| segments.holds(&segments.list[*number], ROUNDS);
        let next = (after..segments.list.len()).take(NEAR).find(is_phase);
        let before = (0..after).rev().take(NEAR).find(is_phase);
        if let Some(host) = next.filter(|host| (after..*host).all(|own| is_scrap(segments, own, *host))) {
            (after..host).for_each(|_| segments.join(after));
        }
        if let Some(host) = before.filter(|host| (host + 1..after).all(|own| is_scrap(segments, own, *host)))
        {
            (host + 1..after).for_each(|_| segments.join(host));
        }
    }
}

/// Joins barriers, and what is shorter than a few rounds of what is beside it and does not come
/// again, to the neighbour that it is more like; stray messages in an idle stretch are not of
/// either.
pub(super) fn passages(segments: &mut Segments<'_>) {
    let mut number = 0;
    while number < segments.list.len() {
        let own = &segments.list[number].behaviour;
        let neighbours = [number.checked_sub(1), Some(number + 1)].into_iter().flatten();
        let hosts =
            neighbours.filter(|host| *host < segments.list.len() && is_scrap(segments, number, *host));
        let hosts: Vec<usize> = hosts.filter(|_| !segments.is_quiet(number)).collect();
        let hosts = hosts.into_iter().filter(|host| !is_elsewhere(segments, number, *host));
        let alike = hosts.map(|host| (own.difference_of_messages(&segments.list[host].behaviour).all, host));
        match alike.min_by(|one, other| one.0.total_cmp(&other.0)) {
            Some((_, host)) => {
                segments.join(number.min(host));
                number = number.saturating_sub(1);
            }
            None => number += 1,
        }
    }
}

/// Whether a segment is next to nothing beside its host, which comes again: less than about a
/// round, or it does not come again.
fn is_scrap(segments: &Segments<'_>, number: usize, host: usize) -> bool {
    let (own, host) = (&segments.list[number], &segments.list[host]);
    let Some(round) = segments.round(host).filter(|round| host.behaviour.messages >= ROUNDS * round) else {
        return false;
    };
    if own.behaviour.stray {
        return false;
    }
    let rounds = own.behaviour.messages / round;
    let lasting = segments.active_ns(own) as f64 / segments.round_ns(host).max(1) as f64;
    if segments.holds(own, ROUNDS) {
        return rounds.max(lasting) <= ONE && own.behaviour.messages * SPECK < host.behaviour.messages;
    }
    let few = rounds.min(lasting) <= ROUNDS && own.behaviour.messages * SCRAP < host.behaviour.messages;
    few || own.behaviour.is_barrier()
}

/// Whether a segment that lasts as long as a few rounds of its host comes in other places too,
/// about as large, as a phase does in which nothing comes again.
fn is_elsewhere(segments: &Segments<'_>, number: usize, host: usize) -> bool {
    let own = &segments.list[number];
    let lasting = segments.active_ns(own) as f64 / segments.round_ns(&segments.list[host]).max(1) as f64;
    let others = segments.list.iter().enumerate().filter(|(other, _)| other.abs_diff(number) > 1);
    let mut alike = others.filter(|(_, other)| {
        let ratio = own.behaviour.messages / other.behaviour.messages.max(1.0);
        (1.0 / SIZE..=SIZE).contains(&ratio) && other.behaviour.difference(&own.behaviour).sure < LIMIT
    });
    lasting > ROUNDS && !own.behaviour.is_barrier() && alike.next().is_some()
}

/// Joins what stragglers send to the phase that they make whole.
pub(super) fn stragglers(segments: &mut Segments<'_>) {
    let mut number = 1;
    while number < segments.list.len() {
        if completes(segments, number, number - 1) {
            segments.join(number - 1);
        } else if number >= 1 && completes(segments, number - 1, number) {
            segments.join(number - 1);
            number = (number - 1).max(1);
        } else {
            number += 1;
        }
    }
}

/// Whether the messages of a segment are those that its neighbour still lacks: with them, all
/// partners spoke more evenly.
fn completes(segments: &Segments<'_>, number: usize, host: usize) -> bool {
    let (own, phase) = (&segments.list[number], &segments.list[host]);
    if own.behaviour.stray
        || own.behaviour.messages * FEWER > phase.behaviour.messages
        || !segments.holds(phase, ROUNDS)
    {
        return false;
    }
    // A few messages are no phase, how evenly ever they are spread.
    let little = segments.round(phase).is_some_and(|round| own.behaviour.messages <= ROUNDS * round);
    let fewer = own.behaviour.senders() < PRESENT * phase.behaviour.senders();
    fewer
        && own.behaviour.strange_to(&phase.behaviour) <= STRANGE
        && (little || evens_out(segments, own, phase))
}

/// With what is lacking all partners have spoken more evenly, or as often as they did while nobody
/// was through.
fn evens_out(segments: &Segments<'_>, own: &Segment, phase: &Segment) -> bool {
    let mut whole = phase.behaviour.clone();
    whole.merge(&own.behaviour);
    if whole.is_more_even(&phase.behaviour) {
        return true;
    }
    let units = phase.units.clone();
    let half = units.len() / 2;
    let early = if own.units.start >= units.end {
        units.start..units.start + half
    } else {
        units.end - half..units.end
    };
    segments.behaviour(early).is_some_and(|early| {
        let lacking = early.difference_of_messages(&phase.behaviour).all;
        early.difference_of_messages(&whole).all < lacking
    })
}
