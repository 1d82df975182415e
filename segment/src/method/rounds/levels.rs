//! Levels of a run: the same model with coarser windows.
//!
//! In windows that are longer than the passes of a loop, the passes are alike. So a loop of short
//! phases is one stretch of a coarse level, and tells itself from what lies beside it. A stretch of
//! a level begins where a phase does: with windows this long, it is not known more closely where.
//! The likelihood of the messages decides among the phases that begin near.
//!
//! Structure of a run shows at more than one scale, accidents of windows at one alone (Witkin,
//! Scale-space filtering, IJCAI 1983). So the run is described by levels that find each other's
//! stretches again, over as many scales as possible.

use super::features::Units;
use super::stretches::{Start, without};
use super::{amounts, contents, is_small, rates, segmented};
use crate::first_pass::rounds::sums::Sums;
use crate::first_pass::rounds::windows::{NOTICED, Rounds};
use crate::first_pass::survey::Run;

/// The windows of the finest level above the phases have at least this part of the run's messages;
/// those of each further one have twice as many.
const FINEST: u64 = 1024;

/// Two levels in a row find each other again if at least this part of their boundaries is common to
/// both. From .7 to .9 the score changes by less than .003.
const FOUND_AGAIN: f64 = 0.8;

/// A level that describes the run has at most this part of the phases' stretches: with more it says
/// hardly more than they do. From a third to a half the score stays the same.
const FEWER: f64 = 0.5;

/// Stretches, at least, of a level that describes the run: all coarse levels have one or two parts
/// in common. With five the score changes by less than .003.
const FEWEST: usize = 3;

/// A run of at most this many phases is described by them. With 16 the score of generated runs of
/// few rounds is higher by .011 and a recorded loop is one row, with 32 it is lower by .005.
const SHORT: usize = 20;

/// A stretch of a level begins where a phase begins within this number of its windows.
const NEAR: f64 = 1.5;

/// The level that describes the run. If there are at most [`SHORT`] phases, it consists of them,
/// without occurrences that are too small to be noticed. Otherwise it is the finest one of the
/// levels in a row that find each other again, where that row is the longest. If there is none, it
/// is the one with at most `most` stretches that has most boundaries in common with the next level.
/// If no two have any, it consists of the phases, if there are at most `most`, or is the finest
/// level of at most `most` stretches. A silence is `locked` before some windows, and divides no
/// stretch of a level.
pub(super) fn describing(
    run: &Run,
    sums: &[&Sums],
    locked: &[bool],
    phases: &[Start],
    most: usize,
) -> Vec<Start> {
    let end = |at: usize| phases.get(at + 1).map_or(locked.len(), |next| next.0);
    let all = amounts(run, 0, locked.len());
    let small = |at: usize| is_small(&amounts(run, phases[at].0, end(at)), &all, NOTICED);
    if phases.len() <= SHORT {
        return without(locked, phases, small);
    }
    let parts = std::iter::successors(Some(FINEST), |part| Some(part / 2)).take_while(|part| *part > 1);
    let mut levels: Vec<Vec<Start>> = parts.map(|part| coarser(run, sums, locked, phases, part)).collect();
    let describes =
        |level: &[Start]| level.len() >= FEWEST && level.len() as f64 <= FEWER * phases.len() as f64;
    let pairs = levels.windows(2).enumerate().filter(|(_, pair)| pair.iter().all(|own| describes(own)));
    let pairs: Vec<(usize, f64)> = pairs.map(|(at, pair)| (at, common(&pair[0], &pair[1]))).collect();
    let again: Vec<usize> = pairs.iter().filter(|pair| pair.1 >= FOUND_AGAIN).map(|pair| pair.0).collect();
    let rows = again.chunk_by(|one, next| one + 1 == *next);
    let longest = rows.rev().max_by_key(|row| row.len()).map(|row| row[0]);
    let few = |at: usize| levels[at].len() <= most;
    let readable = pairs.iter().rev().filter(|pair| few(pair.0) && pair.1 > 0.0);
    let most_alike = readable.max_by(|one, other| one.1.total_cmp(&other.1)).map(|pair| pair.0);
    let found = longest.or(most_alike);
    if found.is_none() && phases.len() <= most {
        return without(locked, phases, small);
    }
    let finest = || (0..levels.len()).find(|at| few(*at));
    let found = found.or_else(finest).unwrap_or(levels.len().saturating_sub(1));
    levels.swap_remove(found)
}

