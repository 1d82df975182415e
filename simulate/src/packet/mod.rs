//! The packet model: what happens to single packets where queues, loss, acknowledgements and
//! switches decide.
//!
//! ```text
//! messages ──► Carrier (transport/) ──► Packet ──► Fabric ──► Packet ──► Carrier ──► arrivals
//!                at a host                │    link by link      ▲           at another host
//!                                         └► Program::transit ───┘
//!                                            at each switch, if switches compute
//! ```
//!
//! Links have a serialization and a latency, switches one queue for each output, of a size of its
//! own or sharing the memory of the switch. Queues drop what does not fit, mark what finds them
//! long, or have the sender paused. Packets are stored and forwarded; a link keeps their order
//! unless it is told to reorder. Times are whole picoseconds; what happens at the same time happens
//! in the order in which it was set off, so a run is the same wherever it is run. Chance is by link
//! and traversal.
//!
//! # Why it is fast
//!
//! - One event per packet and link: when the last bit of a packet leaves a queue is known when it
//!   joins it, so a queue is one number (`port.rs`); only pauses and shared memory need queues of
//!   packets (`queue.rs`), and both agree to the picosecond (but for the order of packets that
//!   arrive in the same one).
//! - A hop touches 16 bytes of the packet and the 64 of the port; the rest of the packet rests
//!   until its end (`arena.rs`).
//! - What happens next is found in a calendar that is read and written in cache lines
//!   (`calendar.rs`).
//! - Nothing is allocated per packet; a source makes a packet when its wire is free.
//!
//! # Programs at hosts and switches
//!
//! A transport is a [`Program`]: one value for all hosts, told about each packet that reaches a
//! host ([`Program::receive`]) and about its [timers](Program::timer). In-network aggregation is a
//! program too, with [`Program::AT_SWITCHES`] set: then [`Program::transit`] is asked about each
//! packet at each switch, and may let it pass, change it, keep it, or send others.
//!
//! - A host sends with [`Fabric::send`], along the route of [`Fabric::route`]. A host has to see to
//!   it that it does not send faster than its wire: packets wait in an endless queue, and
//!   [`Fabric::free_at`] tells when it is empty.
//! - A switch sends with [`Fabric::send_on`] on any of its links: [`Fabric::ways`] gives those
//!   towards a host, and [`Fabric::hashed_route`] lets the switches after it find the rest of the
//!   way. A multicast is one such call for each copy.
//! - Headers are `seq`, `ack`, `kind`, `flags` from [`PROGRAM_FLAGS`] on, and four words. What does
//!   not fit (vectors that are summed) is kept by the program, with its place in a word.
//! - Timers cannot be taken back: a program compares what it finds with what it meant.
//!
//! [`Carrier`] adds messages to a program, [`Simulation`] runs one, [`simulate`] does all of it for
//! a list of messages; [`PacketNetwork`] is for those who decide at run time what they want.

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
