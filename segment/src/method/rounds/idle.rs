//! Where nobody posts a message for longer than the program's rhythm explains.

use std::ops::Range;

use super::gaps::Silence;
use super::unit::Unit;
use crate::first_pass::survey::Run;

/// A silence shorter than 1/`PART` of the run belongs to the phase around it.
const PART: u64 = 2000;
/// At the end of the run, a silence shorter than 1/`END` of it is not idle: the program may only be
/// ending. A silence that is idle only because it divides two phases has the same limit.
const END: u64 = 100;
/// A silence shorter than this number of rounds of the phases beside it is not idle, with the
/// exceptions below.
pub(super) const ROUNDS: u64 = 3;
/// A silence of one to [`ROUNDS`] rounds is idle if it is this many times as long as every silence
/// nearby that is not idle.
const OUTSTANDING: u64 = 8;
/// Where rounds are not known, this number of silences nearby make a rhythm. Nearby is within this
/// many times the silence's length; the silence itself counts.
const RHYTHM: u64 = 4;
/// Units before and after a silence that tell how long a round is.
const NEIGHBOURS: usize = 16;

/// A silence in the midst of a stretch is part of its rhythm if the stretch holds at least this
/// number of silences like it. The program computes between exchanges.
const OTHERS: usize = 3;
/// A silence is like another one if it is at least 1/`ALIKE` as long.
const ALIKE: u64 = 3;

/// An idle stretch of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Idle {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
}

/// The idle stretches of a run in order, at its begin and end too.
///
/// An idle stretch begins where the next round was due: one usual pause after the last message.
///
/// Units of the same stretch tell what happens before and after a silence. `stretches` are ranges
/// of units in order.
pub(super) fn find(run: &Run, units: &[Unit], stretches: &[Range<usize>]) -> Vec<Idle> {
    let (Some(first), Some(last)) = (units.first(), units.last()) else { return Vec::new() };
    let silences = run.rounds.silences.iter();
    let inner = silences.map(|silence| (run.since_start(silence.from_ns), run.since_start(silence.to_ns)));
    let end = (last.last_ns, run.duration_ns);
    let (least_ns, least_end_ns) = least_ns(run);
    let end = (end.1 - end.0 > least_end_ns).then_some(end);
    let all = std::iter::once((0, first.start_ns)).chain(inner).chain(end);
    let mut idle: Vec<Idle> = Vec::new();
    // For each idle stretch, the stretch that it interrupts.
    let mut amidst: Vec<Option<usize>> = Vec::new();
    for (from, to) in all.filter(|(from, to)| to - from > least_ns) {
        let Sides { before, after, left, right, within, start } = sides(units, stretches, (from, to));
        // The pause after a round belongs to it.
        let (left_ns, right_ns) = (rhythm(left, (from, to)), rhythm(right, (from, to)));
        // Where nothing comes again, nothing is known of a rhythm.
        let Some(usual) = usual_ns(left_ns, right_ns, within) else { continue };
        let length = to - from;
        let others = |reach: u64| {
            let near = from.saturating_sub(reach)..to.saturating_add(reach);
            let silences = &run.rounds.silences;
            let first = silences.partition_point(|other| run.since_start(other.to_ns) < near.start);
            let others =
                silences[first..].iter().take_while(move |other| run.since_start(other.from_ns) < near.end);
            let long = |other: &&Silence| other.length_ns().saturating_mul(OUTSTANDING) > length;
            others.filter(move |other| run.since_start(other.from_ns) != from).filter(long)
        };
        // Idle stretches before it do not belong to the rhythm.
        let is_idle = |other: &&Silence| {
            let to_ns = run.since_start(other.to_ns);
            idle.binary_search_by_key(&to_ns, |idle| idle.to_ns).is_ok()
        };
        let reach = ROUNDS.saturating_mul(usual).max(2 * length);
        let stands_out = || others(reach).all(|other| is_idle(&other));
        // Between two phases, a silence only has to be longer than all silences in them; their
        // rounds may be longer still.
        let divides = || {
            let long = length > run.duration_ns / END;
            let phases = left.first().zip(right.last()).filter(|_| long && !within && stretches.len() > 1);
            phases.is_some_and(|(first, last)| {
                let amid = |other: &&Silence| {
                    run.since_start(other.to_ns) > first.start_ns
                        && run.since_start(other.from_ns) < last.last_ns
                };
                others(reach).filter(amid).all(|other| is_idle(&other))
            })
        };
        // A side without rounds may still have a rhythm of silences.
        let around = units.get(before..after).unwrap_or_default();
        let known = around.iter().all(|unit| unit.round.is_some())
            && (left_ns.is_some() || left.is_empty())
            && (right_ns.is_some() || right.is_empty());
        let is_usual =
            || !known && others(RHYTHM * length).take(RHYTHM as usize - 1).count() + 1 == RHYTHM as usize;
        if (length > ROUNDS.saturating_mul(usual) && !is_usual())
            || (length > usual && stands_out())
            || divides()
        {
            // The last message belongs to the phase before.
            let pause = pause(left).clamp(1, (to - from).div_ceil(2));
            idle.push(Idle { from_ns: if left.is_empty() { from } else { from + pause }, to_ns: to });
            amidst.push(within.then_some(start));
        }
    }
    if stretches.len() > 1 { without_usual(&idle, &amidst) } else { idle }
}

