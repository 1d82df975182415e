//! Gather and scatter along a binomial tree whose subtrees are contiguous: ⌈log₂ p⌉ rounds, blocks
//! travel together.
//!
//! For many ranks and short blocks; long blocks are sent several times.

use super::blocks::Blocks;
use super::schedule::{Part, Schedule};
use super::tree::Tree;

/// `ompi_coll_base_gather_intra_binomial`.
pub(super) fn gather(schedule: &mut Schedule, root: u32, blocks: &Blocks) {
    Tree::in_order_binomial(blocks.ranks(), root).up(schedule, |node| {
        let (offset, bytes) = subtree(blocks, root, node);
        (bytes, Part::Copy { offset })
    });
}

/// `ompi_coll_base_scatter_intra_binomial`. Block i belongs to rank i + `shift`: 0 where blocks are
/// numbered from the root.
pub(super) fn scatter(schedule: &mut Schedule, root: u32, blocks: &Blocks, shift: u32) {
    Tree::in_order_binomial(blocks.ranks(), root).down(schedule, |node| {
        let (offset, bytes) = subtree(blocks, shift, node);
        (bytes > 0).then_some((bytes, Part::Copy { offset }))
    });
}

/// The blocks of a node and all below it, when block `first` is the root's.
fn subtree(blocks: &Blocks, first: u32, node: u32) -> (u64, u64) {
    let ranks = blocks.ranks();
    let size = (node & node.wrapping_neg()).min(ranks - node);
    blocks.range((node + first) % ranks, size)
}
