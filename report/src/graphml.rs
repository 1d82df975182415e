//! Graphs of the network with what its links carry, as networkx, python-igraph, Gephi and Cytoscape read them.
//!
//! The keys are PFSim's (`typ`, `capacity`, `mac`, `dpid`, `port`), so a graph is a cluster file too, and on links `bytes`,
//! `load`, `utilization` and `flows`. Every key is declared, every known value is written: a link without traffic has 0 bytes.
//! What is unknown is left out. Links stand in the order of the topology and have no ids: networkx then gives parallel ones
//! keys of its own.

use std::io::{self, Write};

use phaseflow_simulate::result::{Network, Snapshot};
use phaseflow_simulate::topology::LinkId;

use crate::number;
use crate::view::{RunView, rates};
use crate::xml::Xml;

const NAMESPACE: &str = "http://graphml.graphdrawing.org/xmlns";

/// igraph keeps numbers as doubles: whole ones up to this are exact.
const LARGEST_EXACT: u64 = 1 << 53;

/// What the links of one graph carry, by link.
pub(crate) struct Carried {
    /// Unknown for snapshots.
    pub(crate) bytes: Option<Vec<u64>>,
    pub(crate) load: Vec<f64>,
    pub(crate) flows: Vec<u64>,
    /// True if loads are bytes per second.
    pub(crate) rates: bool,
    /// Facts about the graph: name, value.
    pub(crate) about: Vec<(&'static str, String)>,
}

impl Carried {
    /// What the phase at `position` of a job carries.
    pub(crate) fn by_phase(view: &RunView<'_>, job: u32, position: u32) -> Self {
        let phase = view.phase(Some(job), Some(position));
        let mut carried =
            Self::rows(view, phase.is_some_and(rates), view.links_of(Some(job), Some(position)));
        carried.about.push(("job", job.to_string()));
        carried.about.extend(phase.map(|phase| ("phase", phase.phase.clone())));
        carried
    }

    /// What the whole run carries, where the run tells it.
    pub(crate) fn by_run(view: &RunView<'_>) -> Self {
        Self::rows(view, view.rates(), view.links_of(None, None))
    }

    /// What the network carries at one moment.
    pub(crate) fn by_snapshot(view: &RunView<'_>, snapshot: &Snapshot) -> Self {
        let mut about = Self::about(view, view.rates());
        about.push(("time_s", snapshot.time_s.to_string()));
        let (load, flows) = (snapshot.load.clone(), snapshot.flows.clone());
        Self { bytes: None, load, flows, rates: view.rates(), about }
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
        Self { bytes: Some(bytes), load, flows, rates, about: Self::about(view, rates) }
    }

    fn about(view: &RunView<'_>, rates: bool) -> Vec<(&'static str, String)> {
        let labels = &view.run.labels;
        vec![
            ("name", view.network.label.clone()),
            ("run", labels.run.to_string()),
            ("router", labels.router.clone()),
            ("load_unit", if rates { "bytes/s" } else { "bytes" }.into()),
        ]
    }
}

/// A declared attribute.
struct Key {
    id: &'static str,
    of: &'static str,
    name: &'static str,
    kind: &'static str,
}

const fn key(id: &'static str, of: &'static str, name: &'static str, kind: &'static str) -> Key {
    Key { id, of, name, kind }
}

/// Writes the graph of `network` with what its links carry.
///
/// # Errors
/// What the output reports.
pub(crate) fn write<W: Write>(out: W, network: &Network, carried: &Carried) -> io::Result<W> {
    let mut xml = Xml::new(out)?;
    xml.open("graphml", &[("xmlns", NAMESPACE)])?;
    let dpid = whole_or_text(network.nodes.iter().filter_map(|node| node.dpid.as_deref()));
    let port = whole_or_text(network.links.iter().filter_map(|link| link.port.as_deref()));
    let mut keys = vec![
        key("typ", "node", "typ", "string"),
        key("slots", "node", "capacity", "long"),
        key("mac", "node", "mac", "string"),
        key("dpid", "node", "dpid", dpid),
        key("capacity", "edge", "capacity", "double"),
        key("latency_ps", "edge", "latency_ps", "long"),
        key("port", "edge", "port", port),
        key("bytes", "edge", "bytes", "long"),
        key("load", "edge", "load", "double"),
        key("utilization", "edge", "utilization", "double"),
        key("flows", "edge", "flows", "long"),
    ];
    keys.extend(carried.about.iter().map(|(name, _)| key(name, "graph", name, "string")));
    for key in &keys {
        let attributes = [("id", key.id), ("for", key.of), ("attr.name", key.name), ("attr.type", key.kind)];
        xml.empty("key", &attributes)?;
    }
    xml.open("graph", &[("edgedefault", "directed")])?;
    for (name, value) in &carried.about {
        xml.text("data", &[("key", name)], value)?;
    }
    write_nodes(&mut xml, network)?;
    write_links(&mut xml, network, carried)?;
    xml.close("graph")?;
    xml.close("graphml")?;
    xml.finish()
}

fn write_nodes<W: Write>(xml: &mut Xml<W>, network: &Network) -> io::Result<()> {
    for node in &network.nodes {
        xml.open("node", &[("id", &node.name)])?;
        xml.text("data", &[("key", "typ")], if node.slots.is_some() { "host" } else { "switch" })?;
        for (key, value) in [
            ("slots", node.slots.map(|slots| slots.to_string())),
            ("mac", node.mac.clone()),
            ("dpid", node.dpid.clone()),
        ] {
            if let Some(value) = value {
                xml.text("data", &[("key", key)], &value)?;
            }
        }
        xml.close("node")?;
    }
    Ok(())
}

fn write_links<W: Write>(xml: &mut Xml<W>, network: &Network, carried: &Carried) -> io::Result<()> {
    let mut text = String::new();
    let mut exact = |value: f64| {
        text.clear();
        number::exact(value, &mut text);
        text.clone()
    };
    for (at, link) in network.links.iter().enumerate() {
        let load = carried.load[at];
        let utilization = carried.rates.then(|| load * 8.0 / (link.capacity * 1e9));
        xml.open("edge", &[("source", network.name(link.src)), ("target", network.name(link.dst))])?;
        for (key, value) in [
            ("capacity", Some(exact(link.capacity))),
            ("latency_ps", Some(link.latency_ps.to_string())),
            ("port", link.port.clone()),
            ("bytes", carried.bytes.as_ref().map(|bytes| bytes[at].to_string())),
            ("load", Some(exact(load))),
            ("utilization", utilization.map(&mut exact)),
            ("flows", Some(carried.flows[at].to_string())),
        ] {
            if let Some(value) = value {
                xml.text("data", &[("key", key)], &value)?;
            }
        }
        xml.close("edge")?;
    }
    Ok(())
}

/// `long` if all values are whole numbers that every reader keeps exactly, else `string`.
fn whole_or_text<'a>(mut values: impl Iterator<Item = &'a str>) -> &'static str {
    if values.all(|value| value.parse::<u64>().is_ok_and(|n| n <= LARGEST_EXACT)) { "long" } else { "string" }
}
