//! From labelled windows to stretches of the run: what all clustering methods share.

use ndarray::{Array1, Array2, Axis};

use crate::plan::{Plan, Stretch};
use crate::survey::Run;
use crate::window::points::{Points, SAME};

/// A silent time shorter than this part of the run belongs to the phase around it …
const IDLE_PART: u64 = 100;
/// … and so does one shorter than so many rounds of what happens before and after it.
const IDLE_ROUNDS: u64 = 3;

/// Windows to each side of a change in which the second pass looks for the first message of the new phase.
const SLACK: usize = 2;

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

/// Merges the two clusters with the nearest means until all are [`SAME`] or more apart.
fn merge_near(points: &Array2<f64>, labels: &mut [usize]) {
    let clusters = labels.iter().max().map_or(0, |label| label + 1);
    let mut means: Vec<(usize, Array1<f64>)> = vec![(0, Array1::zeros(points.ncols())); clusters];
    for (point, label) in points.axis_iter(Axis(0)).zip(labels.iter()) {
        means[*label].0 += 1;
        means[*label].1 += &point;
    }
    means.iter_mut().for_each(|(count, sum)| *sum /= (*count).max(1) as f64);
    loop {
        let mut nearest = (SAME, None);
        for one in 0..clusters {
            for other in one + 1..clusters {
                if means[one].0 == 0 || means[other].0 == 0 {
                    continue;
                }
                let away = &means[one].1 - &means[other].1;
                let distance = away.dot(&away).sqrt();
                if distance < nearest.0 {
                    nearest = (distance, Some((one, other)));
                }
            }
        }
        let Some((kept, gone)) = nearest.1 else { break };
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
    let time = |point: usize| run.since_start(windows[points.windows[point]].first_ns);
    let idle = Idle::new(run, points);
    let mut stretches = Vec::new();
    // Points where a stretch begins, the end of the last one behind them.
    let mut begins: Vec<usize> = vec![0];
    begins.extend((1..points.len()).filter(|i| labels[*i] != labels[i - 1] || idle.before(*i).is_some()));
    begins.push(points.len());
    if let Some(silence) = idle.at_start() {
        stretches.push(Stretch::exact(None, 0));
        stretches.push(Stretch::exact(Some(labels[0]), silence));
    } else {
        stretches.push(Stretch::exact(Some(labels[0]), 0));
    }
    for around in begins.windows(3) {
        let [before, begin, end] = *around else { continue };
        let label = Some(labels[begin]);
        if let Some(silence) = idle.before(begin) {
            stretches.push(Stretch::exact(None, silence));
            stretches.push(Stretch::exact(label, time(begin)));
            continue;
        }
        // Each change may use half of the stretches at its sides, so that changes keep their order.
        let left = SLACK.min((begin - before) / 2);
        let right = SLACK.min((end - begin) / 2);
        let latest_ns = if begin + right < points.len() { time(begin + right) } else { run.duration_ns };
        stretches.push(Stretch { label, earliest_ns: time(begin - left), latest_ns });
    }
    if let Some(silence) = idle.at_end() {
        stretches.push(Stretch::exact(None, silence));
    }
    Plan::new(stretches)
}

/// Where nobody posts a message for longer than the program's rhythm explains.
struct Idle<'a> {
    run: &'a Run,
    points: &'a Points,
    /// Usual time between windows with messages.
    usual_ns: u64,
}

impl<'a> Idle<'a> {
    fn new(run: &'a Run, points: &'a Points) -> Self {
        let mut steps: Vec<usize> = points.windows.windows(2).map(|pair| pair[1] - pair[0]).collect();
        steps.sort_unstable();
        let usual = steps.get(steps.len() / 2).copied().unwrap_or(1) as u64;
        Self { run, points, usual_ns: usual.saturating_mul(run.windows.width_ns()) }
    }

    /// The end of the message before `point`'s first, if the time between them is idle.
    fn before(&self, point: usize) -> Option<u64> {
        let (last, next) = (self.window(point - 1), self.window(point));
        let (from, to) = (self.run.since_start(last.last_ns), self.run.since_start(next.first_ns));
        let round = self.round_ns(point - 1).max(self.round_ns(point));
        self.long(to - from, round).then_some(from + 1)
    }

    /// The time of the first message, if what comes before is idle.
    fn at_start(&self) -> Option<u64> {
        let first = self.run.since_start(self.window(0).first_ns);
        self.long(first, self.round_ns(0)).then_some(first)
    }

    /// The end of the last message, if what comes after is idle.
    fn at_end(&self) -> Option<u64> {
        let end = self.points.len() - 1;
        let last = self.run.since_start(self.window(end).last_ns);
        self.long(self.run.duration_ns - last, self.round_ns(end)).then_some(last + 1)
    }

    fn window(&self, point: usize) -> &crate::window::Window {
        &self.run.windows.all()[self.points.windows[point]]
    }

    fn round_ns(&self, point: usize) -> u64 {
        self.window(point).round_ns().unwrap_or(0)
    }

    fn long(&self, silence_ns: u64, round_ns: u64) -> bool {
        silence_ns > self.run.duration_ns / IDLE_PART
            && silence_ns > IDLE_ROUNDS.saturating_mul(round_ns.max(self.usual_ns))
    }
}
