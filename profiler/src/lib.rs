//! Recordings of MPI programs: reading them, and starting programs so that they are recorded.
//!
//! A *run directory* holds one file for each process, written by the library of `phaseflow-preload` from inside the process;
//! [`format`](mod@format) says byte by byte what is in it. A [`Recording`] is one of them: a [`Header`], the communicators, and for
//! each thread a stream of [`Record`]s in program order. A [`Run`] is all of them; its [`Alignment`] puts their clocks on one
//! time line; its [`Summary`] adds up who sent how much to whom.
//!
//! A process may have died at any instruction: a file may end anywhere after its header, and what is there counts.
//!
//! [`launch`] is the other end: which environment and options make `mpirun`, `mpiexec` or `srun` preload the library into each
//! process.

mod alignment;
mod header;
pub mod launch;
mod record;
mod recording;
mod run;
pub mod signals;
mod summary;

pub use alignment::{Alignment, Clock};
pub use header::{ClockKind, Header, Level, MpiLibrary, Pair, State, Sync};
pub use phaseflow_preload::{Operation, format};
pub use record::{Call, Counts, Direction, Mark, Message, Record};
pub use recording::{Communicator, Lane, Recording, Records, Source};
pub use run::Run;
pub use summary::{Sum, Summary};

use std::io;

/// What is wrong with a file's content.
fn invalid(problem: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem.into())
}

/// A little-endian u32; 0 beyond the end.
fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    bytes.get(offset..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// A little-endian u64; 0 beyond the end.
fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    bytes.get(offset..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The library to preload; empty on systems that have none. See `phaseflow_preload::LIBRARY`.
pub fn library() -> &'static [u8] {
    phaseflow_preload::LIBRARY
}
