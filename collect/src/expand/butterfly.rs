//! Träff's reduce-scatter: recursive halving with increasing distance, which keeps the order of
//! ranks.
//!
//! J. L. Träff, An improved algorithm for (non-commutative) reduce-scatter with an application,
//! EuroPVM/MPI 2005. The survivor v ends with block mirror(v), v's bits reversed, and swaps it for
//! its own in a last round.

use super::blocks::Blocks;
use super::schedule::{Part, Schedule};
use super::survivors::Survivors;

/// `ompi_coll_base_reduce_scatter_intra_butterfly`, and the block version where p is not a power of
/// two. Sends empty messages, too.
pub(super) fn reduce_scatter(schedule: &mut Schedule, blocks: &Blocks) {
    let survivors = Survivors::odd(blocks.ranks());
    let mirror = |survivor| mirror(survivor, survivors.count);
    for (even, odd) in survivors.pairs() {
        schedule.send(even, odd, blocks.start(blocks.ranks()), Part::Combine { offset: 0 });
    }
    schedule.next_round();
    for distance in survivors.distances() {
        let half = survivors.count / (2 * distance);
        for survivor in 0..survivors.count {
            let partner = survivor ^ distance;
            // After this exchange the partner is left with `half` survivors' blocks from here on.
            let window = mirror(partner % (2 * distance));
            let (first, end) = (survivors.first(window), survivors.first(window + half));
            let (offset, bytes) = blocks.range(first, end - first);
            let (src, dst) = (survivors.rank(survivor), survivors.rank(partner));
            schedule.send(src, dst, bytes, Part::Combine { offset });
        }
        schedule.next_round();
    }
    for survivor in 0..survivors.count {
        let (holder, rank) = (survivors.rank(mirror(survivor)), survivors.rank(survivor));
        if survivor < survivors.merged {
            let (offset, bytes) = blocks.range(rank - 1, 1);
            schedule.send(holder, rank - 1, bytes, Part::Copy { offset });
        }
        if holder != rank {
            let (offset, bytes) = blocks.range(rank, 1);
            schedule.send(holder, rank, bytes, Part::Copy { offset });
        }
    }
}

/// `ompi_coll_base_reduce_scatter_block_intra_butterfly_pof2`: the blocks are put into mirrored
/// order beforehand. This saves the last round, but messages consist of scattered blocks. `ranks`
/// is a power of two.
pub(super) fn reduce_scatter_mirrored(schedule: &mut Schedule, ranks: u32, block_bytes: u64) {
    let mut distance = 1;
    while distance < ranks {
        let step = 2 * distance;
        for src in 0..ranks {
            let dst = src ^ distance;
            let bytes = u64::from(ranks / step) * block_bytes;
            schedule.send(src, dst, bytes, Part::Strided { first: dst % step, step });
        }
        schedule.next_round();
        distance *= 2;
    }
}

/// Reverses the bits of a number below `count`, a power of two.
fn mirror(number: u32, count: u32) -> u32 {
    number.reverse_bits().checked_shr(u32::BITS - count.ilog2()).unwrap_or(0)
}
