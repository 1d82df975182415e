//! The schedule of an allreduce.

use super::{choose, fits_rabenseifner};
use crate::Result;
use crate::expand::algorithm::Algorithm;
use crate::expand::collective::{Collective, Counts};
use crate::expand::rabenseifner::Vector;
use crate::expand::schedule::Schedule;
use crate::expand::{linear, rabenseifner, recursive_doubling, ring};
use crate::trace::Operation;

pub(super) fn allreduce(
    schedule: &mut Schedule,
    collective: &Collective,
    algorithm: Algorithm,
) -> Result<()> {
    let (ranks, count, unit) = (collective.ranks, collective.vector_count(), collective.type_bytes);
    match algorithm {
        Algorithm::Ring | Algorithm::SegmentedRing if count >= u64::from(ranks) => {
            ring::allreduce(schedule, ranks, count, unit);
        }
        Algorithm::Ring | Algorithm::SegmentedRing | Algorithm::RecursiveDoubling => {
            recursive_doubling::allreduce(schedule, ranks, count * unit);
        }
        Algorithm::Rabenseifner if fits_rabenseifner(collective) => {
            rabenseifner::allreduce(schedule, ranks, Vector { count, unit });
        }
        Algorithm::NonOverlapping => {
            choose(schedule, &collective.inner(Operation::Reduce, Counts::Each(count)))?;
            choose(schedule, &collective.inner(Operation::Bcast, Counts::Each(count)))?;
        }
        _ => {
            schedule.begin(Operation::Reduce);
            linear::reduce(schedule, ranks, 0, count * unit);
            schedule.begin(Operation::Bcast);
            linear::bcast(schedule, ranks, 0, count * unit);
        }
    }
    Ok(())
}
