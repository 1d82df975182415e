//! Broadcast in which each half of a binary tree forwards one half of the vector, and pairs across
//! the halves then swap.
//!
//! Every link carries half the vector only; the price is one more round.

use super::schedule::{Part, Schedule};
use super::tree::Tree;

/// `ompi_coll_base_bcast_intra_split_bintree`. Needs two elements.
pub(super) fn bcast(schedule: &mut Schedule, ranks: u32, root: u32, count: u64, unit: u64) {
    let left = count.div_ceil(2) * unit;
    // Odd nodes are in the left subtree.
    let half = |node: u32| {
        if node % 2 == 1 {
            (left, Part::Copy { offset: 0 })
        } else {
            (count * unit - left, Part::Copy { offset: left })
        }
    };
    let tree = Tree::binary(ranks, root);
    tree.down(schedule, |node| Some(half(node)));
    for node in (1..ranks - 1).step_by(2) {
        for (src, dst) in [(node, node + 1), (node + 1, node)] {
            let (bytes, part) = half(src);
            schedule.send(tree.rank(src), tree.rank(dst), bytes, part);
        }
    }
    // An even number of ranks leaves the last one without a pair: it gets the right half from the
    // root.
    if ranks.is_multiple_of(2) {
        let (bytes, part) = half(0);
        schedule.send(root, tree.rank(ranks - 1), bytes, part);
    }
}