/// The usual pause around a silence, nanoseconds, from the pauses of the rounds before and after
/// it. Between two phases the one after it counts by half.
fn usual_ns(left_ns: Option<u64>, right_ns: Option<u64>, within: bool) -> Option<u64> {
    match (left_ns, right_ns) {
        (Some(own), Some(next)) if within => Some(own.max(next)),
        (Some(own), Some(next)) => Some(own.max(next / 2)),
        (own, next) => own.or(next),
    }
}

/// What is known around a silence.
struct Sides<'a> {
    /// The first unit that ends after the silence begins, and the first unit that begins after the
    /// silence.
    before: usize,
    after: usize,
    /// Units beside the silence, of the stretches at both sides.
    left: &'a [Unit],
    right: &'a [Unit],
    /// The silence interrupts one stretch.
    within: bool,
    /// The first unit of the stretch after the silence.
    start: usize,
}

fn sides<'a>(units: &'a [Unit], stretches: &[Range<usize>], (from, to): (u64, u64)) -> Sides<'a> {
    let after = units.partition_point(|unit| unit.start_ns < to);
    let before = units.partition_point(|unit| unit.last_ns <= from);
    // The stretch of a unit.
    let stretch = |unit: usize| {
        let at = stretches.partition_point(|stretch| stretch.end <= unit);
        stretches.get(at).cloned().unwrap_or(0..units.len())
    };
    let start = before.checked_sub(1).map_or(0, |last| stretch(last).start);
    let next = stretch(after);
    Sides {
        before,
        after,
        left: &units[start.max(before.saturating_sub(NEIGHBOURS))..before],
        right: &units[after..next.end.clamp(after, after + NEIGHBOURS).min(units.len())],
        within: before.checked_sub(1).is_some_and(|last| stretch(last) == next),
        start: next.start,
    }
}

/// Leaves out idle stretches that are usual in the stretch that they interrupt.
fn without_usual(idle: &[Idle], amidst: &[Option<usize>]) -> Vec<Idle> {
    let length = |idle: &Idle| idle.to_ns - idle.from_ns;
    let is_usual = |number: usize| {
        let own = &idle[number];
        let before = (0..number).rev().take_while(|other| amidst[*other] == amidst[number]);
        let after = (number + 1..idle.len()).take_while(|other| amidst[*other] == amidst[number]);
        let alike = before.chain(after).filter(|other| length(&idle[*other]) >= length(own) / ALIKE);
        amidst[number].is_some() && alike.take(OTHERS).count() == OTHERS
    };
    (0..idle.len()).filter(|number| !is_usual(*number)).map(|number| idle[number]).collect()
}

/// Least length of a silence that is idle: in the run, and at its end.
pub(super) fn least_ns(run: &Run) -> (u64, u64) {
    (run.duration_ns / PART, run.duration_ns / END)
}

/// How long a round of these units is: its messages at the mean rate, without `silence`.
fn rhythm(units: &[Unit], silence: (u64, u64)) -> Option<u64> {
    let (first, last) = (units.first()?, units.last()?);
    let messages: f64 = units.iter().map(|unit| unit.messages).sum();
    // A round longer than these units is none: messages come again from a phase of long ago.
    let rounds = units.iter().filter_map(|unit| unit.round);
    let mut rounds: Vec<f64> = rounds.filter(|round| *round <= messages).collect();
    let before = first.start_ns < silence.1 && last.end_ns >= silence.1;
    let end_ns = if before { silence.0 } else { last.end_ns };
    let span_ns = end_ns.saturating_sub(first.start_ns);
    let messages: f64 = units.iter().map(|unit| unit.messages).sum();
    let in_rounds: f64 = units.iter().filter(|unit| unit.round.is_some()).map(|unit| unit.messages).sum();
    // Of a few messages some come again by chance.
    if rounds.is_empty() || 2.0 * in_rounds < messages {
        return None;
    }
    // Pieces of rounds come again earlier than rounds do. The first unit of a stretch comes again
    // late, long after the last stretch of its kind.
    let place = if rounds.len() < NEIGHBOURS / 2 { rounds.len() / 2 } else { rounds.len() * 3 / 4 };
    let round = *rounds.select_nth_unstable_by(place, f64::total_cmp).1;
    Some((span_ns as f64 * round / messages.max(1.0)) as u64)
}

/// Median time from the last message of a unit to the next unit.
fn pause(units: &[Unit]) -> u64 {
    let Some((_, units)) = units.split_last() else { return 0 };
    let mut pauses: Vec<u64> = units.iter().map(|unit| unit.end_ns - unit.last_ns).collect();
    if pauses.is_empty() {
        return 0;
    }
    let middle = (pauses.len() - 1) / 2;
    *pauses.select_nth_unstable(middle).1
}
