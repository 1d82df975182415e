//! The schedule of each collective by a given algorithm, one file per collective.
//!
//! Algorithms have files of their own beside this folder, as several collectives share them.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod bcast;
mod gather;
mod reduce;
mod reduce_scatter;

use super::algorithm::Algorithm;
use super::collective::{Collective, Counts};
use super::linear;
use super::schedule::Schedule;
use crate::trace::Operation;
use crate::{Error, Result};

/// Writes the schedule of a checked collective, by a simpler algorithm in the cases in which Open
/// MPI takes one.
///
/// # Errors
/// The operation has no such algorithm, or it is for another number of ranks.
pub(super) fn run(schedule: &mut Schedule, collective: &Collective, algorithm: Algorithm) -> Result<()> {
    if !Algorithm::of(collective.operation).contains(&algorithm) {
        return Err(Error::usage(format!(
            "{} has no algorithm {}",
            collective.operation.name(),
            algorithm.name()
        )));
    }
    if algorithm == Algorithm::TwoProcs && collective.ranks != 2 {
        return Err(Error::usage(format!(
            "{} by two-procs is for 2 ranks, not {}",
            collective.operation.name(),
            collective.ranks
        )));
    }
    schedule.begin(collective.operation);
    match collective.operation {
        Operation::Barrier => barrier::barrier(schedule, collective.ranks, algorithm),
        Operation::Bcast => bcast::bcast(schedule, collective, algorithm),
        Operation::Reduce => reduce::reduce(schedule, collective, algorithm),
        Operation::Allreduce => return allreduce::allreduce(schedule, collective, algorithm),
        Operation::Gather => gather::gather(schedule, collective, algorithm),
        Operation::Scatter => gather::scatter(schedule, collective, algorithm),
        Operation::Gatherv => linear::gatherv(schedule, root(collective), &collective.blocks()),
        Operation::Scatterv => linear::scatterv(schedule, root(collective), &collective.blocks()),
        Operation::Allgather | Operation::Allgatherv => {
            return allgather::allgather(schedule, collective, algorithm);
        }
        Operation::Alltoall | Operation::Alltoallv | Operation::Alltoallw => {
            alltoall::alltoall(schedule, collective, algorithm);
        }
        Operation::ReduceScatter | Operation::ReduceScatterBlock => {
            return reduce_scatter::reduce_scatter(schedule, collective, algorithm);
        }
        Operation::Scan | Operation::Exscan => {
            linear::scan(schedule, collective.ranks, collective.vector_bytes());
        }
        _ => {
            if let Counts::Edges(edges) = collective.counts {
                linear::neighbors(schedule, edges, collective.type_bytes);
            }
        }
    }
    Ok(())
}

fn root(collective: &Collective) -> u32 {
    collective.root.unwrap_or(0)
}

/// Recursive halving needs an element per survivor and a commutative operator.
fn fits_rabenseifner(collective: &Collective) -> bool {
    collective.commutative && collective.vector_count() >= 1 << collective.ranks.ilog2()
}

/// Writes a building block with the algorithm of the rules.
fn choose(schedule: &mut Schedule, collective: &Collective) -> Result<()> {
    let algorithm = schedule.rules.choose(collective)?;
    run(schedule, collective, algorithm)
}
