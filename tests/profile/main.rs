//! pf-profile on real programs under real MPI libraries. What it sees is compared with what Open
//! MPI's own monitoring counts, in the same processes. A test fails where its MPI is missing;
//! tests/install brings all of them.

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