/// The part of two levels' boundaries that both have (Dice's coefficient).
fn common(one: &[Start], other: &[Start]) -> f64 {
    let inner = |level: &[Start]| level.len().saturating_sub(1);
    let is_common = |start: &&Start| one.binary_search_by_key(&start.0, |own| own.0).is_ok();
    let both = other.iter().skip(1).filter(is_common).count();
    2.0 * both as f64 / (inner(one) + inner(other)).max(1) as f64
}

/// The level of windows of at least 1/`part` of the run.
fn coarser(run: &Run, sums: &[&Sums], locked: &[bool], phases: &[Start], part: u64) -> Vec<Start> {
    let windows = &run.rounds.windows;
    let least = messages(&run.rounds, 0, windows.len()) / part;
    let edges = edges(&run.rounds, locked, least);
    let silent = edges[..edges.len() - 1].iter().map(|edge| locked[*edge]).collect();
    let units = Units::new(sums, edges.clone(), &rates(windows, locked, &edges), silent);
    let level = segmented(&units, &contents(windows, &edges), run.rounds.tokens.len());
    let level: Vec<Start> = level.into_iter().map(|(start, label)| (edges[start], label)).collect();
    let mut level = aligned(phases, &level, &run.rounds, sums, (NEAR * least as f64) as u64);
    level.dedup_by_key(|start| start.1);
    level
}

/// Messages of windows `from..to`.
fn messages(rounds: &Rounds, from: usize, to: usize) -> u64 {
    rounds.windows[from..to].iter().map(|window| window.messages).sum()
}

/// Windows that begin those of a level, of at least `least` messages each but for those before
/// silences, and the number of windows. None begins within a round, as the steps of a round are no
/// structure of the run.
fn edges(rounds: &Rounds, locked: &[bool], least: u64) -> Vec<usize> {
    let (mut edges, mut sum) = (vec![0], 0);
    for (at, window) in rounds.windows.iter().enumerate() {
        if at > 0 && (locked[at] || sum >= least && !window.divides) {
            edges.push(at);
            sum = 0;
        }
        sum += window.messages;
    }
    edges.push(rounds.windows.len());
    edges
}

/// The stretches of a level that begin where a phase does: each with the phase that divides the
/// messages around it with the greatest likelihood, at most `near` messages away. One without is a
/// gradual change or a mixture of two phases, and is left out.
fn aligned(phases: &[Start], level: &[Start], rounds: &Rounds, sums: &[&Sums], near: u64) -> Vec<Start> {
    let apart = |one: usize, other: usize| messages(rounds, one.min(other), one.max(other));
    let mut aligned: Vec<Start> = Vec::with_capacity(level.len());
    for (at, (start, label)) in level.iter().enumerate() {
        let Some(last) = aligned.last() else {
            aligned.push((*start, *label));
            continue;
        };
        let (from, to) = (last.0, level.get(at + 1).map_or(rounds.windows.len(), |next| next.0));
        let likelihood =
            |phase: usize| sums[phase].log_likelihood(sums[from]) + sums[to].log_likelihood(sums[phase]);
        let between = phases.iter().map(|phase| phase.0).filter(|phase| from < *phase && *phase < to);
        let candidates = between.filter(|phase| apart(*phase, *start) <= near);
        let best = candidates.map(|phase| (likelihood(phase), phase));
        let best = best.max_by(|one, other| one.0.total_cmp(&other.0));
        aligned.extend(best.map(|(_, phase)| (phase, *label)));
    }
    aligned
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::first_pass::rounds::windows::Window;

    #[test]
    fn windows_of_a_level_begin_with_whole_rounds() {
        let window = |divides| Window { messages: 10, divides, ..Window::default() };
        let windows = [false, false, true, false, false, true, false].map(window);
        let rounds = Rounds { windows: windows.into(), ..Rounds::default() };
        assert_eq!(edges(&rounds, &[false; 7], 20), [0, 3, 6, 7]);
        // A silence ends one, wherever it is.
        let mut locked = [false; 7];
        locked[2] = true;
        assert_eq!(edges(&rounds, &locked, 20), [0, 2, 4, 6, 7]);
    }

    #[test]
    fn common_boundaries_by_hand() {
        let level = |starts: &[usize]| starts.iter().map(|start| (*start, 0)).collect::<Vec<Start>>();
        // Two of three and four boundaries; the begin of the run is none.
        let (one, other) = (level(&[0, 10, 20, 30]), level(&[0, 5, 10, 25, 30]));
        assert!((common(&one, &other) - 4.0 / 7.0).abs() < 1e-12);
        assert!(common(&level(&[0]), &level(&[0])).abs() < 1e-12);
    }
}
