//! From labelled windows to stretches of the run: what all clustering methods share.

use ndarray::{Array1, Array2, Axis};

use super::idle::Idle;
use crate::plan::{Plan, Stretch};
use crate::survey::Run;
use crate::window::points::{Points, SAME};

/// What is shorter than this part of its own round is a step of it that looks like another phase, not a phase.
const STEP: u64 = 4;

/// The second pass looks for the first message of a new phase within a round or so many windows of where windows change.
const SLACK: u64 = 2;

/// Labels for all points: noise joins what is before it, a single window that straddles two phases joins the first of
/// them, and, if `merge`, clusters nearer than [`SAME`] become one. The labels that are left count from 0.
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

/// Number and mean of the points of a cluster.
type Mean = (usize, Array1<f64>);

/// The means of all clusters.
fn means(points: &Array2<f64>, labels: &[usize]) -> Vec<Mean> {
    let clusters = labels.iter().max().map_or(0, |label| label + 1);
    let mut means: Vec<Mean> = vec![(0, Array1::zeros(points.ncols())); clusters];
    for (point, label) in points.axis_iter(Axis(0)).zip(labels.iter()) {
        means[*label].0 += 1;
        means[*label].1 += &point;
    }
    means.iter_mut().for_each(|(count, sum)| *sum /= (*count).max(1) as f64);
    means
}

/// The least distance between the means of two clusters, and which these are.
fn nearest(means: &[Mean]) -> Option<(f64, usize, usize)> {
    let used: Vec<usize> = (0..means.len()).filter(|i| means[*i].0 > 0).collect();
    let pairs =
        used.iter().enumerate().flat_map(|(i, one)| used[i + 1..].iter().map(move |other| (*one, *other)));
    let distance = |(one, other): (usize, usize)| {
        let away = &means[one].1 - &means[other].1;
        (away.dot(&away).sqrt(), one, other)
    };
    pairs.map(distance).min_by(|a, b| a.0.total_cmp(&b.0))
}

/// Merges the two clusters with the nearest means until all are [`SAME`] or more apart.
pub(super) fn merge_near(points: &Array2<f64>, labels: &mut [usize]) {
    let mut means = means(points, labels);
    while let Some((distance, kept, gone)) = nearest(&means)
        && distance < SAME
    {
        let (n, m) = (means[kept].0, means[gone].0);
        let sum = &means[kept].1 * n as f64 + &means[gone].1 * m as f64;
        means[kept] = (n + m, sum / (n + m) as f64);
        means[gone].0 = 0;
        labels.iter_mut().filter(|label| **label == gone).for_each(|label| *label = kept);
    }
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
    let slack = |a: u32, b: u32| {
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
