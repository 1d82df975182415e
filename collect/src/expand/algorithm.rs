//! The algorithms by name, and by Open MPI's numbers for each collective.

use crate::trace::Operation;

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
