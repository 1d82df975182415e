//! From source to destination along the shortest-path DAG, asking at each hop that offers a choice.

use super::Routes;
use crate::topology::{HostId, LinkId, NodeId, Topology};

/// Room that walks share, so that they do not allocate.
#[derive(Debug, Default)]
pub(super) struct Walker {
    room: Vec<LinkId>,
}

impl Walker {
    /// Appends a route. `choose` gets the node of each hop with more than one candidate and says which one it takes.
    #[inline]
    pub(super) fn walk(
        &mut self,
        topology: &Topology,
        (src, dst): (HostId, HostId),
        routes: &mut Routes,
        mut choose: impl FnMut(NodeId, &[LinkId]) -> usize,
    ) {
        let paths = topology.paths_to(dst);
        let mut pick = |node: NodeId, candidates: &[LinkId]| match candidates {
            [] => None,
            [only] => Some(*only),
            several => several.get(choose(node, several)).copied(),
        };
        // A frozen topology has a path between all hosts: no hop is without candidates.
        let mut link = pick(topology.host(src), paths.departures(src, &mut self.room));
        while let Some(taken) = link {
            routes.push_link(taken);
            let Some(switch) = topology.switch_after(taken) else { break };
            let onward = paths.candidates(switch);
            let candidates = if onward.is_empty() { paths.deliveries(switch) } else { onward };
            link = pick(topology.dst(taken), candidates);
        }
        routes.end_route();
    }
}
