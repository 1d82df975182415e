//! Routes from forwarding tables in a file: `table:FILE`.
//!
//! The file holds the tables of a real network or of an earlier run: YAML as `--forwarding-tables`
//! writes it, or the text of InfiniBand's tools. A switch is found by its `dpid` or name, a host by
//! its `mac` or name; an output port is a link's `port`, or the name of the next node. A host with
//! several links takes the first one whose switch has an entry.
//!
//! A table that misses an entry that is needed, leads to a link that is not there, or goes around
//! in a loop is an error that names the switch and the pair of hosts.

mod opensm;
mod raw;
mod yaml;

use std::path::Path;

use phaseflow_collect::choice::Choice;
use phaseflow_collect::{At, Error, Result};
use rustc_hash::FxHashMap;

use super::{RouteRequest, Router, Routes};
use crate::topology::{HostId, LinkId, NodeId, Topology};
use raw::{ANY, RawTables, is_same, number};

/// Longest file, bytes: twenty million entries of fifty bytes.
const LARGEST_FILE: u64 = 1 << 30;

/// The router `table`.
#[derive(Debug)]
pub(super) struct Table {
    file: String,
    raw: RawTables,
    /// By switch, source (or [`ANY`]) and destination: the next link, or [`NOWHERE`].
    entries: FxHashMap<(NodeId, u32, u32), LinkId>,
    /// The generation of the network that the entries are of.
    generation: Option<u32>,
    /// By node: number of the last route that passed it.
    passed: Vec<u64>,
    route: u64,
}

/// A port that the switch does not have.
const NOWHERE: LinkId = LinkId(u32::MAX);

/// What a file holds, for identifiers of runs.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn read(path: &str) -> Result<String> {
    let length = std::fs::metadata(path).at(|| path)?.len();
    if length > LARGEST_FILE {
        let problem = format!("is longer than {LARGEST_FILE} bytes, the most of forwarding tables");
        return Err(Error::usage(problem).at(path));
    }
    std::fs::read_to_string(Path::new(path)).at(|| path)
}

impl Table {
    /// Parameter `file`.
    pub(super) fn new(choice: &Choice) -> Result<Self> {
        let file: String = choice.required("file")?;
        let text = read(&file)?;
        let raw = if opensm::is_like(&text) { opensm::parse(&text) } else { yaml::parse(&text) };
        Ok(Self {
            raw: raw.at(|| &file)?,
            file,
            entries: FxHashMap::default(),
            generation: None,
            passed: Vec::new(),
            route: 0,
        })
    }

    /// Looks up all names in a network.
    fn resolve(&mut self, topology: &Topology) -> Result<()> {
        let names = Names::new(topology);
        let hosts: Vec<Option<u32>> =
            self.raw.hosts.iter().map(|host| names.host(topology, &host.names)).collect();
        self.entries.clear();
        let mut found = false;
        for switch in &self.raw.switches {
            let Some(node) = names.switch(&switch.names) else { continue };
            found = true;
            let links: Vec<LinkId> =
                self.raw.ports.iter().map(|port| link_of(topology, node, port).unwrap_or(NOWHERE)).collect();
            for entry in &switch.entries {
                let src = if entry.src == ANY { Some(ANY) } else { hosts[entry.src as usize] };
                if let (Some(src), Some(dst)) = (src, hosts[entry.dst as usize]) {
                    self.entries.insert((node, src, dst), links[entry.port as usize]);
                }
            }
        }
        if !found {
            let switches = self.raw.switches.len();
            let first = self.raw.switches.first().and_then(|switch| switch.names.first());
            let first = first.map_or(String::new(), |name| format!(" (`{name}`, …)"));
            let problem = format!(
                "none of its {switches} switches{first} is in {}, expected a `dpid` or a name",
                topology.label()
            );
            return Err(Error::usage(problem).at(&self.file));
        }
        Ok(())
    }

    fn entry(&self, node: NodeId, src: HostId, dst: HostId) -> Option<LinkId> {
        let of = |src| self.entries.get(&(node, src, dst.0)).copied();
        of(src.0).or_else(|| of(ANY))
    }

