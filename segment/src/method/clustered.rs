//! From labelled windows to stretches of the run, for all clustering methods.

use ndarray::{Array1, Array2, Axis};

use super::idle::Idle;
use crate::agglomerate::agglomerate;
use crate::first_pass::survey::Run;
use crate::first_pass::window::points::{Points, SAME};
use crate::plan::{Plan, Stretch};

/// A stretch shorter than 1/`STEP` of its own round is no phase, but a step of the round that looks
/// like another phase.
const STEP: u64 = 4;

/// Windows before and after a change of label in which the second pass looks for a new phase's
/// first message. If a round is longer, it looks within a round.
const SLACK: u64 = 2;

/// Labels for all points, counted from 0.
///
/// Noise joins the phase before it. A single window that straddles two phases joins the first of
/// them. If `merge`, clusters nearer than [`SAME`] become one.
pub(super) fn tidy(points: &Points, labels: Vec<Option<usize>>, merge: bool) -> Vec<u32> {
    let mut last = labels.iter().flatten().next().copied().unwrap_or(0);
    let fill = |label: Option<usize>| {
        last = label.unwrap_or(last);
        last
    };
    let mut labels: Vec<usize> = labels.into_iter().map(fill).collect();
    absorb_straddlers(&mut labels);
    if merge {
        merge_near(&points.full, &mut labels);
    }
    let mut order: Vec<usize> = Vec::new();
    labels
        .iter()
        .map(|label| {
            let at = order.iter().position(|known| known == label).unwrap_or_else(|| {
                order.push(*label);
                order.len() - 1
            });
            at as u32
        })
        .collect()
}

/// Number of labels.
pub(super) fn count(labels: &[u32]) -> u32 {
    labels.iter().max().map_or(0, |label| label + 1)
}

fn absorb_straddlers(labels: &mut [usize]) {
    for i in 1..labels.len().saturating_sub(1) {
        let (before, own, after) = (labels[i - 1], labels[i], labels[i + 1]);
        if own != before && own != after && before != after {
            labels[i] = before;
        }
    }
}

/// Merges the two clusters with the nearest means until all are [`SAME`] or more apart.
pub(super) fn merge_near(points: &Array2<f64>, labels: &mut [usize]) {
    let clusters = labels.iter().max().map_or(0, |label| label + 1);
    let mut sums: Vec<(f64, Array1<f64>)> = vec![(0.0, Array1::zeros(points.ncols())); clusters];
    for (point, label) in points.axis_iter(Axis(0)).zip(labels.iter()) {
        sums[*label].0 += 1.0;
        sums[*label].1 += &point;
    }
    type Sum = (f64, Array1<f64>);
    let distance = |one: &Sum, other: &Sum| {
        let mut square = 0.0;
        for (a, b) in one.1.iter().zip(&other.1) {
            square += (a / one.0 - b / other.0).powi(2);
        }
        // Nothing is near a cluster without points.
        if square.is_nan() { f64::INFINITY } else { square.sqrt() }
    };
    let merge = |kept: &mut Sum, gone: Sum| {
        kept.0 += gone.0;
        kept.1 += &gone.1;
    };
    let becomes = agglomerate(sums, distance, merge, |distance, _| distance < SAME);
    labels.iter_mut().for_each(|label| *label = becomes[*label]);
}

/// The stretches of labelled windows, and idle ones where nobody sends for long.
pub(super) fn plan(run: &Run, points: &Points, labels: &[u32]) -> Plan {
    let windows = run.windows.all();
    let idle = Idle::new(run, points);
    let mut stretches = Vec::new();
    if let Some(end_ns) = idle.at_start() {
        stretches.push(Stretch::exact(None, 0));
        stretches.push(Stretch::exact(Some(labels[0]), end_ns));
    } else {
        stretches.push(Stretch::exact(Some(labels[0]), 0));
    }
    for i in 1..points.len() {
        if let Some(start_ns) = idle.before(i) {
            stretches.push(Stretch::exact(None, start_ns));
        } else if labels[i] == labels[i - 1] {
            continue;
        }
        stretches.push(Stretch::exact(Some(labels[i]), run.since_start(windows[points.windows[i]].first_ns)));
    }
    if let Some(start_ns) = idle.at_end() {
        stretches.push(Stretch::exact(None, start_ns));
    }
    let rounds = round_of_labels(run, points, labels);
    let least = |label: Option<u32>| label.map_or(0, |label| rounds[label as usize] / STEP);
    let slack = |_: u64, a: u32, b: u32| {
        rounds[a as usize].max(rounds[b as usize]).max(SLACK.saturating_mul(run.windows.width_ns()))
    };
    Plan::new(stretches).join_short(run.duration_ns, least).loosen(run.duration_ns, slack)
}

/// How long a round of each label is: the median over its windows, 0 if messages do not return.
fn round_of_labels(run: &Run, points: &Points, labels: &[u32]) -> Vec<u64> {
    let mut rounds: Vec<Vec<u64>> = vec![Vec::new(); count(labels) as usize];
    for (window, label) in points.windows.iter().zip(labels) {
        rounds[*label as usize].extend(run.windows.all()[*window].round_ns());
    }
    rounds
        .iter_mut()
        .map(|rounds| {
            rounds.sort_unstable();
            rounds.get(rounds.len() / 2).copied().unwrap_or(0)
        })
        .collect()
}
