//! External algorithms in any language: questions and answers are lines of JSON.
//!
//! `exec:PROGRAM` on the axes router, process mapper and host selector starts the program once per
//! run. The greeting has the version of the protocol and the network; the program answers with the
//! version. Each later question and answer is one line (docs/plugins.md shows an exchange). Nodes
//! go by name, links by their place in the greeting.
//!
//! The program cannot hang or crash the run. Each answer has a time limit, which includes reading
//! the question; its size is bounded and its content checked. Errors quote the answer and what was
//! expected. At the end the program's standard input is closed, and a second later the program is
//! killed. It shares our standard error.

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
