//! Links by node, in CSR form.

use super::{LinkId, NodeId};

/// For each node, a slice of links.
#[derive(Clone, Debug)]
pub(super) struct Adjacency {
    offsets: Vec<u32>,
    links: Vec<LinkId>,
}

impl Adjacency {
    /// Groups the links 0, 1, … by `ends` (one node per link); within a node they ascend by `rank`,
    /// then by number. Links that are not `up` are left out.
    pub(super) fn new(
        nodes: usize,
        ends: &[NodeId],
        rank: impl Fn(LinkId) -> u32,
        is_up: impl Fn(LinkId) -> bool,
    ) -> Self {
        let up = || (0..).map(LinkId).zip(ends).filter(|(link, _)| is_up(*link));
        let mut offsets = vec![0; nodes + 1];
        for (_, end) in up() {
            offsets[end.0 as usize + 1] += 1;
        }
        for node in 0..nodes {
            offsets[node + 1] += offsets[node];
        }
        let mut links = vec![LinkId(0); offsets[nodes] as usize];
        let mut next = offsets.clone();
        for (link, end) in up() {
            let place = &mut next[end.0 as usize];
            links[*place as usize] = link;
            *place += 1;
        }
        for node in offsets.windows(2) {
            links[node[0] as usize..node[1] as usize].sort_unstable_by_key(|link| (rank(*link), *link));
        }
        Self { offsets, links }
    }

    /// The links of one node.
    pub(super) fn of(&self, node: NodeId) -> &[LinkId] {
        let (start, end) = self.range(node);
        &self.links[start as usize..end as usize]
    }

    /// Where the links of one node stand in [`all`](Self::all).
    pub(super) fn range(&self, node: NodeId) -> (u32, u32) {
        (self.offsets[node.0 as usize], self.offsets[node.0 as usize + 1])
    }

    /// All links, node by node.
    pub(super) fn all(&self) -> &[LinkId] {
        &self.links
    }
}
