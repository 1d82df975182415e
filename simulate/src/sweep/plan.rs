//! A scenario whose choices are known to exist, before anything large is read.

use phaseflow_collect::choice::{Choice, unknown_name};
use phaseflow_collect::{Error, Result};
use rayon::prelude::*;
use serde::Serialize;

use crate::packet::transport;
use crate::run::{Model, Reroute, Submission};
use crate::scenario::{Axes, Axis, Job, JobLog, NetworkChoice, Scenario};
use crate::topology::{Failure, Topology, TopologyOptions};
use crate::workload::Reading;
use crate::{collective, host_selection, process_mapping, routing, scheduling};

/// Most points of a sweep: their list fits in memory (100 bytes each are a gigabyte), and at 1 ms
/// each they take 3 hours.
const MOST_POINTS: u32 = 10_000_000;

/// Names of the alternatives on the axis of phases.
const PHASES: &[&str] = &["segmented", "merged"];

/// Settings of all points.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// End of each run, seconds; `None`: when all jobs are finished.
    pub duration_s: Option<f64>,
    /// Whether routes are chosen once a job or once a phase.
    pub reroute: Reroute,
    /// Times of snapshots, seconds, ascending.
    pub snapshots_s: Vec<f64>,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// A complete, checked scenario.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) networks: Vec<NetworkChoice>,
    pub(super) options: TopologyOptions,
    pub(super) axes: Axes,
    pub(super) jobs: Vec<Job>,
    pub(super) log: Option<JobLog>,
    pub(super) settings: Settings,
    /// Seeds that each combination is run with.
    pub(super) repeat: u32,
    points: u32,
}

impl Plan {
    /// Fills in defaults and checks what can be checked without reading networks and traces.
    ///
    /// # Errors
    /// No network, an algorithm or parameter that does not exist, endless jobs without an end, too
    /// many points.
    pub fn new(scenario: Scenario) -> Result<Self> {
        let settings = Settings {
            duration_s: scenario.duration_s,
            reroute: scenario.reroute.unwrap_or_default(),
            snapshots_s: scenario.snapshots_s,
            seed: scenario.seed.unwrap_or(1),
        };
        if scenario.networks.is_empty() {
            return Err(Error::usage(
                "no network: give --topology cluster.graphml, --topology 'xgft[m=4:4,w=1:2]' or a --scenario that names one",
            ));
        }
        let axes = scenario.axes.or_default();
        for axis in Axis::ALL {
            for choice in axes.get(axis) {
                check(axis, choice, settings.seed)?;
            }
        }
        let transports = axes.get(Axis::Transport);
        let has_messages = axes.get(Axis::Model).iter().any(|model| model.name() != "traffic");
        if let Some(unused) =
            transports.iter().find(|transport| !has_messages && !transport.name().is_empty())
        {
            let name = unused.name();
            return Err(Error::usage(format!(
                "transport `{name}` is for messages: add --model flow or packet"
            )));
        }
        for model in axes.get(Axis::Model) {
            for transport in transports {
                for collective in axes.get(Axis::Collective) {
                    Model::new(model, transport, collective, settings.seed)?;
                }
            }
        }
        let endless = scenario.jobs.iter().any(|job| matches!(job.submission, Submission::Endless { .. }));
        if endless && settings.duration_s.is_none() {
            return Err(Error::usage("jobs are submitted without end: a `duration` (--duration) is needed"));
        }
        let repeat = scenario.repeat.unwrap_or(1);
        if repeat == 0 {
            return Err(Error::usage("repeat is 0, expected 1 at least"));
        }
        let points = Axis::ALL
            .into_iter()
            .map(|axis| axes.get(axis).len())
            .try_fold(scenario.networks.len() as u64 * u64::from(repeat), |product, alternatives| {
                product.checked_mul(alternatives as u64)
            })
            .and_then(|points| u32::try_from(points).ok())
            .filter(|points| *points <= MOST_POINTS)
            .ok_or_else(|| {
                Error::usage(format!("the product of all alternatives has more than {MOST_POINTS} points"))
            })?;
        let failures = scenario.failures;
        let networks = scenario.networks.into_iter().map(|network| network.with_failures(&failures));
        Ok(Self {
            networks: networks.collect(),
            options: scenario.options,
            axes,
            jobs: scenario.jobs,
            log: scenario.log,
            settings,
            repeat,
            points,
        })
    }

