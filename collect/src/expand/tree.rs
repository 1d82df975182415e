//! Spanning trees, and data that flows down or up along them.
//!
//! Nodes are numbered from the root, so that a parent's number is below its children's;
//! [`Tree::rank`] translates. A transfer's round is its parent's depth on the way down and its
//! sender's height on the way up. Messages are not segmented, as with Open MPI's fixed rules.

use super::schedule::{Part, Schedule};

/// A spanning tree of a communicator.
pub(super) struct Tree {
    /// Parent of each node; the root's is itself.
    parent: Vec<u32>,
    numbering: Numbering,
}

enum Numbering {
    /// Node = rank − root, going round.
    FromRoot(u32),
    /// Node = last rank − rank.
    FromLast,
}

impl Tree {
    fn new(ranks: u32, root: u32, parent: impl Fn(u32) -> u32) -> Self {
        let parent = (0..ranks).map(|node| if node == 0 { 0 } else { parent(node) }).collect();
        Self { parent, numbering: Numbering::FromRoot(root) }
    }

    /// Each node has one child (`ompi_coll_base_topo_build_chain` with fan-out 1).
    pub(super) fn chain(ranks: u32, root: u32) -> Self {
        Self::new(ranks, root, |node| node - 1)
    }

    /// Complete binary tree: the nodes of level l have the children node + 2ˡ and node + 2ˡ⁺¹,
    /// which puts all odd nodes under the root's first child (`ompi_coll_base_topo_build_tree`).
    pub(super) fn binary(ranks: u32, root: u32) -> Self {
        Self::new(ranks, root, |node| {
            let width = 1 << (node + 1).ilog2(); // of the node's level
            let first_child_of = node - width / 2;
            if first_child_of <= width - 2 { first_child_of } else { node - width }
        })
    }

    /// Binomial tree in which the parent lacks the child's highest bit
    /// (`ompi_coll_base_topo_build_bmtree`).
    pub(super) fn binomial(ranks: u32, root: u32) -> Self {
        Self::new(ranks, root, |node| node ^ (1 << node.ilog2()))
    }

    /// Binomial tree in which the parent lacks the child's lowest bit, so that subtrees are
    /// contiguous (`ompi_coll_base_topo_build_in_order_bmtree`).
    pub(super) fn in_order_binomial(ranks: u32, root: u32) -> Self {
        Self::new(ranks, root, |node| node & (node - 1))
    }

    /// k-nomial tree: the parent lacks the child's lowest digit to the base `radix`
    /// (`ompi_coll_base_topo_build_kmtree`).
    pub(super) fn knomial(ranks: u32, root: u32, radix: u32) -> Self {
        Self::new(ranks, root, |node| {
            let mut place = radix;
            while node % place == 0 {
                place = place.saturating_mul(radix);
            }
            node - node % place
        })
    }

    /// Binary tree in which every subtree is a contiguous range of ranks rooted at its last one, so
    /// that reductions keep the order of ranks; its root is the last rank
    /// (`ompi_coll_base_topo_build_in_order_bintree`).
    pub(super) fn in_order_binary(ranks: u32) -> Self {
        let mut parent = vec![0; ranks as usize];
        // Ranges of ranks as (first, length); the last rank is the root of the range.
        let mut ranges = vec![(0, ranks)];
        while let Some((first, length)) = ranges.pop() {
            let root = first + length - 1;
            let lower = if length == 2 { 0 } else { length / 2 };
            for (first, length) in [(first, lower), (first + lower, length - 1 - lower)] {
                if length > 0 {
                    let child = first + length - 1;
                    parent[(ranks - 1 - child) as usize] = ranks - 1 - root;
                    ranges.push((first, length));
                }
            }
        }
        Self { parent, numbering: Numbering::FromLast }
    }

    fn ranks(&self) -> u32 {
        u32::try_from(self.parent.len()).unwrap_or(u32::MAX)
    }

    /// The rank at a node.
    pub(super) fn rank(&self, node: u32) -> u32 {
        match self.numbering {
            Numbering::FromRoot(root) => (node + root) % self.ranks(),
            Numbering::FromLast => self.ranks() - 1 - node,
        }
    }

    /// Sends along all edges away from the root. `payload` gives bytes and part for the edge to a
    /// node, `None` if nothing is sent.
    pub(super) fn down(&self, schedule: &mut Schedule, payload: impl Fn(u32) -> Option<(u64, Part)>) {
        let mut depth = vec![0u32; self.parent.len()];
        for node in 1..self.parent.len() {
            depth[node] = depth[self.parent[node] as usize] + 1;
        }
        self.by_round(schedule, &depth, |schedule, node| {
            if let Some((bytes, part)) = payload(node) {
                schedule.send(self.rank(self.parent[node as usize]), self.rank(node), bytes, part);
            }
        });
    }

    /// Sends along all edges towards the root, each node after all its children.
    pub(super) fn up(&self, schedule: &mut Schedule, payload: impl Fn(u32) -> (u64, Part)) {
        let mut height = vec![0u32; self.parent.len()];
        for node in (1..self.parent.len()).rev() {
            let parent = self.parent[node] as usize;
            height[parent] = height[parent].max(height[node] + 1);
        }
        self.by_round(schedule, &height, |schedule, node| {
            let (bytes, part) = payload(node);
            schedule.send(self.rank(node), self.rank(self.parent[node as usize]), bytes, part);
        });
    }

    fn by_round(&self, schedule: &mut Schedule, round: &[u32], send: impl Fn(&mut Schedule, u32)) {
        let mut nodes: Vec<u32> = (1..self.ranks()).collect();
        nodes.sort_by_key(|node| round[*node as usize]);
        let alike = |a: &u32, b: &u32| round[*a as usize] == round[*b as usize];
        for nodes in nodes.chunk_by(alike) {
            schedule.next_round();
            nodes.iter().for_each(|node| send(schedule, *node));
        }
        schedule.next_round();
    }
}
