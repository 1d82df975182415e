//! pf-profile on real programs under real MPI libraries. Its recordings are compared with the
//! counts of Open MPI's own monitoring in the same processes. A test fails where its MPI is
//! missing; tests/install installs all of them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and fails")]

mod calls;
mod clocks;
#[path = "../slurm/mod.rs"]
mod cluster;
mod collected;
mod conduct;
mod early;
mod guards;
mod labelled;
mod loss;
mod mpi;
mod oracle;
mod phases;
mod slurm;
