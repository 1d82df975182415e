//! Failures: links, switches and hosts that are taken out of a network, from the start or at a
//! time.

use std::collections::HashMap;
use std::fmt;

use petgraph::graph::NodeIndex;
use phaseflow_collect::units::parse_time_ns;
use phaseflow_collect::{At, Error, Result};

use super::{LinkId, NetworkGraph, NodeId, Topology};

/// What fails: `leaf0>spine1`, the links from one node to another; `leaf0<>spine1`, those of both
/// directions; `leaf0<>spine1#1`, of parallel ones the second; `spine1` or `h3`, a switch or host
/// with all its links. With `@5ms` it fails at that time of the run, else before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    text: String,
    part: Part,
    /// Nanoseconds since the start of the run.
    at_ns: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Node(String),
    Links { src: String, dst: String, both: bool, number: Option<usize> },
}

/// A time in a run from which on other links are up. Nodes and links have the numbers that they had
/// before.
#[derive(Clone, Debug)]
pub struct Change {
    /// Picoseconds since the start of the run.
    pub at_ps: u64,
    /// The network from then on.
    pub topology: Topology,
}

impl Failure {
    /// Parses one failure; `→` does as well as `>`.
    ///
    /// # Errors
    /// Text that names no link or node.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = || {
            Error::usage(format!(
                "`{text}` is no link or node; write leaf0<>spine1, leaf0>spine1, leaf0<>spine1#1 or spine1, then @5ms for a time"
            ))
        };
        // Names may have an @.
        let timed = text.rsplit_once('@').and_then(|(part, time)| Some((part, parse_time_ns(time).ok()?)));
        let (what, at_ns) = timed.map_or((text, None), |(part, time)| (part, Some(time)));
        let part = match what.split_once(['>', '→']) {
            None => Part::Node(what.into()),
            Some((src, dst)) => {
                let (src, both) = src.strip_suffix('<').map_or((src, false), |src| (src, true));
                let numbered =
                    dst.rsplit_once('#').and_then(|(dst, number)| Some((dst, number.parse().ok()?)));
                let (dst, number) = numbered.map_or((dst, None), |(dst, number)| (dst, Some(number)));
                if src.is_empty() || dst.is_empty() {
                    return Err(wrong());
                }
                Part::Links { src: src.into(), dst: dst.into(), both, number }
            }
        };
        if what.is_empty() {
            return Err(wrong());
        }
        Ok(Self { text: text.into(), part, at_ns })
    }

    /// True if it happens in the course of a run.
    pub fn is_in_run(&self) -> bool {
        self.at_ns.is_some()
    }

    /// The links that go down: those of the part and, of a node, all that it has.
    fn links(&self, topology: &Topology, names: &HashMap<&str, NodeId>) -> Result<Vec<LinkId>> {
        let missing = |problem: String| Error::usage(problem).at(topology.label());
        let node = |name: &str| {
            names.get(name).copied().ok_or_else(|| missing(format!("has no node `{name}`, which shall fail")))
        };
        match &self.part {
            Part::Node(name) => {
                let node = node(name)?;
                Ok(topology.outgoing(node).iter().chain(topology.incoming(node)).copied().collect())
            }
            Part::Links { src, dst, both, number } => {
                let (src, dst) = (node(src)?, node(dst)?);
                let mut links = Vec::new();
                for (src, dst) in [(src, dst), (dst, src)].into_iter().take(1 + usize::from(*both)) {
                    let all: Vec<LinkId> = topology
                        .outgoing(src)
                        .iter()
                        .copied()
                        .filter(|link| topology.dst(*link) == dst)
                        .collect();
                    match number {
                        None => links.extend(all),
                        Some(number) => links.extend(all.get(*number)),
                    }
                }
                if links.is_empty() {
                    return Err(missing(format!("has no link `{}`, which shall fail", self.text)));
                }
                Ok(links)
            }
        }
    }

    /// The node that fails, if it is one.
    fn node(&self, names: &HashMap<&str, NodeId>) -> Option<NodeId> {
        match &self.part {
            Part::Node(name) => names.get(name.as_str()).copied(),
            Part::Links { .. } => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Topology {
    /// The network without what fails before the run, and with [changes](Self::changes) for what
    /// fails later. A host whose last switch fails before the run is gone, too.
    ///
    /// # Errors
    /// A node or link that does not exist; hosts that cannot reach each other any more.
    pub fn with_failures(self, failures: &[Failure]) -> Result<Self> {
        let (later, now): (Vec<&Failure>, Vec<&Failure>) =
            failures.iter().partition(|failure| failure.at_ns.is_some());
        let mut topology = if now.is_empty() { self } else { self.without(&now)? };
        let mut times: Vec<u64> = later.iter().filter_map(|failure| failure.at_ns).collect();
        times.sort_unstable();
        times.dedup();
        let mut down = vec![false; topology.link_count()];
        let mut changes = Vec::new();
        for time in times {
            let names = topology.nodes_by_name();
            for failure in later.iter().filter(|failure| failure.at_ns == Some(time)) {
                failure.links(&topology, &names)?.iter().for_each(|link| down[link.0 as usize] = true);
            }
            let changed = topology
                .with_links_down(&down, changes.len() as u32 + 1)
                .at(|| format!("{}: after the failure at {} s", topology.label(), time as f64 / 1e9))?;
            changes.push(Change { at_ps: time.saturating_mul(1000), topology: changed });
        }
        topology.changes = changes;
        Ok(topology)
    }

    /// By link: true if it has failed in the course of the run.
    pub fn links_down(&self) -> Vec<bool> {
        let mut down = vec![true; self.link_count()];
        let nodes = (0..self.node_count() as u32).map(NodeId);
        nodes.flat_map(|node| self.outgoing(node)).for_each(|link| down[link.0 as usize] = false);
        down
    }

    /// What fails in the course of a run, in order of time.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Number of the changes before this network, so that routers know when to look again.
    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    fn nodes_by_name(&self) -> HashMap<&str, NodeId> {
        (0..).map(NodeId).zip(&self.nodes).map(|(id, node)| (node.name.as_str(), id)).collect()
    }

    /// The network without these parts.
    fn without(&self, failures: &[&Failure]) -> Result<Self> {
        let names = self.nodes_by_name();
        let (mut up, mut there) = (vec![true; self.link_count()], vec![true; self.node_count()]);
        for failure in failures {
            failure.links(self, &names)?.iter().for_each(|link| up[link.0 as usize] = false);
            if let Some(node) = failure.node(&names) {
                there[node.0 as usize] = false;
            }
        }
        for node in self.hosts.iter().filter(|host| there[host.0 as usize]).copied().collect::<Vec<_>>() {
            let is_up = |link: &&LinkId| up[link.0 as usize];
            let has = self.outgoing(node).iter().any(|link| is_up(&link));
            let lost_a_switch = self.outgoing(node).iter().any(|link| !there[self.dst(*link).0 as usize]);
            there[node.0 as usize] = has || !lost_a_switch;
        }
        let mut graph = NetworkGraph::default();
        let number: Vec<Option<NodeIndex>> = (self.nodes.iter().zip(&there))
            .map(|(node, there)| there.then(|| graph.add_node(node.clone())))
            .collect();
        for (link, spec) in self.links.iter().enumerate().filter(|(link, _)| up[*link]) {
            let [src, dst] = [self.src[link], self.dst[link]].map(|node| number[node.0 as usize]);
            if let (Some(src), Some(dst)) = (src, dst) {
                graph.add_edge(src, dst, spec.clone());
            }
        }
        Self::freeze(&self.label, graph, self.port_order, self.switch_latency_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::HostId;
    use crate::topology::measured::made;

    fn failed(text: &str, failures: &[&str]) -> Result<Topology> {
        let failures: Vec<Failure> = failures.iter().map(|text| Failure::parse(text).unwrap()).collect();
        made(text).with_failures(&failures)
    }

    #[test]
    fn links_switches_and_hosts_are_taken_out() {
        let tree = "leaf-spine[leaves=2,spines=3,hosts=2,links=2]";
        let sizes = |net: &Topology| (net.host_count(), net.switch_count(), net.link_count());
        assert_eq!(sizes(&made(tree)), (4, 5, 8 + 24));
        for (failures, expected) in [
            (&["s1.0>s2.1"][..], (4, 5, 8 + 22)),
            (&["s1.0<>s2.1"], (4, 5, 8 + 20)),
            (&["s1.0<>s2.1#1"], (4, 5, 8 + 22)),
            (&["s2.0", "s2.1"], (4, 3, 8 + 8)),
            (&["h1"], (3, 5, 6 + 24)),
            // A leaf takes its hosts with it.
            (&["s1.1"], (2, 4, 4 + 12)),
        ] {
            let net = failed(tree, failures).unwrap();
            assert_eq!(sizes(&net), expected, "{failures:?}");
            assert!(net.changes().is_empty());
        }
    }

    #[test]
    fn later_failures_keep_the_numbers() {
        let net = failed("leaf-spine[leaves=2,spines=3,hosts=2]", &["s2.0@2s", "s1.0<>s2.1@1s"]).unwrap();
        let times: Vec<u64> = net.changes().iter().map(|change| change.at_ps).collect();
        assert_eq!(times, [1_000_000_000_000, 2_000_000_000_000]);
        assert_eq!(net.link_count(), 8 + 12);
        let ways = |net: &Topology| {
            let paths = net.paths_to(HostId(2));
            paths.candidates(net.switch_number(net.dst(net.outgoing(net.host(HostId(0)))[0])).unwrap()).len()
        };
        assert_eq!(ways(&net), 3);
        assert_eq!(net.changes().iter().map(|change| ways(&change.topology)).collect::<Vec<_>>(), [2, 1]);
        assert!(net.changes().iter().all(|change| change.topology.link_count() == net.link_count()));
    }

    #[test]
    fn what_is_not_there_or_cuts_hosts_off_is_refused() {
        let tree = "leaf-spine[leaves=2,spines=2,hosts=2]";
        for (failures, expected) in [
            (&["s9.0"][..], "has no node `s9.0`, which shall fail"),
            (&["s1.0<>s1.1"], "has no link `s1.0<>s1.1`, which shall fail"),
            (&["s1.0<>s2.1#3"], "has no link `s1.0<>s2.1#3`, which shall fail"),
            (&["h0<>s1.0"], "host `h0` has no link"),
            (&["s2.0", "s2.1"], "host `h2` cannot reach host `h0`: there is no path"),
            (
                &["s2.0@1s", "s2.1@3s"],
                "after the failure at 3 s: host `h2` cannot reach host `h0`: there is no path",
            ),
            (&["h3@1s"], "after the failure at 1 s: host `h3` has no link"),
        ] {
            let error = failed(tree, failures).unwrap_err().to_string();
            assert!(error.starts_with(tree) && error.contains(expected), "{failures:?}: {error}");
        }
        for wrong in ["", ">b", "a>", "@1s"] {
            assert!(Failure::parse(wrong).is_err(), "{wrong}");
        }
    }
}
