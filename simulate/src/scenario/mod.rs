//! Scenario files: what to simulate, written down.
//!
//! A scenario names networks, algorithms and jobs; where it names several, all combinations are run. The schema is PFSim's,
//! so its files run unchanged, with our names and a few more keys; `docs/scenarios.md` lists them all. Reading goes in two
//! steps: the YAML text becomes a tree in which every value knows its line and column, then each key is read by the file
//! that knows it: `algorithms`, `topologies`, `jobs`. The command line is one more [`Scenario`]: what it says goes before
//! what the file says ([`Scenario::or`]).

mod algorithms;
mod jobs;
mod node;
mod topologies;

use std::path::{Path, PathBuf};

use phaseflow_collect::{At, Error, Result};

use self::node::{Map, Node};
use crate::run::{Reroute, Submission};
use crate::sweep::{Axes, Axis, NetworkChoice};
use crate::topology::TopologyOptions;

/// What a scenario file or a command line asks for; empty and `None` say nothing.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// The networks, the first axis of the product.
    pub networks: Vec<NetworkChoice>,
    /// What is said of the links and hosts of all networks.
    pub options: TopologyOptions,
    /// The other axes.
    pub axes: Axes,
    /// The jobs.
    pub jobs: Vec<Job>,
    /// End of each run, seconds.
    pub duration_s: Option<f64>,
    /// Whether routes are chosen once a job or once a phase.
    pub reroute: Option<Reroute>,
    /// Times of snapshots, seconds, ascending.
    pub snapshots_s: Vec<f64>,
    /// Seed of all random numbers.
    pub seed: Option<u64>,
    /// Remarks for the user.
    pub notes: Vec<String>,
}

/// One line of a scenario's job list.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// What it runs; `None`: an input of the command line.
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
    /// Where it is.
    pub path: PathBuf,
}

const KEYS: &[&str] = &[
    "duration", "topology", "slots", "capacity", "latency", "switch_latency", "output", "algorithms", "scheduler",
    "host_selector", "process_mapper", "router", "model", "transport", "collective", "phases", "jobs", "reroute",
    "snapshots", "seed",
];

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// A file that cannot be read, is not YAML, or has a key or value that a scenario does not have; with line and column.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read(path).at(|| path.display())?;
        let text = String::from_utf8(text).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Error::usage(format!("byte {at} is not UTF-8, expected a YAML document")).at(path.display())
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&text, folder).at(|| path.display())
    }

    /// Parses a scenario whose relative paths start at `folder`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(text: &str, folder: &Path) -> Result<Self> {
        let root = Node::parse(text)?;
        let map = root.map("a scenario", KEYS)?;
        let mut scenario = Self { axes: axes(map, folder)?, options: network_options(map)?, ..Self::default() };
        if let Some(node) = map.get("topology") {
            scenario.networks = topologies::networks(node, folder)?;
        }
        if let Some(node) = map.get("jobs") {
            scenario.jobs = jobs::jobs(node, folder)?;
        }
        if let Some(node) = map.get("duration") {
            scenario.duration_s = Some(node.seconds("duration")?);
        }
        if let Some(node) = map.get("snapshots") {
            for time in node.list() {
                scenario.snapshots_s.push(time.seconds("a snapshot's time")?);
            }
            scenario.snapshots_s.sort_by(f64::total_cmp);
        }
        if let Some(node) = map.get("reroute") {
            scenario.reroute = Some(node.locate(Reroute::parse(node.text("reroute", "job or phase")?))?);
        }
        if let Some(node) = map.get("seed") {
            scenario.seed = Some(node.whole("seed")?);
        }
        if map.get("output").is_some() {
            scenario.notes.push("the scenario's `output` is not used: results go to -o or standard output".into());
        }
        Ok(scenario)
    }

    /// This scenario, and where it says nothing, what `other` says.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        fn longer<T>(own: Vec<T>, other: Vec<T>) -> Vec<T> {
            if own.is_empty() { other } else { own }
        }
        Self {
            networks: longer(self.networks, other.networks),
            options: options_or(self.options, other.options),
            axes: self.axes.or(other.axes),
            jobs: longer(self.jobs, other.jobs),
            duration_s: self.duration_s.or(other.duration_s),
            reroute: self.reroute.or(other.reroute),
            snapshots_s: longer(self.snapshots_s, other.snapshots_s),
            seed: self.seed.or(other.seed),
            notes: self.notes.into_iter().chain(other.notes).collect(),
        }
    }
}

/// The axes at the top of the file and in PFSim's `algorithms`.
fn axes(map: Map<'_>, folder: &Path) -> Result<Axes> {
    let keys = Axis::ALL.map(Axis::key);
    let algorithms = map.get("algorithms").map(|node| node.map("algorithms", &keys)).transpose()?;
    let mut axes = Axes::default();
    for axis in Axis::ALL {
        let inner = algorithms.and_then(|algorithms| algorithms.get(axis.key()));
        let node = match (map.get(axis.key()), inner) {
            (Some(node), Some(_)) => {
                return Err(node.error(format!("{axis} is given here and in `algorithms`, expected once")));
            }
            (outer, inner) => outer.or(inner),
        };
        if let Some(node) = node {
            axes.set(axis, algorithms::alternatives(axis, node, folder)?);
        }
    }
    Ok(axes)
}

fn network_options(map: Map<'_>) -> Result<TopologyOptions> {
    Ok(TopologyOptions {
        slots: map.get("slots").map(|node| node.whole32("slots")).transpose()?,
        capacity_gbps: map.get("capacity").map(|node| node.rate_gbps("capacity")).transpose()?,
        link_latency_ps: map.get("latency").map(|node| node.picoseconds("latency")).transpose()?,
        switch_latency_ps: map.get("switch_latency").map(|node| node.picoseconds("switch_latency")).transpose()?,
    })
}

fn options_or(own: TopologyOptions, other: TopologyOptions) -> TopologyOptions {
    TopologyOptions {
        slots: own.slots.or(other.slots),
        capacity_gbps: own.capacity_gbps.or(other.capacity_gbps),
        link_latency_ps: own.link_latency_ps.or(other.link_latency_ps),
        switch_latency_ps: own.switch_latency_ps.or(other.switch_latency_ps),
    }
}
