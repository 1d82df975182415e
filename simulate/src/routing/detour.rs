//! Single paths for routers that may leave the shortest ones: a shortest path, and one through the
//! switch of a third host.

use super::ecmp::mix;
use crate::topology::{HostId, LinkId, ShortestPaths, Topology};

/// A path that is being built.
#[derive(Debug, Default)]
pub(super) struct Detour {
    links: Vec<LinkId>,
    /// Switches that the links lead to, one per link but the last.
    passed: Vec<usize>,
    /// By switch: the number of the path that passes it.
    passes: Vec<u64>,
    path: u64,
    room: Vec<LinkId>,
}

impl Detour {
    /// A shortest path. Among equal hops each switch chooses by a hash of `flow`.
    pub(super) fn shortest(
        &mut self,
        topology: &Topology,
        (src, dst): (HostId, HostId),
        flow: u64,
    ) -> &[LinkId] {
        self.begin(topology);
        let paths = topology.paths_to(dst);
        let first = self.depart(&paths, src, flow);
        self.arrive(topology, &paths, first, flow);
        &self.links
    }

    /// A shortest path to the switch of a third host, and from there a shortest path on. Where both
    /// pass the same switch, what lies between is left out, so no switch is passed twice.
    pub(super) fn through(
        &mut self,
        topology: &Topology,
        (src, via, dst): (HostId, HostId, HostId),
        flow: u64,
    ) -> &[LinkId] {
        if via == src || via == dst {
            return self.shortest(topology, (src, dst), flow);
        }
        self.begin(topology);
        let paths = topology.paths_to(via);
        let first = self.depart(&paths, src, flow);
        let Some(mut at) = first.and_then(|link| topology.switch_after(link)) else {
            // A cable from host to host.
            return self.shortest(topology, (src, dst), flow);
        };
        let mut taken = first;
        while let Some(link) = taken {
            let Some(switch) = self.pass(topology, link) else { break };
            at = switch;
            taken = pick(paths.candidates(switch), flow, switch);
        }
        let paths = topology.paths_to(dst);
        let onward = next(topology, &paths, flow, at);
        if !self.arrive(topology, &paths, onward, flow) {
            // One-way links: there is no way on.
            return self.shortest(topology, (src, dst), flow);
        }
        &self.links
    }

    fn begin(&mut self, topology: &Topology) {
        self.passes.resize(topology.switch_count(), 0);
        self.path += 1;
        self.links.clear();
        self.passed.clear();
    }

    fn depart(&mut self, paths: &ShortestPaths<'_>, src: HostId, flow: u64) -> Option<LinkId> {
        pick(paths.departures(src, &mut self.room), flow, usize::MAX)
    }

    /// Takes a link and those after it; false if they do not lead to the host.
    fn arrive(
        &mut self,
        topology: &Topology,
        paths: &ShortestPaths<'_>,
        first: Option<LinkId>,
        flow: u64,
    ) -> bool {
        let mut taken = first;
        while let Some(link) = taken {
            let Some(switch) = self.pass(topology, link) else { return true };
            taken = next(topology, paths, flow, switch);
        }
        false
    }

    /// Takes a link; the switch that it leads to, if it is none to a host. A switch that was passed
    /// before ends a detour: the path goes on from its first pass.
    fn pass(&mut self, topology: &Topology, link: LinkId) -> Option<usize> {
        self.links.push(link);
        let switch = topology.switch_after(link)?;
        if self.passes[switch] == self.path {
            while self.passed.last().is_some_and(|last| *last != switch) {
                if let Some(left) = self.passed.pop() {
                    self.passes[left] = 0;
                }
            }
            self.links.truncate(self.passed.len());
        } else {
            self.passes[switch] = self.path;
            self.passed.push(switch);
        }
        Some(switch)
    }
}

/// The next link of a shortest path from a switch; none if there is no path.
fn next(topology: &Topology, paths: &ShortestPaths<'_>, flow: u64, switch: usize) -> Option<LinkId> {
    match paths.candidates(switch) {
        [] => {
            let last = pick(paths.deliveries(switch), flow, switch);
            last.filter(|link| topology.src(*link) == topology.switch(switch))
        }
        onward => pick(onward, flow, switch),
    }
}

/// The candidate that a hash of flow and switch chooses.
#[inline]
fn pick(candidates: &[LinkId], flow: u64, switch: usize) -> Option<LinkId> {
    match candidates {
        [] => None,
        [only] => Some(*only),
        _ => {
            let hash = mix(flow ^ switch as u64) >> 32;
            candidates.get(((hash * candidates.len() as u64) >> 32) as usize).copied()
        }
    }
}
