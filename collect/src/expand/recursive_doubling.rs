//! Recursive doubling: exchanges with partners at distance 1, 2, 4, …
//!
//! ⌈log₂ p⌉ rounds, which is the minimum. A reduction sends the whole vector each time, so it suits
//! short vectors. An allgather sends only blocks that the partner lacks, so its bytes are minimal
//! too.

use super::blocks::Blocks;
use super::schedule::{Part, Schedule};
use super::survivors::Survivors;

/// `ompi_coll_base_allreduce_intra_recursivedoubling`.
pub(super) fn allreduce(schedule: &mut Schedule, ranks: u32, bytes: u64) {
    let survivors = Survivors::odd(ranks);
    for (even, odd) in survivors.pairs() {
        schedule.send(even, odd, bytes, Part::Combine { offset: 0 });
    }
    schedule.next_round();
    for distance in survivors.distances() {
        for survivor in 0..survivors.count {
            let (src, dst) = (survivors.rank(survivor), survivors.rank(survivor ^ distance));
            schedule.send(src, dst, bytes, Part::Combine { offset: 0 });
        }
        schedule.next_round();
    }
    for (even, odd) in survivors.pairs() {
        schedule.send(odd, even, bytes, Part::Copy { offset: 0 });
    }
}

/// `ompi_coll_base_barrier_intra_recursivedoubling`: the surplus are the last ranks.
pub(super) fn barrier(schedule: &mut Schedule, ranks: u32) {
    let survivors = Survivors::odd(ranks).count;
    for rank in survivors..ranks {
        schedule.send(rank, rank - survivors, 0, Part::Signal);
    }
    schedule.next_round();
    let mut distance = 1;
    while distance < survivors {
        for rank in 0..survivors {
            schedule.send(rank, rank ^ distance, 0, Part::Signal);
        }
        schedule.next_round();
        distance *= 2;
    }
    for rank in survivors..ranks {
        schedule.send(rank - survivors, rank, 0, Part::Signal);
    }
}

/// Allgather of `blocks` among nodes counted from `root`:
/// `ompi_coll_base_allgather_intra_recursivedoubling` where p is a power of two, otherwise with the
/// extra steps of `ompi_coll_base_bcast_intra_scatter_allgather`.
pub(super) fn allgather(schedule: &mut Schedule, root: u32, blocks: &Blocks) {
    let ranks = blocks.ranks();
    let rank = |node: u32| (node + root) % ranks;
    let group = |first: u32, size: u32| blocks.range(first, size.min(ranks - first));
    let mut distance = 1;
    while distance < ranks {
        for node in (0..ranks).filter(|node| node ^ distance < ranks) {
            let (offset, bytes) = group(node - node % distance, distance);
            schedule.send(rank(node), rank(node ^ distance), bytes, Part::Copy { offset });
        }
        schedule.next_round();
        hand_on(schedule, ranks, distance, |schedule, first, src, dst| {
            let (offset, bytes) = group(first, distance);
            schedule.send(rank(src), rank(dst), bytes, Part::Copy { offset });
        });
        distance *= 2;
    }
}

/// `ompi_coll_base_reduce_scatter_block_intra_recursivedoubling`: partners exchange partial
/// reductions of all blocks outside the sender's group.
pub(super) fn reduce_scatter(schedule: &mut Schedule, blocks: &Blocks) {
    let ranks = blocks.ranks();
    // All blocks but those of the group of `size` nodes from `first` on.
    let outside = |first: u32, size: u32| {
        let end = (first + size).min(ranks);
        blocks.range(end % ranks, ranks - (end - first))
    };
    let mut distance = 1;
    while distance < ranks {
        for node in (0..ranks).filter(|node| node ^ distance < ranks) {
            let (offset, bytes) = outside(node - node % distance, distance);
            schedule.send(node, node ^ distance, bytes, Part::Combine { offset });
        }
        schedule.next_round();
        hand_on(schedule, ranks, distance, |schedule, first, src, dst| {
            let (offset, bytes) = outside(first, distance);
            schedule.send(src, dst, bytes, Part::Relay { offset });
        });
        distance *= 2;
    }
}

/// If p is no power of two, nodes without a partner get the missing data from nodes of their own
/// group, by recursive halving. Calls `send` with the first node of the group that the data is
/// from, and both ends.
fn hand_on(schedule: &mut Schedule, ranks: u32, distance: u32, send: impl Fn(&mut Schedule, u32, u32, u32)) {
    // Only the last complete group can face an incomplete one.
    let first = (ranks - 1) / (2 * distance) * (2 * distance);
    let Some(partners) = ranks.checked_sub(first + distance).filter(|partners| *partners < distance) else {
        return;
    };
    let mut half = distance / 2;
    while half > 0 {
        for node in (first..first + distance).filter(|node| node & half == 0) {
            let informed = node - node % (2 * half) + partners;
            if node < informed && node + half >= informed {
                send(schedule, first + distance, node, node + half);
            }
        }
        schedule.next_round();
        half /= 2;
    }
}
