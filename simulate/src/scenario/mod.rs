//! Scenario files.
//!
//! A scenario names networks, algorithms and jobs; where it names several, all combinations are
//! run. The schema is PFSim's, so its files run unchanged, with our names and a few more keys;
//! `docs/scenarios.md` lists them all. Reading goes in two steps: the YAML text becomes a tree of
//! values with lines and columns, then a file per key reads it: `algorithms`, `topologies`, `jobs`.
//! The command line is one more [`Scenario`], which takes precedence over the file
//! ([`Scenario::or`]).

mod algorithms;
mod axis;
mod jobs;
mod network;
mod node;
mod swf;
mod topologies;
mod yaml;

use std::path::PathBuf;

pub use axis::{Axes, Axis};
pub use network::NetworkChoice;
pub use swf::JobLog;
pub(crate) use swf::LoggedJob;

use crate::run::{Reroute, Submission};
use crate::topology::{Failure, TopologyOptions};

/// The settings of a scenario file or a command line; empty and `None` leave a setting open.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// The networks, the first axis of the product.
    pub networks: Vec<NetworkChoice>,
    /// Options of the links and hosts of all networks.
    pub options: TopologyOptions,
    /// What fails in all networks.
    pub failures: Vec<Failure>,
    /// The other axes.
    pub axes: Axes,
    /// The jobs.
    pub jobs: Vec<Job>,
    /// A log of jobs in place of them.
    pub log: Option<JobLog>,
    /// End of each run, seconds.
    pub duration_s: Option<f64>,
    /// Whether routes are chosen once a job or once a phase.
    pub reroute: Option<Reroute>,
    /// Times of snapshots, seconds, ascending.
    pub snapshots_s: Vec<f64>,
    /// Seed of all random numbers.
    pub seed: Option<u64>,
    /// Number of seeds of each point, ascending from `seed`.
    pub repeat: Option<u32>,
    /// Remarks for the user.
    pub notes: Vec<String>,
}

/// Default end of runs with endless jobs, seconds: that of PFSim's example scenarios.
const USUAL_END_S: f64 = 1000.0;

/// One line of a scenario's job list.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its trace; `None` for an input of the command line.
    pub trace: Option<Trace>,
    /// When it is submitted and how long it runs.
    pub submission: Submission,
    /// How many jobs the line stands for.
    pub count: u32,
}

/// A trace that a scenario names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// As the scenario writes it.
    pub label: String,
    /// Its place.
    pub path: PathBuf,
}

impl Scenario {
    /// This scenario, with settings of `other` where it has none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        fn longer<T>(own: Vec<T>, other: Vec<T>) -> Vec<T> {
            if own.is_empty() { other } else { own }
        }
        // Jobs and a log exclude each other.
        let has_jobs = self.log.is_some() || !self.jobs.is_empty();
        let (jobs, log) = if has_jobs { (self.jobs, self.log) } else { (other.jobs, other.log) };
        Self {
            networks: longer(self.networks, other.networks),
            options: options_or(self.options, other.options),
            failures: longer(self.failures, other.failures),
            axes: self.axes.or(other.axes),
            jobs,
            log,
            duration_s: self.duration_s.or(other.duration_s),
            reroute: self.reroute.or(other.reroute),
            snapshots_s: longer(self.snapshots_s, other.snapshots_s),
            seed: self.seed.or(other.seed),
            repeat: self.repeat.or(other.repeat),
            notes: self.notes.into_iter().chain(other.notes).collect(),
        }
    }

    /// The scenario with a default end and a remark on it, if jobs are endless without an end, as
    /// in the PFAnalyzer paper.
    #[must_use]
    pub fn ended(mut self) -> Self {
        let is_endless = |job: &Job| matches!(job.submission, Submission::Endless { .. });
        if self.duration_s.is_none() && self.jobs.iter().any(is_endless) {
            self.duration_s = Some(USUAL_END_S);
            self.notes.push(format!(
                "jobs are submitted without end: each run ends after {USUAL_END_S} s; `duration` or --duration says another time"
            ));
        }
        self
    }
}

fn options_or(own: TopologyOptions, other: TopologyOptions) -> TopologyOptions {
    TopologyOptions {
        slots: own.slots.or(other.slots),
        capacity_gbps: own.capacity_gbps.or(other.capacity_gbps),
        link_latency_ps: own.link_latency_ps.or(other.link_latency_ps),
        switch_latency_ps: own.switch_latency_ps.or(other.switch_latency_ps),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phaseflow_collect::choice::Choice;
    use std::path::Path;

    #[test]
    fn the_command_line_goes_first() {
        let text = "router: [dmodk, greedy]\nseed: 3\nslots: 8\ncapacity: 10\njobs: [{at: 1}]\n";
        let written = Scenario::parse(text, Path::new("dir")).unwrap();
        let mut said = Scenario { seed: Some(4), ..Scenario::default() };
        said.axes.set(Axis::Router, vec![Choice::plain("ecmp")]);
        said.options.capacity_gbps = Some(100.0);
        let both = said.or(written);
        assert_eq!((both.seed, both.axes.get(Axis::Router)), (Some(4), &[Choice::plain("ecmp")][..]));
        assert_eq!(
            (both.options.capacity_gbps, both.options.slots, both.jobs.len()),
            (Some(100.0), Some(8), 1)
        );
    }
}
