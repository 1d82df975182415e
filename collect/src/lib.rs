//! Traces of parallel programs: types, archive, importers and generators.
//!
//! A parallel program is a set of *ranks* that exchange *messages*. A [`Message`](trace::Message)
//! is one matched or one-sided point-to-point transfer, seen below the collectives; a
//! [`Call`](trace::Call) is an MPI call that a rank made, a [`Mark`](trace::Mark) is a label of the
//! program (`MPI_Pcontrol`). All of them carry times in nanoseconds on one clock. A run of which
//! only sums are known (PFProf's) is an [aggregate](trace::Kind::Aggregate): a [`TrafficMatrix`]
//! instead of messages.
//!
//! Traces are streamed from a source to a [`Sink`](trace::Sink), block by block:
//!
//! - [`import`]: other tools' traces, one file per format, recognised by content;
//! - [`pattern`]: generators of well-known communication patterns;
//! - [`truth`]: the phases of a generated or marked run;
//! - [`export`]: the sinks: trace archive, text formats, summary, table of pairs;
//! - [`trace`]: the vocabulary, and the trace archive, a tar that is written and read in one pass
//!   ([`archive`] is the container of all archives, [`columns`](archive::columns) their binary
//!   tables).
//!
//! The crate prints nothing and reads no clock and no environment variable; an [`Error`] has its
//! places.

pub mod archive;
pub mod choice;
mod error;
pub mod expand;
pub mod export;
pub mod import;
mod matrix;
mod order;
pub mod pattern;
pub mod trace;
pub mod truth;
pub mod units;

pub use error::{At, Error, ErrorKind, Result};
pub use matrix::{Cell, MatrixBuilder, TrafficMatrix, sum_of_bytes};
