//! Operations of ranks, and the messages that they are about.

use phaseflow_collect::Error;

/// What a rank does next. Numbers of messages are positions in
/// [`Operations::messages`](super::Operations::messages).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Computes; index of a gap.
    Compute(u32),
    /// Is ready to receive a message.
    ReceivePost(u32),
    /// Continues when a message has arrived.
    ReceiveWait(u32),
    /// Sends a message.
    Send(u32),
    /// Continues when the buffer of a message is free.
    SendWait(u32),
    /// Enters the [collective](super::Operations::collectives) of this number. Where the network
    /// sums, the rank continues when it has the sum.
    Join(u32),
    /// Enters the next stretch of the run.
    Boundary(u32),
}

/// A message of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// Sending rank.
    pub src: u32,
    /// Receiving rank.
    pub dst: u32,
    /// Payload.
    pub bytes: u64,
    /// True if the trace shows that it left before its receiver was ready.
    pub buffered: bool,
    /// True if the receiver says when it is ready.
    pub announced: bool,
    /// True if it is part of a [collective](super::Operations::collectives).
    pub collective: bool,
}

/// The error of messages that cannot be numbered.
pub(super) fn too_many_messages() -> Error {
    Error::data("has more than 2^32-1 messages, more than a replay can tell apart")
}
