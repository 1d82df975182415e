//! The packet model: single packets, with queues, loss, acknowledgements and programs at switches.
//!
//! ```text
//! messages ──► Carrier (transport/) ──► Packet ──► Fabric ──► Packet ──► Carrier ──► arrivals
//!                at a host                │    link by link      ▲           at another host
//!                                         └► Program::transit ───┘
//!                                            at each switch, if switches compute
//! ```
//!
//! Links have a serialization time and a latency. Switches have one queue per output, with memory
//! of its own or shared. Full queues drop packets or pause the sender; long queues mark packets.
//! Packets are stored and forwarded; a link keeps their order unless it reorders. Times are whole
//! picoseconds. Events of the same time are processed in the order of their scheduling, so a run is
//! the same on any machine. Random faults depend on link and traversal.
//!
//! # Why it is fast
//!
//! - One event per packet and link: the time at which a packet leaves a queue is known when it
//!   joins, so a queue is one number (`port.rs`). Only pauses and shared memory need queues of
//!   packets (`queue.rs`). Both agree to the picosecond, except for the order of packets that
//!   arrive at the same time.
//! - A hop uses 16 bytes of the packet and 64 of the port; the rest of the packet is used at its
//!   ends only (`arena.rs`).
//! - The event queue is a calendar that is read and written in cache lines (`calendar.rs`).
//! - No memory is allocated per packet; a source makes a packet when its wire is free.
//!
//! # Programs at hosts and switches
//!
//! A transport is a [`Program`]: one value for all hosts, told about each packet that reaches a
//! host ([`Program::receive`]) and about its [timers](Program::timer). In-network aggregation is a
//! program with [`Program::AT_SWITCHES`] set: [`Program::transit`] is called for each packet at
//! each switch, and may forward, change or consume it, or send others.
//!
//! - A host sends with [`Fabric::send`], along the route of [`Fabric::route`]. A host must not send
//!   faster than its wire: its queue is unbounded, and [`Fabric::free_at`] is the time at which it
//!   is empty.
//! - A switch sends with [`Fabric::send_on`] on any of its links: [`Fabric::ways`] are those
//!   towards a host, and with [`Fabric::hashed_route`] the following switches choose the rest of
//!   the route. A multicast is one such call for each copy.
//! - Headers are `seq`, `ack`, `kind`, `flags` from [`PROGRAM_FLAGS`] on, and four words. The
//!   program keeps larger data (vectors that are summed), with its index in a word.
//! - Timers cannot be cancelled: a program checks at the timer whether it is still needed.
//!
//! [`Carrier`] adds messages to a program, [`Simulation`] runs one, [`simulate`] does all of it for
//! a list of messages; [`PacketNetwork`] chooses transport and aggregation at run time.

pub mod aggregation;
mod arena;
mod calendar;
mod chance;
mod fabric;
mod header_bytes;
mod histogram;
mod link_counters;
mod network;
mod options;
mod outcome;
mod port;
mod program;
mod queue;
mod routes;
mod simulation;
#[cfg(test)]
mod tests;
mod timer;
pub mod transport;

pub use aggregation::{Aggregated, Aggregation, AggregationReport, Group};
pub use arena::{ECN_CAPABLE, ECN_MARKED, PROGRAM_FLAGS, Packet};
pub use fabric::Fabric;
pub use link_counters::LinkTraffic;
pub use network::PacketNetwork;
pub use options::{FabricOptions, Marking, Paths, Pause};
pub use outcome::{Outcome, PairRoutes, simulate};
pub use program::{Program, Verdict};
pub use timer::Timer;

pub(crate) use port::check_rates;
pub use simulation::{Carrier, Message, Simulation};

/// Bytes of the shortest Ethernet frame without its frame check sequence (IEEE 802.3, clause 4A.4).
const SHORTEST_FRAME: u32 = 60;
/// Bytes that Ethernet adds to a frame on a link: check sequence 4, preamble 8, gap 12 (same).
const FRAME_OVERHEAD: u32 = 24;

/// Bytes for which a frame of `frame` bytes, without its check sequence, occupies an Ethernet link.
#[inline]
pub fn wire_bytes(frame: u32) -> u32 {
    frame.max(SHORTEST_FRAME).saturating_add(FRAME_OVERHEAD)
}
