//! The network in a result: enough to name links, to draw them, and to build it again.

use serde::{Deserialize, Serialize};

use crate::topology::{Faults, LinkId, Node, NodeId, PortOrder, Topology};

/// Nodes and links of a topology; their positions are the [`NodeId`]s and [`LinkId`]s of the
/// results.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// The user's name for it.
    pub label: String,
    /// Time that a packet's head spends in a switch, picoseconds.
    pub switch_latency_ps: u64,
    /// The order of switches in routing decisions.
    pub port_order: PortOrder,
    /// Hosts and switches.
    pub nodes: Vec<Node>,
    /// Directed links.
    pub links: Vec<Link>,
}

/// A directed link and its ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Its source.
    pub src: NodeId,
    /// Its destination.
    pub dst: NodeId,
    /// Gbit/s.
    pub capacity: f64,
    /// Propagation, picoseconds.
    pub latency_ps: u64,
    /// Output port at the source.
    pub port: Option<String>,
    /// Its faults.
    #[serde(default, skip_serializing_if = "Faults::is_none")]
    pub faults: Faults,
    /// What it costs a path; 1 unless the network says otherwise.
    #[serde(default = "usual_cost", skip_serializing_if = "is_usual_cost")]
    pub cost: u32,
}

fn usual_cost() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_usual_cost(cost: &u32) -> bool {
    *cost == usual_cost()
}

impl Network {
    /// Name of a node.
    pub fn name(&self, node: NodeId) -> &str {
        &self.nodes[node.0 as usize].name
    }

    /// A link.
    pub fn link(&self, link: LinkId) -> &Link {
        &self.links[link.0 as usize]
    }
}

impl From<&Topology> for Network {
    fn from(topology: &Topology) -> Self {
        let nodes = (0..topology.node_count() as u32).map(|node| topology.node(NodeId(node)).clone());
        let links = (0..topology.link_count() as u32).map(LinkId).map(|link| {
            let spec = topology.link(link);
            Link {
                src: topology.src(link),
                dst: topology.dst(link),
                capacity: spec.capacity,
                latency_ps: spec.latency_ps,
                port: spec.port.clone(),
                faults: spec.faults,
                cost: spec.cost,
            }
        });
        Self {
            label: topology.label().into(),
            switch_latency_ps: topology.switch_latency_ps(),
            port_order: topology.port_order(),
            nodes: nodes.collect(),
            links: links.collect(),
        }
    }
}

impl From<&Network> for Network {
    fn from(network: &Network) -> Self {
        network.clone()
    }
}
