//! PhaseFlow's recorder: what runs inside the processes of an MPI program, preloaded, without the
//! program's knowledge.
//!
//! The sources are compiled twice. As a shared library (`cfg(phaseflow_cdylib)`, by this package's
//! build script) they define MPI's functions. As this crate they are checked, tested and
//! documented, define nothing of MPI's, and hand out that library as [`LIBRARY`] together with the
//! [format](mod@format) that it writes; pf-profile carries it inside itself, because `cargo
//! install` installs programs only.
//!
//! # How it records
//!
//! MPI programs call `MPI_X`; implementations offer the same function as `PMPI_X` so that tools can
//! stand in between. That shows what a program asks for, not what travels: inside a collective an
//! implementation sends messages of its own. Open MPI sends all of them through one table of
//! functions, which the module `pml` patches, so there every message is seen. With other
//! implementations, or when a guard finds the table not to be as expected, calls are recorded, and
//! pf-collect computes the messages.
//!
//! # What it promises
//!
//! It does nothing without `PHASEFLOW_DIR`, and nothing before `MPI_Init`. It changes no result,
//! allocates nothing per message, and holds no lock over a call into MPI. What goes wrong stops the
//! recording and is said in one line; the program runs on.

#![allow(unsafe_code, reason = "it lives in another program's address space, among C functions")]
#![cfg_attr(
    phaseflow_cdylib,
    allow(dead_code, reason = "what readers of the format need is not used by its writer")
)]
#![cfg_attr(
    not(phaseflow_cdylib),
    allow(dead_code, reason = "what MPI's functions call is not reached without them")
)]

pub mod environment;
pub mod format;
mod operation;

pub use operation::Operation;

/// The recorder itself needs Linux; the format of what it writes does not.
macro_rules! on_linux {
    ($($module:ident)*) => { $( #[cfg(target_os = "linux")] mod $module; )* };
}

on_linux! { call clock communicator communicator_table count exports lane matched message mpi pml pmpi recording session storage sync system }

/// The shared library to preload; empty where there is none for the system this was built on (it is
/// for Linux with glibc).
#[cfg(not(phaseflow_cdylib))]
pub static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libphaseflow_preload.so"));
