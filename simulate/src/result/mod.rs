//! Results of a simulation: one [`RunResult`] per point of a sweep, and the archive that holds
//! them.
//!
//! An unknown is `None` and becomes an empty cell, never 0.

mod network;
mod packets;
mod path;
mod reader;
mod writer;

pub use network::{Link, Network};
pub use packets::LinkPackets;
pub use path::{BlameRow, Cause, PathRow, StepKind};
pub use reader::ResultReader;
pub use writer::ResultWriter;

use serde::{Deserialize, Serialize};

use crate::routing::Routes;
use crate::topology::{HostId, LinkId, NodeId};

/// Name of the format.
pub const FORMAT: &str = "phaseflow.results";
/// Version written; readers accept it and all before.
pub const VERSION: u32 = 1;

/// `header.json` of a result archive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultHeader {
    /// Always [`FORMAT`].
    pub format: String,
    /// At most [`VERSION`].
    pub version: u32,
    /// The configuration of the whole sweep with all defaults, for any subset of its points:
    /// archives of equal configuration are shards of one sweep.
    pub configuration: serde_json::Value,
}

impl ResultHeader {
    /// The header of a new archive.
    pub fn new(configuration: serde_json::Value) -> Self {
        Self { format: FORMAT.into(), version: VERSION, configuration }
    }
}

/// The point of a run: the labels of its choices, in the order of the product.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLabels {
    /// Number of the run in the product, from 0 in the order topology × scheduler × host selector ×
    /// process mapper × router × …
    pub run: u32,
    /// Label of the topology.
    pub topology: String,
    /// Label of the scheduler.
    pub scheduler: String,
    /// Label of the host selector.
    pub host_selector: String,
    /// Label of the process mapper.
    pub process_mapper: String,
    /// Label of the router.
    pub router: String,
    /// `traffic`, `flow` or `packet`.
    pub model: String,
    /// Label of the transport.
    pub transport: String,
    /// Label of the collective.
    pub collective: String,
    /// `segmented` or `merged`.
    pub phases: String,
    /// Seed of the run's random numbers.
    pub seed: u64,
}

/// One simulated point.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// The simulated part.
    pub labels: RunLabels,
    /// Index of its topology in the archive.
    pub topology: usize,
    /// Over the whole run.
    pub statistics: RunStatistics,
    /// Jobs in order of submission.
    pub jobs: Vec<JobRow>,
    /// Phases of jobs, by job, then phase.
    pub phases: Vec<PhaseRow>,
    /// Accounts of ranks, by job, phase and rank; flow and packet model.
    pub ranks: Vec<RankRow>,
    /// Steps of critical paths, by job, phase and time, the sums of the others last; flow and
    /// packet model, on request.
    pub path: Vec<PathRow>,
    /// Delays of critical paths in the network, by job, phase, cause, link and responsible job;
    /// flow model, on request.
    pub blame: Vec<BlameRow>,
    /// Link statistics, by job, phase and link; links without traffic are left out.
    pub links: LinkTable,
    /// Time series.
    pub series: Vec<Series>,
    /// Link loads at chosen times.
    pub snapshots: Vec<Snapshot>,
    /// Routes of each phase of each job, if forwarding tables are requested; not archived.
    pub routes: Vec<PhaseRoutes>,
    /// The end of each flow of a [list](crate::flow_list::FlowList), in its order; not archived.
    pub flow_ends: Vec<FlowEnd>,
}

/// End of a flow of a list, seconds; unknown for a flow that never ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowEnd {
    /// Since the start of the run.
    pub end_s: Option<f64>,
    /// Since its own start.
    pub duration_s: Option<f64>,
}

/// The routes in force in one phase of one job.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseRoutes {
    /// Number of the job within the run.
    pub job: u32,
    /// Name of the phase.
    pub phase: String,
    /// Source and destination host of each route.
    pub pairs: Vec<(HostId, HostId)>,
    /// One route per pair.
    pub routes: Routes,
}

/// Columns of the table `runs` besides the labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunStatistics {
    /// End of the last job that finished, seconds; unknown for endless generators.
    pub makespan_s: Option<f64>,
    /// Highest load / capacity (Gbit/s) over links between switches and time.
    pub max_congestion: Option<f64>,
    /// Mean of that ratio over links between switches, time-weighted mean over the run.
    pub mean_congestion: Option<f64>,
    /// Its sample standard deviation over links between switches, time-weighted mean over the run.
    pub stddev_congestion: Option<f64>,
    /// Highest used / available over all links and time; unknown where loads are bytes.
    pub max_utilization: Option<f64>,
    /// Highest number of rank pairs on a link between switches.
    pub max_flows: Option<u64>,
    /// Jobs that finished.
    pub jobs_finished: u64,
}

