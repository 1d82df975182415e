//! Networks for tests, drawn in a line: `h0-s0 h1-s0 s0>s1`.

use std::collections::HashMap;

use super::{Faults, LinkSpec, NetworkGraph, Node};

/// Names with `h` are hosts of one slot, all others switches, numbered in order of first mention;
/// `-` is a link each way, `>` one way; all have 1 Gbit/s.
pub(crate) fn sketch(text: &str) -> NetworkGraph {
    let mut graph = NetworkGraph::default();
    let mut known = HashMap::new();
    for cable in text.split_whitespace() {
        let (a, b) = cable.split_once(['-', '>']).unwrap();
        let [a, b] = [a, b].map(|name| {
            *known.entry(name.to_string()).or_insert_with(|| {
                let slots = name.starts_with('h').then_some(1);
                graph.add_node(Node { name: name.into(), slots, mac: None, dpid: None })
            })
        });
        let link = LinkSpec { capacity: 1.0, latency_ps: 0, port: None, faults: Faults::default(), cost: 1 };
        graph.add_edge(a, b, link.clone());
        if cable.contains('-') {
            graph.add_edge(b, a, link);
        }
    }
    graph
}
