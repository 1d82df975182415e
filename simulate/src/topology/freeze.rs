//! Checks an untrusted graph and freezes it into a [`Topology`].

use std::collections::HashSet;
use std::sync::OnceLock;

use phaseflow_collect::{Error, Result};

use super::adjacency::Adjacency;
use super::paths::PathTables;
use super::{HostId, LinkId, LinkSpec, MAX_COST, NetworkGraph, Node, NodeId, PortOrder, Topology};

/// Most nodes of a topology: 4 million, forty times the hosts of the largest machines (about 10⁵);
/// at 160 bytes each they take 640 MiB.
pub(super) const MAX_NODES: u64 = 1 << 22;
/// Most directed links of a topology: 16 million, 1.5 GiB at 96 bytes each.
pub(super) const MAX_LINKS: u64 = 1 << 24;

/// Most steps of the search for an unreachable host if links are not in pairs: several seconds.
const MAX_SEARCH: u64 = 1 << 31;

impl Topology {
    /// Checks and freezes a graph.
    ///
    /// # Errors
    /// No host, a host without slots or link, a name that occurs twice, a capacity that is not
    /// positive, a host that cannot reach another one (named).
    pub fn freeze(
        label: &str,
        graph: NetworkGraph,
        order: PortOrder,
        switch_latency_ps: u64,
    ) -> Result<Self> {
        let topology = assemble(label, graph, order, switch_latency_ps).map_err(|error| error.at(label))?;
        topology.check_reachable().map_err(|error| error.at(label))?;
        Ok(topology)
    }

    /// The same network with some links down, by number; hosts must still reach each other.
    ///
    /// # Errors
    /// Hosts that do not.
    pub(super) fn with_links_down(&self, down: &[bool], generation: u32) -> Result<Self> {
        let is_up = |link: LinkId| !down[link.0 as usize];
        let rank = |ends: &[NodeId], link: LinkId| self.order[ends[link.0 as usize].0 as usize];
        let (nodes, src, dst) = (self.node_count(), &self.src, &self.dst);
        let outgoing = Adjacency::new(nodes, src, |link| rank(dst, link), is_up);
        let incoming = Adjacency::new(nodes, dst, |link| rank(src, link), is_up);
        let is_switch: Vec<bool> = self.nodes.iter().map(|node| node.slots.is_none()).collect();
        let paths = PathTables::new(&is_switch, &self.hosts, (src, dst), &self.links, &outgoing, &incoming);
        let changed = Self {
            outgoing,
            incoming,
            paths,
            levels: OnceLock::new(),
            changes: Vec::new(),
            generation,
            label: self.label.clone(),
            nodes: self.nodes.clone(),
            hosts: self.hosts.clone(),
            slots: self.slots.clone(),
            order: self.order.clone(),
            src: self.src.clone(),
            dst: self.dst.clone(),
            links: self.links.clone(),
            ..*self
        };
        changed.check_reachable()?;
        Ok(changed)
    }

    /// `edge1 → core1`, for messages.
    pub(crate) fn link_name(&self, link: LinkId) -> String {
        format!("{} → {}", self.node(self.src(link)).name, self.node(self.dst(link)).name)
    }

    /// All hosts reach each other if all reach one switch and are reached from it; otherwise each
    /// attachment is searched.
    fn check_reachable(&self) -> Result<()> {
        for host in 0..self.host_count() as u32 {
            let node = self.host(HostId(host));
            let problem = match (self.outgoing(node).len(), self.incoming(node).len()) {
                (0, 0) => "has no link",
                (0, _) => "has no outgoing link",
                (_, 0) => "has no incoming link",
                _ => continue,
            };
            return Err(Error::data(format!("host `{}` {problem}", self.node(node).name)));
        }
        let root = self.outgoing(self.host(HostId(0))).iter().find_map(|link| {
            let node = self.dst(*link);
            self.is_switch(node).then_some(node)
        });
        if root.is_some_and(|root| self.all_meet_at(root)) {
            return Ok(());
        }
        let steps = self.host_count() as u64 * (self.link_count() + self.node_count()) as u64;
        if steps > MAX_SEARCH {
            return Err(Error::data(
                "not every host can be shown to reach every other one: too large a network with one-way links",
            ));
        }
        let Some((src, dst)) = self.unreachable_pair() else { return Ok(()) };
        let reason = if self.search(src, true, true)[dst.0 as usize] {
            "every path passes through other hosts, and hosts do not forward"
        } else {
            "there is no path"
        };
        let (src, dst) = (&self.node(src).name, &self.node(dst).name);
        Err(Error::data(format!("host `{src}` cannot reach host `{dst}`: {reason}")))
    }

