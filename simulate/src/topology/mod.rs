//! Networks: hosts, switches and the directed links between them.
//!
//! A topology is built as a petgraph graph ([`NetworkGraph`]), by a generator or from GraphML, then checked and frozen into
//! [`Topology`]: parallel vectors and CSR adjacency, ids as `u32` newtypes. Hosts are ends, not forwarders: a route passes
//! through switches only. A generated direct network (torus) has a switch beside each host.

use petgraph::graph::DiGraph;
use phaseflow_collect::{Error, Result};
use serde::{Deserialize, Serialize};

/// A host or a switch; index in the order of the file or generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(pub u32);

/// A host; index among the hosts, in the order of the file or generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

/// A directed link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LinkId(pub u32);

/// A node before freezing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Unique name.
    pub name: String,
    /// Process slots of a host; `None` for a switch.
    pub slots: Option<u32>,
    /// Ethernet address of a host, for forwarding tables.
    pub mac: Option<String>,
    /// OpenFlow datapath id of a switch, for forwarding tables.
    pub dpid: Option<String>,
}

/// A link before freezing.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// Gbit/s.
    pub capacity: f64,
    /// Propagation, picoseconds.
    pub latency_ps: u64,
    /// Output port at the link's source, for forwarding tables.
    pub port: Option<String>,
}

/// A network while it is built.
pub type NetworkGraph = DiGraph<Node, LinkSpec, u32>;

/// A frozen, checked network.
#[derive(Clone, Debug)]
pub struct Topology {
    label: String,
    nodes: Vec<Node>,
    hosts: Vec<NodeId>,
    slots: Vec<u32>,
    /// Position of a node among the alternatives of a routing decision.
    order: Vec<u32>,
    src: Vec<NodeId>,
    dst: Vec<NodeId>,
    links: Vec<LinkSpec>,
    outgoing: Adjacency,
    incoming: Adjacency,
    switch_latency_ps: u64,
}

/// Links by node, in CSR form.
#[derive(Clone, Debug)]
struct Adjacency {
    offsets: Vec<u32>,
    links: Vec<LinkId>,
}

/// How routing decisions order the switches they choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortOrder {
    /// By name, bytewise, as PFSim sorts the names of a file.
    Name,
    /// By node number: generated topologies, whose numbers are their coordinates.
    Number,
}

impl Topology {
    /// Checks and freezes a graph.
    ///
    /// # Errors
    /// No host, a host without slots or link, a name that occurs twice, a capacity that is not positive, a host that
    /// cannot reach another one (named).
    pub fn freeze(
        label: &str,
        graph: NetworkGraph,
        order: PortOrder,
        switch_latency_ps: u64,
    ) -> Result<Self> {
        let _ = (label, graph, order, switch_latency_ps);
        Err(Error::data("topology: not available yet"))
    }

    /// What the user called it: file name or generator with its parameters.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Number of hosts.
    pub fn host_count(&self) -> usize {
        self.hosts.len()
    }

    /// Number of directed links.
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// A node's name, slots and addresses.
    pub fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node.0 as usize]
    }

    /// The node of a host.
    pub fn host(&self, host: HostId) -> NodeId {
        self.hosts[host.0 as usize]
    }

    /// Process slots by host.
    pub fn slots(&self) -> &[u32] {
        &self.slots
    }

    /// True if the node forwards.
    pub fn is_switch(&self, node: NodeId) -> bool {
        self.nodes[node.0 as usize].slots.is_none()
    }

    /// Where the node stands among the alternatives of a routing decision.
    pub fn order(&self, node: NodeId) -> u32 {
        self.order[node.0 as usize]
    }

    /// Source of a link.
    pub fn src(&self, link: LinkId) -> NodeId {
        self.src[link.0 as usize]
    }

    /// Destination of a link.
    pub fn dst(&self, link: LinkId) -> NodeId {
        self.dst[link.0 as usize]
    }

    /// Capacity and latency of a link.
    pub fn link(&self, link: LinkId) -> &LinkSpec {
        &self.links[link.0 as usize]
    }

    /// True if the link joins two switches: only these count as congestion in PFSim.
    pub fn between_switches(&self, link: LinkId) -> bool {
        self.is_switch(self.src(link)) && self.is_switch(self.dst(link))
    }

    /// Links that leave a node.
    pub fn outgoing(&self, node: NodeId) -> &[LinkId] {
        self.outgoing.of(node)
    }

    /// Links that reach a node.
    pub fn incoming(&self, node: NodeId) -> &[LinkId] {
        self.incoming.of(node)
    }

    /// Time that a packet's head spends in a switch, picoseconds.
    pub fn switch_latency_ps(&self) -> u64 {
        self.switch_latency_ps
    }
}

impl Adjacency {
    fn of(&self, node: NodeId) -> &[LinkId] {
        let node = node.0 as usize;
        &self.links[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }
}
