//! Levels of a run: the same model with coarser windows.
//!
//! In windows that are longer than the passes of a loop, the passes are alike. So a loop of short
//! phases is one stretch of a coarse level, and tells itself from what lies beside it. A stretch of
//! a level begins where a phase does.

use super::cost::Noise;
use super::features::{Sums, Units};
use super::windows::Rounds;
use super::{contents, labels, rates, segmented};
use crate::first_pass::survey::Run;

/// The windows of the finest level above the phases have at least this part of the run's messages;
/// those of each further one have twice as many.
const FINEST: u64 = 128;

/// A stretch of a level begins where a phase begins within this number of its windows.
const NEAR: f64 = 1.5;

/// A stretch: the window that it begins with, and its label.
pub(super) type Start = (usize, u32);

/// The finest level of the run with at most `most` stretches: the `phases` themselves if they are
/// that few. A silence is `locked` before some windows, and divides no stretch of a level.
pub(super) fn readable(
    run: &Run,
    sums: &[&Sums],
    locked: &[bool],
    phases: &[Start],
    most: usize,
) -> Vec<Start> {
    let mut level = phases.to_vec();
    let mut part = FINEST;
    while level.len() > most && part > 1 {
        level = coarser(run, sums, locked, phases, part);
        level.dedup_by_key(|start| start.1);
        part /= 2;
    }
    level
}

/// The level of windows of at least 1/`part` of the run.
fn coarser(run: &Run, sums: &[&Sums], locked: &[bool], phases: &[Start], part: u64) -> Vec<Start> {
    let windows = &run.rounds.windows;
    let least = messages(&run.rounds, 0, windows.len()) / part;
    let edges = edges(&run.rounds, locked, least);
    let silent = edges[..edges.len() - 1].iter().map(|edge| locked[*edge]).collect();
    let units = Units::new(sums, edges.clone(), &rates(windows, locked, &edges), silent);
    let starts = segmented(&units, contents(windows, &edges));
    let noise = Noise::new(&units, &starts);
    let labels = labels::labels(&units, &noise, &starts);
    let level: Vec<Start> = starts.iter().map(|start| edges[*start]).zip(labels).collect();
    aligned(phases, &level, &run.rounds, (NEAR * least as f64) as u64)
}

/// Messages of windows `from..to`.
fn messages(rounds: &Rounds, from: usize, to: usize) -> u64 {
    rounds.windows[from..to].iter().map(|window| window.messages).sum()
}

/// Windows that begin those of a level, of at least `least` messages each but for those before
/// silences, and the number of windows.
fn edges(rounds: &Rounds, locked: &[bool], least: u64) -> Vec<usize> {
    let (mut edges, mut sum) = (vec![0], 0);
    for (at, window) in rounds.windows.iter().enumerate() {
        if at > 0 && (locked[at] || sum >= least) {
            edges.push(at);
            sum = 0;
        }
        sum += window.messages;
    }
    edges.push(rounds.windows.len());
    edges
}

/// The stretches of a level that begin where a phase does: each begins with the nearest phase, at
/// most `near` messages away. One without is a gradual change or a mixture of two phases, and is
/// left out.
fn aligned(phases: &[Start], level: &[Start], rounds: &Rounds, near: u64) -> Vec<Start> {
    let apart = |one: usize, other: usize| messages(rounds, one.min(other), one.max(other));
    let mut aligned: Vec<Start> = Vec::with_capacity(level.len());
    for (start, label) in level {
        let nearest = phases.iter().map(|phase| phase.0).min_by_key(|phase| (apart(*phase, *start), *phase));
        let Some(start) = nearest.filter(|phase| apart(*phase, *start) <= near) else { continue };
        if aligned.last().is_none_or(|last| last.0 < start) {
            aligned.push((start, *label));
        }
    }
    aligned
}
