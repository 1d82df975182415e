//! The things a trace is made of.

use std::fmt;

use super::Operation;

/// MPI process number in `MPI_COMM_WORLD`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(pub u32);

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One matched or one-sided point-to-point transfer. Times are nanoseconds on the trace's one clock; what the recorder did not
/// see is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// When the sender posted it.
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
    /// When the sender could reuse its buffer.
    pub send_complete_ns: Option<i64>,
    /// When the receiver posted the matching receive.
    pub receive_post_ns: Option<i64>,
    /// When the payload was in the receiver's buffer.
    pub receive_complete_ns: Option<i64>,
}

/// An MPI call of one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// When the rank entered it.
    pub enter_ns: i64,
    /// When it returned; `None` if it never did.
    pub leave_ns: Option<i64>,
    /// Who called.
    pub rank: Rank,
    /// What was called.
    pub operation: Operation,
    /// Number of the communicator within the trace.
    pub communicator: Option<u32>,
    /// Root, in world ranks, of a rooted collective.
    pub root: Option<Rank>,
    /// This rank's own part: what it contributes; in scatter(v), reduce_scatter and reduce_scatter_block what it receives;
    /// in alltoall(v, w) what it sends to all.
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
