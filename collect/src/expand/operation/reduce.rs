//! The schedule of a reduction to the root.

use super::{fits_rabenseifner, root};
use crate::expand::algorithm::Algorithm;
use crate::expand::collective::Collective;
use crate::expand::rabenseifner::Vector;
use crate::expand::schedule::{Part, Schedule};
use crate::expand::tree::Tree;
use crate::expand::{linear, rabenseifner};

pub(super) fn reduce(schedule: &mut Schedule, collective: &Collective, algorithm: Algorithm) {
    let (ranks, root) = (collective.ranks, root(collective));
    let (count, unit) = (collective.vector_count(), collective.type_bytes);
    let tree = match algorithm {
        Algorithm::Rabenseifner if fits_rabenseifner(collective) => {
            return rabenseifner::reduce(schedule, ranks, root, Vector { count, unit });
        }
        Algorithm::Chain | Algorithm::Pipeline => Tree::chain(ranks, root),
        Algorithm::Binary => Tree::binary(ranks, root),
        Algorithm::Binomial => Tree::in_order_binomial(ranks, root),
        Algorithm::InOrderBinary => Tree::in_order_binary(ranks),
        _ => return linear::reduce(schedule, ranks, root, count * unit),
    };
    tree.up(schedule, |_| (count * unit, Part::Combine { offset: 0 }));
    // The root of the in-order tree is always the last rank.
    if tree.rank(0) != root {
        schedule.send(tree.rank(0), root, count * unit, Part::Copy { offset: 0 });
    }
}
