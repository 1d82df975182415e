//! Trees of two levels for tests.

use crate::topology::{Faults, LinkSpec, NetworkGraph, Node, PortOrder, Topology};

/// A tree of two levels: one edge switch per list of host slots, each linked to all of `cores`; the
/// capacities are dealt out to the pairs of links in turn.
pub(crate) fn tree(edges: &[Vec<u32>], cores: usize, capacities: &[f64]) -> Topology {
    let mut graph = NetworkGraph::default();
    let node = |graph: &mut NetworkGraph, name: String, slots| {
        graph.add_node(Node { name, slots, mac: None, dpid: None })
    };
    let cores: Vec<_> = (0..cores).map(|i| node(&mut graph, format!("core{i:02}"), None)).collect();
    let mut capacities = capacities.iter().cycle();
    let mut join = |graph: &mut NetworkGraph, a, b| {
        let capacity = *capacities.next().unwrap();
        for (a, b) in [(a, b), (b, a)] {
            let faults = Faults::default();
            graph.add_edge(a, b, LinkSpec { capacity, latency_ps: 0, port: None, faults, cost: 1 });
        }
    };
    for (i, hosts) in edges.iter().enumerate() {
        let edge = node(&mut graph, format!("edge{i:02}"), None);
        for (j, slots) in hosts.iter().enumerate() {
            let host = node(&mut graph, format!("host{i:02}-{j:02}"), Some(*slots));
            join(&mut graph, host, edge);
        }
        cores.iter().for_each(|core| join(&mut graph, edge, *core));
    }
    Topology::freeze("tree", graph, PortOrder::Name, 0).unwrap()
}
