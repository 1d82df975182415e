//! A host's number as a path: the ports that D-mod-K and S-mod-K take for it.

use crate::topology::{HostId, Levels, LinkId, NodeId, Topology};

/// The digits of a host's number.
pub(super) struct Digits<'a> {
    topology: &'a Topology,
    levels: Option<&'a Levels>,
    /// The number; on networks without levels what is left of it.
    number: u32,
}

impl<'a> Digits<'a> {
    /// The digits of a host.
    #[inline]
    pub(super) fn new(topology: &'a Topology, host: HostId) -> Self {
        Self { topology, levels: topology.levels(), number: host.0 }
    }

    /// The candidate that the digits say at a node.
    ///
    /// With parallel cables this is the rule for PGFTs (Zahavi 2010): of the w·p ports to w
    /// parents, number q = ⌊d / (w₁·…·w_l)⌋ mod w·p is cable ⌊q / w⌋ to parent q mod w. On the way
    /// down from level l it is the same cable ⌊d / (w₁·…·w_l)⌋ mod p.
    #[inline]
    pub(super) fn port(&mut self, node: NodeId, candidates: &[LinkId]) -> usize {
        let ports = candidates.len() as u32;
        let Some(levels) = self.levels else {
            let digit = self.number % ports;
            self.number /= ports;
            return digit as usize;
        };
        let number = self.number / levels.divisor(node);
        if levels.has_parallel_links() { self.trunk(number, candidates) } else { (number % ports) as usize }
    }

    #[cold]
    fn trunk(&self, number: u32, candidates: &[LinkId]) -> usize {
        // Links to the same node follow each other.
        let same = |a: &LinkId, b: &LinkId| self.topology.dst(*a) == self.topology.dst(*b);
        let ends = candidates.chunk_by(same).count() as u32;
        let parent = (number % ends) as usize;
        let before: usize = candidates.chunk_by(same).take(parent).map(<[LinkId]>::len).sum();
        let cables = candidates.chunk_by(same).nth(parent).map_or(1, |cables| cables.len() as u32);
        before + (number / ends % cables) as usize
    }
}
