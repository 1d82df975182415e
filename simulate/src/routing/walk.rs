//! A walk from source to destination along the shortest-path DAG, with a decision at each hop that
//! has a choice.

use super::Routes;
use crate::topology::{HostId, LinkId, NodeId, Topology};

/// Memory that walks share.
#[derive(Debug, Default)]
pub(super) struct Walker {
    room: Vec<LinkId>,
}

impl Walker {
    /// Appends a route. `choose` gets the node and candidates of each hop with more than one, and
    /// returns the one to take.
    #[inline]
    pub(super) fn walk(
        &mut self,
        topology: &Topology,
        (src, dst): (HostId, HostId),
        routes: &mut Routes,
        mut choose: impl FnMut(NodeId, &[LinkId]) -> usize,
    ) {
        let paths = topology.paths_to(dst);
        let mut node = topology.host(src);
        let mut candidates = paths.departures(src, &mut self.room);
        // A frozen topology has a path between all hosts: no hop is without candidates.
        while let [first, others @ ..] = candidates {
            let taken = if others.is_empty() {
                *first
            } else {
                candidates.get(choose(node, candidates)).copied().unwrap_or(*first)
            };
            routes.push_link(taken);
            let Some(switch) = topology.switch_after(taken) else { break };
            node = topology.dst(taken);
            candidates = match paths.candidates(switch) {
                [] => paths.deliveries(switch),
                onward => onward,
            };
        }
        routes.end_route();
    }
}