    fn all_meet_at(&self, root: NodeId) -> bool {
        let (reached, reaching) = (self.search(root, true, false), self.search(root, false, false));
        let meets = |host: u32| {
            let node = self.host(HostId(host)).0 as usize;
            reached[node] && reaching[node]
        };
        (0..self.host_count() as u32).all(meets)
    }

    /// Nodes that `root` reaches (or that reach it) through switches, or through anything.
    fn search(&self, root: NodeId, forwards: bool, through_hosts: bool) -> Vec<bool> {
        let mut seen = vec![false; self.node_count()];
        let mut stack = vec![root];
        seen[root.0 as usize] = true;
        while let Some(node) = stack.pop() {
            if node != root && !through_hosts && !self.is_switch(node) {
                continue;
            }
            let links = if forwards { self.outgoing(node) } else { self.incoming(node) };
            for link in links {
                let next = if forwards { self.dst(*link) } else { self.src(*link) };
                if !std::mem::replace(&mut seen[next.0 as usize], true) {
                    stack.push(next);
                }
            }
        }
        seen
    }
}

fn assemble(label: &str, graph: NetworkGraph, order: PortOrder, switch_latency_ps: u64) -> Result<Topology> {
    check_size(graph.node_count() as u64, graph.edge_count() as u64)?;
    let (nodes, edges) = graph.into_nodes_edges();
    let nodes: Vec<Node> = nodes.into_iter().map(|node| node.weight).collect();
    check_nodes(&nodes)?;

    for edge in &edges {
        let (from, to) = (edge.source().index(), edge.target().index());
        let name = || format!("link `{} → {}`", nodes[from].name, nodes[to].name);
        let capacity = edge.weight.capacity;
        if !(capacity.is_finite() && capacity > 0.0) {
            return Err(Error::data(format!(
                "{} has capacity {capacity}, expected a positive number of Gbit/s",
                name()
            )));
        }
        if !(1..=MAX_COST).contains(&edge.weight.cost) {
            let cost = edge.weight.cost;
            return Err(Error::data(format!("{} has cost {cost}, expected 1 to {MAX_COST}", name())));
        }
        if from == to {
            return Err(Error::data(format!("{} leads from a node to itself", name())));
        }
    }
    let node = |index: usize| NodeId(index as u32);
    let src: Vec<NodeId> = edges.iter().map(|edge| node(edge.source().index())).collect();
    let dst: Vec<NodeId> = edges.iter().map(|edge| node(edge.target().index())).collect();
    let links: Vec<LinkSpec> = edges.into_iter().map(|edge| edge.weight).collect();

    let port_order = order;
    let order = ranks(&nodes, port_order);
    let rank = |ends: &[NodeId], link: LinkId| order[ends[link.0 as usize].0 as usize];
    let outgoing = Adjacency::new(nodes.len(), &src, |link| rank(&dst, link), |_| true);
    let incoming = Adjacency::new(nodes.len(), &dst, |link| rank(&src, link), |_| true);
    let is_switch: Vec<bool> = nodes.iter().map(|node| node.slots.is_none()).collect();
    let hosts: Vec<NodeId> =
        (0..nodes.len()).filter(|node| !is_switch[*node]).map(|node| NodeId(node as u32)).collect();
    let slots = nodes.iter().filter_map(|node| node.slots).collect();
    let paths = PathTables::new(&is_switch, &hosts, (&src, &dst), &links, &outgoing, &incoming);
    let label = label.to_string();
    Ok(Topology {
        label,
        nodes,
        hosts,
        slots,
        order,
        port_order,
        src,
        dst,
        links,
        outgoing,
        incoming,
        paths,
        levels: OnceLock::new(),
        changes: Vec::new(),
        generation: 0,
        switch_latency_ps,
    })
}

/// Refuses sizes beyond the limits; generators call it before they build.
pub(super) fn check_size(nodes: u64, links: u64) -> Result<()> {
    if nodes > MAX_NODES {
        return Err(Error::data(format!("has {nodes} nodes, at most {MAX_NODES} are possible")));
    }
    if links > MAX_LINKS {
        return Err(Error::data(format!("has {links} links, at most {MAX_LINKS} are possible")));
    }
    Ok(())
}

fn check_nodes(nodes: &[Node]) -> Result<()> {
    let mut names = HashSet::with_capacity(nodes.len());
    let mut slots: u64 = 0;
    for node in nodes {
        let name = &node.name;
        if !names.insert(name.as_str()) {
            return Err(Error::data(format!("two nodes are called `{name}`")));
        }
        if node.slots == Some(0) {
            return Err(Error::data(format!("host `{name}` has no process slots (capacity)")));
        }
        slots += u64::from(node.slots.unwrap_or(0));
    }
    if nodes.iter().all(|node| node.slots.is_none()) {
        return Err(Error::data("has no host"));
    }
    if slots > u64::from(u32::MAX) {
        return Err(Error::data(format!("has {slots} process slots, at most {} are possible", u32::MAX)));
    }
    Ok(())
}

