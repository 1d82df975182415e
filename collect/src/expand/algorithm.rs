//! The algorithms by name, by Open MPI's numbers, and what each of them runs.

use super::blocks::Blocks;
use super::collective::{Collective, Counts};
use super::rabenseifner::Vector;
use super::schedule::{Part, Schedule};
use super::tree::Tree;
use super::{
    binomial, bruck, butterfly, linear, neighbor_exchange, pairwise, rabenseifner, recursive_doubling,
    recursive_halving, ring, scatter_allgather, split_binary,
};
use crate::trace::Operation;
use crate::{Error, Result};

macro_rules! algorithms {
    ($($variant:ident $name:literal $meaning:literal;)*) => {
        /// A way of carrying out collectives. Not every algorithm exists for every operation:
        /// [`of`](Algorithm::of).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Algorithm { $( #[doc = $meaning] $variant, )* }

        impl Algorithm {
            /// All algorithms.
            pub const ALL: &[Algorithm] = &[$(Algorithm::$variant),*];

            /// The name, lower case.
            pub const fn name(self) -> &'static str {
                match self { $(Algorithm::$variant => $name,)* }
            }
        }
    };
}

algorithms! {
    Linear "linear" "One rank talks to all others.";
    LinearSync "linear-sync" "Linear, one after the other or with bounded requests.";
    NonOverlapping "non-overlapping" "Two simpler collectives one after the other, each chosen by the same rules.";
    Chain "chain" "Along a chain; several chains with another fan-out than Open MPI's rules use.";
    Pipeline "pipeline" "Along one chain.";
    Binary "binary" "Along a complete binary tree.";
    SplitBinary "split-binary" "Halves of the vector along the halves of a binary tree.";
    InOrderBinary "in-order-binary" "Along a binary tree that keeps the order of ranks.";
    Binomial "binomial" "Along a binomial tree.";
    Knomial "4-nomial" "Along a 4-nomial tree.";
    Tree "tree" "Up and down a binomial tree.";
    RecursiveDoubling "recursive-doubling" "Exchanges at distance 1, 2, 4, ….";
    RecursiveHalving "recursive-halving" "Exchanges of ever smaller halves.";
    Rabenseifner "rabenseifner" "Recursive halving, then recursive doubling or a gather.";
    Butterfly "butterfly" "Recursive halving that keeps the order of ranks.";
    Ring "ring" "Blocks go round a ring.";
    SegmentedRing "segmented-ring" "Ring in segments; without a segment size the plain one.";
    DoubleRing "double-ring" "A token goes round twice.";
    Bruck "bruck" "Bruck's distances 1, 2, 4, … round a ring.";
    Pairwise "pairwise" "One partner a round.";
    NeighborExchange "neighbor-exchange" "Pairs of blocks between neighbours.";
    TwoProcs "two-procs" "One exchange between two ranks.";
    ScatterAllgather "scatter-allgather" "Binomial scatter, then allgather by recursive doubling.";
    ScatterAllgatherRing "scatter-allgather-ring" "Binomial scatter, then allgather round a ring.";
}

/// Fan-out of [`Algorithm::Knomial`], `coll_tuned_bcast_knomial_radix`.
const RADIX: u32 = 4;

impl Algorithm {
    /// The algorithms of an operation in the order of Open MPI's numbers, which start at 1; empty
    /// for what is no collective.
    pub const fn of(operation: Operation) -> &'static [Algorithm] {
        use Algorithm::*;
        match operation {
            Operation::Barrier => &[Linear, DoubleRing, RecursiveDoubling, Bruck, TwoProcs, Tree],
            Operation::Bcast => &[
                Linear,
                Chain,
                Pipeline,
                SplitBinary,
                Binary,
                Binomial,
                Knomial,
                ScatterAllgather,
                ScatterAllgatherRing,
            ],
            Operation::Gather => &[Linear, Binomial, LinearSync],
            Operation::Scatter => &[Linear, Binomial, LinearSync],
            Operation::Allgather => {
                &[NonOverlapping, Bruck, RecursiveDoubling, Ring, NeighborExchange, TwoProcs]
            }
            Operation::Allgatherv => &[NonOverlapping, Bruck, Ring, NeighborExchange, TwoProcs],
            Operation::Alltoall => &[Linear, Pairwise, Bruck, LinearSync, TwoProcs],
            Operation::Alltoallv => &[Linear, Pairwise],
            Operation::Reduce => &[Linear, Chain, Pipeline, Binary, Binomial, InOrderBinary, Rabenseifner],
            Operation::Allreduce => {
                &[Linear, NonOverlapping, RecursiveDoubling, Ring, SegmentedRing, Rabenseifner]
            }
            Operation::ReduceScatter => &[NonOverlapping, RecursiveHalving, Ring, Butterfly],
            Operation::ReduceScatterBlock => {
                &[NonOverlapping, RecursiveDoubling, RecursiveHalving, Butterfly]
            }
            Operation::Gatherv
            | Operation::Scatterv
            | Operation::Alltoallw
            | Operation::Scan
            | Operation::Exscan
            | Operation::NeighborAllgather
            | Operation::NeighborAllgatherv
            | Operation::NeighborAlltoall
            | Operation::NeighborAlltoallv
            | Operation::NeighborAlltoallw => &[Linear],
            _ => &[],
        }
    }

    /// The algorithm of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|algorithm| algorithm.name() == name)
    }
}

