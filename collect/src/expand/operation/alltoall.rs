//! The schedules of alltoall, alltoallv and alltoallw.

use crate::expand::algorithm::Algorithm;
use crate::expand::collective::Collective;
use crate::expand::schedule::Schedule;
use crate::expand::{bruck, linear, pairwise};
use crate::trace::Operation;

pub(super) fn alltoall(schedule: &mut Schedule, collective: &Collective, algorithm: Algorithm) {
    match (collective.operation, algorithm) {
        (_, Algorithm::Pairwise | Algorithm::TwoProcs) => pairwise::alltoall(schedule, collective),
        (_, Algorithm::Bruck) => bruck::alltoall(schedule, collective.ranks, collective.pair_bytes(0, 0)),
        (Operation::Alltoallw, _) => linear::alltoallw(schedule, collective),
        _ => linear::alltoall(schedule, collective),
    }
}
