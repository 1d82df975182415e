//! Time series of the whole run.

use crate::engine::Picoseconds;
use crate::result::{RunStatistics, Series};
use crate::statistics::StepFunction;
use crate::traffic::Usage;
use crate::units::GBPS_PER_BYTE_RATE;

/// Number of jobs by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Population {
    pub(super) waiting: u64,
    pub(super) running: u64,
    pub(super) finished: u64,
}

/// The time series of all quantities.
#[derive(Clone, Debug, Default)]
pub(super) struct RunSeries {
    max_congestion: StepFunction,
    mean_congestion: StepFunction,
    stddev_congestion: StepFunction,
    max_flows: StepFunction,
    max_ratio: StepFunction,
    waiting: StepFunction,
    running: StepFunction,
    in_system: StepFunction,
    finished: StepFunction,
}

impl RunSeries {
    /// The state that holds from `now` on.
    pub(super) fn set(&mut self, now: Picoseconds, usage: &Usage, population: Population) {
        if let Some(congestion) = usage.between_switches {
            self.max_congestion.set(now, congestion.max);
            self.mean_congestion.set(now, congestion.mean);
            if let Some(stddev) = congestion.stddev {
                self.stddev_congestion.set(now, stddev);
            }
            self.max_flows.set(now, congestion.max_flows as f64);
        }
        self.max_ratio.set(now, usage.max_ratio);
        let Population { waiting, running, finished } = population;
        self.waiting.set(now, waiting as f64);
        self.running.set(now, running as f64);
        self.in_system.set(now, (waiting + running) as f64);
        self.finished.set(now, finished as f64);
    }

    pub(super) fn finish(&mut self, end: Picoseconds) {
        for function in [
            &mut self.max_congestion,
            &mut self.mean_congestion,
            &mut self.stddev_congestion,
            &mut self.max_flows,
            &mut self.max_ratio,
            &mut self.waiting,
            &mut self.running,
            &mut self.in_system,
            &mut self.finished,
        ] {
            function.finish(end);
        }
    }

    /// Statistics of the run; utilization only where loads are rates.
    pub(super) fn statistics(&self, are_rates: bool) -> RunStatistics {
        let max = |function: &StepFunction| function.summary().map(|summary| summary.max);
        let mean = |function: &StepFunction| function.summary().map(|summary| summary.mean);
        RunStatistics {
            makespan_s: None,
            max_congestion: max(&self.max_congestion),
            mean_congestion: mean(&self.mean_congestion),
            stddev_congestion: mean(&self.stddev_congestion),
            max_utilization: max(&self.max_ratio)
                .filter(|_| are_rates)
                .map(|ratio| ratio * GBPS_PER_BYTE_RATE),
            max_flows: max(&self.max_flows).map(|flows| flows as u64),
            jobs_finished: 0,
        }
    }

    /// The series of the result; those of links between switches only where there are such links.
    pub(super) fn into_series(self) -> Vec<Series> {
        let named = [
            ("max_congestion", self.max_congestion),
            ("stddev_congestion", self.stddev_congestion),
            ("max_flows", self.max_flows),
            ("jobs_waiting", self.waiting),
            ("jobs_running", self.running),
            ("jobs_in_system", self.in_system),
            ("jobs_finished", self.finished),
        ];
        let all = named.into_iter().map(|(name, function)| function.into_series(name));
        all.filter(|series| !series.value.is_empty()).collect()
    }
}