/// Writes the schedule of a checked collective. Steps aside for a simpler algorithm where Open MPI
/// does.
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
        Operation::Barrier => barrier(schedule, collective.ranks, algorithm),
        Operation::Bcast => bcast(schedule, collective, algorithm),
        Operation::Reduce => reduce(schedule, collective, algorithm),
        Operation::Allreduce => return allreduce(schedule, collective, algorithm),
        Operation::Gather => gather(schedule, collective, algorithm),
        Operation::Scatter => scatter(schedule, collective, algorithm),
        Operation::Gatherv => linear::gatherv(schedule, root(collective), &collective.blocks()),
        Operation::Scatterv => linear::scatterv(schedule, root(collective), &collective.blocks()),
        Operation::Allgather | Operation::Allgatherv => return allgather(schedule, collective, algorithm),
        Operation::Alltoall | Operation::Alltoallv | Operation::Alltoallw => {
            alltoall(schedule, collective, algorithm);
        }
        Operation::ReduceScatter | Operation::ReduceScatterBlock => {
            return reduce_scatter(schedule, collective, algorithm);
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

fn barrier(schedule: &mut Schedule, ranks: u32, algorithm: Algorithm) {
    match algorithm {
        Algorithm::Linear => linear::barrier(schedule, ranks),
        Algorithm::DoubleRing => ring::barrier(schedule, ranks),
        Algorithm::RecursiveDoubling => recursive_doubling::barrier(schedule, ranks),
        Algorithm::Tree => {
            let tree = Tree::in_order_binomial(ranks, 0);
            tree.up(schedule, |_| (0, Part::Signal));
            tree.down(schedule, |_| Some((0, Part::Signal)));
        }
        // Two ranks meet in the first round.
        _ => bruck::barrier(schedule, ranks),
    }
}

fn bcast(schedule: &mut Schedule, collective: &Collective, algorithm: Algorithm) {
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

fn reduce(schedule: &mut Schedule, collective: &Collective, algorithm: Algorithm) {
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
    // The root of the in-order tree is fixed.
    if tree.rank(0) != root {
        schedule.send(tree.rank(0), root, count * unit, Part::Copy { offset: 0 });
    }
}

/// Halving needs an element a survivor and an operator that does not mind the order.
fn fits_rabenseifner(collective: &Collective) -> bool {
    collective.commutative && collective.vector_count() >= 1 << collective.ranks.ilog2()
}

fn allreduce(schedule: &mut Schedule, collective: &Collective, algorithm: Algorithm) -> Result<()> {
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

fn gather(schedule: &mut Schedule, collective: &Collective, algorithm: Algorithm) {
    let (root, blocks) = (root(collective), collective.blocks());
    match algorithm {
        Algorithm::Binomial => binomial::gather(schedule, root, &blocks),
        Algorithm::LinearSync => linear::gather_called(schedule, root, &blocks),
        _ => linear::gather(schedule, root, &blocks),
    }
}

fn scatter(schedule: &mut Schedule, collective: &Collective, algorithm: Algorithm) {
    let (root, blocks) = (root(collective), collective.blocks());
    match algorithm {
        Algorithm::Binomial => binomial::scatter(schedule, root, &blocks, root),
        _ => linear::scatter(schedule, root, &blocks),
    }
}

fn allgather(schedule: &mut Schedule, collective: &Collective, algorithm: Algorithm) -> Result<()> {
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

fn alltoall(schedule: &mut Schedule, collective: &Collective, algorithm: Algorithm) {
    match (collective.operation, algorithm) {
        (_, Algorithm::Pairwise | Algorithm::TwoProcs) => pairwise::alltoall(schedule, collective),
        (_, Algorithm::Bruck) => bruck::alltoall(schedule, collective.ranks, collective.pair_bytes(0, 0)),
        (Operation::Alltoallw, _) => linear::alltoallw(schedule, collective),
        _ => linear::alltoall(schedule, collective),
    }
}

fn reduce_scatter(schedule: &mut Schedule, collective: &Collective, algorithm: Algorithm) -> Result<()> {
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

/// A building block, chosen by the rules of the whole.
fn choose(schedule: &mut Schedule, collective: &Collective) -> Result<()> {
    let algorithm = schedule.rules.choose(collective)?;
    run(schedule, collective, algorithm)
}