/// By node: its place in the order.
fn ranks(nodes: &[Node], order: PortOrder) -> Vec<u32> {
    let mut sorted: Vec<u32> = (0..nodes.len() as u32).collect();
    if order == PortOrder::Name {
        sorted.sort_unstable_by_key(|node| nodes[*node as usize].name.as_str());
    }
    let mut ranks = vec![0; nodes.len()];
    for (rank, node) in sorted.into_iter().enumerate() {
        ranks[node as usize] = rank as u32;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::super::sketch::sketch;
    use super::*;

    fn refused(graph: NetworkGraph) -> String {
        Topology::freeze("net", graph, PortOrder::Number, 0).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_network_is_refused_by_name() {
        let mut doubled = sketch("h0-s0 h1-s0");
        doubled[petgraph::graph::NodeIndex::new(2)].name = "h0".into();
        let mut empty = sketch("h0-s0 h1-s0");
        empty[petgraph::graph::NodeIndex::new(2)].slots = Some(0);
        let mut alone = sketch("h0-s0");
        let host = Node { name: "h1".into(), slots: Some(1), mac: None, dpid: None };
        alone.add_node(host);
        let cases = [
            (NetworkGraph::default(), "net: has no host"),
            (sketch("s0-s1"), "net: has no host"),
            (doubled, "net: two nodes are called `h0`"),
            (empty, "net: host `h1` has no process slots (capacity)"),
            (alone, "net: host `h1` has no link"),
            (sketch("h0>s0 h1-s0"), "net: host `h0` has no incoming link"),
            (sketch("s0>h0 h1-s0"), "net: host `h0` has no outgoing link"),
            (sketch("h0-s0 s0>s0"), "net: link `s0 → s0` leads from a node to itself"),
            (sketch("h0-s0 h1-s1"), "net: host `h1` cannot reach host `h0`: there is no path"),
            (
                sketch("h0-s0 s0-h1 h1-s1 s1-h2"),
                "net: host `h2` cannot reach host `h0`: every path passes through other hosts, and hosts do not forward",
            ),
        ];
        for (graph, expected) in cases {
            assert_eq!(refused(graph), expected);
        }
    }

    #[test]
    fn a_capacity_is_a_positive_number() {
        for (capacity, shown) in [(0.0, "0"), (-1.0, "-1"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
            let mut graph = sketch("h0-edge1 edge1-core1");
            graph[petgraph::graph::EdgeIndex::new(2)].capacity = capacity;
            let expected = format!(
                "net: link `edge1 → core1` has capacity {shown}, expected a positive number of Gbit/s"
            );
            assert_eq!(refused(graph), expected);
        }
    }

    #[test]
    fn one_way_networks_are_networks_if_all_hosts_meet() {
        // A butterfly: hosts send at the left and receive at the right, with no way back.
        let butterfly = "h0>a0 h1>a0 h2>a1 h3>a1 a0>b0 a0>b1 a1>b0 a1>b1 b0>h0 b0>h1 b1>h2 b1>h3";
        Topology::freeze("net", sketch(butterfly), PortOrder::Number, 0).unwrap();
        let ring = "h0-s0 h1-s1 h2-s2 s0>s1 s1>s2 s2>s0";
        Topology::freeze("net", sketch(ring), PortOrder::Number, 0).unwrap();
        assert_eq!(
            refused(sketch(&butterfly.replace("a1>b1", "b1>a1"))),
            "net: host `h3` cannot reach host `h2`: every path passes through other hosts, and hosts do not forward"
        );
        // Two hosts and a cable.
        Topology::freeze("net", sketch("h0-h1"), PortOrder::Number, 0).unwrap();
    }

    #[test]
    fn order_is_by_name_or_by_number() {
        let drawn = "h0-s10 h0-s9 h1-s10 h1-s9";
        for (order, first) in [(PortOrder::Name, "s10"), (PortOrder::Number, "s10")] {
            let net = Topology::freeze("net", sketch(drawn), order, 0).unwrap();
            assert_eq!(net.node(net.dst(net.outgoing(NodeId(0))[0])).name, first);
        }
        let drawn = "h0-s9 h0-s10 h1-s10 h1-s9";
        for (order, first) in [(PortOrder::Name, "s10"), (PortOrder::Number, "s9")] {
            let net = Topology::freeze("net", sketch(drawn), order, 0).unwrap();
            assert_eq!(net.node(net.dst(net.outgoing(NodeId(0))[0])).name, first);
        }
    }
}
