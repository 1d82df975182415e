//! In-network aggregation: sums that switches compute.
//!
//! ```text
//! Contribution ──► Aggregation ──► Packet ──► Fabric ──► Aggregation::transit   at switches
//!  by each worker    at its host                    └──► Aggregation::receive   at workers and servers ──► keys of the done
//! ```
//!
//! A [`Group`] of workers sums vectors of 32-bit numbers, one [reduction](Aggregation::contribute)
//! after the other; each worker ends with the whole sum. [`Aggregated`] lets an aggregation and the
//! messages of a [`Carrier`](super::Carrier) use the same network at the same time.

mod aggregated;
pub mod atp;
#[cfg(test)]
mod harness;
pub mod lab;
pub mod switchml;
mod tree;
pub mod values;
mod vectors;

pub use aggregated::Aggregated;

use phaseflow_collect::Result;

use super::arena::Packet;
use super::fabric::Fabric;
use super::program::Verdict;
use super::timer::Timer;
use crate::engine::Picoseconds;
use crate::topology::{HostId, LinkId, NodeId};

/// The lowest [kind](Packet::kind) of packets and [timers](Timer::kind) of aggregations; those
/// below belong to transports.
pub const AGGREGATION_KIND: u8 = 0x80;

/// Bytes of an element of the vectors that are summed.
pub const ELEMENT_BYTES: u64 = 4;

/// A worker that has sent the same packet this many times more than once, without an answer, stops:
/// over any network that answers at all, the chance of it is nil, so it waits for what will never
/// come.
pub const GIVE_UP_AFTER: u32 = 10_000;

/// Who sums together: the workers of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Number of the job.
    pub job: u32,
    /// A host for each worker, each once.
    pub workers: Vec<HostId>,
    /// Hosts of servers, where the aggregation has some; hosts of no worker come first.
    pub servers: Vec<HostId>,
}

/// What an aggregation did, summed over all groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AggregationReport {
    /// Packets that workers sent more than once.
    pub retransmits: u64,
    /// Elements whose sum was compared with the right one; 0 unless results are checked.
    pub checked: u64,
    /// Elements that were wrong.
    pub wrong: u64,
    /// Packets that a switch could not sum, because its memory was taken, and left to a server.
    pub fallbacks: u64,
}

/// A protocol of workers, switches and servers: one value for all of them.
///
/// Its packets and timers have kinds from [`AGGREGATION_KIND`] on; others are never shown to it.
pub trait Aggregation: std::fmt::Debug {
    /// Bytes of its largest packet on the wire.
    fn largest_packet(&self) -> u32;

    /// A job begins; returns the number of its group.
    ///
    /// # Errors
    /// A group that the protocol cannot serve: too many workers, no server, switches that do not
    /// lie on the way.
    fn open(&mut self, fabric: &mut Fabric<'_>, group: &Group) -> Result<u32>;

    /// A job is over: the memory of its group is free.
    fn close(&mut self, fabric: &mut Fabric<'_>, group: u32);

    /// Worker `worker` of a group adds a vector of `bytes` now, and is told under `key` when it has
    /// the sum. The n-th vectors of all workers belong together; a worker may add the next one
    /// before it has the sum of the last.
    ///
    /// # Errors
    /// Vectors of different lengths; more packets than can be numbered.
    fn contribute(
        &mut self,
        fabric: &mut Fabric<'_>,
        group: u32,
        worker: u32,
        bytes: u64,
        key: u32,
    ) -> Result<()>;

    /// As [`Program::receive`](super::Program::receive).
    fn receive(&mut self, fabric: &mut Fabric<'_>, host: HostId, packet: &Packet);

    /// As [`Program::transit`](super::Program::transit).
    fn transit(&mut self, fabric: &mut Fabric<'_>, switch: NodeId, packet: &mut Packet) -> Verdict;

    /// As [`Program::doubled`](super::Program::doubled).
    fn doubled(&mut self, packet: &mut Packet);

    /// As [`Program::needs`](super::Program::needs).
    fn needs(&mut self, timer: Timer, at: Picoseconds) -> bool;

    /// As [`Program::timer`](super::Program::timer).
    fn timer(&mut self, fabric: &mut Fabric<'_>, timer: Timer);

    /// As [`Program::resumed`](super::Program::resumed).
    fn resumed(&mut self, fabric: &mut Fabric<'_>, link: LinkId);

    /// Keys of contributions whose worker has the sum; whoever reads them takes them out.
    fn delivered(&mut self) -> &mut Vec<u32>;

    /// Who waits for what since it has given up ([`GIVE_UP_AFTER`]), as a sentence; `None` if
    /// nobody has.
    fn stuck(&self) -> Option<String>;

    /// What it did so far.
    fn report(&self) -> AggregationReport;
}
