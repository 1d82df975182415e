//! `jsd`: recursive splitting by Jensen-Shannon divergence.

use phaseflow_collect::choice::Choice;
use phaseflow_collect::{Error, Result};

use super::clustered;
use super::split::{Answer, Limits, Split};
use crate::entropy::x_ln_x;
use crate::first_pass::survey::Run;
use crate::first_pass::window::points::Points;
use crate::first_pass::window::sketch::{BINS, VIEWS};

/// Splits the run in two where the messages before and after differ most, then each half again.
///
/// It splits as long as the Bayesian information criterion prefers two distributions to one, where
/// N·JSD exceeds ½·k·ln N. N counts messages, k free parameters, and the divergence is in nats
/// (Grosse et al., Analysis of symbolic sequences using the Jensen-Shannon divergence, Physical
/// Review E 65, 2002; for traces of messages Alawneh, Hamou-Lhadj and Hassine, Segmenting large
/// traces of inter-process communication, Journal of Systems and Software 120, 2016). The
/// divergence is the mean over the views of a sketch. Stretches that look alike become one phase.
///
/// A baseline. Wrong for A-B-A-B: the halves of the run are alike, so chance decides where the
/// first split lies, if there is one. All others depend on it. Wrong for long runs: any difference
/// is significant if there are enough messages. Blind for changes of the rate alone. Memory: 3 kB a
/// window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JsdMethod {
    /// Factor of the penalty.
    penalty: f64,
}

impl JsdMethod {
    pub(super) fn parse(choice: &Choice) -> Result<Self> {
        choice.only(&["penalty"])?;
        let penalty = choice.value("penalty", 1.0)?;
        if !(penalty > 0.0 && penalty <= 1e12) {
            return Err(Error::usage(format!("`{choice}`: penalty is {penalty}, expected more than 0")));
        }
        Ok(Self { penalty })
    }
}

impl Split for JsdMethod {
    fn split(&self, run: &Run, limits: &Limits) -> Result<Answer> {
        let points = Points::new(&run.windows);
        let weights: Vec<f64> =
            points.windows.iter().map(|window| run.windows.all()[*window].messages as f64).collect();
        let sums = Sums::new(&points, &weights);
        let starts = sums.split(self.penalty);
        let mut label = 0;
        let mut labels = Vec::with_capacity(points.len());
        for point in 0..points.len() {
            label += usize::from(starts.binary_search(&point).is_ok());
            labels.push(Some(label));
        }
        let labels = clustered::tidy(&points, labels, true);
        let k = clustered::count(&labels);
        let parameters = format!("penalty={},k={k},windows={}", self.penalty, limits.windows);
        Ok(Answer { plan: clustered::plan(run, &points, &labels), parameters })
    }
}

/// Messages by bin before each point; every view counts all messages.
struct Sums {
    /// Points + 1 rows of [`BINS`].
    bins: Vec<f64>,
    /// Messages before each point.
    messages: Vec<f64>,
}

impl Sums {
    fn new(points: &Points, weights: &[f64]) -> Self {
        let mut bins = vec![0.0; (points.len() + 1) * BINS];
        let mut messages = vec![0.0; points.len() + 1];
        for (i, (row, weight)) in points.full.rows().into_iter().zip(weights).enumerate() {
            let (before, after) = bins.split_at_mut((i + 1) * BINS);
            for (bin, value) in row.iter().take(BINS).enumerate() {
                // Coordinates are square roots of shares; each view has an equal share of a half.
                let part = value * value * 2.0 * VIEWS.len() as f64;
                after[bin] = before[i * BINS + bin] + part * weight;
            }
            messages[i + 1] = messages[i] + weight;
        }
        Self { bins, messages }
    }

    /// The points at which stretches begin, without the first.
    fn split(&self, penalty: f64) -> Vec<usize> {
        let mut starts = Vec::new();
        let mut left = vec![(0, self.messages.len() - 1)];
        while let Some((start, end)) = left.pop() {
            let Some((at, gain)) = self.best(start, end) else { continue };
            let total = self.messages[end] - self.messages[start];
            if gain > penalty * 0.5 * self.parameters(start, end) * total.max(1.0).ln() {
                starts.push(at);
                left.push((start, at));
                left.push((at, end));
            }
        }
        starts.sort_unstable();
        starts
    }

