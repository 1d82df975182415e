//! Multicast: a tree of shortest paths from a server's switch to the workers, as IGMP and PIM would
//! build it.
//!
//! Each switch copies a packet once for each link of the tree that leaves it.

use phaseflow_collect::{Error, Result};

use crate::packet::chance::mix;
use crate::topology::{HostId, LinkId, NodeId, Topology};

/// The trees of a job: one for each server.
#[derive(Clone, Debug, Default)]
pub(super) struct Trees {
    /// By position: its links.
    links: Vec<Vec<Branch>>,
}

/// A link of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Branch {
    pub(super) link: LinkId,
    /// Position of the switch at its end, or number of the worker.
    pub(super) to: u32,
}

/// The switch of a host.
///
/// # Errors
/// A host with several switches or none: a sum needs one switch for all packets of a host.
pub(super) fn switch_of(topology: &Topology, host: HostId) -> Result<NodeId> {
    let node = topology.host(host);
    let ends = topology.outgoing(node).iter().map(|link| topology.dst(*link));
    let mut all = ends.chain(topology.incoming(node).iter().map(|link| topology.src(*link)));
    let first = all.next().filter(|switch| topology.is_switch(*switch));
    first.filter(|first| all.all(|switch| switch == *first)).ok_or_else(|| {
        let name = &topology.node(node).name;
        Error::data(format!(
            "ATP: host {name} does not hang at one switch, where its packets could be summed"
        ))
    })
}

impl Trees {
    /// Adds the tree from a switch to all workers; returns its root. `seed` chooses among shortest
    /// paths.
    ///
    /// # Errors
    /// A worker that cannot be reached, or as [`switch_of`].
    pub(super) fn grow(
        &mut self,
        topology: &Topology,
        root: NodeId,
        workers: &[HostId],
        seed: u64,
    ) -> Result<u32> {
        let distances = distances(topology, root);
        let mut positions = vec![NONE; topology.node_count()];
        let position = self.at(&mut positions, root);
        for (worker, host) in (0..).zip(workers) {
            let mut node = switch_of(topology, *host)?;
            let is_last = |link: &&LinkId| topology.dst(**link) == topology.host(*host);
            let down = topology.outgoing(node).iter().filter(is_last);
            let Some(mut link) = choose(down, seed ^ u64::from(host.0)) else {
                return Err(unreachable(topology, root, *host));
            };
            let mut to = worker;
            // Up from the worker to a switch of the tree.
            loop {
                let is_known = positions[node.0 as usize] != NONE;
                let position = self.at(&mut positions, node);
                self.links[position as usize].push(Branch { link, to });
                if is_known {
                    break;
                }
                let nearer = distances[node.0 as usize].wrapping_sub(1);
                let is_above = |link: &&LinkId| {
                    let above = topology.src(**link);
                    topology.is_switch(above) && distances[above.0 as usize] == nearer
                };
                let up = topology.incoming(node).iter().filter(is_above);
                let Some(above) = choose(up, seed ^ u64::from(node.0) << 32) else {
                    return Err(unreachable(topology, root, *host));
                };
                (link, to, node) = (above, position, topology.src(above));
            }
        }
        Ok(position)
    }

    /// The links by which a packet leaves a position.
    #[inline]
    pub(super) fn branches(&self, position: u32) -> &[Branch] {
        self.links.get(position as usize).map_or(&[], Vec::as_slice)
    }

    fn at(&mut self, positions: &mut [u32], node: NodeId) -> u32 {
        let position = &mut positions[node.0 as usize];
        if *position == NONE {
            *position = self.links.len() as u32;
            self.links.push(Vec::new());
        }
        *position
    }
}

/// No position, no distance.
const NONE: u32 = u32::MAX;

/// Number of links from a switch to each node, through switches.
fn distances(topology: &Topology, root: NodeId) -> Vec<u32> {
    let mut distances = vec![NONE; topology.node_count()];
    distances[root.0 as usize] = 0;
    let mut queue = vec![root];
    let mut next = 0;
    while let Some(node) = queue.get(next).copied() {
        next += 1;
        for link in topology.outgoing(node) {
            let to = topology.dst(*link);
            if topology.is_switch(to) && distances[to.0 as usize] == NONE {
                distances[to.0 as usize] = distances[node.0 as usize] + 1;
                queue.push(to);
            }
        }
    }
    distances
}

fn choose<'a>(links: impl Iterator<Item = &'a LinkId> + Clone, seed: u64) -> Option<LinkId> {
    let count = links.clone().count();
    links.copied().nth(((u128::from(mix(seed)) * count as u128) >> 64) as usize)
}

fn unreachable(topology: &Topology, root: NodeId, host: HostId) -> Error {
    let [from, to] = [root, topology.host(host)].map(|node| &topology.node(node).name);
    Error::data(format!("ATP: no path from switch {from} to host {to}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::sketch::sketch;
    use crate::topology::{PortOrder, TopologyChoice, TopologyOptions, topology};

    fn made(text: &str) -> Topology {
        topology(&TopologyChoice::parse(text).unwrap(), &TopologyOptions::default()).unwrap()
    }

    #[test]
    fn every_worker_is_reached_once_on_a_shortest_path() {
        for text in ["star[hosts=9]", "fat-tree[k=4]", "torus[dims=4x4]", "xgft[m=3:2:2,w=2:3:2]"] {
            let net = made(text);
            let hosts: Vec<HostId> = (0..net.host_count() as u32).map(HostId).collect();
            for (seed, server) in hosts.iter().enumerate() {
                let Ok(root) = switch_of(&net, *server) else {
                    assert!(text.starts_with("xgft"), "only there hosts have two switches");
                    continue;
                };
                let mut trees = Trees::default();
                let first = trees.grow(&net, root, &hosts, seed as u64).unwrap();
                // Breadth first; each link once, each worker at its distance.
                let (mut level, mut depth, mut used) = (vec![(root, first)], 1, Vec::new());
                let mut reached = vec![0; hosts.len()];
                while !level.is_empty() {
                    let mut below = Vec::new();
                    for (node, position) in level {
                        for Branch { link, to } in trees.branches(position) {
                            assert_eq!(net.src(*link), node);
                            used.push(*link);
                            let end = net.dst(*link);
                            if net.is_switch(end) {
                                below.push((end, *to));
                            } else {
                                assert_eq!(net.host(hosts[*to as usize]), end);
                                reached[*to as usize] += 1;
                                assert_eq!(net.distances_to(hosts[*to as usize]).from(root), Some(depth));
                            }
                        }
                    }
                    (level, depth) = (below, depth + 1);
                }
                assert!(reached.iter().all(|times| *times == 1), "{text}");
                used.sort_unstable();
                assert!(used.windows(2).all(|pair| pair[0] != pair[1]), "{text}: two copies on one link");
            }
        }
    }

    #[test]
    fn hosts_at_several_switches_are_refused() {
        let net = Topology::freeze("net", sketch("h0-a h0-b h1-a a-b h2-h3 h2-a h3-a"), PortOrder::Name, 0)
            .unwrap();
        for host in [0, 2, 3] {
            let error = switch_of(&net, HostId(host)).unwrap_err().to_string();
            assert!(error.contains(&format!("h{host} does not hang at one switch")), "{error}");
        }
        assert_eq!(net.node(switch_of(&net, HostId(1)).unwrap()).name, "a");
    }
}
