//! In-network aggregation: sums that switches compute.
//!
//! ```text
//! Contribution ──► Aggregation ──► Packet ──► Fabric ──► Aggregation::transit   at switches
//!  by each worker    at its host                    └─► Aggregation::receive   at hosts
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

/// Retransmissions of one packet after which a worker gives up. With a loss of 99 % each way, an
/// answer is missing after them with probability 0.9999¹⁰⁰⁰⁰ = 37 %, with 95 % with 10⁻¹¹: beyond
/// it the network does not answer.
pub const GIVE_UP_AFTER: u32 = 10_000;

/// The workers of a job, which sum together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Number of the job.
    pub job: u32,
    /// Hosts of the workers, without repetition.
    pub workers: Vec<HostId>,
    /// Hosts of servers, if the aggregation has some; hosts without workers come first.
    pub servers: Vec<HostId>,
}

/// Counts of an aggregation over all groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AggregationReport {
    /// Packets that workers sent more than once.
    pub retransmits: u64,
    /// Elements whose sum was checked; 0 unless results are verified.
    pub checked: u64,
    /// Elements that were wrong.
    pub wrong: u64,
    /// Packets that a switch without free memory forwarded to a server.
    pub fallbacks: u64,
}

/// A protocol of workers, switches and servers: one value for all of them.
///
/// Its packets and timers have kinds from [`AGGREGATION_KIND`] on; it receives no others.
pub trait Aggregation: std::fmt::Debug {
    /// Bytes of its largest packet on the wire.
    fn largest_packet(&self) -> u32;

    /// A job begins; returns the number of its group.
    ///
    /// # Errors
    /// A group that the protocol cannot serve: too many workers, no server, switches off the route.
    fn open(&mut self, fabric: &mut Fabric<'_>, group: &Group) -> Result<u32>;

    /// A job is over: the memory of its group is free.
    fn close(&mut self, fabric: &mut Fabric<'_>, group: u32);

    /// Worker `worker` of a group adds a vector of `bytes` now; the arrival of the sum is reported
    /// by `key`. The n-th vectors of all workers belong together. A worker may add the next vector
    /// before it has the previous sum.
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

    /// Keys of contributions whose worker has the sum; the reader removes them.
    fn delivered(&mut self) -> &mut Vec<u32>;

    /// Describes workers that have given up ([`GIVE_UP_AFTER`]) and what they wait for; `None`
    /// without any.
    fn stuck(&self) -> Option<String>;

    /// Its work so far.
    fn report(&self) -> AggregationReport;
}
