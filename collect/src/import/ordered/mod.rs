//! Programs without times: an order of all ranks' operations that is consistent with each program.
//!
//! GOAL, SimGrid's time-independent traces and Chakra's say what each rank does and what has to be
//! over before. Each operation gets a *position*: one more than that of the operations it waits
//! for; a receive also waits for its send, a collective for the last of its members. So positions
//! are logical clocks (Lamport, "Time, clocks, and the ordering of events", 1978), in which every
//! communication takes one step and computation none. They are no times and not to be taken for
//! any.
//!
//! [`schedule()`] executes a [`Program`] in the order of positions, so its messages leave in the
//! order of a trace. Memory: the operations that wait, and messages that are sent and not received.

mod graph;
mod inbox;
mod schedule;

pub(super) use self::graph::{Graph, GraphBuilder, Operation as GraphOperation};
pub(super) use self::schedule::schedule;

use crate::Result;
use crate::trace::Call;

/// A number of a program for an operation that is under way.
pub(super) type Token = u32;

/// An operation of a rank may begin: position, rank, token.
pub(super) type Begin = (i64, u32, Token);

/// What an operation does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Nothing that others see; it is over at once, and takes no step.
    Nothing,
    /// What comes next is not known before something else is over.
    Waits,
    /// The program of the rank is over.
    Ends,
    /// Sends a message; it is over a step later, whether it was received or not.
    Send { dst: u32, tag: i32, communicator: Option<u32>, bytes: u64 },
    /// Receives a message; `None` is any.
    Receive { src: Option<u32>, tag: Option<i32>, communicator: Option<u32> },
    /// Takes part in a collective; `pairs` are the bytes to each other member, if known.
    Collective { call: Call, communicator: u32, pairs: Option<Vec<u64>> },
}

/// What the ranks of a run do.
pub(super) trait Program {
    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// Adds the operations with which the ranks begin.
    ///
    /// # Errors
    /// Damage, or an error of the operating system.
    fn begin(&mut self, ready: &mut Vec<Begin>) -> Result<()>;

    /// What an operation does that may begin, and its token from now on. Adds operations that may
    /// begin as soon as this one has begun.
    ///
    /// # Errors
    /// Damage, or an error of the operating system.
    fn perform(&mut self, begin: Begin, ready: &mut Vec<Begin>) -> Result<(Token, Action)>;

    /// An operation of a rank is over, and the next one may begin at a position: adds those that
    /// waited for it.
    ///
    /// # Errors
    /// Damage, or an error of the operating system.
    fn over(&mut self, rank: u32, token: Token, position: i64, ready: &mut Vec<Begin>) -> Result<()>;

    /// World ranks of a communicator's members.
    fn members(&self, communicator: u32) -> Vec<u32>;

    /// Where the program of a rank comes from, for errors.
    fn place(&self, rank: u32) -> String;
}
