//! Statistics of links: traffic, queue lengths, pauses, deadlocks.

use super::super::link_counters::{FaultCounters, LinkCounters, LinkTraffic};
use super::super::queue::PortQueues;
use super::Fabric;
use crate::engine::Picoseconds;
use crate::topology::LinkId;

impl Fabric<'_> {
    /// Links that are paused while packets wait for them. Without pending events these pauses are a
    /// deadlock.
    pub fn stuck(&self) -> Vec<LinkId> {
        self.port_queues.iter().flat_map(PortQueues::stuck).collect()
    }

    /// Counters of every link.
    pub fn traffic(&mut self) -> Vec<LinkTraffic> {
        (0..self.ports.len() as u32).map(|link| self.link_traffic(link, self.now)).collect()
    }

    /// The same since the last call, up to a time before which no event is pending.
    pub fn take_traffic(&mut self, until: Picoseconds) -> Vec<LinkTraffic> {
        let until = until.max(self.now);
        let traffic = (0..self.ports.len() as u32).map(|link| self.link_traffic(link, until)).collect();
        for link in 0..self.ports.len() as u32 {
            let queued = self.queued_bytes(link, until);
            self.counters[link as usize] = LinkCounters { queued, ..LinkCounters::default() };
        }
        self.ports.iter_mut().for_each(|port| (port.bytes, port.packets) = (0, 0));
        self.fault_counters.iter_mut().for_each(FaultCounters::forget);
        self.queues.forget();
        self.port_queues.iter_mut().for_each(PortQueues::forget);
        traffic
    }

    /// Bytes in a queue at a time, with the part of the present packet that is not on the wire yet.
    fn queued_bytes(&self, link: u32, at: Picoseconds) -> u64 {
        let port = &self.ports[link as usize];
        let waiting = self.port_queues.as_ref().map_or(0, |port_queues| port_queues.line(link).waiting);
        port.bytes_in(port.backlog(at).saturating_add(waiting))
    }

    fn link_traffic(&mut self, link: u32, until: Picoseconds) -> LinkTraffic {
        let queued = self.queued_bytes(link, until);
        let (port, counters) = (&self.ports[link as usize], &self.counters[link as usize]);
        let fault_counters = self.fault_counters.get(link as usize).copied().unwrap_or_default();
        let mut queue = |share| self.queues.quantile(link, share).map(|queue| port.bytes_in(queue));
        let line = self.port_queues.as_ref().map(|port_queues| port_queues.line(link));
        LinkTraffic {
            bytes: port.bytes,
            carried: (counters.queued + port.bytes).saturating_sub(queued),
            packets: port.packets,
            drops: counters.drops,
            dropped_bytes: counters.dropped_bytes,
            losses: fault_counters.losses,
            lost_bytes: fault_counters.lost_bytes,
            duplicates: fault_counters.duplicates,
            duplicate_bytes: fault_counters.duplicate_bytes,
            marks: counters.marks,
            queue_median: queue(0.5),
            queue_p99: queue(0.99),
            queue_max: queue(1.0),
            pauses: line.map_or(0, |line| line.pauses),
            paused_ps: line.map_or(0, |line| line.paused_ps),
        }
    }
}
