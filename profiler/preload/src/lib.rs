//! PhaseFlow's recorder: a library that is preloaded into the processes of an MPI program.
//!
//! The sources are compiled twice. As a shared library (`cfg(phaseflow_cdylib)`, by this package's
//! build script) they define MPI's functions. As this crate they are checked, tested and
//! documented, and define no function of MPI. The crate contains that library as [`LIBRARY`], with
//! the [format](mod@format) that it writes. pf-profile embeds it, because `cargo install` installs
//! programs only.
//!
//! # How it records
//!
//! MPI programs call `MPI_X`; implementations offer the same function as `PMPI_X` for tools. This
//! interface shows the calls of a program, but not the messages that an implementation sends inside
//! a collective. Open MPI sends all messages through one table of functions, which the module `pml`
//! patches, so every message is recorded. With other implementations, or if a guard finds an
//! unexpected table, calls are recorded, and pf-collect computes the messages.
//!
//! # What it promises
//!
//! It is inactive without `PHASEFLOW_DIR`, and before `MPI_Init`. It changes no result, allocates
//! nothing per message, and holds no lock over a call into MPI. An error stops the recording with
//! one line of text, and the program continues.

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

/// The shared library to preload, for Linux with glibc; empty on other systems.
#[cfg(not(phaseflow_cdylib))]
pub static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libphaseflow_preload.so"));
