//! A network without sharing: the lower bound that better routing and more links can reach.

use super::message_routes::MessageRoutes;
use super::transport::Transport;
use crate::engine::{EventQueue, Picoseconds};
use crate::routing::Routes;
use crate::topology::{HostId, LinkId, Topology};
use crate::units::PS_PER_BYTE;

/// Each message takes the latency of its route plus its bytes over the least capacity there, for
/// any other traffic.
///
/// Switches add their latency each. A pair of hosts without a route has none of these costs.
#[derive(Debug)]
pub struct Ideal<'a> {
    topology: &'a Topology,
    routes: MessageRoutes,
    queue: EventQueue<u32>,
    memory: Cost,
    /// Latency alone: a network without limits to its capacity.
    is_infinite: bool,
    /// Bytes of headers that go with each byte of a message.
    headers: f64,
    /// Room for the route of a message.
    room: Routes,
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

impl<'a> Ideal<'a> {
    /// An empty network; messages within one host have a rate of their own in Gbit/s, or take no
    /// time.
    pub fn new(topology: &'a Topology, routes: MessageRoutes, memory_gbps: Option<f64>) -> Self {
        let memory = memory_gbps
            .map(|gbps| Cost { latency_ps: 0, ps_per_byte: PS_PER_BYTE / gbps })
            .unwrap_or_default();
        let queue = EventQueue::default();
        Self { topology, routes, queue, memory, is_infinite: false, headers: 0.0, room: Routes::default() }
    }

    /// The same without limits to the capacity of links: messages take their latency alone.
    pub fn infinite(self) -> Self {
        Self { is_infinite: true, ..self }
    }

    /// The same where bytes of headers go with each byte of a message between hosts.
    pub fn with_headers(self, headers: f64) -> Self {
        Self { headers, ..self }
    }

    /// The time of a message that is alone in the network.
    fn alone(&mut self, src: HostId, dst: HostId, bytes: u64) -> Picoseconds {
        let cost = if src == dst { self.memory } else { self.between(src, dst) };
        if self.is_infinite { cost.latency_ps } else { cost.time(bytes) }
    }

    fn between(&mut self, src: HostId, dst: HostId) -> Cost {
        self.room.clear();
        // The network of the model has asked for the same route, and would have failed.
        let _ = self.routes.append(self.topology, (src, dst), &mut self.room);
        let links = self.room.iter().next().filter(|links| !links.is_empty());
        let mut cost = links.map(|links| Cost::of(self.topology, links)).unwrap_or_default();
        cost.ps_per_byte *= 1.0 + self.headers;
        cost
    }
}

impl Transport for Ideal<'_> {
    fn start(&mut self, now: Picoseconds, src: HostId, dst: HostId, bytes: u64, key: u32) {
        let time = self.alone(src, dst, bytes);
        self.queue.push(now.saturating_add(time), key);
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
