//! A network without sharing: the lower bound that better routing and more links can reach.

use rustc_hash::FxHashMap;

use super::transport::Transport;
use crate::engine::{EventQueue, Picoseconds};
use crate::topology::{HostId, LinkId, Topology};
use crate::units::PS_PER_BYTE;

/// Each message takes the latency of its route plus its bytes over the least capacity there, for
/// any other traffic.
///
/// Switches add their latency each. A pair of hosts without a route has none of these costs:
/// [`route`](Self::route) has to be called before the first message of a pair.
#[derive(Clone, Debug, Default)]
pub struct Ideal {
    pairs: FxHashMap<(u32, u32), Cost>,
    queue: EventQueue<u32>,
    memory: Cost,
    /// Latency alone: a network without limits to its capacity.
    pub infinite: bool,
}

/// Of one route.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) latency_ps: Picoseconds,
    ps_per_byte: f64,
}

impl Cost {
    /// Of a route through `links`.
    pub(crate) fn of(topology: &Topology, links: &[LinkId]) -> Self {
        let mut latency_ps: Picoseconds = 0;
        let mut least = f64::INFINITY;
        for link in links {
            let link = topology.link(*link);
            latency_ps = latency_ps.saturating_add(link.latency_ps);
            least = least.min(link.capacity);
        }
        let switches = (links.len() as u64).saturating_sub(1);
        latency_ps = latency_ps.saturating_add(topology.switch_latency_ps().saturating_mul(switches));
        // Picoseconds of a byte at the least capacity.
        Self { latency_ps, ps_per_byte: PS_PER_BYTE / least }
    }

    /// The time of a message of `bytes`, to the nearest picosecond.
    pub(crate) fn time(&self, bytes: u64) -> Picoseconds {
        self.latency_ps.saturating_add((bytes as f64 * self.ps_per_byte).round() as u64)
    }
}

impl Ideal {
    /// Messages from `src` to `dst` go through `links` from now on.
    pub fn route(&mut self, topology: &Topology, src: HostId, dst: HostId, links: &[LinkId]) {
        self.pairs.insert((src.0, dst.0), Cost::of(topology, links));
    }

    /// True if a pair of hosts has a route.
    pub fn has_route(&self, src: HostId, dst: HostId) -> bool {
        self.pairs.contains_key(&(src.0, dst.0))
    }

    /// Messages within one host have a rate of their own, Gbit/s.
    pub fn memory(&mut self, gbps: f64) {
        self.memory = Cost { latency_ps: 0, ps_per_byte: PS_PER_BYTE / gbps };
    }

    /// The time of a message that is alone in the network.
    pub fn alone(&self, src: HostId, dst: HostId, bytes: u64) -> Picoseconds {
        let between = self.pairs.get(&(src.0, dst.0)).copied().unwrap_or_default();
        let cost = if src == dst { self.memory } else { between };
        if self.infinite { cost.latency_ps } else { cost.time(bytes) }
    }
}

impl Transport for Ideal {
    fn start(&mut self, now: Picoseconds, src: HostId, dst: HostId, bytes: u64, key: u32) {
        self.queue.push(now.saturating_add(self.alone(src, dst, bytes)), key);
    }

    fn next(&mut self, _: Picoseconds) -> Option<Picoseconds> {
        self.queue.peek_time()
    }

    /// No lower bound of a sum is known, so it takes no time.
    fn contribute(&mut self, now: Picoseconds, _: u32, _: u32, _: u64, key: u32) {
        self.queue.push(now, key);
    }

    fn advance(&mut self, to: Picoseconds, finished: &mut Vec<u32>) {
        while self.queue.peek_time().is_some_and(|time| time <= to) {
            finished.extend(self.queue.pop().map(|(_, key)| key));
        }
    }
}
