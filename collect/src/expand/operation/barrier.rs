//! The schedule of a barrier.

use crate::expand::algorithm::Algorithm;
use crate::expand::schedule::{Part, Schedule};
use crate::expand::tree::Tree;
use crate::expand::{bruck, linear, recursive_doubling, ring};

pub(super) fn barrier(schedule: &mut Schedule, ranks: u32, algorithm: Algorithm) {
    match algorithm {
        Algorithm::Linear => linear::barrier(schedule, ranks),
        Algorithm::DoubleRing => ring::barrier(schedule, ranks),
        Algorithm::RecursiveDoubling => recursive_doubling::barrier(schedule, ranks),
        Algorithm::Tree => {
            let tree = Tree::in_order_binomial(ranks, 0);
            tree.up(schedule, |_| (0, Part::Signal));
            tree.down(schedule, |_| Some((0, Part::Signal)));
        }
        // With two ranks, one round suffices.
        _ => bruck::barrier(schedule, ranks),
    }
}
