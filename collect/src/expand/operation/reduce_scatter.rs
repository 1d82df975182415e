//! The schedules of reduce-scatter, with blocks of equal and of unequal sizes.

use super::choose;
use crate::Result;
use crate::expand::algorithm::Algorithm;
use crate::expand::blocks::Blocks;
use crate::expand::collective::{Collective, Counts};
use crate::expand::schedule::Schedule;
use crate::expand::{butterfly, recursive_doubling, recursive_halving, ring};
use crate::trace::Operation;

pub(super) fn reduce_scatter(
    schedule: &mut Schedule,
    collective: &Collective,
    algorithm: Algorithm,
) -> Result<()> {
    let blocks: Blocks = collective.blocks();
    let uniform = collective.operation == Operation::ReduceScatterBlock;
    match algorithm {
        Algorithm::RecursiveDoubling => recursive_doubling::reduce_scatter(schedule, &blocks),
        Algorithm::RecursiveHalving if collective.commutative => {
            recursive_halving::reduce_scatter(schedule, &blocks);
        }
        Algorithm::Ring => ring::reduce_scatter(schedule, &blocks),
        Algorithm::Butterfly if uniform && collective.ranks.is_power_of_two() => {
            butterfly::reduce_scatter_mirrored(schedule, collective.ranks, blocks.bytes(0));
        }
        Algorithm::Butterfly => butterfly::reduce_scatter(schedule, &blocks),
        _ => {
            let whole = Counts::Each(collective.vector_count());
            choose(schedule, &collective.inner(Operation::Reduce, whole))?;
            let scatter = if uniform { Operation::Scatter } else { Operation::Scatterv };
            choose(schedule, &collective.inner(scatter, collective.counts))?;
        }
    }
    Ok(())
}
