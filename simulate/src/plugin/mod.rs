//! Algorithms in any language: a program that is asked in lines of JSON and answers in lines of
//! JSON.
//!
//! `exec:PROGRAM` on the axes router, process mapper and host selector starts the program once per
//! run. It is greeted with the version of the protocol and the network, and answers with the
//! version; from then on each question is one line and so is each answer (docs/plugins.md shows an
//! exchange). Nodes go by name, links by their place in the greeting.
//!
//! Nothing that the program does may hang or crash the run. It has a time limit per answer, also
//! for reading the question; its answers are bounded and checked; what it sent and what was
//! expected is in the error. It is asked to go by closing its standard input, and killed if it has
//! not gone a second later. Its standard error is ours.

mod network;
mod process;
mod protocol;

use phaseflow_collect::TrafficMatrix;
use phaseflow_collect::trace::Rank;

pub(crate) use protocol::{Plugin, Role};
pub use protocol::{TIMEOUT, VERSION};

/// The cells of a matrix as `[source rank, destination rank, messages, bytes]`.
pub(crate) fn cells(matrix: &TrafficMatrix) -> Vec<(u32, u32, u64, u64)> {
    let number = |rank: Rank| rank.0;
    matrix.cells().map(|cell| (number(cell.src), number(cell.dst), cell.messages, cell.bytes)).collect()
}
