//! Graphs of the network with what its links carry, as networkx, python-igraph, Gephi and Cytoscape
//! read them.
//!
//! The network itself is written by [`write_graphml`], so a graph is a cluster file too. On links
//! it has `bytes`, `load`, `utilization` and `flows`, and drops and queues where there were
//! packets; on hosts their `ranks`; on the graph what was simulated and how long it took. Every key
//! is declared, every known value is written: a link without traffic has 0 bytes. What is unknown
//! is left out.

use std::collections::HashMap;
use std::io::{self, Write};

use phaseflow_simulate::result::{JobRow, LinkPackets, Network, Snapshot};
use phaseflow_simulate::topology::{Annotations, Attribute, LinkId, NodeId, write_graphml};

use crate::makespan::Makespan;
use crate::view::{RunView, rates};

/// Columns of packets that a link of a graph has.
const OF_PACKETS: [&str; 6] = ["drops", "losses", "marks", "queue_median", "queue_p99", "queue_max"];

/// What the links of one graph carry, by link.
pub(crate) struct Carried {
    /// Unknown for snapshots.
    pub(crate) bytes: Option<Vec<u64>>,
    pub(crate) load: Vec<f64>,
    pub(crate) flows: Vec<u64>,
    /// True if loads are bytes per second.
    pub(crate) rates: bool,
    /// Empty where no packets were simulated.
    pub(crate) packets: Vec<Option<LinkPackets>>,
    /// By node: the ranks on it, `JOB:RANK` where several jobs are there.
    pub(crate) ranks: HashMap<NodeId, String>,
    /// Facts about the graph: name, value.
    pub(crate) about: Vec<(&'static str, String)>,
}

impl Carried {
    /// What the phase at `position` of a job carries.
    pub(crate) fn by_phase(view: &RunView<'_>, job: u32, position: u32) -> Self {
        let phase = view.phase(Some(job), Some(position));
        let mut carried =
            Self::rows(view, phase.is_some_and(rates), view.links_of(Some(job), Some(position)));
        carried.ranks = ranks(view.job(job).into_iter());
        carried.about.push(("job", job.to_string()));
        if let Some(phase) = phase {
            let seconds = |value: Option<f64>| value.map(|value| value.to_string());
            let count = |value: Option<u64>| value.map(|value| value.to_string());
            let facts = [
                ("phase", Some(phase.phase.clone())),
                ("duration_s", seconds(phase.duration_s)),
                ("makespan_s", seconds(phase.makespan_s)),
                ("makespan_error", seconds(Makespan::of_phase(phase).and_then(|makespan| makespan.error))),
                ("drops", count(phase.drops)),
                ("retransmits", count(phase.retransmits)),
            ];
            carried.about.extend(facts.into_iter().filter_map(|(name, value)| Some((name, value?))));
        }
        carried
    }

    /// What the whole run carries, where the run tells it.
    pub(crate) fn by_run(view: &RunView<'_>) -> Self {
        let mut carried = Self::rows(view, view.rates(), view.links_of(None, None));
        carried.ranks = ranks(view.run.jobs.iter());
        if let Some(Makespan { seconds, error }) = Makespan::of_run(view) {
            carried.about.push(("makespan_s", seconds.to_string()));
            carried.about.extend(error.map(|error| ("makespan_error", error.to_string())));
        }
        carried
    }

    /// What the network carries at one moment.
    pub(crate) fn by_snapshot(view: &RunView<'_>, snapshot: &Snapshot) -> Self {
        let mut about = Self::about(view, view.rates());
        about.push(("time_s", snapshot.time_s.to_string()));
        let (load, flows) = (snapshot.load.clone(), snapshot.flows.clone());
        let runs_then = |job: &&JobRow| {
            job.started_s.is_some_and(|start| start <= snapshot.time_s)
                && job.finished_s.is_none_or(|end| end > snapshot.time_s)
        };
        let ranks = ranks(view.run.jobs.iter().filter(runs_then));
        Self { bytes: None, load, flows, rates: view.rates(), packets: Vec::new(), ranks, about }
    }

    fn rows(view: &RunView<'_>, rates: bool, rows: &[usize]) -> Self {
        let links = view.network.links.len();
        let table = &view.run.links;
        let (mut bytes, mut load, mut flows) = (vec![0; links], vec![0.0; links], vec![0; links]);
        for row in rows.iter().copied() {
            let LinkId(link) = table.link[row];
            bytes[link as usize] = table.bytes[row];
            load[link as usize] = table.load[row];
            flows[link as usize] = table.flows[row];
        }
        let mut packets = Vec::new();
        if rows.iter().any(|row| table.packets.get(*row).copied().flatten().is_some()) {
            packets.resize(links, None);
            for row in rows.iter().copied() {
                packets[table.link[row].0 as usize] = table.packets[row];
            }
        }
        let about = Self::about(view, rates);
        Self { bytes: Some(bytes), load, flows, rates, packets, ranks: HashMap::new(), about }
    }

    fn about(view: &RunView<'_>, rates: bool) -> Vec<(&'static str, String)> {
        let labels = &view.run.labels;
        vec![
            ("run", labels.run.to_string()),
            ("scheduler", labels.scheduler.clone()),
            ("host_selector", labels.host_selector.clone()),
            ("process_mapper", labels.process_mapper.clone()),
            ("router", labels.router.clone()),
            ("model", labels.model.clone()),
            ("transport", labels.transport.clone()),
            ("collective", labels.collective.clone()),
            ("seed", labels.seed.to_string()),
            ("load_unit", if rates { "bytes/s" } else { "bytes" }.into()),
        ]
    }
}

/// By node, the ranks of the jobs on it, a blank between them.
fn ranks<'a>(jobs: impl Iterator<Item = &'a JobRow> + Clone) -> HashMap<NodeId, String> {
    let several = jobs.clone().count() > 1;
    let mut ranks: HashMap<NodeId, String> = HashMap::new();
    for job in jobs {
        for (rank, node) in job.ranks.iter().enumerate() {
            let text = ranks.entry(*node).or_default();
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&if several { format!("{}:{rank}", job.job) } else { rank.to_string() });
        }
    }
    ranks
}

/// Writes the graph of `network` with what its links carry.
///
/// # Errors
/// What the output reports.
pub(crate) fn write<W: Write>(out: W, network: &Network, carried: &Carried) -> io::Result<W> {
    let Carried { bytes, load, flows, packets, ranks, .. } = carried;
    let utilization =
        |at: usize| carried.rates.then(|| (load[at] * 8.0 / (network.links[at].capacity * 1e9)).to_string());
    let mut links = vec![
        attribute("bytes", "long", |at| bytes.as_ref().map(|bytes| bytes[at].to_string())),
        attribute("load", "double", |at| Some(load[at].to_string())),
        attribute("utilization", "double", utilization),
        attribute("flows", "long", |at| Some(flows[at].to_string())),
    ];
    for (_, name, value) in LinkPackets::COLUMNS {
        if OF_PACKETS.contains(&name) {
            links.push(attribute(name, "long", move |at| {
                let mut row = packets.get(at).copied().flatten()?;
                Some(value(&mut row).to_string())
            }));
        }
    }
    let nodes = vec![attribute("ranks", "string", |at| ranks.get(&NodeId(at as u32)).cloned())];
    write_graphml(out, network, &Annotations { graph: carried.about.clone(), nodes, links })
}

fn attribute<'a>(
    name: &'static str,
    kind: &'static str,
    value: impl Fn(usize) -> Option<String> + 'a,
) -> Attribute<'a> {
    Attribute { name, kind, value: Box::new(value) }
}