/// One job's life; times in seconds since the start of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobRow {
    /// Number within the run.
    pub job: u32,
    /// Index of its workload in the archive.
    pub workload: usize,
    /// Time of its submission.
    pub submitted_s: f64,
    /// Its start.
    pub started_s: Option<f64>,
    /// Its end.
    pub finished_s: Option<f64>,
    /// The nodes of its hosts.
    pub hosts: Vec<NodeId>,
    /// The node of each rank's host; empty in results of the whole run only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<NodeId>,
    /// Run time in the same place without other jobs, seconds; flow and packet model, on request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone_s: Option<f64>,
}

/// One phase of one job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseRow {
    /// Number of the job within the run.
    pub job: u32,
    /// Name of the phase.
    pub phase: String,
    /// How often it occurs in the job.
    pub occurrences: u64,
    /// Its time over all occurrences in the trace, seconds.
    pub duration_s: Option<f64>,
    /// Its simulated time over all occurrences, seconds.
    pub makespan_s: Option<f64>,
    /// All bytes of the phase, those between ranks of one host included.
    pub bytes: u64,
    /// Most bytes of this phase on one link.
    pub max_link_bytes: Option<u64>,
    /// Load on the bottleneck: bytes per second, or bytes where no duration is known.
    pub max_link_load: Option<f64>,
    /// Utilization of the bottleneck.
    pub max_utilization: Option<f64>,
    /// Mean utilization over all links.
    pub mean_utilization: Option<f64>,
    /// The bottleneck: the link of highest load / capacity; ties to the first.
    pub bottleneck: Option<LinkId>,
    /// Pairs of hosts that send the most bytes over the bottleneck, the heaviest first; three at
    /// most. Empty with replaced collectives, which the routes of recorded messages do not
    /// describe.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub senders: Vec<Sender>,
    /// Least load on a link, links without traffic included.
    pub min_link_load: Option<f64>,
    /// Mean load over all links.
    pub mean_link_load: Option<f64>,
    /// Variance of the load over all links.
    pub variance_link_load: Option<f64>,
    /// Packets dropped; packet model only.
    pub drops: Option<u64>,
    /// Packets sent again; packet model only.
    pub retransmits: Option<u64>,
    /// Results of the replay; flow and packet model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replayed: Option<Replayed>,
    /// Packet counts; packet model only, for phases without other jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<PacketCounts>,
    /// Pairs of hosts whose route differed from the one they had before in the job, over all
    /// occurrences; unknown where routes stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_routes: Option<u64>,
    /// The model that simulated it, with `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<Chosen>,
}

/// The bytes of a pair of hosts over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The node of the host that sends.
    pub src: NodeId,
    /// The node of the host that receives.
    pub dst: NodeId,
    /// Bytes of the phase, all occurrences together.
    pub bytes: u64,
}

/// A model that a run chose for a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// `traffic`, `flow` or `packet`.
    pub model: String,
    /// Why.
    pub reason: String,
}

/// Packets of a phase, all occurrences and links together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketCounts {
    /// Number of transmissions of packets on links.
    pub hops: u64,
    /// Packets that a full queue dropped.
    pub drops: u64,
    /// Packets lost on links.
    pub losses: u64,
    /// Packets marked for congestion.
    pub marks: u64,
    /// How often a link was paused.
    pub pauses: u64,
    /// Packets sent again.
    pub retransmits: u64,
    /// Elements of sums in the network that were checked; 0 where none are.
    pub checked_sums: u64,
    /// Those that were wrong.
    pub wrong_sums: u64,
    /// Packets that a switch without free memory forwarded to a server.
    pub fallbacks: u64,
    /// Packets that a link delivered twice.
    #[serde(default)]
    pub duplicates: u64,
}

