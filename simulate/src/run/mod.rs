//! One point of a sweep: jobs come, run and go, and links carry their phases.
//!
//! ```text
//! submitted ─► queued ─► started ─► phase begins ─► phase ends ─► … ─► finished
//!              scheduler  host selector   │  router                │
//!                         process mapper  └─ loads on ─────────────┴─ loads off
//! ```
//!
//! The life of jobs runs on the [event queue](crate::engine); a job follows the depth-0 occurrences
//! of its workload's phases, stretched to the job's own length. While a phase runs, each link on
//! the routes of its demand carries the demand's rate (bytes of the phase / time of the phase);
//! idle stretches carry nothing. If the time of any phase of the run is unknown, all loads are
//! bytes, as in PFSim, so that sums have one unit.
//!
//! Events of the same time are processed in the order of their submission to the queue. Statistics
//! count only states that last for some time: a job that ends when another one starts does not
//! overlap it.

mod fidelity;
mod independent;
mod job;
mod job_demands;
mod known_replays;
mod link_peak;
mod load_summary;
mod message_network;
mod model;
mod network;
mod path;
mod phase_replays;
mod placement_judge;
mod program;
mod progress;
mod queue;
mod record;
mod replayers;
mod route_digests;
mod senders;
mod simulation;
mod solo;
mod solo_flows;
mod solo_packets;
mod time_series;
mod window_replays;

use phaseflow_collect::choice::unknown_name;
use phaseflow_collect::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;
use crate::engine::Picoseconds;
use crate::host_selection::HostSelector;
use crate::process_mapping::ProcessMapper;
use crate::result::{RunLabels, RunResult};
use crate::routing::{Router, SharedRouter};
use crate::scheduling::Scheduler;
use crate::topology::Topology;
use crate::units::PS_PER_S;
use crate::workload::Workload;

pub(crate) use independent::refusal;
pub use independent::run_flows;
pub use known_replays::KnownReplays;
pub use model::{Model, PacketModel};
pub use progress::{Progress, RunProgress};

pub(crate) use job::check_slots;

use program::Program;
use replayers::Replayers;
use simulation::{Simulation, Traffic};

/// Most jobs of one run: about a gigabyte of rows. A line that submits more has a mistaken
/// interval.
pub const MOST_JOBS: u32 = 1_000_000;

/// When jobs of a line are submitted, and how long each runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Submission {
    /// Jobs without end, PFSim's generators: the next one is drawn when one is submitted, the first
    /// one at the start.
    Endless {
        /// Time between two submissions.
        submit: Distribution,
        /// Run time of a job; `None`: as long as the workload's own. A drawn one stretches the
        /// phases' times, the rates stay those of the workload.
        duration: Option<Distribution>,
    },
    /// One job.
    Fixed {
        /// Time of its submission, seconds.
        at_s: f64,
        /// Its run time, seconds; `None`: as long as the workload's own.
        duration_s: Option<f64>,
    },
    /// One job of a log, whose user asked for a time.
    Logged {
        /// Time of its submission, seconds.
        at_s: f64,
        /// Its run time, seconds.
        run_s: f64,
        /// What the scheduler expects it to take, seconds.
        estimate_s: f64,
    },
}

/// A line of the job list.
#[derive(Clone, Debug, PartialEq)]
pub struct JobSource {
    /// Index of the workload that the jobs run.
    pub workload: usize,
    /// Its start and duration.
    pub submission: Submission,
}

/// When routes are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reroute {
    /// Routes are chosen once, at the start of a job, for the sum of its phases at rates averaged
    /// over the job. A pair of hosts keeps its route for the whole job, as in PFSim.
    #[default]
    Job,
    /// Routes are chosen at each beginning of a phase, for its demand and the present loads. The
    /// rows of the phase describe the occurrence with the worst bottleneck (the first of equal
    /// ones), as if all were routed like it.
    Phase,
}

impl Reroute {
    /// `job` or `phase`.
    ///
    /// # Errors
    /// Anything else.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "job" => Ok(Self::Job),
            "phase" => Ok(Self::Phase),
            other => Err(unknown_name("reroute", other, &["job", "phase"])),
        }
    }
}

