//! Hosts by switch.

use std::collections::HashMap;

use crate::topology::{HostId, Topology};

/// Hosts by the switch they hang on (the first one, if there are several).
#[derive(Clone, Debug)]
pub(super) struct Edges(Vec<Vec<HostId>>);

impl Edges {
    pub(super) fn new(topology: &Topology) -> Self {
        let mut numbers = HashMap::new();
        let mut edges: Vec<Vec<HostId>> = Vec::new();
        for host in (0..topology.host_count() as u32).map(HostId) {
            let switch = topology.outgoing(topology.host(host)).first().map(|link| topology.dst(*link));
            let number = *numbers.entry(switch).or_insert(edges.len());
            if number == edges.len() {
                edges.push(Vec::new());
            }
            edges[number].push(host);
        }
        Self(edges)
    }

    /// The hosts of each switch, in order of its first host.
    pub(super) fn switches(&self) -> impl Iterator<Item = &[HostId]> {
        self.0.iter().map(Vec::as_slice)
    }
}
