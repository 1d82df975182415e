//! Networks: hosts, switches and the directed links between them.
//!
//! A topology is built as a petgraph graph ([`NetworkGraph`]) by a generator or from GraphML, then
//! checked and frozen into [`Topology`]: parallel vectors and CSR adjacency, ids as `u32` newtypes.
//! Hosts do not forward: a route passes through switches only. A generated direct network (torus,
//! dragonfly) has a switch beside each host.
//!
//! Paths are shortest if the sum of their links' costs is least; costs are 1 unless the network
//! says otherwise. Distances and next hops towards a host ([`ShortestPaths`]) are computed at their
//! first use and shared by all runs on the topology. They are equal for all hosts on the same
//! switches, so they are kept once for each such *attachment*.

mod adjacency;
mod choice;
mod coordinates;
mod dragonfly;
mod failure;
mod fat_tree;
mod faults;
mod freeze;
mod galois;
mod graphml;
mod hyperx;
mod jellyfish;
mod leaf_spine;
mod levels;
#[cfg(test)]
pub(crate) mod measured;
mod options;
mod parameters;
mod paths;
mod scale;
mod search;
#[cfg(test)]
pub(crate) mod sketch;
mod slimfly;
mod star;
#[cfg(test)]
pub(crate) mod test_tree;
mod torus;
mod uniform;
mod xgft;

use std::sync::OnceLock;

use petgraph::graph::DiGraph;
use serde::{Deserialize, Serialize};

use adjacency::Adjacency;
use paths::PathTables;

pub use choice::{TopologyChoice, topology};
pub use failure::{Change, Failure};
pub use faults::Faults;
pub use graphml::{Annotations, Attribute, write_graphml};
pub use levels::Levels;
pub use options::TopologyOptions;
pub use paths::{Distances, ShortestPaths};
pub use scale::Scale;

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
    /// Its faults.
    pub faults: Faults,
    /// What it costs a path between switches, from 1 to [`MAX_COST`]: routers that take shortest
    /// paths take those of least cost.
    pub cost: u32,
}

/// Largest cost of a link: a path of all 4 million switches still has a cost below 2³².
pub const MAX_COST: u32 = 1000;

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
    port_order: PortOrder,
    src: Vec<NodeId>,
    dst: Vec<NodeId>,
    links: Vec<LinkSpec>,
    outgoing: Adjacency,
    incoming: Adjacency,
    paths: PathTables,
    levels: OnceLock<Option<Levels>>,
    /// What fails in the course of a run, in order of time.
    changes: Vec<Change>,
    generation: u32,
    switch_latency_ps: u64,
}

/// How routing decisions order the switches they choose from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PortOrder {
    /// By name, bytewise, as PFSim sorts the names of a file.
    #[default]
    Name,
    /// By node number: generated topologies, whose numbers are their coordinates.
    Number,
}

impl PortOrder {
    /// `name` or `number`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Number => "number",
        }
    }

    /// The order of that name.
    fn parse(name: &str) -> Option<Self> {
        [Self::Name, Self::Number].into_iter().find(|order| order.as_str() == name)
    }
}

impl Topology {
    /// The user's name for it: file name, or generator with its parameters.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The same network under another name, for callers that resolve what the user wrote.
    #[must_use]
    pub fn labelled(mut self, label: &str) -> Self {
        self.label = label.into();
        self
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

    /// The source of the positions of [`order`](Self::order).
    pub fn port_order(&self) -> PortOrder {
        self.port_order
    }

    /// Source of a link.
    pub fn src(&self, link: LinkId) -> NodeId {
        self.src[link.0 as usize]
    }

    /// Destination of a link.
    pub fn dst(&self, link: LinkId) -> NodeId {
        self.dst[link.0 as usize]
    }

    /// Capacity, latency, cost and faults of a link.
    pub fn link(&self, link: LinkId) -> &LinkSpec {
        &self.links[link.0 as usize]
    }

    /// True if the link joins two switches: only these count as congestion in PFSim.
    pub fn between_switches(&self, link: LinkId) -> bool {
        self.is_switch(self.src(link)) && self.is_switch(self.dst(link))
    }

    /// Links that leave a node: by the order of the node they lead to, then by link.
    pub fn outgoing(&self, node: NodeId) -> &[LinkId] {
        self.outgoing.of(node)
    }

    /// Links that reach a node: by the order of the node they come from, then by link.
    pub fn incoming(&self, node: NodeId) -> &[LinkId] {
        self.incoming.of(node)
    }

    /// Time that a packet's head spends in a switch, picoseconds.
    pub fn switch_latency_ps(&self) -> u64 {
        self.switch_latency_ps
    }
}
