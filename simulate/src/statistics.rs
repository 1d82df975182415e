//! Statistics of quantities that change in steps over time.

use crate::engine::Picoseconds;
use crate::result::{Series, SeriesSummary};
use crate::units::PS_PER_S;

/// Maximum, minimum, mean and variance of a step function, each value weighted by its duration.
///
/// Incremental (West, *Updating mean and variance estimates: an improved method*, 1979), so no
/// values are stored and no digits cancel. A value without duration counts for the extremes only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TimeWeighted {
    max: f64,
    min: f64,
    weight: f64,
    mean: f64,
    /// Sum of weighted squared deviations.
    deviations: f64,
}

impl Default for TimeWeighted {
    fn default() -> Self {
        Self { max: f64::NEG_INFINITY, min: f64::INFINITY, weight: 0.0, mean: 0.0, deviations: 0.0 }
    }
}

impl TimeWeighted {
    /// `value` held for `time`.
    pub(crate) fn add(&mut self, value: f64, time: f64) {
        self.max = self.max.max(value);
        self.min = self.min.min(value);
        if time > 0.0 {
            let before = self.weight;
            self.weight += time;
            let deviation = value - self.mean;
            let step = deviation * time / self.weight;
            self.mean += step;
            self.deviations += before * deviation * step;
        }
    }

    /// `None` if no value ever held for any time.
    pub(crate) fn summary(&self) -> Option<SeriesSummary> {
        (self.weight > 0.0).then(|| SeriesSummary {
            max: self.max,
            min: self.min,
            mean: self.mean,
            variance: self.deviations / self.weight,
        })
    }
}

/// A quantity over the run: its statistics, and its values as a [`Series`].
///
/// Statistics are over the whole run, from time 0 to its end. PFSim begins with the first sample of
/// each series, that is when something first changes, so its means are of a slightly shorter time;
/// maxima are the same.
#[derive(Clone, Debug)]
pub(crate) struct StepFunction {
    statistics: TimeWeighted,
    current: f64,
    since: Picoseconds,
    steps: Vec<(Picoseconds, f64)>,
    /// Number of changes per stored step, and those in the last one so far.
    stride: u32,
    filled: u32,
}

/// Most steps that a series stores.
///
/// Longest stored series, in steps: 2 MiB at 16 bytes a step. In longer ones, neighbouring steps
/// are merged with the higher of their values, so peaks remain. Statistics include all steps.
const LONGEST: usize = 1 << 17;

impl Default for StepFunction {
    fn default() -> Self {
        Self {
            statistics: TimeWeighted::default(),
            current: f64::NAN,
            since: 0,
            steps: Vec::new(),
            stride: 1,
            filled: 0,
        }
    }
}

impl StepFunction {
    /// The quantity is `value` from `now` on.
    #[inline]
    pub(crate) fn set(&mut self, now: Picoseconds, value: f64) {
        if value.to_bits() != self.current.to_bits() {
            self.step(now, value);
        }
    }

    /// Ends the function.
    pub(crate) fn finish(&mut self, end: Picoseconds) {
        if !self.current.is_nan() {
            self.statistics.add(self.current, (end - self.since) as f64);
        }
    }

    /// Its statistics and series; complete after [`finish`](Self::finish).
    pub(crate) fn summary(&self) -> Option<SeriesSummary> {
        self.statistics.summary()
    }

    pub(crate) fn into_series(self, name: &str) -> Series {
        let summary = self.summary();
        let (time_s, value) = self.steps.into_iter().map(|(time, value)| (seconds(time), value)).unzip();
        Series { name: name.into(), time_s, value, summary }
    }

    fn step(&mut self, now: Picoseconds, value: f64) {
        self.finish(now);
        self.since = now;
        self.current = value;
        match self.steps.last_mut() {
            Some((_, last)) if self.filled < self.stride => *last = last.max(value),
            _ => {
                if self.steps.len() == LONGEST {
                    self.thin();
                }
                self.steps.push((now, value));
                self.filled = 0;
            }
        }
        self.filled += 1;
    }

    fn thin(&mut self) {
        let merged = |pair: &[(Picoseconds, f64)]| {
            (pair[0].0, pair.iter().map(|step| step.1).fold(f64::NEG_INFINITY, f64::max))
        };
        self.steps = self.steps.chunks(2).map(merged).collect();
        self.stride *= 2;
    }
}

/// Picoseconds as seconds, correctly rounded.
pub(crate) fn seconds(time: Picoseconds) -> f64 {
    time as f64 / PS_PER_S
}

/// Seconds of several ranks together.
pub(crate) fn rank_seconds(sum: u128) -> f64 {
    sum as f64 / PS_PER_S
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{found} instead of {expected}");
    }

    #[test]
    fn statistics_of_a_square_wave() {
        // 1 for a quarter of the time, 5 for the rest: mean 4, variance ¼·9 + ¾·1 = 3.
        let mut statistics = TimeWeighted::default();
        for _ in 0..1000 {
            statistics.add(1.0, 0.5);
            statistics.add(5.0, 1.5);
            statistics.add(-7.0, 0.0);
        }
        let summary = statistics.summary().unwrap();
        close(summary.mean, 4.0);
        close(summary.variance, 3.0);
        assert_eq!((summary.max, summary.min), (5.0, -7.0));
    }

    #[test]
    fn statistics_of_a_ramp_far_from_zero() {
        // The steps 0 … n−1 above 10¹²: variance (n² − 1) / 12, which the textbook formula would
        // lose.
        let mut statistics = TimeWeighted::default();
        (0..1000).for_each(|i| statistics.add(1e12 + f64::from(i), 2.0));
        assert!((statistics.summary().unwrap().variance - 999_999.0 / 12.0).abs() < 1e-2);
    }

    #[test]
    fn a_course_counts_from_the_start_to_the_end_of_the_run() {
        let mut function = StepFunction::default();
        for (time, value) in [(0, 0.0), (2, 0.0), (4, 6.0), (5, 6.0), (6, 3.0)] {
            function.set(time, value);
        }
        function.finish(8);
        let series = function.into_series("load");
        assert_eq!(series.value, [0.0, 6.0, 3.0]);
        assert_eq!(series.time_s, [0.0, 4e-12, 6e-12]);
        let summary = series.summary.unwrap();
        // 4 at 0, 2 at 6, 2 at 3.
        close(summary.mean, 18.0 / 8.0);
        close(summary.variance, (4.0 * 2.25 * 2.25 + 2.0 * 3.75 * 3.75 + 2.0 * 0.75 * 0.75) / 8.0);
    }

    #[test]
    fn a_long_course_keeps_its_peaks_and_its_statistics() {
        let n = 5 * LONGEST as u64 + 3;
        let value = |i: u64| if i == 300_001 { 9.0 } else { (i % 2) as f64 };
        let mut function = StepFunction::default();
        (0..n).for_each(|i| function.set(i, value(i)));
        function.finish(n);
        let series = function.into_series("load");
        assert!(series.value.len() <= LONGEST && series.value.len() >= LONGEST / 2);
        assert!(series.time_s.is_sorted());
        assert_eq!(series.value.iter().filter(|value| **value > 1.0).count(), 1);
        let sum: f64 = (0..n).map(value).sum();
        assert!((series.summary.unwrap().mean - sum / n as f64).abs() < 1e-9);
    }

    #[test]
    fn a_quantity_that_never_held_has_no_statistics() {
        let mut function = StepFunction::default();
        function.set(0, 1.0);
        function.finish(0);
        assert_eq!(function.summary(), None);
    }
}
