//! Minimal routing by forwarding tables: each switch has one next link for each destination.
//!
//! Of the links that are nearest to a destination a switch takes the one that it uses for the
//! fewest destinations so far, the first of equal ones, with the destinations in order of their
//! numbers. This is Min Hop of OpenSM, the default of InfiniBand's subnet manager. A host with
//! several links takes them in turn. Behind the first switch, routes to a host form a tree, so a
//! table of real switches can hold them.
//!
//! It ignores load and knows nothing of the network as a whole: on trees of three levels and more,
//! switches of one level repeat each other's choices, and D-mod-K spreads better.
//!
//! A switch's table is made when a route first passes it, in time hosts × ports; it takes 2 bytes
//! per host.

use phaseflow_collect::Result;

use super::walk::Walker;
use super::{RouteRequest, Router, Routes};
use crate::topology::{HostId, LinkId, NodeId, Topology};

/// The router `minimal`.
#[derive(Debug, Default)]
pub(super) struct Minimal {
    walker: Walker,
    /// By node, then destination: the position of the next link among the candidates.
    tables: Vec<Option<Box<[u16]>>>,
    /// The generation of the network that the tables are of.
    generation: u32,
    /// By place among the links that leave a switch: destinations so far.
    used: Vec<u32>,
}

impl Router for Minimal {
    fn route(&mut self, request: &RouteRequest<'_>, routes: &mut Routes) -> Result<()> {
        let topology = request.topology;
        if self.generation != topology.generation() {
            self.tables.clear();
            self.generation = topology.generation();
        }
        self.tables.resize(topology.node_count(), None);
        let (tables, used) = (&mut self.tables, &mut self.used);
        for demand in request.demands {
            let dst = demand.dst.0 as usize;
            self.walker.walk(topology, (demand.src, demand.dst), routes, |node, candidates| {
                let Some(switch) = topology.switch_number(node) else { return dst % candidates.len() };
                let table =
                    tables[node.0 as usize].get_or_insert_with(|| table(topology, node, switch, used));
                usize::from(table[dst])
            });
        }
        Ok(())
    }

    fn repeats(&self) -> bool {
        true
    }
}

/// The choices of a switch for all destinations.
fn table(topology: &Topology, node: NodeId, switch: usize, used: &mut Vec<u32>) -> Box<[u16]> {
    let links = topology.outgoing(node);
    used.clear();
    used.resize(links.len(), 0);
    let hosts = (0..topology.host_count() as u32).map(HostId);
    let choice = |dst| {
        let paths = topology.paths_to(dst);
        let candidates = match paths.candidates(switch) {
            [] => paths.deliveries(switch),
            onward => onward,
        };
        least_used(links, candidates, used)
    };
    hosts.map(choice).collect()
}

/// The position of the candidate that is used least, which is then used once more.
fn least_used(links: &[LinkId], candidates: &[LinkId], used: &mut [u32]) -> u16 {
    let mut best: Option<(u32, usize, usize)> = None;
    let mut place = 0;
    for (position, candidate) in candidates.iter().enumerate() {
        // Candidates have the order of the links.
        while links.get(place).is_some_and(|link| link != candidate) {
            place += 1;
        }
        let Some(count) = used.get(place) else { break };
        if best.is_none_or(|(least, ..)| *count < least) {
            best = Some((*count, position, place));
        }
    }
    let Some((_, position, place)) = best else { return 0 };
    used[place] += 1;
    // A switch with more than 65 536 equal links uses the others for nothing.
    u16::try_from(position).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::oracle::{demand, route};
    use crate::topology::measured::made;
    use crate::topology::{HostId, LinkId, NodeId};

    /// All routes to a host leave a switch by one link, and the ports of a leaf have equally many
    /// destinations, to within one.
    #[test]
    fn tables_are_by_destination_and_even() {
        for (text, uplinks) in [("fat-tree[k=6]", 3), ("leaf-spine[leaves=3,spines=4,hosts=5,links=2]", 8)] {
            let net = made(text);
            let hosts = net.host_count() as u32;
            let pairs: Vec<_> = (0..hosts).flat_map(|src| (0..hosts).map(move |dst| (src, dst))).collect();
            let demands: Vec<_> = pairs
                .iter()
                .filter(|(src, dst)| src != dst)
                .map(|(src, dst)| demand(*src, *dst, 1))
                .collect();
            let routes = route(&net, "minimal", &demands, &vec![0.0; net.link_count()]);
            let mut next = std::collections::HashMap::new();
            for (links, demand) in routes.iter().zip(&demands) {
                for link in links {
                    let known = *next.entry((net.src(*link), demand.dst)).or_insert(*link);
                    assert_eq!(known, *link, "{text}");
                }
            }
            let leaf: NodeId = net.dst(net.outgoing(net.host(HostId(0)))[0]);
            let up: Vec<LinkId> =
                net.outgoing(leaf).iter().copied().filter(|link| net.is_switch(net.dst(*link))).collect();
            assert_eq!(up.len(), uplinks);
            let times =
                |link: &LinkId| next.iter().filter(|((at, _), taken)| *at == leaf && *taken == link).count();
            let (least, most) = (up.iter().map(times).min().unwrap(), up.iter().map(times).max().unwrap());
            assert!(most - least <= 1, "{text}: {least} to {most}");
        }
    }
}
