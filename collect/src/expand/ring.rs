//! Ring algorithms: each rank sends blocks to the next one, in p − 1 steps with equal load on all
//! links.
//!
//! The vector of m bytes is cut into p blocks. In the first turn each rank adds its own share,
//! after which every rank has one complete block (reduce-scatter). A second turn distributes these
//! (allgather). An allreduce takes 2(p−1)/p·m bytes per rank, the minimum, in 2(p−1) rounds, too
//! many for short vectors.

use super::blocks::Blocks;
use super::schedule::{Part, Schedule};

/// The use of a received block.
#[derive(Clone, Copy)]
pub(super) enum Turn {
    Copy,
    Combine,
}

/// One turn: in step k, node v sends block v + `shift` − k to node v + 1. Nodes are counted from
/// `root`.
pub(super) fn turn(schedule: &mut Schedule, root: u32, blocks: &Blocks, shift: u32, turn: Turn) {
    let ranks = blocks.ranks();
    let rank = |node: u32| (node + root) % ranks;
    for step in 0..ranks - 1 {
        for node in 0..ranks {
            let block = (node + shift + (ranks - step)) % ranks;
            let (offset, bytes) = blocks.range(block, 1);
            let part = match turn {
                Turn::Copy => Part::Copy { offset },
                Turn::Combine => Part::Combine { offset },
            };
            schedule.send(rank(node), rank(node + 1), bytes, part);
        }
        schedule.next_round();
    }
}

/// `ompi_coll_base_allreduce_intra_ring`; needs an element a rank. The segmented ring without a
/// segment size is the same.
pub(super) fn allreduce(schedule: &mut Schedule, ranks: u32, count: u64, unit: u64) {
    let blocks = Blocks::even(ranks, count, unit);
    turn(schedule, 0, &blocks, 0, Turn::Combine);
    turn(schedule, 0, &blocks, 1, Turn::Copy);
}

/// `ompi_coll_base_reduce_scatter_intra_ring`.
pub(super) fn reduce_scatter(schedule: &mut Schedule, blocks: &Blocks) {
    turn(schedule, 0, blocks, blocks.ranks() - 1, Turn::Combine);
}

/// `ompi_coll_base_allgather_intra_ring` and `…_allgatherv_intra_ring`.
pub(super) fn allgather(schedule: &mut Schedule, blocks: &Blocks) {
    turn(schedule, 0, blocks, 0, Turn::Copy);
}

/// `ompi_coll_base_barrier_intra_doublering`: a token passes the ring twice, first to collect, then
/// to release.
pub(super) fn barrier(schedule: &mut Schedule, ranks: u32) {
    for _ in 0..2 {
        for src in 0..ranks {
            schedule.send(src, (src + 1) % ranks, 0, Part::Signal);
            schedule.next_round();
        }
    }
}
