//! Allgather for an even number of ranks: pairs of blocks are exchanged with the two neighbours in
//! turn, in p/2 rounds.
//!
//! J. Chen et al., Performance evaluation of allgather algorithms on terascale Linux cluster with
//! Fast Ethernet, HPC Asia 2005. Half the rounds of the ring with the same bytes, and traffic
//! between neighbours only.

use super::blocks::Blocks;
use super::schedule::{Part, Schedule};

/// `ompi_coll_base_allgather_intra_neighborexchange` and `…_allgatherv_intra_neighborexchange`. The
/// number of ranks is even.
pub(super) fn allgather(schedule: &mut Schedule, blocks: &Blocks) {
    let ranks = blocks.ranks();
    for src in 0..ranks {
        let (offset, bytes) = blocks.range(src, 1);
        schedule.send(src, src ^ 1, bytes, Part::Copy { offset });
    }
    schedule.next_round();
    for step in 1..ranks / 2 {
        // Even and odd ranks are mirror images: one sends up when the other sends down.
        for src in 0..ranks {
            let up = (src % 2 == 0) == (step % 2 == 0);
            let dst = if up { src + 1 } else { src + ranks - 1 } % ranks;
            // The pair of blocks that arrived last: from the other side, ever farther away.
            let (pair, away) = (src - src % 2, step - step % 2);
            let first = if up { pair + ranks - away } else { pair + away } % ranks;
            let (offset, bytes) = blocks.range(first, 2);
            schedule.send(src, dst, bytes, Part::Copy { offset });
        }
        schedule.next_round();
    }
}
