//! The packet model.

mod arena;
mod calendar;
mod chance;
mod fabric;
mod histogram;
mod ledger;
mod options;
mod port;
mod program;
mod routes;
mod simulation;
mod store;
#[cfg(test)]
mod tests;
pub mod transport;

pub use arena::{ECN_CAPABLE, ECN_MARKED, PROGRAM_FLAGS, Packet};
pub use fabric::Fabric;
pub use ledger::LinkTraffic;
pub use options::{FabricOptions, Marking, Pause};
pub use program::{Program, Timer, Verdict};
pub use routes::Paths;
pub use simulation::{Carrier, Message, Simulation};

/// Bytes for which a frame of `frame` bytes (without frame check sequence) occupies an Ethernet link: at least 60, and 24 for check
/// sequence, preamble and the gap between packets (IEEE 802.3).
#[inline]
pub fn wire_bytes(frame: u32) -> u32 {
    frame.max(60).saturating_add(24)
}