    /// True if some job, or the plan as a whole, runs inputs of the command line.
    pub fn needs_inputs(&self) -> bool {
        if let Some(log) = &self.log {
            return log.pattern.is_none() && log.traces.is_empty();
        }
        self.jobs.is_empty() || self.jobs.iter().any(|job| job.trace.is_none())
    }

    /// True if inputs are of use though none is needed: jobs of a log run those of their size.
    pub fn takes_inputs(&self) -> bool {
        self.log.is_some()
    }

    /// Parts of the inputs to read: messages if some point replays them; only those of samples if
    /// no jobs can overlap.
    pub fn reading(&self, inputs: usize) -> Reading {
        let any = |axis: Axis, name: &str| self.axes.get(axis).iter().any(|choice| choice.name() == name);
        let models = self.axes.get(Axis::Model);
        if models.iter().all(|model| model.name() == "traffic") {
            return Reading::Matrices;
        }
        // Samples serve flows with recorded collectives only.
        let others = models.iter().any(|model| ["packet", "auto"].contains(&model.name()));
        let replaced = self.axes.get(Axis::Collective).iter().any(|choice| choice.name() != "recorded");
        let jobs = if self.jobs.is_empty() { inputs } else { self.jobs.len() };
        let fixed = self.jobs.iter().all(|job| !matches!(job.submission, Submission::Endless { .. }));
        // A stage in which links fail is replayed by itself.
        let fail = self.networks.iter().flat_map(|network| &network.failures).any(Failure::is_in_run);
        let all = self.settings.reroute == Reroute::Phase || any(Axis::Phases, "merged") || fail;
        if jobs > 1 || self.log.is_some() || !fixed || all || others || replaced {
            Reading::Messages
        } else {
            Reading::Samples
        }
    }

    /// Reads or generates the networks.
    ///
    /// # Errors
    /// As [`topology`](crate::topology::topology).
    pub fn topologies(&self) -> Result<Vec<Topology>> {
        self.networks.par_iter().map(|network| network.build(&self.options)).collect()
    }

    pub(super) fn points(&self) -> u32 {
        self.points
    }
}

/// Names of the choices on an axis, in the order of the documentation.
pub fn names(axis: Axis) -> Vec<&'static str> {
    match axis {
        Axis::Scheduler => scheduling::names(),
        Axis::HostSelector => host_selection::names(),
        Axis::ProcessMapper => process_mapping::names(),
        Axis::Router => routing::names(),
        Axis::Model => Model::NAMES.to_vec(),
        Axis::Transport => transport::NAMES.to_vec(),
        Axis::Collective => collective::NAMES.to_vec(),
        Axis::Phases => PHASES.to_vec(),
    }
}

/// Refuses what does not exist.
fn check(axis: Axis, choice: &Choice, seed: u64) -> Result<()> {
    // A plugin starts its program only in the run.
    let is_plugin = choice.name() == "exec";
    match axis {
        Axis::Scheduler | Axis::HostSelector | Axis::ProcessMapper | Axis::Router if is_plugin => Ok(()),
        Axis::Scheduler => scheduling::scheduler(choice, seed).map(drop),
        Axis::HostSelector => host_selection::host_selector(choice, seed).map(drop),
        Axis::ProcessMapper => process_mapping::process_mapper(choice, seed).map(drop),
        Axis::Router => routing::router(choice, seed).map(drop),
        Axis::Model if Model::NAMES.contains(&choice.name()) => Ok(()),
        Axis::Model => Err(unknown_name("model", choice.name(), Model::NAMES)),
        // Checked with the models that they are for.
        Axis::Transport | Axis::Collective => Ok(()),
        Axis::Phases if PHASES.contains(&choice.name()) => choice.only(&[]),
        Axis::Phases => Err(unknown_name("phases", choice.name(), PHASES)),
    }
}
