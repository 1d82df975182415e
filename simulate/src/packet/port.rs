//! The sending end of a link: a queue, a serializer, a wire.
//!
//! A queue that nothing can stop or overtake needs no list: when a packet joins it, the time at
//! which its last bit leaves is known, and the packet can be put down at once as arriving at the
//! other end. The queue is then one number, the time at which the serializer will have worked it
//! off, and one event per packet and link is enough.

use phaseflow_collect::{Error, Result};

use crate::engine::Picoseconds;
use crate::topology::{LinkId, Topology};

use super::arena::NONE;
use crate::units::PS_PER_BYTE;

/// What a packet that joins a queue reads and writes: one cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Port {
    /// When everything in the queue is on the wire.
    pub(super) free_at: Picoseconds,
    /// Serialization of one byte in 2⁻²⁰ ps.
    rate: u64,
    /// Propagation, and the time in the switch at the other end.
    pub(super) latency: Picoseconds,
    /// Longest queue, as the time that it takes to work it off.
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

/// Binary digits of [`Port::rate`] after the point.
const FRACTION: u32 = 20;

/// Slowest link, Gbit/s: 1 bit/s. The time of a byte on a slower one is soon more than a [`Port`]
/// can count, and its packets take hours.
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
        // 64 bits do for whole buffers at usual rates.
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

    /// Time that the queue takes to be worked off.
    #[inline]
    pub(super) fn backlog(&self, now: Picoseconds) -> Picoseconds {
        self.free_at.saturating_sub(now)
    }
}
