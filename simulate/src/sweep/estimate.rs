//! Estimated cost of a sweep before its run.

use std::fmt;

use super::{Point, Sweep};
use crate::distribution::Distribution;
use crate::replay::{Recording, Transfer};
use crate::run::{Model, Submission};
use crate::scenario::Axis;
use crate::stream::Stream;
use crate::topology::{HostId, Topology};
use crate::workload::Workload;

/// Bytes of memory: measured sizes of the structures, rounded up.
mod bytes {
    /// A node of a topology.
    pub(super) const NODE: u64 = 160;
    /// A link of a topology.
    pub(super) const LINK: u64 = 96;
    /// A cell of a traffic matrix, and of the host demand made of it.
    pub(super) const CELL: u64 = 64;
    /// A job.
    pub(super) const JOB: u64 = 256;
    /// A row of the table `phases`.
    pub(super) const PHASE_ROW: u64 = 256;
    /// A row of the table `links`.
    pub(super) const LINK_ROW: u64 = 48;
    /// A message in a replay: its state, a wait, its share of the network's state, and its record
    /// while it is read.
    pub(super) const MESSAGE: u64 = 360;
    /// Delays of a message, if requested.
    pub(super) const DELAYS: u64 = 170;
    /// State of a link in a run.
    pub(super) const LINK_STATE: u64 = 64;
}

/// Work and memory of some points together; upper bounds where only bounds are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Number of points.
    pub points: u64,
    /// Jobs submitted, all points together; of endless generators the expected number.
    pub jobs: f64,
    /// Events of their lives, of messages, and of packets.
    pub events: f64,
    /// How often the packet model puts a packet of a message on a link: messages as recorded, on
    /// shortest paths between hosts anywhere.
    pub hops: f64,
    /// Messages that are replayed.
    pub messages: f64,
    /// Rows of the tables `phases` and `links`, at most.
    pub rows: f64,
    /// Memory at the peak, bytes.
    pub memory_bytes: f64,
}

/// As `name: value` lines.
impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { points, jobs, events, hops, rows, memory_bytes, messages: _ } = self;
        writeln!(f, "points: {points}\njobs: {jobs:.0}\nevents: {events:.0}\nrows: {rows:.0}")?;
        writeln!(f, "memory_bytes: {memory_bytes:.0}\nhops: {hops:.0}")
    }
}

impl Sweep {
    /// Estimates work and memory of `points` on `threads` threads.
    pub fn estimate(&self, points: impl Iterator<Item = Point>, threads: usize) -> Estimate {
        let shared = self.topologies.iter().map(topology_bytes).sum::<u64>()
            + self.workloads.iter().map(workload_bytes).sum::<u64>();
        let mut total = Estimate { memory_bytes: shared as f64, ..Estimate::default() };
        let mut largest_run = 0.0_f64;
        for point in points {
            let links = self.topologies[point.topology].link_count() as f64;
            let merged = self.choice(&point, Axis::Phases).name() == "merged";
            let model = self.model(&point).ok();
            let payload = model.as_ref().and_then(Model::packet_payload);
            let replays = model.and_then(|model| model.replay());
            let (mut rows, mut jobs, mut endless) = (0.0, 0.0, false);
            let mut replay = 0.0_f64;
            for (line, source) in self.jobs.iter().enumerate() {
                let segmentation = &self.workloads[source.workload].segmentation;
                let phases = if merged { 1 } else { segmentation.phases.len().max(1) } as f64;
                let stretches = if merged { 1 } else { segmentation.occurrences.len().max(1) } as f64;
                let count = match &source.submission {
                    Submission::Fixed { .. } | Submission::Logged { .. } => 1.0,
                    Submission::Endless { submit, .. } => {
                        endless = true;
                        self.settings.duration_s.unwrap_or(0.0) / self.mean(submit, line)
                    }
                };
                jobs += count;
                // Events of a job: submission, start, end, and one per stretch.
                total.events += count * (3.0 + stretches);
                if let (Some(options), Some(recording)) =
                    (&replays, &self.workloads[source.workload].recording)
                {
                    let work = |weight: &dyn Fn(&Transfer) -> u64| {
                        recording.work(segmentation, options.sampling, merged, weight)
                    };
                    let (simulated, largest) = work(&|_| 1);
                    // Events of a message: departure, arrival, and two ranks that continue.
                    total.events += count * simulated as f64 * 4.0;
                    total.messages += count * simulated as f64;
                    if let Some(payload) = payload {
                        let (packets, _) = work(&|message| message.bytes.div_ceil(u64::from(payload)).max(1));
                        let hops = count * packets as f64 * mean_distance(&self.topologies[point.topology]);
                        // Packets and what acknowledges them.
                        total.events += 2.0 * hops;
                        total.hops += hops;
                    }
                    let message = bytes::MESSAGE + if options.blame { bytes::DELAYS } else { 0 };
                    replay += largest as f64 * message as f64;
                }
                rows += count * phases * if endless { 1.0 } else { 1.0 + links };
            }
            rows += if endless { links } else { 0.0 };
            total.points += 1;
            total.jobs += jobs;
            total.rows += rows;
            let run = replay
                + links * bytes::LINK_STATE as f64
                + jobs * bytes::JOB as f64
                + rows * if endless { bytes::PHASE_ROW } else { bytes::LINK_ROW } as f64;
            largest_run = largest_run.max(run);
        }
        let at_once = (super::execute::BATCH * threads) as u64;
        total.memory_bytes += largest_run * at_once.min(total.points) as f64;
        total
    }

    /// Work of a point in [progress](crate::run::Progress): about its messages, at least 1.
    pub fn work(&self, point: &Point) -> u64 {
        (self.estimate(std::iter::once(*point), 1).messages as u64).max(1)
    }

    fn mean(&self, distribution: &Distribution, line: usize) -> f64 {
        distribution.mean(&mut Stream::Jobs(line).generator(self.settings.seed))
    }
}

/// Links on a shortest path between two hosts, mean over those from the first one.
fn mean_distance(topology: &Topology) -> f64 {
    let distances = topology.distances_to(HostId(0));
    let others = 1..topology.host_count() as u32;
    let sum: u32 = others.clone().filter_map(|host| distances.from(topology.host(HostId(host)))).sum();
    f64::from(sum) / others.len().max(1) as f64
}

fn topology_bytes(topology: &Topology) -> u64 {
    topology.node_count() as u64 * bytes::NODE + topology.link_count() as u64 * bytes::LINK
}

fn workload_bytes(workload: &Workload) -> u64 {
    let matrices = workload.segmentation.phases.iter().map(|phase| phase.matrix.len() as u64 * bytes::CELL);
    matrices.sum::<u64>() + workload.recording.as_ref().map_or(0, Recording::memory)
}
