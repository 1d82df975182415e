//! Reduce-scatter by exchanging ever smaller halves with ever nearer partners.
//!
//! log₂ p' rounds and (p−1)/p of the vector a rank; for commutative operators.
//! `ompi_coll_base_reduce_scatter_intra_basic_recursivehalving` and
//! `ompi_coll_base_reduce_scatter_block_intra_recursivehalving`.

use super::blocks::Blocks;
use super::schedule::{Part, Schedule};
use super::survivors::Survivors;

/// Leaves the reduction of each block at its rank. Empty halves are not sent.
pub(super) fn reduce_scatter(schedule: &mut Schedule, blocks: &Blocks) {
    let survivors = Survivors::odd(blocks.ranks());
    for (even, odd) in survivors.pairs() {
        schedule.send(even, odd, blocks.start(blocks.ranks()), Part::Combine { offset: 0 });
    }
    schedule.next_round();
    for distance in survivors.distances().rev() {
        for survivor in 0..survivors.count {
            // The half of the present group that the partner is in.
            let partner = survivor ^ distance;
            let half = partner - partner % distance;
            let (first, end) = (survivors.first(half), survivors.first(half + distance));
            let (offset, bytes) = blocks.range(first, end - first);
            if bytes > 0 {
                let (src, dst) = (survivors.rank(survivor), survivors.rank(partner));
                schedule.send(src, dst, bytes, Part::Combine { offset });
            }
        }
        schedule.next_round();
    }
    for (even, odd) in survivors.pairs() {
        let (offset, bytes) = blocks.range(even, 1);
        if bytes > 0 {
            schedule.send(odd, even, bytes, Part::Copy { offset });
        }
    }
}
