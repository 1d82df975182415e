//! Levels of a fat tree, found from its links: hosts are level 0, and a switch is as high as its
//! distance from the nearest host.
//!
//! A network is like a fat tree if each cable between switches joins neighbouring levels. This
//! holds for trees of equal depth, also with parallel cables, with cables that have failed, and
//! with any names. It does not hold where a switch has a neighbour of its own level, as in a torus,
//! or where hosts hang on upper switches too.

use std::collections::VecDeque;

use super::{LinkId, NodeId, Topology};

/// The levels of a network that is like a fat tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// By node.
    level: Vec<u32>,
    /// By node: w₁·…·w_l for a node of level l, at most 2³² − 1.
    divisor: Vec<u32>,
    /// w_l by level: the most parents of a node of the level below; 1 for hosts.
    parents: Vec<u32>,
    has_parallel_links: bool,
}

impl Levels {
    /// The levels of a network; `None` if it is not like a fat tree.
    pub(super) fn of(topology: &Topology) -> Option<Self> {
        let level = distances_from_hosts(topology);
        let nodes = || (0..topology.node_count() as u32).map(NodeId);
        let mut links = nodes().flat_map(|node| topology.outgoing(node)).copied();
        let apart = |link: LinkId| {
            let [src, dst] = [topology.src(link), topology.dst(link)].map(|node| level[node.0 as usize]);
            src.abs_diff(dst)
        };
        if !links.all(|link| apart(link) == 1) || level.contains(&u32::MAX) {
            return None;
        }
        let height = level.iter().copied().max()?;
        let mut parents = vec![1; height as usize + 1];
        let mut has_parallel_links = false;
        for node in nodes() {
            let own = level[node.0 as usize];
            // Links to the same node follow each other.
            let ends: Vec<NodeId> = topology.outgoing(node).iter().map(|link| topology.dst(*link)).collect();
            has_parallel_links |= ends.windows(2).any(|pair| pair[0] == pair[1]);
            let mut above: Vec<NodeId> = ends.into_iter().filter(|end| level[end.0 as usize] > own).collect();
            above.dedup();
            if let Some(most) = parents.get_mut(own as usize + 1) {
                *most = (*most).max(above.len() as u32);
            }
        }
        let products: Vec<u32> = parents
            .iter()
            .scan(1_u32, |product, w| {
                *product = product.saturating_mul(*w);
                Some(*product)
            })
            .collect();
        let divisor = level.iter().map(|level| products[*level as usize]).collect();
        Some(Self { level, divisor, parents, has_parallel_links })
    }

    /// The level of a node, 0 for hosts.
    pub fn of_node(&self, node: NodeId) -> u32 {
        self.level[node.0 as usize]
    }

    /// w₁·…·w_l for a node of level l: what D-mod-K divides by at this node.
    #[inline]
    pub fn divisor(&self, node: NodeId) -> u32 {
        self.divisor[node.0 as usize]
    }

    /// w_l by level l: the most parents of a node of level l − 1; the first entry, of hosts, is 1.
    pub fn parents(&self) -> &[u32] {
        &self.parents
    }

    /// True if some nodes are joined by several cables.
    #[inline]
    pub fn has_parallel_links(&self) -> bool {
        self.has_parallel_links
    }
}

impl Topology {
    /// The levels of a network that is like a fat tree, found at the first call.
    pub fn levels(&self) -> Option<&Levels> {
        self.levels.get_or_init(|| Levels::of(self)).as_ref()
    }
}

/// By node: links from the nearest host.
fn distances_from_hosts(topology: &Topology) -> Vec<u32> {
    let mut distances = vec![u32::MAX; topology.node_count()];
    let hosts = topology.hosts.iter().copied();
    let mut queue: VecDeque<NodeId> = hosts.inspect(|host| distances[host.0 as usize] = 0).collect();
    while let Some(node) = queue.pop_front() {
        let further = distances[node.0 as usize] + 1;
        for link in topology.outgoing(node).iter().chain(topology.incoming(node)) {
            for end in [topology.src(*link), topology.dst(*link)] {
                let distance = &mut distances[end.0 as usize];
                if *distance == u32::MAX {
                    *distance = further;
                    queue.push_back(end);
                }
            }
        }
    }
    distances
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::PortOrder;
    use crate::topology::measured::made;
    use crate::topology::sketch::sketch;

    #[test]
    fn levels_are_those_of_the_generator() {
        let net = made("xgft[m=4:4:3,w=1:2:3,p=1:1:2]");
        let levels = net.levels().unwrap();
        assert_eq!(levels.parents(), [1, 1, 2, 3]);
        assert!(levels.has_parallel_links());
        for node in (0..net.node_count() as u32).map(NodeId) {
            let name = &net.node(node).name;
            let expected = if name.starts_with('h') { 0 } else { u32::from(name.as_bytes()[1] - b'0') };
            assert_eq!(levels.of_node(node), expected, "{name}");
            assert_eq!(levels.divisor(node), [1, 1, 2, 6][expected as usize], "{name}");
        }
    }

    #[test]
    fn names_and_failures_do_not_matter() {
        // Two leaves, of which one has lost a cable; the names say nothing.
        let net =
            Topology::freeze("net", sketch("h0-q h1-q h2-p h3-p q-x q-y q-z p-x p-z"), PortOrder::Name, 0);
        let net = net.unwrap();
        assert_eq!(net.levels().unwrap().parents(), [1, 1, 3]);
    }

    #[test]
    fn other_networks_have_none() {
        for text in ["torus[dims=4x4]", "dragonfly[a=4,h=2,p=2]", "slimfly[q=5]", "mesh[dims=3]"] {
            assert!(made(text).levels().is_none(), "{text}");
        }
        assert_eq!(made("star[hosts=3]").levels().unwrap().parents(), [1, 1]);
        for drawing in ["h0-h1", "h0-a h1-b a-b", "h0-a a-b b-c h1-c h2-b"] {
            let net = Topology::freeze("net", sketch(drawing), PortOrder::Name, 0).unwrap();
            assert!(net.levels().is_none(), "{drawing}");
        }
    }
}
