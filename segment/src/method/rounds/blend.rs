//! Rounds that run into each other.
//!
//! Ranks that nothing holds together drift apart by more than a round, most of all where more ranks
//! than cores take turns. Windows then hold parts of several rounds, no two alike, and stay apart.
//! Several windows together are alike again. So a series of short segments is compared in larger
//! and larger groups, up to the first size at which most neighbours are alike. Short phases that
//! really take turns repeat their rounds. A series in which half of the segments do so is left
//! alone.

use std::ops::Range;

use super::measure::Behaviour;
use super::merge::{Spread, Tolerance, merge_neighbours};
use super::segments::{Segment, Segments};

/// A segment of at most this number of units may be a part of a series.
const SHORT: usize = 4;
/// Least number of segments of a series.
const SERIES: usize = 12;
/// Groups hold 2, 4, … segments, up to this number.
const LARGEST: usize = 64;
/// Least number of groups that are compared.
const GROUPS: usize = 4;
/// A grouping is taken if at least this number of groups make one stretch, in the mean.
const ALIKE: usize = 4;
/// Rounds from which on a segment repeats itself; in a series of short segments, fewer.
const ROUNDS: f64 = 3.0;
const SHORT_ROUNDS: f64 = 1.75;
/// Segments, at most, that may be stray messages together.
const STRAYS: usize = 16;
/// A hiccup has less than this part of its neighbour's messages.
const SHARE: f64 = 0.06;
/// A sliver has this many times less time and fewer messages than its neighbour, if that has no
/// rounds.
const SLIVER: f64 = 64.0;

/// Joins segments between two phases that are stray messages together.
pub(super) fn strays(segments: &mut Segments<'_>) {
    let mut number = 0;
    while number < segments.list.len() {
        let rest = segments.list[number..].iter();
        let count = rest.take_while(|segment| !repeats(segments, segment, SHORT_ROUNDS)).take(STRAYS).count();
        let joined = (2..=count).rev().find(|count| segments.are_quiet(number..number + count));
        (1..joined.unwrap_or(1)).for_each(|_| segments.join(number));
        number += 1;
    }
}

/// Joins hiccups to their neighbours. A hiccup does not repeat itself, and is less than a few
/// rounds of a neighbour that does. A process that did not run for a while leaves one.
pub(super) fn hiccups(segments: &mut Segments<'_>) {
    let mut number = 0;
    while number < segments.list.len() {
        match host(segments, number) {
            Some(host) => {
                let stray = segments.list[host].behaviour.stray;
                let joined = number.min(host);
                segments.join(joined);
                segments.list[joined].behaviour.stray = stray;
                number = number.saturating_sub(1);
            }
            None => number += 1,
        }
    }
}

/// The neighbour that a hiccup belongs to; of two, the one that is more alike.
fn host(segments: &Segments<'_>, number: usize) -> Option<usize> {
    let own = &segments.list[number];
    if repeats(segments, own, ROUNDS) || segments.is_quiet(number) {
        return None;
    }
    let neighbours = [number.checked_sub(1), Some(number + 1)].into_iter().flatten();
    let neighbours = neighbours.filter(|neighbour| !segments.meet(number, *neighbour));
    let large = neighbours.filter_map(|neighbour| {
        let other = segments.list.get(neighbour)?;
        let fits = match segments.round(other) {
            None => is_sliver(segments, own, other),
            Some(round) => {
                let few = (ROUNDS * round).min(SHARE * other.behaviour.messages);
                repeats(segments, other, ROUNDS) && own.behaviour.messages < few
            }
        };
        fits.then(|| (own.behaviour.difference_of_messages(&other.behaviour).all, neighbour))
    });
    large.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, neighbour)| neighbour)
}

fn is_sliver(segments: &Segments<'_>, own: &Segment, other: &Segment) -> bool {
    let shorter = segments.active_ns(own) as f64 * SLIVER < segments.active_ns(other) as f64;
    shorter && own.behaviour.messages * SLIVER < other.behaviour.messages
}

fn repeats(segments: &Segments<'_>, segment: &Segment, rounds: f64) -> bool {
    segments.round(segment).is_some_and(|round| segment.behaviour.messages >= rounds * round)
}

/// Joins series of short segments that are alike in groups.
pub(super) fn blend(segments: &mut Segments<'_>, limits: &Tolerance) {
    let mut end = segments.list.len();
    while end > 0 {
        let is_short = |number: &usize| segments.list[*number].units.len() <= SHORT;
        // Ranks that meet at a barrier have not drifted apart there.
        let short = (0..end).rev().take_while(is_short);
        let meeting = short.clone().take_while(|number| !segments.begins_at_meeting(*number)).count();
        let length = short.count().min(meeting + 1);
        let series = end - length..end;
        end = series.start.saturating_sub(1);
        if length < SERIES || repeat(segments, series.clone()) {
            continue;
        }
        if let Some(joined) = grouped(segments, series.clone(), limits) {
            segments.list.splice(series, joined);
        }
    }
}

/// Whether at least half of a series' segments repeat themselves, as phases do.
fn repeat(segments: &Segments<'_>, series: Range<usize>) -> bool {
    let list = &segments.list[series];
    2 * list.iter().filter(|segment| repeats(segments, segment, SHORT_ROUNDS)).count() >= list.len()
}

/// A series in the finest grouping in which most neighbours are alike.
fn grouped(segments: &Segments<'_>, series: Range<usize>, limits: &Tolerance) -> Option<Vec<Segment>> {
    let list = &segments.list[series];
    let mut size = 2;
    while size <= LARGEST && list.len() / size >= GROUPS {
        let ranges: Vec<Range<usize>> =
            list.chunks(size).map(|group| group[0].units.start..group[group.len() - 1].units.end).collect();
        let mut behaviours: Vec<Behaviour> =
            ranges.iter().filter_map(|units| segments.behaviour(units.clone())).collect();
        if behaviours.len() != ranges.len() {
            return None;
        }
        let steps: Vec<f32> = behaviours.windows(2).map(|pair| pair[0].difference(&pair[1]).all).collect();
        let spreads = vec![Spread::default(); ranges.len()];
        let sizes = merge_neighbours(&mut behaviours, spreads, &steps, limits);
        if sizes.len() * ALIKE <= ranges.len() {
            let mut first = 0;
            let joined = behaviours.into_iter().zip(sizes).map(|(behaviour, size)| {
                let units = ranges[first].start..ranges[first + size - 1].end;
                first += size;
                Segment { units, behaviour }
            });
            return Some(joined.collect());
        }
        size *= 2;
    }
    None
}
