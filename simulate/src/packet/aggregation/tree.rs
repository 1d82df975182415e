//! The aggregation tree of a group: the switches that sum, with their links.
//!
//! The root is the switch with the shortest route to its farthest worker, and of equal ones the
//! least sum of routes. In a tree of racks it is the lowest common switch. Each worker has a
//! shortest route up to the root; every switch on it sums and has one parent. Among equal choices
//! (spines, parallel links) the number of the group decides, so that groups spread. Links are used
//! in pairs, one per direction; a link without a counterpart is not used.

use phaseflow_collect::{Error, Result};
use rustc_hash::FxHashMap;

use crate::topology::{HostId, LinkId, NodeId, Topology};

/// How a worker or a switch is connected to the switch above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Branch {
    /// Number of the switch above within the tree.
    pub(super) parent: u32,
    /// Which of the children of that switch this is.
    pub(super) number: u32,
    /// The link towards it.
    pub(super) up: LinkId,
}

/// Who is below a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A worker of the group, by number.
    Worker(u32),
    /// Another switch of the tree, by number.
    Switch(u32),
}

/// What hangs below a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Child {
    /// The link towards it.
    pub(super) down: LinkId,
    /// What it is.
    pub(super) end: End,
}

/// A switch of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Junction {
    /// Its place.
    pub(super) node: NodeId,
    /// `None` at the root.
    pub(super) branch: Option<Branch>,
    /// In the order of the first worker below each.
    pub(super) children: Vec<Child>,
}

/// The aggregation tree of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    /// The root first.
    pub(super) switches: Vec<Junction>,
    /// By worker.
    pub(super) workers: Vec<Branch>,
}

/// No way to the root.
const FAR: u32 = u32::MAX;

impl Tree {
    /// The tree of the group with a number.
    ///
    /// # Errors
    /// No switch is connected with all workers, in both directions.
    pub(super) fn new(topology: &Topology, workers: &[HostId], number: u32) -> Result<Self> {
        let missing = || Error::data("no switch is connected with all workers of the job in both directions");
        let root = nearest(topology, workers, number).ok_or_else(missing)?;
        let depths = depths_below(topology, root);
        let mut known = FxHashMap::from_iter([(root, 0_u32)]);
        let junction = |node| Junction { node, branch: None, children: Vec::new() };
        let mut tree = Self { switches: vec![junction(root)], workers: Vec::new() };
        for (worker, host) in (0..).zip(workers) {
            let (mut node, mut end) = (topology.host(*host), End::Worker(worker));
            loop {
                let (up, down) = step_up(topology, &depths, node, number).ok_or_else(missing)?;
                let above = topology.dst(up);
                let next = tree.switches.len() as u32;
                let parent = *known.entry(above).or_insert(next);
                if parent == next {
                    tree.switches.push(junction(above));
                }
                let children = &mut tree.switches[parent as usize].children;
                let branch = Branch { parent, number: children.len() as u32, up };
                children.push(Child { down, end });
                match end {
                    End::Worker(_) => tree.workers.push(branch),
                    End::Switch(switch) => tree.switches[switch as usize].branch = Some(branch),
                }
                if parent != next {
                    break;
                }
                (node, end) = (above, End::Switch(parent));
            }
        }
        Ok(tree)
    }
}

/// The switch with the shortest ways to all workers.
fn nearest(topology: &Topology, workers: &[HostId], number: u32) -> Option<NodeId> {
    let mut costs = vec![Some((0_u32, 0_u64)); topology.switch_count()];
    for host in workers {
        let distances = topology.distances_to(*host);
        for (switch, cost) in costs.iter_mut().enumerate() {
            *cost = cost.and_then(|(most, sum)| {
                let distance = distances.from(topology.switch(switch))?;
                Some((most.max(distance), sum + u64::from(distance)))
            });
        }
    }
    let least = costs.iter().flatten().min()?;
    let equals: Vec<usize> =
        (0..costs.len()).filter(|switch| costs[*switch].as_ref() == Some(least)).collect();
    equals.get(number as usize % equals.len()).map(|switch| topology.switch(*switch))
}

/// Links from each node up to the root, over switches only.
fn depths_below(topology: &Topology, root: NodeId) -> Vec<u32> {
    let mut depths = vec![FAR; topology.node_count()];
    // The last node that is reached from here.
    let mut reached_from = vec![FAR; topology.node_count()];
    depths[root.0 as usize] = 0;
    let mut line = vec![root];
    let mut next = 0;
    while let Some(node) = line.get(next).copied() {
        next += 1;
        let depth = depths[node.0 as usize] + 1;
        for link in topology.outgoing(node) {
            reached_from[topology.dst(*link).0 as usize] = node.0;
        }
        for link in topology.incoming(node) {
            let below = topology.src(*link);
            if depths[below.0 as usize] == FAR && reached_from[below.0 as usize] == node.0 {
                depths[below.0 as usize] = depth;
                if topology.is_switch(below) {
                    line.push(below);
                }
            }
        }
    }
    depths
}