/// The content of the table of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkStatistics {
    /// A row per job, phase and link with traffic; for fixed job lists.
    Jobs,
    /// A row per link with traffic for the whole run: bytes of all phases that began, highest load,
    /// most rank pairs at a time, and nothing by link of critical paths. For endless generators.
    Run,
}

/// The simulated operations.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// The point of the sweep; its seed is that of the jobs.
    pub labels: RunLabels,
    /// The network.
    pub topology: &'a Topology,
    /// Its index in the result archive.
    pub topology_index: usize,
    /// All workloads of the sweep.
    pub workloads: &'a [Workload],
    /// The job lines.
    pub jobs: &'a [JobSource],
    /// End of the run, seconds; `None`: when all jobs are finished.
    pub duration_s: Option<f64>,
    /// One phase per workload, `merged`, with the summed matrix and the whole run's time, idle
    /// stretches included. In the table of links its phase is `None`.
    pub merged: bool,
    /// When routes are chosen.
    pub reroute: Reroute,
    /// When to take snapshots, seconds: each shows the state after all that happens at that time.
    /// Those after the end of the run are left out.
    pub snapshots_s: &'a [f64],
    /// Whether the routes are part of the result.
    pub record_routes: bool,
    /// The content of the table of links.
    pub link_statistics: LinkStatistics,
    /// The network model.
    pub model: Model,
    /// The progress that counts messages that have arrived.
    pub progress: Option<&'a RunProgress<'a>>,
    /// Replays that the runs of a sweep share; `None` for a run of its own.
    pub known_replays: Option<&'a KnownReplays>,
}

impl Setup<'_> {
    /// True if a pair of hosts may change its route in the course of a job.
    fn changes_routes(&self) -> bool {
        self.reroute == Reroute::Phase || !self.topology.changes().is_empty()
    }
}

/// Who decides.
pub struct Algorithms {
    /// The choice of the next job.
    pub scheduler: Box<dyn Scheduler>,
    /// On which hosts.
    pub host_selector: Box<dyn HostSelector>,
    /// The mapping of ranks to them.
    pub process_mapper: Box<dyn ProcessMapper>,
    /// Their links.
    pub router: Box<dyn Router>,
}

/// Runs one point.
///
/// # Errors
/// A replay without known messages; a deadlock; a job that can never fit the network; endless jobs
/// without an end of the run, or more jobs than [`MOST_JOBS`]; a workload whose occurrences do not
/// tile its run; times beyond the clock (213 days); errors of external programs.
pub fn run(setup: &Setup<'_>, algorithms: Algorithms) -> Result<RunResult> {
    let programs = setup.workloads.iter().map(|workload| Program::new(workload, setup.merged));
    let mut programs = programs.collect::<Result<Vec<_>>>()?;
    if let Some(collective) = setup.model.collective() {
        programs.iter_mut().try_for_each(|program| program.replace(collective))?;
    }
    let (topology, progress, known) = (setup.topology, setup.progress, setup.known_replays);
    match &setup.model {
        Model::Traffic => Simulation::new(setup, &programs, algorithms, |_| Ok(Traffic))?.run(),
        Model::Flow(options, _) => {
            let flows =
                |router: &SharedRouter| Ok(Replayers::of_flows(topology, router, options, progress, known));
            Simulation::new(setup, &programs, algorithms, flows)?.run()
        }
        Model::Packet(model) => {
            let packets = |_: &SharedRouter| Replayers::of_packets(topology, model, progress, known);
            Simulation::new(setup, &programs, algorithms, packets)?.run()
        }
    }
}

/// Seconds as picoseconds, if the clock can hold them.
fn picoseconds(seconds: f64) -> Option<Picoseconds> {
    let ps = (seconds * PS_PER_S).round();
    // u64::MAX as f64 is 2^64.
    (ps >= 0.0 && ps < u64::MAX as f64).then_some(ps as u64)
}

fn clock_time(what: &str, seconds: f64) -> Result<Picoseconds> {
    picoseconds(seconds)
        .ok_or_else(|| Error::usage(format!("{what} is {seconds} s, expected 0 to 18446744 s (213 days)")))
}
