//! Schedules of algorithms: transfers in rounds.

use super::{Rules, tag};
use crate::trace::Operation;

/// One message of an expanded collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Dependency depth: the sender's data has arrived in earlier rounds.
    pub round: u32,
    /// Sender within the communicator.
    pub src: u32,
    /// Receiver within the communicator.
    pub dst: u32,
    /// Payload.
    pub bytes: u64,
    /// Open MPI's tag of the building block, see [`tag`].
    pub tag: i32,
    /// The kind of the payload.
    pub part: Part,
}

/// The part of the data that a transfer carries, and its use at the receiver.
///
/// Offsets are bytes in the vector of the collective, for the gather and scatter family in the
/// blocks of all ranks one after the other; a part that reaches the end of the vector goes on at
/// its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Nothing but its arrival.
    Signal,
    /// Stored at `offset`.
    Copy {
        /// First byte.
        offset: u64,
    },
    /// Reduced into what the receiver has at `offset`.
    Combine {
        /// First byte.
        offset: u64,
    },
    /// Reduced as [`Combine`](Part::Combine), but the sender forwards the last part it received,
    /// without its own share.
    Relay {
        /// First byte.
        offset: u64,
    },
    /// Reduced block by block: blocks `first`, `first` + `step`, … to the end.
    Strided {
        /// First block.
        first: u32,
        /// Distance of the blocks.
        step: u32,
    },
    /// The sender's own data for the receiver in an all-to-all or along an edge.
    Own,
    /// Bruck's all-to-all: every block at the sender whose distance from origin to destination has
    /// this bit.
    Transit {
        /// The bit, a power of two.
        bit: u32,
    },
}

/// The schedule being written; numbers the rounds.
pub(super) struct Schedule<'s> {
    pub(super) rules: Rules,
    tag: i32,
    round: u32,
    used: bool,
    sink: &'s mut dyn FnMut(Transfer),
}

impl<'s> Schedule<'s> {
    pub(super) fn new(rules: Rules, sink: &'s mut dyn FnMut(Transfer)) -> Self {
        Self { rules, tag: 0, round: 0, used: false, sink }
    }

    /// Starts a building block: later transfers have its tag and a later round.
    pub(super) fn begin(&mut self, operation: Operation) {
        self.next_round();
        self.tag = tag(operation);
    }

    pub(super) fn send(&mut self, src: u32, dst: u32, bytes: u64, part: Part) {
        self.used = true;
        (self.sink)(Transfer { round: self.round, src, dst, bytes, tag: self.tag, part });
    }

    /// Starts a round, which depends on the earlier ones. A round without transfers is not counted.
    pub(super) fn next_round(&mut self) {
        self.round = self.rounds();
        self.used = false;
    }

    /// Rounds so far.
    pub(super) fn rounds(&self) -> u32 {
        self.round.saturating_add(u32::from(self.used))
    }
}
