//! The schedules of allgather and allgatherv.

use super::choose;
use crate::Result;
use crate::expand::algorithm::Algorithm;
use crate::expand::collective::{Collective, Counts};
use crate::expand::schedule::Schedule;
use crate::expand::{bruck, neighbor_exchange, recursive_doubling, ring};
use crate::trace::Operation;

pub(super) fn allgather(
    schedule: &mut Schedule,
    collective: &Collective,
    algorithm: Algorithm,
) -> Result<()> {
    let blocks = collective.blocks();
    let even = collective.ranks.is_multiple_of(2);
    match algorithm {
        Algorithm::NonOverlapping => return gather_and_bcast(schedule, collective),
        Algorithm::Ring => ring::allgather(schedule, &blocks),
        Algorithm::NeighborExchange if even => neighbor_exchange::allgather(schedule, &blocks),
        Algorithm::NeighborExchange => ring::allgather(schedule, &blocks),
        Algorithm::RecursiveDoubling if collective.ranks.is_power_of_two() => {
            recursive_doubling::allgather(schedule, 0, &blocks);
        }
        // Two ranks exchange their blocks in Bruck's only round.
        _ => bruck::allgather(schedule, &blocks),
    }
    Ok(())
}

/// `ompi_coll_base_allgather_intra_basic_linear` and `…_allgatherv_intra_basic_default`; the latter
/// broadcasts one element of a type that spans all blocks.
fn gather_and_bcast(schedule: &mut Schedule, collective: &Collective) -> Result<()> {
    let total = collective.vector_count();
    if collective.operation == Operation::Allgather {
        choose(schedule, &collective.inner(Operation::Gather, collective.counts))?;
        return choose(schedule, &collective.inner(Operation::Bcast, Counts::Each(total)));
    }
    choose(schedule, &collective.inner(Operation::Gatherv, collective.counts))?;
    let spanning = Collective {
        type_bytes: total * collective.type_bytes,
        ..collective.inner(Operation::Bcast, Counts::Each(1))
    };
    choose(schedule, &spanning)
}
