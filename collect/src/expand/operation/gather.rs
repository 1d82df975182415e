//! The schedules of gather and scatter.

use super::root;
use crate::expand::algorithm::Algorithm;
use crate::expand::collective::Collective;
use crate::expand::schedule::Schedule;
use crate::expand::{binomial, linear};

pub(super) fn gather(schedule: &mut Schedule, collective: &Collective, algorithm: Algorithm) {
    let (root, blocks) = (root(collective), collective.blocks());
    match algorithm {
        Algorithm::Binomial => binomial::gather(schedule, root, &blocks),
        Algorithm::LinearSync => linear::gather_called(schedule, root, &blocks),
        _ => linear::gather(schedule, root, &blocks),
    }
}

pub(super) fn scatter(schedule: &mut Schedule, collective: &Collective, algorithm: Algorithm) {
    let (root, blocks) = (root(collective), collective.blocks());
    match algorithm {
        Algorithm::Binomial => binomial::scatter(schedule, root, &blocks, root),
        _ => linear::scatter(schedule, root, &blocks),
    }
}