    /// Appends the route of a pair; the defect of the tables, as text.
    fn walk(
        &mut self,
        topology: &Topology,
        (src, dst): (HostId, HostId),
        routes: &mut Routes,
    ) -> Result<(), String> {
        self.passed.resize(topology.node_count(), 0);
        self.route += 1;
        let name = |node: NodeId| topology.node(node).name.as_str();
        let end = topology.host(dst);
        let departures = topology.outgoing(topology.host(src));
        let leads_on = |link: &&LinkId| {
            let next = topology.dst(**link);
            next == end || self.entry(next, src, dst).is_some()
        };
        let mut link = match departures {
            [only] => *only,
            several => *several.iter().find(leads_on).ok_or("no switch of the source has an entry")?,
        };
        loop {
            routes.push_link(link);
            let at = topology.dst(link);
            if at == end {
                return Ok(());
            }
            if !topology.is_switch(at) {
                return Err(format!("they lead through host `{}`, and hosts do not forward", name(at)));
            }
            if std::mem::replace(&mut self.passed[at.0 as usize], self.route) == self.route {
                return Err(format!("they lead around in a loop: `{}` is passed twice", name(at)));
            }
            link = match self.entry(at, src, dst) {
                None => return Err(format!("switch `{}` has no entry for it", name(at))),
                Some(NOWHERE) => {
                    return Err(format!(
                        "the port of switch `{}` for it is none: expected the `port` of a link that leaves it, or the next node",
                        name(at)
                    ));
                }
                Some(link) => link,
            };
        }
    }
}

impl Router for Table {
    fn route(&mut self, request: &RouteRequest<'_>, routes: &mut Routes) -> Result<()> {
        let topology = request.topology;
        if self.generation != Some(topology.generation()) {
            self.resolve(topology)?;
            self.generation = Some(topology.generation());
        }
        for demand in request.demands {
            self.walk(topology, (demand.src, demand.dst), routes).map_err(|problem| {
                let [src, dst] =
                    [demand.src, demand.dst].map(|host| topology.node(topology.host(host)).name.as_str());
                Error::data(format!("from `{src}` to `{dst}`: {problem}")).at(&self.file)
            })?;
            routes.end_route();
        }
        Ok(())
    }

    fn repeats(&self) -> bool {
        true
    }
}

/// Nodes by all their names, as text and as numbers.
struct Names<'a> {
    texts: FxHashMap<&'a str, NodeId>,
    numbers: FxHashMap<u64, NodeId>,
    /// By node: its number among the hosts.
    hosts: FxHashMap<NodeId, u32>,
}

impl<'a> Names<'a> {
    fn new(topology: &'a Topology) -> Self {
        let mut names =
            Self { texts: FxHashMap::default(), numbers: FxHashMap::default(), hosts: FxHashMap::default() };
        for host in 0..topology.host_count() as u32 {
            names.hosts.insert(topology.host(HostId(host)), host);
        }
        for id in (0..topology.node_count() as u32).map(NodeId) {
            let node = topology.node(id);
            // An address goes before the name of another node.
            for name in [node.mac.as_deref(), node.dpid.as_deref()].into_iter().flatten() {
                names.texts.insert(name, id);
                if let Some(number) = number(name) {
                    names.numbers.insert(number, id);
                }
            }
        }
        for id in (0..topology.node_count() as u32).map(NodeId) {
            names.texts.entry(&topology.node(id).name).or_insert(id);
        }
        names
    }

    fn node(&self, name: &str) -> Option<NodeId> {
        let by_number = || number(name).and_then(|number| self.numbers.get(&number));
        self.texts.get(name).or_else(by_number).copied()
    }

    fn switch(&self, names: &[String]) -> Option<NodeId> {
        names.iter().filter_map(|name| self.node(name)).find(|node| !self.hosts.contains_key(node))
    }

    fn host(&self, _: &Topology, names: &[String]) -> Option<u32> {
        names.iter().filter_map(|name| self.node(name)).find_map(|node| self.hosts.get(&node).copied())
    }
}

