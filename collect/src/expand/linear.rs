//! Linear algorithms: one rank communicates with all others, or all with all at once. They forward
//! nothing, so bytes are minimal, but the endpoints are busy.

use super::blocks::Blocks;
use super::collective::{Collective, Edge};
use super::schedule::{Part, Schedule};

/// `ompi_coll_base_bcast_intra_basic_linear`.
pub(super) fn bcast(schedule: &mut Schedule, ranks: u32, root: u32, bytes: u64) {
    for dst in others(ranks, root) {
        schedule.send(root, dst, bytes, Part::Copy { offset: 0 });
    }
}

/// `ompi_coll_base_reduce_intra_basic_linear`.
pub(super) fn reduce(schedule: &mut Schedule, ranks: u32, root: u32, bytes: u64) {
    for src in others(ranks, root) {
        schedule.send(src, root, bytes, Part::Combine { offset: 0 });
    }
}

/// `ompi_coll_base_gather_intra_basic_linear`.
pub(super) fn gather(schedule: &mut Schedule, root: u32, blocks: &Blocks) {
    for src in others(blocks.ranks(), root) {
        schedule.send(src, root, blocks.bytes(src), Part::Copy { offset: blocks.start(src) });
    }
}

/// `mca_coll_basic_gatherv_intra`: as gather, without empty messages.
pub(super) fn gatherv(schedule: &mut Schedule, root: u32, blocks: &Blocks) {
    for src in others(blocks.ranks(), root).filter(|src| blocks.bytes(*src) > 0) {
        schedule.send(src, root, blocks.bytes(src), Part::Copy { offset: blocks.start(src) });
    }
}

/// `ompi_coll_base_gather_intra_linear_sync` without a first segment: the root calls one rank after
/// the other with an empty message; each answers with its block and an empty second segment.
pub(super) fn gather_called(schedule: &mut Schedule, root: u32, blocks: &Blocks) {
    for src in others(blocks.ranks(), root) {
        let (start, bytes) = blocks.range(src, 1);
        schedule.send(root, src, 0, Part::Signal);
        schedule.next_round();
        schedule.send(src, root, bytes, Part::Copy { offset: start });
        schedule.send(src, root, 0, Part::Signal);
        schedule.next_round();
    }
}

/// `ompi_coll_base_scatter_intra_basic_linear` and `…_linear_nb`, which differ in blocking only.
pub(super) fn scatter(schedule: &mut Schedule, root: u32, blocks: &Blocks) {
    for dst in others(blocks.ranks(), root) {
        schedule.send(root, dst, blocks.bytes(dst), Part::Copy { offset: blocks.start(dst) });
    }
}

/// `mca_coll_basic_scatterv_intra`: as scatter, without empty messages.
pub(super) fn scatterv(schedule: &mut Schedule, root: u32, blocks: &Blocks) {
    for dst in others(blocks.ranks(), root).filter(|dst| blocks.bytes(*dst) > 0) {
        schedule.send(root, dst, blocks.bytes(dst), Part::Copy { offset: blocks.start(dst) });
    }
}

/// `ompi_coll_base_alltoall_intra_basic_linear`, `…_linear_sync` without a limit on the requests,
/// and `ompi_coll_base_alltoallv_intra_basic_linear`, which up to 4.1.4 at least sends empty
/// messages, too.
pub(super) fn alltoall(schedule: &mut Schedule, collective: &Collective) {
    for src in 0..collective.ranks {
        for dst in others(collective.ranks, src) {
            schedule.send(src, dst, collective.pair_bytes(src, dst), Part::Own);
        }
    }
}

/// `mca_coll_basic_alltoallw_intra`: no empty messages.
pub(super) fn alltoallw(schedule: &mut Schedule, collective: &Collective) {
    for src in 0..collective.ranks {
        for dst in others(collective.ranks, src) {
            let bytes = collective.pair_bytes(src, dst);
            if bytes > 0 {
                schedule.send(src, dst, bytes, Part::Own);
            }
        }
    }
}

/// `ompi_coll_base_barrier_intra_basic_linear`: all ranks send to rank 0, which then answers all.
pub(super) fn barrier(schedule: &mut Schedule, ranks: u32) {
    for src in 1..ranks {
        schedule.send(src, 0, 0, Part::Signal);
    }
    schedule.next_round();
    for dst in 1..ranks {
        schedule.send(0, dst, 0, Part::Signal);
    }
}

/// `ompi_coll_base_scan_intra_linear` and `…_exscan_intra_linear`: each rank sends the reduction of
/// all up to itself to the next one.
pub(super) fn scan(schedule: &mut Schedule, ranks: u32, bytes: u64) {
    for src in 0..ranks - 1 {
        schedule.send(src, src + 1, bytes, Part::Combine { offset: 0 });
        schedule.next_round();
    }
}

/// `mca_coll_basic_neighbor_*`: one message an edge, also where it is empty or leads to its own
/// sender.
pub(super) fn neighbors(schedule: &mut Schedule, edges: &[Edge], type_bytes: u64) {
    for edge in edges {
        schedule.send(edge.src, edge.dst, edge.count * type_bytes, Part::Own);
    }
}

fn others(ranks: u32, but: u32) -> impl Iterator<Item = u32> {
    (0..ranks).filter(move |rank| *rank != but)
}
