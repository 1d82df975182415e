//! The records of a trace: messages, calls, marks.

use std::fmt;

use super::Operation;
use crate::{Error, Result};

/// Most ranks of a run: the largest machines have about 10⁷ cores. It bounds every table by rank,
/// so each reader checks it first.
pub const MOST_RANKS: u32 = 1 << 24;

/// MPI process number in `MPI_COMM_WORLD`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(pub u32);

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Refuses a rank that no run has: [`MOST_RANKS`].
///
/// # Errors
/// That rank.
#[inline]
pub(crate) fn check_rank(rank: u32) -> Result<()> {
    if rank < MOST_RANKS {
        return Ok(());
    }
    Err(Error::data(format!("rank {rank} is beyond the largest, {}", MOST_RANKS - 1)))
}

/// Refuses the highest rank of columns, if no run has it.
///
/// # Errors
/// That rank.
pub(crate) fn check_ranks(columns: &[&[u32]]) -> Result<()> {
    // The loops have no exit, so they are vectorized.
    let highest = |column: &&[u32]| column.iter().fold(0, |most: u32, rank| most.max(*rank));
    check_rank(columns.iter().map(highest).max().unwrap_or(0))
}

/// One matched or one-sided point-to-point transfer. Times are nanoseconds on the trace's one
/// clock; unknown values are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Time at which the sender posted it.
    pub send_post_ns: i64,
    /// Sender.
    pub src: Rank,
    /// Receiver.
    pub dst: Rank,
    /// Payload; at most 2⁶³−1.
    pub bytes: u64,
    /// MPI tag; negative inside collectives of Open MPI.
    pub tag: Option<i32>,
    /// Number of the communicator within the trace.
    pub communicator: Option<u32>,
    /// The operation it belongs to.
    pub operation: Operation,
    /// Time at which the sender could reuse its buffer.
    pub send_complete_ns: Option<i64>,
    /// Time at which the receiver posted the matching receive.
    pub receive_post_ns: Option<i64>,
    /// When the payload was in the receiver's buffer.
    pub receive_complete_ns: Option<i64>,
}

/// An MPI call of one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Time of entry.
    pub enter_ns: i64,
    /// When it returned; `None` if it never did.
    pub leave_ns: Option<i64>,
    /// The calling rank.
    pub rank: Rank,
    /// The operation.
    pub operation: Operation,
    /// Number of the communicator within the trace.
    pub communicator: Option<u32>,
    /// Root, in world ranks, of a rooted collective.
    pub root: Option<Rank>,
    /// Bytes of this rank: its contribution; in scatter(v), reduce_scatter and reduce_scatter_block
    /// the bytes it receives; in alltoall(v, w) the bytes it sends to all.
    pub bytes: Option<u64>,
}

/// A user's mark, `MPI_Pcontrol(level)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub time_ns: i64,
    /// Who.
    pub rank: Rank,
    /// The argument.
    pub level: i32,
}
