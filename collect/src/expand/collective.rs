//! A collective call of a program, the input of an expansion.

use super::blocks::Blocks;
use crate::trace::Operation;
use crate::{Error, Result};

/// One collective operation over the members of one communicator, numbered 0 to `ranks` − 1.
///
/// The element size matters apart from the product with the counts: vectors are divided between
/// elements, and some algorithms are replaced by others for fewer elements than ranks.
#[derive(Clone, Copy, Debug)]
pub struct Collective<'a> {
    /// The collective operation.
    pub operation: Operation,
    /// Members of the communicator.
    pub ranks: u32,
    /// Root of bcast, reduce, gather(v) and scatter(v); the others ignore it.
    pub root: Option<u32>,
    /// How many elements; a barrier ignores it.
    pub counts: Counts<'a>,
    /// Bytes of one element.
    pub type_bytes: u64,
    /// Whether the reduction operator commutes; all of MPI's own do.
    pub commutative: bool,
}

/// The numbers of elements of a collective.
#[derive(Clone, Copy, Debug)]
pub enum Counts<'a> {
    /// The same everywhere: the vector of bcast, reduce, allreduce, scan and exscan; the block of
    /// one rank in gather, scatter, allgather, alltoall and reduce_scatter_block.
    Each(u64),
    /// One value a rank: the blocks of gatherv, scatterv, allgatherv and reduce_scatter; in
    /// alltoallv and alltoallw the bytes that the rank sends in total, assumed to be spread evenly.
    Ranks(&'a [u64]),
    /// One value a pair, row by row (sender × ranks + receiver): alltoallv and alltoallw.
    Pairs(&'a [u64]),
    /// The edges of a process topology: neighbourhood collectives.
    Edges(&'a [Edge]),
}

/// One edge of a process topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Sender.
    pub src: u32,
    /// Receiver.
    pub dst: u32,
    /// Elements sent along it.
    pub count: u64,
}

/// The kind of counts of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Nothing,
    Vector,
    Block,
    Blocks,
    Pairs,
    Edges,
}

/// `MPI_Comm_size` is a C int.
const LARGEST_COMMUNICATOR: u32 = i32::MAX.unsigned_abs();

impl<'a> Collective<'a> {
    /// A collective on bytes with a commutative operator and, where one is needed, root 0.
    pub fn new(operation: Operation, ranks: u32, counts: Counts<'a>) -> Self {
        Self { operation, ranks, root: Some(0), counts, type_bytes: 1, commutative: true }
    }

    /// The size by which Open MPI's rules choose: the vector of bcast, reduce and allreduce, the
    /// block of one rank in gather, scatter, allgather and alltoall, the mean block in allgatherv,
    /// the whole vector in reduce_scatter; 0 for those that are chosen by the number of ranks
    /// alone.
    pub fn decisive_bytes(&self) -> u64 {
        let ranks = u64::from(self.ranks.max(1));
        let bytes = |count: u64| count.saturating_mul(self.type_bytes);
        let sum = |counts: &[u64]| counts.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
        match (self.operation, self.counts) {
            (Operation::Barrier | Operation::Alltoallv | Operation::Alltoallw, _) => 0,
            (Operation::ReduceScatter, Counts::Each(count)) => bytes(count.saturating_mul(ranks)),
            (Operation::Allgatherv, Counts::Ranks(counts)) => bytes(sum(counts)) / ranks,
            (_, Counts::Each(count)) => bytes(count),
            (_, Counts::Ranks(counts)) => bytes(sum(counts)),
            (_, Counts::Pairs(_) | Counts::Edges(_)) => 0,
        }
    }

    /// Bytes of the vector that bcast and the reductions work on.
    pub(super) fn vector_bytes(&self) -> u64 {
        self.vector_count() * self.type_bytes
    }

    /// Elements of that vector: of all blocks together where the result is scattered.
    pub(super) fn vector_count(&self) -> u64 {
        match (self.form(), self.counts) {
            (Form::Block | Form::Blocks, Counts::Each(count)) => count * u64::from(self.ranks),
            (_, Counts::Each(count)) => count,
            (_, Counts::Ranks(counts) | Counts::Pairs(counts)) => counts.iter().sum(),
            (_, Counts::Edges(_)) => 0,
        }
    }

    /// The blocks of gather, scatter, allgather and reduce_scatter, one a rank.
    pub(super) fn blocks(&self) -> Blocks {
        match self.counts {
            Counts::Ranks(counts) => Blocks::given(counts, self.type_bytes),
            _ => Blocks::each(self.ranks, self.vector_bytes() / u64::from(self.ranks)),
        }
    }

    /// Bytes from one rank to another in an all-to-all.
    pub(super) fn pair_bytes(&self, src: u32, dst: u32) -> u64 {
        let ranks = u64::from(self.ranks);
        let (src, dst) = (src as usize, u64::from(dst));
        let count = match self.counts {
            Counts::Each(count) => count,
            Counts::Ranks(totals) => totals[src] / ranks + u64::from(dst < totals[src] % ranks),
            Counts::Pairs(counts) => counts[src * self.ranks as usize + dst as usize],
            Counts::Edges(_) => 0,
        };
        count * self.type_bytes
    }

