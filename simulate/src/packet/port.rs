//! The sending end of a link: a queue, a serializer, a wire.
//!
//! A FIFO queue without pauses needs no list: the time at which a packet's last bit leaves is known
//! when it joins, so its arrival at the other end is scheduled at once. The queue is one number,
//! the time at which the serializer is idle again, and one event per packet and link is enough.

use phaseflow_collect::{Error, Result};

use crate::engine::Picoseconds;
use crate::topology::{LinkId, Topology};

use super::arena::NONE;
use crate::units::PS_PER_BYTE;

/// The data that a packet uses when it joins a queue: one cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Port {
    /// The time at which the whole queue is on the wire.
    pub(super) free_at: Picoseconds,
    /// Serialization of one byte in 2⁻²⁰ ps.
    rate: u64,
    /// Propagation, and the time in the switch at the other end.
    pub(super) latency: Picoseconds,
    /// Longest queue, as its time of serialization.
    pub(super) capacity: Picoseconds,
    /// Longer queues mark.
    pub(super) mark: Picoseconds,
    /// The host at the other end, or [`NONE`].
    pub(super) host: u32,
    /// The node at the other end.
    pub(super) node: u32,
    /// Bytes that the queue accepted.
    pub(super) bytes: u64,
    /// Packets that the queue accepted.
    pub(super) packets: u64,
}

/// Binary digits of [`Port::rate`] after the point: 2²⁰ parts of a picosecond err by less than 1 ps
/// in a message of 1 MiB.
const FRACTION: u32 = 20;

/// Slowest link, Gbit/s: 1 bit/s. A byte takes 8 s on it; the time of a packet on a slower one soon
/// exceeds the range of a [`Port`].
const SLOWEST: f64 = 1e-9;

/// Refuses links that are too slow for packets.
///
/// # Errors
/// The first one of them.
pub(crate) fn check_rates(topology: &Topology) -> Result<()> {
    let slow = |link: &LinkId| topology.link(*link).capacity < SLOWEST;
    let Some(link) = (0..topology.link_count() as u32).map(LinkId).find(slow) else { return Ok(()) };
    let name = |node| &topology.node(node).name;
    let (src, dst) = (name(topology.src(link)), name(topology.dst(link)));
    let capacity = topology.link(link).capacity;
    Err(Error::data(format!(
        "link `{src} → {dst}` has capacity {capacity}, packets need {SLOWEST} Gbit/s (1 bit/s) or more; the flow model does not"
    ))
    .at(topology.label()))
}

impl Port {
    /// The port of an idle link; `host` is the host at its other end.
    pub(super) fn new(topology: &Topology, link: LinkId, host: Option<u32>) -> Self {
        let spec = topology.link(link);
        let through = if host.is_none() { topology.switch_latency_ps() } else { 0 };
        let rate = PS_PER_BYTE / spec.capacity * f64::from(1 << FRACTION);
        Self {
            free_at: 0,
            rate: rate.round() as u64, // saturates
            latency: spec.latency_ps.saturating_add(through),
            capacity: Picoseconds::MAX,
            mark: Picoseconds::MAX,
            host: host.unwrap_or(NONE),
            node: topology.dst(link).0,
            bytes: 0,
            packets: 0,
        }
    }

    /// Time to put bytes on the wire, to the nearest picosecond.
    #[inline]
    pub(super) fn serialization(&self, bytes: u64) -> Picoseconds {
        // 64 bits suffice for whole buffers at usual rates.
        match bytes.checked_mul(self.rate) {
            Some(time) => time.saturating_add(1 << (FRACTION - 1)) >> FRACTION,
            None => {
                ((u128::from(bytes) * u128::from(self.rate)) >> FRACTION).min(u128::from(u64::MAX)) as u64
            }
        }
    }

    /// Bytes that are put on the wire in a time.
    pub(super) fn bytes_in(&self, time: Picoseconds) -> u64 {
        ((u128::from(time) << FRACTION) / u128::from(self.rate.max(1))).min(u128::from(u64::MAX)) as u64
    }

    /// Time of serialization of the queue.
    #[inline]
    pub(super) fn backlog(&self, now: Picoseconds) -> Picoseconds {
        self.free_at.saturating_sub(now)
    }
}
