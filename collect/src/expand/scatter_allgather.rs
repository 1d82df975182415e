//! Broadcast of a long vector: scatter its blocks, then gather them everywhere.
//!
//! About 2m bytes a rank instead of m·log₂ p along the longest path of a binomial tree. Needs an
//! element a rank.

use super::blocks::Blocks;
use super::schedule::Schedule;
use super::{binomial, recursive_doubling, ring};

/// `ompi_coll_base_bcast_intra_scatter_allgather`: allgather by recursive doubling.
pub(super) fn bcast(schedule: &mut Schedule, ranks: u32, root: u32, count: u64, unit: u64) {
    let blocks = Blocks::ceiling(ranks, count, unit);
    binomial::scatter(schedule, root, &blocks, 0);
    recursive_doubling::allgather(schedule, root, &blocks);
}

/// `ompi_coll_base_bcast_intra_scatter_allgather_ring`: allgather round a ring.
pub(super) fn bcast_ring(schedule: &mut Schedule, ranks: u32, root: u32, count: u64, unit: u64) {
    let blocks = Blocks::ceiling(ranks, count, unit);
    binomial::scatter(schedule, root, &blocks, 0);
    ring::turn(schedule, root, &blocks, 0, ring::Turn::Copy);
}