/// The link of a switch that a table calls by its port, or by the next node.
fn link_of(topology: &Topology, node: NodeId, port: &str) -> Option<LinkId> {
    let links = topology.outgoing(node).iter().copied();
    let by_port = |link: &LinkId| topology.link(*link).port.as_deref().is_some_and(|own| is_same(own, port));
    let by_node = |link: &LinkId| topology.node(topology.dst(*link)).name == port;
    links.clone().find(by_port).or_else(|| links.clone().find(by_node))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::oracle::{demand, routes_of};
    use super::*;
    use crate::forwarding::forwarding_tables;
    use crate::result::PhaseRoutes;
    use crate::topology::PortOrder;
    use crate::topology::measured::made;
    use crate::topology::sketch::sketch;

    fn router(text: &str) -> Result<Table> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        Table::new(&Choice::parse(&format!("table:{}", file.path().display())).unwrap())
    }

    fn failure(net: &Topology, text: &str) -> String {
        let demands = [demand(0, 1, 1)];
        let request = super::super::oracle::request(net, &demands, &[]);
        let mut routes = Routes::default();
        let error = router(text).and_then(|mut router| router.route(&request, &mut routes)).unwrap_err();
        let text = error.to_string();
        text.split_once(": ").map_or(text.clone(), |(_, rest)| rest.into())
    }

    /// What `--forwarding-tables` writes leads the same ways again.
    #[test]
    fn tables_of_a_run_are_read_back() {
        let net = made("fat-tree[k=4]");
        let pairs: Vec<(u32, u32)> = (0..16).flat_map(|src| (0..16).map(move |dst| (src, dst))).collect();
        let demands: Vec<_> =
            pairs.iter().filter(|(src, dst)| src != dst).map(|(src, dst)| demand(*src, *dst, 1)).collect();
        let routes = super::super::oracle::route(&net, "smodk", &demands, &vec![0.0; net.link_count()]);
        let pairs = demands.iter().map(|demand| (demand.src, demand.dst)).collect();
        let written = PhaseRoutes { job: 0, phase: "0".into(), pairs, routes: routes.clone() };
        let mut router = router(&forwarding_tables(&net, &written)).unwrap();
        assert_eq!(routes_of(&mut router, &net, &demands), routes);
    }

    const NET: &str = "h0-leaf1 h1-leaf2 leaf1-spine1 leaf1-spine2 leaf2-spine1 leaf2-spine2";

    fn with_ports() -> Topology {
        let mut graph = sketch(NET);
        for (edge, port) in graph.edge_weights_mut().zip(1..) {
            edge.port = Some(port.to_string());
        }
        graph[petgraph::graph::NodeIndex::new(1)].dpid = Some("0x200001".into());
        graph[petgraph::graph::NodeIndex::new(2)].mac = Some("0x0000000000100002".into());
        graph[petgraph::graph::NodeIndex::new(0)].mac = Some("17".into());
        Topology::freeze("net", graph, PortOrder::Name, 0).unwrap()
    }

    fn through(net: &Topology, router: &mut Table) -> Vec<String> {
        let routes = routes_of(router, net, &[demand(0, 1, 1), demand(1, 0, 1)]);
        routes.iter().map(|links| net.node(net.dst(links[1])).name.clone()).collect()
    }

    /// The three forms say: by spine2 there and by spine1 back.
    #[test]
    fn the_forms_of_tables() {
        let net = with_ports();
        let yaml = "0x200001: {fdb: {h1: 7, h0: 2}}\nleaf2:\n  fdb: {h0: spine1, h1: h1}\nspine2: {fdb: {h1: leaf2}}\nspine1: {fdb: {h0: leaf1}}\n";
        assert_eq!(through(&net, &mut router(yaml).unwrap()), ["spine2", "spine1"]);
        let lfts = "Unicast lids [0x0-0x4] of switch Lid 4 guid 0x0000000000200001 (leaf1):\n  Lid  Out   Destination\n       \
                    Port     Info \n0x0001 007 : (Channel Adapter portguid 0x0000000000100002: 'node1 mlx5_0')\n0x0002 000 : \
                    (Switch portguid 0x0000000000200001: 'leaf1')\n0x0011 002 : (Channel Adapter portguid 0x0000000000100009: 'h0 \
                    mlx5_0')\n3 valid lids dumped \nUnicast lids [0x0-0x4] of switch Lid 5 guid 0x0000000000200002 \
                    ('MF0;leaf2:SX6036/U1'):\n0x0001 004 : (Channel Adapter portguid 0x0000000000100002: 'node1 mlx5_0')\n0x0011 \
                    009 : (Channel Adapter portguid 0x0000000000100009: 'h0 mlx5_0')\nUnicast lids [0x0-0x4] of switch Lid 6 guid \
                    0x0000000000200003 (spine1):\n0x0011 006 : (Channel Adapter portguid 0x0000000000100009: 'h0 mlx5_0')\nUnicast \
                    lids [0x0-0x4] of switch Lid 7 guid 0x0000000000200004 (spine2):\n0x0001 012 : (Channel Adapter portguid \
                    0x0000000000100002: 'node1 mlx5_0')\n";
        assert_eq!(through(&net, &mut router(lfts).unwrap()), ["spine2", "spine1"]);
        // ibdiagnet's tables have LIDs only: a host's is its `mac`.
        let fdbs = |lines: &[(&str, &[(&str, &str)])]| -> String {
            let heading = "LID    : Port : Hops : Optimal\n";
            let table = |(guid, entries): &(&str, &[(&str, &str)])| {
                let entries: String =
                    entries.iter().map(|(lid, port)| format!("{lid} : {port}  : 01   : yes\n")).collect();
                format!(
                    "osm_ucast_mgr_dump_ucast_routes: Switch {guid}\n{heading}{entries}0x0009 : UNREACHABLE\n"
                )
            };
            lines.iter().map(table).collect()
        };
        let text = fdbs(&[
            ("0x0000000000200001", &[("0x100002", "007"), ("0x0011", "002")]),
            ("leaf2", &[("0x100002", "004"), ("0x0011", "009")]),
            ("spine1", &[("0x0011", "006")]),
            ("spine2", &[("0x100002", "012")]),
        ]);
        assert_eq!(through(&net, &mut router(&text).unwrap()), ["spine2", "spine1"]);
    }

    #[test]
    fn defects_are_named() {
        let net = Topology::freeze("net", sketch(NET), PortOrder::Name, 0).unwrap();
        for (text, expected) in [
            (
                "other: {fdb: {h1: 7}}",
                "none of its 1 switches (`other`, …) is in net, expected a `dpid` or a name",
            ),
            ("leaf1: {fdb: {h0: h0}}", "from `h0` to `h1`: switch `leaf1` has no entry for it"),
            (
                "leaf1: {fdb: {h1: 9}}",
                "from `h0` to `h1`: the port of switch `leaf1` for it is none: expected the `port` of a link that leaves it, or the next node",
            ),
            (
                "leaf1: {fdb: {h1: spine1}}\nspine1: {fdb: {h0: {h1: leaf1}}}",
                "from `h0` to `h1`: they lead around in a loop: `leaf1` is passed twice",
            ),
            (
                "leaf1: {fdb: {h1: h0}}",
                "from `h0` to `h1`: they lead through host `h0`, and hosts do not forward",
            ),
        ] {
            assert_eq!(failure(&net, text), expected);
        }
        let wrong =
            failure(&net, "Unicast lids [0x0-0x4] of switch Lid 4 guid 0x1 (leaf1):\n0x0001 up : x\n");
        assert_eq!(wrong, "line 2: the output port of LID 1 is `up`, expected a number or UNREACHABLE");
        for text in ["", "- 1", "leaf1: 7", "leaf1: {fdb: [1]}", "a: &a {fdb: {h1: 1}}\nb: *a", "leaf1: {fdb"]
        {
            assert!(failure(&net, text).contains("table of switches") || text.is_empty(), "{text}");
        }
    }
}