    /// Parameters that a split of the points from `start` to `end` adds to a model: a distribution
    /// in each view and the place. A message counts once over all views.
    fn parameters(&self, start: usize, end: usize) -> f64 {
        let used = (0..BINS).filter(|bin| self.count(start, end, *bin) > 0.0).count();
        used as f64 / VIEWS.len() as f64
    }

    /// The best split of the points from `start` to `end` and its N·JSD, the greatest of all.
    fn best(&self, start: usize, end: usize) -> Option<(usize, f64)> {
        let used: Vec<usize> = (0..BINS).filter(|bin| self.count(start, end, *bin) > 0.0).collect();
        let mut best: Option<(usize, f64)> = None;
        let whole = self.entropy(start, end, &used);
        for at in start + 1..end {
            let gain = whole - self.entropy(start, at, &used) - self.entropy(at, end, &used);
            if best.is_none_or(|best| gain > best.1) {
                best = Some((at, gain));
            }
        }
        best
    }

    /// Messages times entropy in nats, mean over the views.
    fn entropy(&self, start: usize, end: usize, used: &[usize]) -> f64 {
        let total = self.messages[end] - self.messages[start];
        let logs: f64 = used.iter().map(|bin| x_ln_x(self.count(start, end, *bin))).sum();
        x_ln_x(total) - logs / VIEWS.len() as f64
    }

    fn count(&self, start: usize, end: usize, bin: usize) -> f64 {
        self.bins[end * BINS + bin] - self.bins[start * BINS + bin]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points that have each view in one bin; `kinds` says which.
    fn sums(kinds: &[usize], weight: f64) -> Sums {
        let mut bins = vec![0.0; (kinds.len() + 1) * BINS];
        let mut messages = vec![0.0];
        for (i, kind) in kinds.iter().enumerate() {
            for bin in 0..BINS {
                bins[(i + 1) * BINS + bin] = bins[i * BINS + bin];
            }
            // The first 16 bins of the first view stand for all of them.
            bins[(i + 1) * BINS + kind] += weight * VIEWS.len() as f64;
            messages.push(weight * (i + 1) as f64);
        }
        Sums { bins, messages }
    }

    #[test]
    fn a_divergence_by_hand() {
        // Half of one kind and half of the other: JSD is ln 2 for equal parts.
        let halves = sums(&[0, 0, 0, 0, 1, 1, 1, 1], 100.0);
        let (at, gain) = halves.best(0, 8).unwrap();
        assert_eq!(at, 4);
        assert!((gain - 800.0 * std::f64::consts::LN_2).abs() < 1e-6, "{gain}");
        // One part in eight: the entropy of (1/8, 7/8).
        let (at, gain) = sums(&[0, 1, 1, 1, 1, 1, 1, 1], 100.0).best(0, 8).unwrap();
        let entropy = 0.125f64 * 8f64.ln() + 0.875 * (8.0f64 / 7.0).ln();
        assert_eq!(at, 1);
        assert!((gain - 800.0 * entropy).abs() < 1e-6, "{gain}");
    }

    #[test]
    fn splits_are_where_kinds_change_and_none_where_they_do_not() {
        assert_eq!(sums(&[0, 0, 0, 2, 2, 1, 1, 1, 1], 100.0).split(1.0), [3, 5]);
        assert!(sums(&[3; 20], 1000.0).split(1.0).is_empty());
        assert!(sums(&[0], 10.0).split(1.0).is_empty());
    }

    #[test]
    fn few_messages_prove_nothing() {
        // N·JSD is 2·ln 2, twelve times ½·k·ln N with k = 2/6.
        let two = sums(&[0, 1], 1.0);
        assert_eq!(two.split(1.0), [1]);
        assert_eq!(two.split(11.9), [1]);
        assert!(two.split(12.1).is_empty());
    }
}
