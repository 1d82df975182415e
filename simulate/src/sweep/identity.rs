//! Names of points that hold across products, shards, machines and file names.

use std::collections::BTreeMap;
use std::io::{self, Write};

use phaseflow_collect::choice::Choice;
use serde::Serialize;

use super::{Point, Settings, Sweep};
use crate::flow_list::FlowList;
use crate::replay::StratifiedSample;
use crate::routing::read_table;
use crate::run::{JobSource, Submission};
use crate::scenario::Axis;
use crate::topology::{LinkId, NodeId, Topology};
use crate::workload::Workload;

/// Generation of the results: it changes when the same parameters give other results.
pub(super) const GENERATION: u32 = 1;

/// Input of the hash of a point's identifier, as JSON with its fields in this order.
#[derive(Serialize)]
struct Identity<'a> {
    generation: u32,
    topology: &'a str,
    choices: [String; Axis::ALL.len()],
    jobs: &'a str,
    /// Digest of the replayed operations, if the model replays.
    #[serde(skip_serializing_if = "Option::is_none")]
    recordings: Option<&'a str>,
    settings: &'a Settings,
}

impl Sweep {
    /// The identifier of a point: 16 hexadecimal digits that depend on what is simulated, the
    /// contents of topology and traces included, and on nothing else: not on the other points of
    /// the sweep, on file names or on labels. Programs (`exec`) count by their command.
    pub fn id(&self, point: &Point) -> String {
        let replays = self.choice(point, Axis::Model).name() != "traffic";
        of_json(&Identity {
            generation: GENERATION,
            topology: &self.topology_digests[point.topology],
            choices: Axis::ALL.map(|axis| self.spelling(self.choice(point, axis))),
            jobs: &self.jobs_digest,
            recordings: replays.then_some(self.recordings_digest.as_str()),
            settings: &Settings { seed: point.seed, ..self.settings.clone() },
        })
    }

    /// The spelling of a choice; forwarding tables count by what they say.
    fn spelling(&self, choice: &Choice) -> String {
        let digest = choice.get("file").and_then(|file| self.table_digests.get(file));
        digest
            .filter(|_| choice.name() == "table")
            .map_or_else(|| choice.spelling(), |digest| format!("table:{digest}"))
    }
}

fn of_json(value: &impl Serialize) -> String {
    let mut hash = Fnv::default();
    // A hash takes every byte, and nothing hashed here has keys that are not text.
    let _ = serde_json::to_writer(&mut hash, value);
    hash.hex()
}

/// Digest of the jobs: of each the digest of its workload, and when it is submitted and how long it
/// runs.
pub(super) fn of_jobs(jobs: &[JobSource], workload_digests: &[String]) -> String {
    let jobs: Vec<(&str, &Submission)> =
        jobs.iter().map(|job| (workload_digests[job.workload].as_str(), &job.submission)).collect();
    of_json(&jobs)
}

/// Digests of the forwarding tables among some routers, by file. Files that cannot be read have
/// none; their routers were refused before.
pub(super) fn of_tables(routers: &[Choice]) -> BTreeMap<String, String> {
    let files =
        routers.iter().filter(|router| router.name() == "table").filter_map(|router| router.get("file"));
    let digest = |file: &str| {
        let mut hash = Fnv::default();
        hash.text(&read_table(file).ok()?);
        Some((file.to_string(), hash.hex()))
    };
    files.filter_map(digest).collect()
}

/// Digest of a network: its nodes and links in order.
pub(super) fn of_topology(topology: &Topology) -> String {
    let mut hash = Fnv::default();
    for node in 0..topology.node_count() as u32 {
        let node = topology.node(NodeId(node));
        hash.text(&node.name);
        hash.number(u64::from(node.slots.map_or(u32::MAX, |slots| slots)));
    }
    for link in 0..topology.link_count() as u32 {
        let link = LinkId(link);
        hash.number(u64::from(topology.src(link).0));
        hash.number(u64::from(topology.dst(link).0));
        hash.number(topology.link(link).capacity.to_bits());
        hash.number(topology.link(link).latency_ps);
        if topology.link(link).cost != 1 {
            hash.number(u64::from(topology.link(link).cost));
        }
    }
    hash.number(topology.switch_latency_ps());
    for change in topology.changes() {
        hash.number(change.at_ps);
        let nodes = (0..topology.node_count() as u32).map(NodeId);
        nodes.flat_map(|node| change.topology.outgoing(node)).for_each(|link| hash.number(u64::from(link.0)));
    }
    hash.hex()
}

/// Digest of a workload: everything but its name.
pub(super) fn of_workload(workload: &Workload) -> String {
    let segmentation = &workload.segmentation;
    let mut hash = Fnv::default();
    hash.number(u64::from(segmentation.header.ranks));
    hash.number(segmentation.header.duration_ns.unwrap_or(u64::MAX));
    for phase in &segmentation.phases {
        hash.text(&phase.name);
        hash.number(phase.occurrences);
        hash.number(phase.duration_ns.unwrap_or(u64::MAX));
        hash.number(phase.matrix.len() as u64);
        for cell in phase.matrix.cells() {
            hash.word(u64::from(cell.src.0) << 32 | u64::from(cell.dst.0));
            hash.word(cell.messages);
            hash.word(cell.bytes);
        }
    }
    for occurrence in &segmentation.occurrences {
        hash.number(occurrence.phase.map_or(u64::MAX, u64::from));
        hash.number(u64::from(occurrence.depth));
        hash.number(occurrence.start_ns);
        hash.number(occurrence.end_ns);
    }
    hash.hex()
}

/// Digest of what the jobs replay, in the order of the workloads.
pub(super) fn of_recordings(workloads: &[Workload]) -> String {
    let mut hash = Fnv::default();
    for workload in workloads {
        let recording = workload.recording.as_ref();
        let of_phases = recording.map(|recording| recording.of_phase.iter().map(Option::as_ref));
        for operations in
            of_phases.into_iter().flatten().chain(recording.map(|recording| recording.whole.as_ref()))
        {
            match operations {
                None => hash.number(u64::MAX),
                Some(operations) => operations.digest(&mut |number| hash.number(number)),
            }
        }
        let sampled = recording.and_then(|recording| recording.sampled.as_ref());
        for operations in sampled.into_iter().flat_map(StratifiedSample::replays) {
            operations.digest(&mut |number| hash.number(number));
        }
    }
    hash.hex()
}

/// Digest of a list of flows.
pub(super) fn of_flows(list: &FlowList) -> String {
    let mut hash = Fnv::default();
    list.host_names().for_each(|name| hash.text(name));
    for flow in list.flows() {
        let numbers = [u64::from(flow.src), u64::from(flow.dst), flow.bytes, flow.start_ns];
        numbers.into_iter().for_each(|number| hash.number(number));
    }
    hash.hex()
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv): short, the same on every machine. It
/// does not resist deliberate collisions, which would only confuse their author's own sweep.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The same step with 64 bits at a time, for long columns: the rotation takes high bits to
    /// where they spread.
    fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
    }

    fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes(text.as_bytes());
    }

    fn hex(&self) -> String {
        format!("{:016x}", self.0)
    }
}

impl Write for Fnv {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values_of_fnv_1a() {
        for (text, expected) in
            [("", "cbf29ce484222325"), ("a", "af63dc4c8601ec8c"), ("foobar", "85944171f73967e8")]
        {
            let mut hash = Fnv::default();
            hash.bytes(text.as_bytes());
            assert_eq!(hash.hex(), expected, "{text}");
        }
    }
}