    /// The same communicator and element in another collective, for composed algorithms.
    pub(super) fn inner(&self, operation: Operation, counts: Counts<'a>) -> Self {
        Self { operation, counts, root: Some(0), ..*self }
    }

    /// True if MPI returns at once, as all counts are 0. With a count per pair or edge it does not,
    /// as no rank knows all of them; the algorithms then skip or send empty messages.
    pub(super) fn is_void(&self) -> bool {
        let same_everywhere =
            matches!(self.operation, Operation::NeighborAllgather | Operation::NeighborAlltoall);
        match (self.form(), self.counts) {
            (Form::Edges, Counts::Edges(edges)) => {
                same_everywhere && edges.iter().all(|edge| edge.count == 0)
            }
            (Form::Nothing | Form::Pairs | Form::Edges, _) => self.ranks == 1,
            (Form::Vector | Form::Block | Form::Blocks, _) => self.ranks == 1 || self.vector_bytes() == 0,
        }
    }

    /// Checks that the parts fit each other and that no sum of bytes overflows.
    pub(super) fn check(&self) -> Result<()> {
        let name = self.operation.name();
        if !(1..=LARGEST_COMMUNICATOR).contains(&self.ranks) {
            return Err(Error::data(format!(
                "{name} over {} ranks, expected 1 to {LARGEST_COMMUNICATOR}",
                self.ranks
            )));
        }
        if let Some(root) = self.root
            && root >= self.ranks
        {
            return Err(Error::data(format!("root of {name} is {root}, expected less than {}", self.ranks)));
        }
        if self.root.is_none() && self.is_rooted() {
            return Err(Error::data(format!("{name} without a root")));
        }
        let form = self.form();
        let (found, values): (_, &[u64]) = match self.counts {
            _ if form == Form::Nothing => return Ok(()),
            Counts::Each(_) if form != Form::Edges => return self.check_volume(&[]),
            Counts::Ranks(counts) if matches!(form, Form::Blocks | Form::Pairs) => (counts.len(), counts),
            Counts::Pairs(counts) if form == Form::Pairs => (counts.len(), counts),
            Counts::Edges(edges) if form == Form::Edges => return self.check_edges(edges),
            _ => return Err(Error::data(format!("{name} with counts of another kind of collective"))),
        };
        let expected = match self.counts {
            Counts::Pairs(_) => u64::from(self.ranks) * u64::from(self.ranks),
            _ => u64::from(self.ranks),
        };
        if found as u64 != expected {
            return Err(Error::data(format!("{name} with {found} counts, expected {expected}")));
        }
        self.check_volume(values)
    }

    /// No message and no sum over a vector may exceed what a trace can hold.
    fn check_volume(&self, values: &[u64]) -> Result<()> {
        let sum = match self.counts {
            Counts::Each(count) => count.checked_mul(u64::from(self.ranks)),
            _ => values.iter().try_fold(0u64, |sum, value| sum.checked_add(*value)),
        };
        match sum.and_then(|sum| sum.checked_mul(self.type_bytes)) {
            Some(bytes) if bytes <= i64::MAX.unsigned_abs() => Ok(()),
            _ => Err(Error::data(format!("{} moves more than 2^63 - 1 bytes", self.operation.name()))),
        }
    }

    fn check_edges(&self, edges: &[Edge]) -> Result<()> {
        let mut sum = 0u64;
        for edge in edges {
            let outside = [edge.src, edge.dst].into_iter().find(|rank| *rank >= self.ranks);
            if let Some(rank) = outside {
                return Err(Error::data(format!(
                    "{} has neighbour {rank}, expected less than {}",
                    self.operation.name(),
                    self.ranks
                )));
            }
            sum = sum.saturating_add(edge.count);
        }
        self.check_volume(&[sum])
    }

    fn is_rooted(&self) -> bool {
        use Operation::{Bcast, Gather, Gatherv, Reduce, Scatter, Scatterv};
        matches!(self.operation, Bcast | Gather | Gatherv | Reduce | Scatter | Scatterv)
    }

    fn form(&self) -> Form {
        match self.operation {
            Operation::Bcast
            | Operation::Reduce
            | Operation::Allreduce
            | Operation::Scan
            | Operation::Exscan => Form::Vector,
            Operation::Gather
            | Operation::Scatter
            | Operation::Allgather
            | Operation::Alltoall
            | Operation::ReduceScatterBlock => Form::Block,
            Operation::Gatherv | Operation::Scatterv | Operation::Allgatherv | Operation::ReduceScatter => {
                Form::Blocks
            }
            Operation::Alltoallv | Operation::Alltoallw => Form::Pairs,
            Operation::NeighborAllgather
            | Operation::NeighborAllgatherv
            | Operation::NeighborAlltoall
            | Operation::NeighborAlltoallv
            | Operation::NeighborAlltoallw => Form::Edges,
            _ => Form::Nothing,
        }
    }
}
