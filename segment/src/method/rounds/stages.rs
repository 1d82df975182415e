//! Stages of the run: the same model with windows of at least 1/128 of it.
//!
//! At this scale a loop of short phases is one behaviour, as its passes are alike. Stages are what
//! a person would tell of a run first.

use super::cost::Noise;
use super::features::{Rates, Sums, Units};
use super::windows::{Rounds, STAGE};
use super::{contents, labels, rates, segmented};
use crate::first_pass::survey::Run;

/// A stage begins where a phase begins within this number of windows of the stages.
const NEAR: f64 = 1.5;

/// A stage: the window that it begins with, and its label.
pub(super) type Stage = (usize, u32);

/// The stages of a run, with `locked` silences before windows.
pub(super) fn stages(run: &Run, sums: &[Sums], locked: &[bool]) -> Vec<Stage> {
    let windows = &run.rounds.windows;
    let edges = edges(&run.rounds, locked);
    let units_locked: Vec<bool> = edges[..edges.len() - 1].iter().map(|edge| locked[*edge]).collect();
    // Here, a single odd window counts like a single odd round.
    let rates: Vec<Rates> =
        rates(windows, locked, &edges).into_iter().map(|own| Rates { rounds: 1.0, ..own }).collect();
    let units = Units::new(sums, edges.clone(), &rates, units_locked);
    let starts = segmented(&units, contents(windows, &edges));
    let noise = Noise::new(&units, &starts);
    let labels = labels::labels(&units, &noise, &starts);
    starts.iter().map(|start| edges[*start]).zip(labels).collect()
}

/// The first windows of the stages' windows, and the number of windows. They begin at all silences,
/// and at the borders of windows that are nearest to the ends that the cutter of stages found.
fn edges(rounds: &Rounds, locked: &[bool]) -> Vec<usize> {
    let mut before = Vec::with_capacity(rounds.windows.len() + 1);
    let mut sum = 0;
    for window in &rounds.windows {
        before.push(sum);
        sum += window.messages;
    }
    before.push(sum);
    let nearest = |message: u64| {
        let at = before.partition_point(|first| *first < message).min(before.len() - 1);
        let below = at.saturating_sub(1);
        if message - before[below] < before[at] - message.min(before[at]) { below } else { at }
    };
    let silent = (0..locked.len()).filter(|window| locked[*window]);
    let mut all: Vec<usize> = rounds.stages.iter().map(|message| nearest(*message)).chain(silent).collect();
    all.sort_unstable();
    all.dedup();
    let count = rounds.windows.len();
    let mut edges = vec![0];
    for edge in all.into_iter().filter(|edge| *edge > 0 && *edge < count) {
        edges.push(edge);
    }
    edges.push(count);
    edges
}

/// The stages that begin where a phase does: each begins with the nearest phase. A stage without a
/// phase near its begin is a gradual change or a mixture of two phases, and is left out.
pub(super) fn aligned(phases: &[usize], stages: &[Stage], rounds: &Rounds) -> Vec<Stage> {
    let messages = |one: usize, other: usize| {
        rounds.windows[one.min(other)..one.max(other)].iter().map(|window| window.messages).sum::<u64>()
    };
    let near = (NEAR * (messages(0, rounds.windows.len()) / STAGE) as f64) as u64;
    let mut aligned: Vec<Stage> = Vec::with_capacity(stages.len());
    for (start, label) in stages {
        let nearest = phases.iter().copied().min_by_key(|phase| (messages(*phase, *start), *phase));
        let Some(start) = nearest.filter(|phase| messages(*phase, *start) <= near) else { continue };
        if aligned.last().is_none_or(|last| last.0 < start) {
            aligned.push((start, *label));
        }
    }
    aligned
}