/// The links up to the next switch towards the root, and down again.
fn step_up(topology: &Topology, depths: &[u32], node: NodeId, number: u32) -> Option<(LinkId, LinkId)> {
    let depth = depths[node.0 as usize];
    if depth == FAR {
        return None;
    }
    let back =
        |above: NodeId| topology.outgoing(above).iter().filter(move |link| topology.dst(**link) == node);
    let leads_up = |link: &&LinkId| {
        let above = topology.dst(**link);
        topology.is_switch(above) && depths[above.0 as usize] == depth - 1 && back(above).next().is_some()
    };
    let ups = || topology.outgoing(node).iter().filter(leads_up);
    let up = *ups().nth(number as usize % ups().count().max(1))?;
    let above = topology.dst(up);
    let down = *back(above).nth(number as usize % back(above).count().max(1))?;
    Some((up, down))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::packet::aggregation::harness::network;

    fn hosts(numbers: &[u32]) -> Vec<HostId> {
        numbers.iter().map(|host| HostId(*host)).collect()
    }

    fn names(topology: &Topology, tree: &Tree) -> Vec<String> {
        tree.switches.iter().map(|switch| topology.node(switch.node).name.clone()).collect()
    }

    #[test]
    fn the_root_is_the_lowest_common_switch() {
        let net =
            network("h0-a h1-a h2-b h3-c h4-d a-s a-t b-s b-t c-u c-v d-u d-v s-x u-x t-y v-y", 1.0, 0, 0);
        let tree = |workers: &[u32], number| names(&net, &Tree::new(&net, &hosts(workers), number).unwrap());
        assert_eq!(tree(&[0, 1], 0), ["a"]);
        assert_eq!(tree(&[3], 5), ["c"]);
        // Groups take spines in turn.
        assert_eq!(tree(&[0, 1, 2], 0), ["s", "a", "b"]);
        assert_eq!(tree(&[0, 1, 2], 1), ["t", "a", "b"]);
        assert_eq!(tree(&[0, 1, 2], 2), ["s", "a", "b"]);
        // Other pods: one switch on top, and the same way for all workers of a pod.
        assert_eq!(tree(&[0, 2, 4], 0), ["x", "a", "s", "b", "d", "u"]);
        assert_eq!(tree(&[0, 2, 4], 1), ["y", "a", "t", "b", "d", "v"]);
    }

    #[test]
    fn links_are_used_in_pairs() {
        // Two cables between the switches, and a link that only leads up.
        let net = network("h0-a h1-b a-t a-t b-t a>r b-r", 1.0, 0, 0);
        for number in 0..4 {
            let tree = Tree::new(&net, &hosts(&[0, 1]), number).unwrap();
            assert_eq!(names(&net, &tree), ["t", "a", "b"]);
            let (up, down) = (tree.switches[1].branch.unwrap().up, tree.switches[0].children[0].down);
            assert_eq!((net.src(up), net.dst(up)), (net.dst(down), net.src(down)));
            let other = Tree::new(&net, &hosts(&[0, 1]), number + 1).unwrap();
            assert_ne!(other.switches[1].branch.unwrap().up, up);
        }
    }

    #[test]
    fn a_worker_may_be_unreachable() {
        let net = network("h0-a h1-b a>b b>c c>a", 1.0, 0, 0);
        let error = Tree::new(&net, &hosts(&[0, 1]), 0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no switch is connected with all workers of the job in both directions"
        );
    }

    proptest! {
        /// On any connected network: every worker hangs below the root by a shortest way, and
        /// parents and children agree.
        #[test]
        fn ways_are_shortest(
            parents in prop::collection::vec(any::<u16>(), 1..12),
            chords in prop::collection::vec((0_usize..12, 0_usize..12), 0..10),
            places in prop::collection::vec(0_usize..12, 1..10),
            number in 0_u32..5,
        ) {
            let switches = parents.len() + 1;
            let mut text = String::new();
            for (child, parent) in parents.iter().enumerate() {
                text += &format!("s{}-s{} ", child + 1, usize::from(*parent) % (child + 1));
            }
            for (a, b) in chords {
                let (a, b) = (a % switches, b % switches);
                if a != b {
                    text += &format!("s{a}-s{b} ");
                }
            }
            for (host, place) in places.iter().enumerate() {
                text += &format!("h{host}-s{} ", place % switches);
            }
            let net = network(&text, 1.0, 0, 0);
            let workers: Vec<HostId> = (0..places.len() as u32).map(HostId).collect();
            let tree = Tree::new(&net, &workers, number).unwrap();
            let root = tree.switches[0].node;
            for (worker, host) in workers.iter().enumerate() {
                let (mut branch, mut end) = (tree.workers[worker], End::Worker(worker as u32));
                let (mut node, mut links) = (net.host(*host), 0);
                loop {
                    let above = &tree.switches[branch.parent as usize];
                    let child = above.children[branch.number as usize];
                    prop_assert_eq!(child.end, end);
                    prop_assert_eq!((net.src(branch.up), net.dst(branch.up)), (node, above.node));
                    prop_assert_eq!((net.src(child.down), net.dst(child.down)), (above.node, node));
                    links += 1;
                    (node, end) = (above.node, End::Switch(branch.parent));
                    match above.branch {
                        Some(next) => branch = next,
                        None => break,
                    }
                }
                prop_assert_eq!(node, root);
                prop_assert_eq!(Some(links), net.distances_to(*host).from(root));
            }
            // No switch is nearer to its farthest worker.
            let farthest = |node| workers.iter().map(|host| net.distances_to(*host).from(node)).max();
            let nearest = (0..net.switch_count()).map(|switch| farthest(net.switch(switch))).min();
            prop_assert_eq!(farthest(root), nearest.flatten());
        }
    }
}
