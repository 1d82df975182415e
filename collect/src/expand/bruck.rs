//! Bruck's patterns: distances 1, 2, 4, … round a ring, for any number of ranks, in ⌈log₂ p⌉
//! rounds.
//!
//! J. Bruck et al., Efficient algorithms for all-to-all communications in multiport message-passing
//! systems, IEEE TPDS 8(11), 1997. The all-to-all sends each block up to log₂ p times, which pays
//! for short blocks only.

use super::blocks::Blocks;
use super::schedule::{Part, Schedule};

/// `ompi_coll_base_allgather_intra_bruck` and `…_allgatherv_intra_bruck`: each rank collects the
/// blocks that follow its own.
pub(super) fn allgather(schedule: &mut Schedule, blocks: &Blocks) {
    let ranks = blocks.ranks();
    for distance in distances(ranks) {
        for src in 0..ranks {
            let (offset, bytes) = blocks.range(src, distance.min(ranks - distance));
            let dst = (src + ranks - distance) % ranks;
            schedule.send(src, dst, bytes, Part::Copy { offset });
        }
        schedule.next_round();
    }
}

/// `ompi_coll_base_alltoall_intra_bruck`: a block is sent once for each bit of its distance.
pub(super) fn alltoall(schedule: &mut Schedule, ranks: u32, block_bytes: u64) {
    for bit in distances(ranks) {
        let bytes = u64::from(ways_with(bit, ranks)) * block_bytes;
        for src in 0..ranks {
            schedule.send(src, (src + bit) % ranks, bytes, Part::Transit { bit });
        }
        schedule.next_round();
    }
}

/// `ompi_coll_base_barrier_intra_bruck`, the dissemination barrier.
pub(super) fn barrier(schedule: &mut Schedule, ranks: u32) {
    for distance in distances(ranks) {
        for src in 0..ranks {
            schedule.send(src, (src + distance) % ranks, 0, Part::Signal);
        }
        schedule.next_round();
    }
}

fn distances(ranks: u32) -> impl Iterator<Item = u32> {
    (0..u32::BITS).map(|bit| 1 << bit).take_while(move |distance| *distance < ranks)
}

/// Count of numbers below `ranks` with the bit.
fn ways_with(bit: u32, ranks: u32) -> u32 {
    let (whole, rest) = (ranks / bit / 2, ranks % bit.saturating_mul(2));
    whole * bit + rest.saturating_sub(bit)
}
