//! The schedule of a broadcast.

use super::root;
use crate::expand::algorithm::Algorithm;
use crate::expand::collective::Collective;
use crate::expand::schedule::{Part, Schedule};
use crate::expand::tree::Tree;
use crate::expand::{linear, scatter_allgather, split_binary};

/// Fan-out of [`Algorithm::Knomial`]: Open MPI's default of `coll_tuned_bcast_knomial_radix`.
const RADIX: u32 = 4;

pub(super) fn bcast(schedule: &mut Schedule, collective: &Collective, algorithm: Algorithm) {
    let (ranks, root) = (collective.ranks, root(collective));
    let (count, unit) = (collective.vector_count(), collective.type_bytes);
    let tree = match algorithm {
        Algorithm::SplitBinary if count >= 2 => {
            return split_binary::bcast(schedule, ranks, root, count, unit);
        }
        Algorithm::ScatterAllgather if count >= u64::from(ranks) => {
            return scatter_allgather::bcast(schedule, ranks, root, count, unit);
        }
        Algorithm::ScatterAllgatherRing if count >= u64::from(ranks) => {
            return scatter_allgather::bcast_ring(schedule, ranks, root, count, unit);
        }
        Algorithm::Binary => Tree::binary(ranks, root),
        Algorithm::Binomial => Tree::binomial(ranks, root),
        Algorithm::Knomial => Tree::knomial(ranks, root, RADIX),
        Algorithm::Chain | Algorithm::Pipeline | Algorithm::SplitBinary => Tree::chain(ranks, root),
        _ => return linear::bcast(schedule, ranks, root, count * unit),
    };
    tree.down(schedule, |_| Some((count * unit, Part::Copy { offset: 0 })));
}
