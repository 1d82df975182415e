//! Records of a process: messages, calls, marks.

use crate::Operation;
use crate::format::{Kind, NO_RANK, Slot, flags};

/// One record of a lane. Times are ticks of the process's clock; [`Clock::ns`](crate::Clock::ns)
/// makes them comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// One side of a message, or a one-sided operation.
    Message(Message),
    /// An MPI call.
    Call(Call),
    /// `MPI_Pcontrol`.
    Mark(Mark),
    /// Bytes for some peers of the call before.
    Counts(Counts),
}

/// Direction of the payload, and the side that transfers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// Sent to the peer, which receives it.
    Send,
    /// Received from the peer, which sent it.
    Receive,
    /// Written to the peer's memory (`MPI_Put`).
    Put,
    /// Read from the peer's memory (`MPI_Get`).
    Get,
    /// Combined into the peer's memory (`MPI_Accumulate`).
    Accumulate,
}

/// One side of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its direction.
    pub direction: Direction,
    /// Time of the call of MPI.
    pub post: u64,
    /// Time of completion; `None` if the process ended before, or the completion is not visible.
    pub complete: Option<u64>,
    /// The operation that it is part of; [`Operation::PointToPoint`] or [`Operation::Sendrecv`] if
    /// the program itself sent it.
    pub operation: Operation,
    /// Payload. `None` for a receive that was not seen to complete.
    pub bytes: Option<u64>,
    /// World rank of the other side; `None` if unknown or in another `MPI_COMM_WORLD`.
    pub peer: Option<u32>,
    /// MPI tag; negative inside Open MPI's collectives. `None` for a receive of any tag that was
    /// not seen to complete.
    pub tag: Option<i32>,
    /// Number of the communicator or window in this recording.
    pub communicator: u32,
    /// [`flags`].
    pub flags: u8,
}

impl Message {
    /// A message of MPI itself: part of a collective, or of a window's traffic.
    pub fn is_internal(&self) -> bool {
        self.flags & flags::INTERNAL != 0
    }

    /// It did not take place.
    pub fn is_cancelled(&self) -> bool {
        self.flags & flags::CANCELLED != 0
    }

    /// The last call before it in its lane encloses it.
    pub fn is_inside_call(&self) -> bool {
        self.flags & flags::INSIDE != 0
    }
}

/// An MPI call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Time of entry.
    pub enter: u64,
    /// When it returned; `None` if it never did.
    pub leave: Option<u64>,
    /// Its operation.
    pub operation: Operation,
    /// This process's own part, see [`format`](mod@crate::format).
    pub bytes: u64,
    /// World rank of the root.
    pub root: Option<u32>,
    /// Number of requests it was given, if any.
    pub requests: u32,
    /// Number of the communicator or window in this recording.
    pub communicator: Option<u32>,
    /// [`flags`].
    pub flags: u8,
}

/// A user's mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub time: u64,
    /// Argument of `MPI_Pcontrol`.
    pub level: i32,
}

/// What an alltoallv or alltoallw sends to peers `first`, `first + 1`, … of its communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// The first peer.
    pub first: u32,
    /// Number of valid entries of [`bytes`](Self::bytes).
    pub len: usize,
    /// Bytes.
    pub bytes: [u64; 3],
}

fn rank(value: u32) -> Option<u32> {
    (value != NO_RANK).then_some(value)
}

impl Record {
    /// True if a slot has a record of a known kind.
    #[inline]
    pub(crate) fn is_in(slot: &Slot) -> bool {
        !matches!(Kind::from_code(slot.code()), None | Some(Kind::Communicator | Kind::Runs))
    }

    /// The record in a slot; `None` for kinds that this version does not know.
    #[inline(always)]
    pub(crate) fn of(slot: &Slot, base: u64) -> Option<Self> {
        let kind = Kind::from_code(slot.code())?;
        let start = base.wrapping_add(slot.start());
        let end = Some(slot.end()).filter(|end| *end != 0).map(|end| base.wrapping_add(end));
        let operation = Operation::from_code(slot.operation()).unwrap_or(Operation::Internal);
        let direction = match kind {
            Kind::Send => Direction::Send,
            Kind::Receive => Direction::Receive,
            Kind::Put => Direction::Put,
            Kind::Get => Direction::Get,
            Kind::Accumulate => Direction::Accumulate,
            Kind::Call => {
                return Some(Self::Call(Call {
                    enter: start,
                    leave: end,
                    operation,
                    bytes: slot.bytes(),
                    root: rank(slot.rank()),
                    requests: slot.value().cast_unsigned(),
                    communicator: rank(slot.communicator_number()),
                    flags: slot.flags(),
                }));
            }
            Kind::Mark => return Some(Self::Mark(Mark { time: start, level: slot.value() })),
            Kind::Counts => {
                let [head, a, b, c] = slot.0;
                let len = usize::try_from(head >> 48 & 0xff).unwrap_or(0).min(3);
                return Some(Self::Counts(Counts { first: head as u32, len, bytes: [a, b, c] }));
            }
            Kind::Communicator | Kind::Runs => return None,
        };
        let unseen = direction == Direction::Receive && end.is_none();
        Some(Self::Message(Message {
            direction,
            post: start,
            complete: end,
            operation,
            bytes: (!unseen).then_some(slot.bytes()),
            peer: rank(slot.rank()),
            tag: (!unseen || slot.value() >= 0).then_some(slot.value()),
            communicator: slot.communicator_number(),
            flags: slot.flags(),
        }))
    }
}