impl PacketCounts {
    /// All counts times a factor, rounded to the nearest integer.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let times = |count: u64| (count as f64 * factor).round() as u64; // saturates
        Self {
            hops: times(self.hops),
            drops: times(self.drops),
            losses: times(self.losses),
            marks: times(self.marks),
            pauses: times(self.pauses),
            retransmits: times(self.retransmits),
            checked_sums: times(self.checked_sums),
            wrong_sums: times(self.wrong_sums),
            fallbacks: times(self.fallbacks),
            duplicates: times(self.duplicates),
        }
    }

    /// Adds other ones.
    pub fn add(&mut self, other: &Self) {
        self.hops += other.hops;
        self.drops += other.drops;
        self.losses += other.losses;
        self.marks += other.marks;
        self.pauses += other.pauses;
        self.retransmits += other.retransmits;
        self.checked_sums += other.checked_sums;
        self.wrong_sums += other.wrong_sums;
        self.fallbacks += other.fallbacks;
        self.duplicates += other.duplicates;
    }
}

/// The account of one rank of a job, seconds: all occurrences of a phase together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankRow {
    /// Number of the job within the run.
    pub job: u32,
    /// Position of the phase among the rows of its job in [`RunResult::phases`]; `None` for all
    /// phases together.
    pub phase: Option<u32>,
    /// The rank.
    pub rank: u32,
    /// The node of its host.
    pub host: NodeId,
    /// Computation.
    pub compute_s: f64,
    /// Overheads of sending and receiving.
    pub overhead_s: f64,
    /// Waiting for messages that had not been sent yet.
    pub late_sender_s: f64,
    /// Waiting, as a sender, for receivers that were not ready.
    pub late_receiver_s: f64,
    /// Waiting for messages on their way.
    pub network_s: f64,
}

/// The account of a replayed phase, all its occurrences together, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Replayed {
    /// Number of simulated occurrences; they represent the others.
    pub simulated: u64,
    /// Computation, mean over the ranks.
    pub compute_s: f64,
    /// Overheads of sending and receiving, mean over the ranks.
    pub overhead_s: f64,
    /// Waiting for messages that had not been sent yet, mean over the ranks.
    pub late_sender_s: f64,
    /// Waiting of senders for receivers that were not ready, mean over the ranks.
    pub late_receiver_s: f64,
    /// Waiting for messages on their way, mean over the ranks.
    pub network_s: f64,
    /// Part of the critical path on ranks.
    pub path_ranks_s: f64,
    /// Part of the critical path in the network; with the other part it is the makespan.
    pub path_network_s: f64,
    /// Makespan if every message had its links alone: a lower bound for any routing with these
    /// capacities.
    pub unshared_s: Option<f64>,
    /// Makespan with unlimited capacity of links.
    pub unlimited_s: Option<f64>,
    /// Relative error of the makespan from sampling; 0 if all was simulated, `None` if unknown.
    #[serde(default)]
    pub makespan_error: Option<f64>,
}

/// Link statistics as parallel columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkTable {
    /// Number of the job; `None` for all jobs together.
    pub job: Vec<Option<u32>>,
    /// Position of the phase among the rows of its job in [`RunResult::phases`]; `None` for all
    /// phases together: those of the whole run, or of a job whose phases are merged into one.
    pub phase: Vec<Option<u32>>,
    /// The link.
    pub link: Vec<LinkId>,
    /// Bytes over it.
    pub bytes: Vec<u64>,
    /// Rank pairs that use it (for the whole run: the most at a time).
    pub flows: Vec<u64>,
    /// Bytes per second while the phase runs, or bytes where no duration is known (for the whole
    /// run: the highest).
    pub load: Vec<f64>,
    /// Packet counts by link; empty without the packet model.
    pub packets: Vec<Option<LinkPackets>>,
}

/// A step function of time: a value holds until the next. Of very long ones (2¹⁷ steps)
/// neighbouring steps are joined, with the higher of their values; the summary is of all steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// `max_congestion`, `stddev_congestion`, `max_flows`, `jobs_waiting`, `jobs_running`,
    /// `jobs_in_system`, `jobs_finished`.
    pub name: String,
    /// Start of each value, seconds, ascending.
    pub time_s: Vec<f64>,
    /// The values.
    pub value: Vec<f64>,
    /// Maximum, minimum, time-weighted mean and variance over the run, as PFSim reports them.
    pub summary: Option<SeriesSummary>,
}

/// Statistics of a series over the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesSummary {
    /// Highest value.
    pub max: f64,
    /// Lowest value.
    pub min: f64,
    /// Time-weighted mean.
    pub mean: f64,
    /// Time-weighted variance.
    pub variance: f64,
}

/// The network at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// When, seconds.
    pub time_s: f64,
    /// Load by link.
    pub load: Vec<f64>,
    /// Rank pairs by link.
    pub flows: Vec<u64>,
}
