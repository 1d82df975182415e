//! Expansion of collectives that are recorded only as calls into the messages of an MPI library.
//!
//! Messages below the collectives are not recorded with MPICH, static linking and traces of other
//! tools. A call has operation, communicator, root and counts. The library chooses an [`Algorithm`]
//! by operation, number of ranks and bytes ([`Rules`]). The algorithm makes a schedule:
//! [`Transfer`]s in rounds, where a transfer depends only on arrivals of earlier rounds.
//!
//! [`expand`] writes a schedule into a closure, transfer by transfer in ascending rounds; it
//! allocates a few numbers a rank at most. Ranks are those of the communicator. Schedules and
//! choices agree with Open MPI 4.1.4 in messages, bytes, tags and order of each sender;
//! tests/expand_open_mpi.rs counts again where it is installed. Not covered: non-blocking
//! collectives, which libnbc schedules by rules of its own, and inter-communicators.
//!
//! Costs with latency α, time a byte β, p ranks and m bytes, the reductions' arithmetic left out:
//!
//! | algorithm | time |
//! |---|---|
//! | ring allreduce | 2(p−1)α + 2(p−1)/p·mβ |
//! | recursive doubling | ⌈log₂ p⌉(α + mβ), 2 more messages where p ≠ 2ᵏ |
//! | Rabenseifner | 2 log₂ p·α + 2(p−1)/p·mβ |
//! | binomial bcast | ⌈log₂ p⌉(α + mβ) |
//! | pairwise all-to-all | (p−1)(α + mβ), m a block |
//! | Bruck's all-to-all | ⌈log₂ p⌉(α + p/2·mβ) |
//! | ring allgather | (p−1)(α + mβ), m a block |

mod algorithm;
mod binomial;
mod blocks;
mod bruck;
mod butterfly;
mod calls;
mod collective;
mod linear;
mod neighbor_exchange;
mod operation;
mod pairwise;
mod rabenseifner;
mod recursive_doubling;
mod recursive_halving;
mod ring;
mod rules;
mod scatter_allgather;
mod schedule;
mod split_binary;
mod survivors;
#[rustfmt::skip]
mod tables;
#[cfg(test)]
mod tests;
mod tree;

pub use algorithm::Algorithm;
pub use collective::{Collective, Counts, Edge};
pub use rules::Rules;
pub use schedule::{Part, Transfer};

use crate::Result;
use crate::trace::Operation;
use schedule::Schedule;

/// Writes the transfers of a collective, chosen by rules, in ascending rounds; returns the number
/// of rounds. There are no transfers for a single rank, nor where all counts are 0 and MPI returns
/// at once.
///
/// ```
/// use phaseflow_collect::expand::{Collective, Counts, Rules, expand};
/// use phaseflow_collect::trace::Operation;
///
/// let counts = Counts::Each(1024);
/// let collective = Collective { root: Some(2), ..Collective::new(Operation::Bcast, 8, counts) };
/// let mut bytes = 0;
/// let rounds = expand(&collective, Rules::OpenMpi41, &mut |transfer| bytes += transfer.bytes)?;
/// assert_eq!((rounds, bytes), (2, 7 * 1024)); // a 4-nomial tree
/// # Ok::<(), phaseflow_collect::Error>(())
/// ```
///
/// # Errors
/// An operation that is no collective; counts that do not fit the operation or the number of ranks;
/// a root or neighbour outside; more bytes than a trace can hold.
pub fn expand(collective: &Collective, rules: Rules, sink: &mut dyn FnMut(Transfer)) -> Result<u32> {
    let algorithm = rules.choose(collective)?;
    expand_with(collective, algorithm, rules, sink)
}

/// As [`expand`] with a given algorithm; the rules choose inside composed ones
/// ([`Algorithm::NonOverlapping`]).
///
/// # Errors
/// As [`expand`]; an algorithm that the operation does not have or that is for another number of
/// ranks.
pub fn expand_with(
    collective: &Collective,
    algorithm: Algorithm,
    rules: Rules,
    sink: &mut dyn FnMut(Transfer),
) -> Result<u32> {
    collective.check()?;
    if collective.is_void() {
        return Ok(0);
    }
    let mut schedule = Schedule::new(rules, sink);
    operation::run(&mut schedule, collective, algorithm)?;
    Ok(schedule.rounds())
}

/// Open MPI's tag of the messages of a building block (`coll_tags.h`, 4.1); a composed collective
/// shows the tags of its parts. Neighbourhood collectives on graphs share two of them; on Cartesian
/// communicators they count down from −1073741823 by dimension and direction instead.
pub fn tag(operation: Operation) -> i32 {
    match operation {
        Operation::Allgather | Operation::NeighborAllgather | Operation::NeighborAllgatherv => -10,
        Operation::Allgatherv => -11,
        Operation::Allreduce => -12,
        Operation::Alltoall
        | Operation::NeighborAlltoall
        | Operation::NeighborAlltoallv
        | Operation::NeighborAlltoallw => -13,
        Operation::Alltoallv => -14,
        Operation::Alltoallw => -15,
        Operation::Barrier => -16,
        Operation::Bcast => -17,
        Operation::Exscan => -18,
        Operation::Gather => -19,
        Operation::Gatherv => -20,
        Operation::Reduce => -21,
        Operation::ReduceScatter => -22,
        Operation::ReduceScatterBlock => -23,
        Operation::Scan => -24,
        Operation::Scatter => -25,
        Operation::Scatterv => -26,
        // Not a collective.
        _ => 0,
    }
}
