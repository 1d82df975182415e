//! What lies between phases of real programs: starting up, barriers, and stragglers.
//!
//! Processes start one after the other, and synchronise before they work together. They send a few
//! messages that never come again, over more time than many later rounds. That is no phase. Nor is
//! a barrier by itself: it separates phases. Where ranks do not wait for each other, or outnumber
//! the cores, stragglers send the last rounds of a phase alone. Their messages look unlike the
//! phase, but make it whole.

use super::merge::LIMIT;
use super::segments::{Segment, Segments};

/// Least number of rounds of a phase; a shorter stretch may be a part of something else.
const ROUNDS: f64 = 3.0;
/// Messages of the start come this many times more rarely than the first phase's.
const QUIET: f64 = 4.0;
/// The start takes at least this number of the first phase's rounds.
const LASTING: u64 = 2;
/// The start has this many times fewer messages than the run.
const FEW: f64 = 16.0;
/// Less than this part of a unit's messages at the start occurs in the first phase.
const KNOWN: f32 = 0.5;
/// A scrap has this many times fewer messages than its host.
const SCRAP: f64 = 6.0;
/// The same for a scrap that repeats itself.
const SPECK: f64 = 40.0;
/// Stretches in other places are alike if they have at most this many times more or fewer messages.
const SIZE: f64 = 2.0;
/// At most this number of rounds are about one round.
const ONE: f64 = 1.25;
/// Segments beside a silence, at most, among which a phase is searched.
const NEAR: usize = 8;
/// At most this part of the messages of stragglers does not occur in their phase.
const STRANGE: f32 = 0.2;
/// Stragglers are fewer than this part of the ranks that send in their phase.
const PRESENT: f32 = 0.9;
/// Stragglers send at least this many times fewer messages than their phase.
const FEWER: f64 = 2.0;

/// Removes segments in which the program starts from the list.
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
        // Where the first unit is mostly of the phase, the second pass looks in it for the phase's
        // first message.
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

/// Joins segments beside a long silence that are too short to be phases to the phase on their side.
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

/// Joins barriers and scraps to the neighbour that they are more like. A scrap is shorter than a
/// few rounds of its neighbour and does not come again. Stray messages in an idle stretch join
/// neither side.
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

/// Whether a segment is next to nothing beside its host, which repeats itself: less than about a
/// round, or without repetition.
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

/// Whether a segment is a phase in which nothing comes again: it lasts longer than a few rounds of
/// its host and comes in other places too, about as large.
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

/// Joins the messages of stragglers to the phase that they make whole.
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

/// Whether a segment's messages are what its neighbour lacks: with them, all partners send more
/// evenly.
fn completes(segments: &Segments<'_>, number: usize, host: usize) -> bool {
    let (own, phase) = (&segments.list[number], &segments.list[host]);
    if own.behaviour.stray
        || own.behaviour.messages * FEWER > phase.behaviour.messages
        || !segments.holds(phase, ROUNDS)
    {
        return false;
    }
    // A few messages are no phase, however evenly they are spread.
    let little = segments.round(phase).is_some_and(|round| own.behaviour.messages <= ROUNDS * round);
    let fewer = own.behaviour.senders() < PRESENT * phase.behaviour.senders();
    fewer
        && own.behaviour.strange_to(&phase.behaviour) <= STRANGE
        && (little || evens_out(segments, own, phase))
}

/// Whether a segment makes a phase more even, or more like its half in which all ranks still send.
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
