//! What can be asked about links.

use super::super::ledger::{Ledger, LinkTraffic, Mishaps};
use super::super::store::Store;
use super::Fabric;
use crate::engine::Picoseconds;
use crate::topology::LinkId;

impl Fabric<'_> {
    /// Links that are paused while packets wait for them. If nothing is pending, these pauses wait for each other: a deadlock.
    pub fn stuck(&self) -> Vec<LinkId> {
        self.store.iter().flat_map(Store::stuck).collect()
    }

    /// What every link carried.
    pub fn traffic(&mut self) -> Vec<LinkTraffic> {
        (0..self.ports.len() as u32).map(|link| self.link_traffic(link, self.now)).collect()
    }

    /// The same up to a time at which nothing is left to happen before, since the last time that this was asked.
    pub fn take_traffic(&mut self, until: Picoseconds) -> Vec<LinkTraffic> {
        let until = until.max(self.now);
        let traffic = (0..self.ports.len() as u32).map(|link| self.link_traffic(link, until)).collect();
        for link in 0..self.ports.len() as u32 {
            let queued = self.queued_bytes(link, until);
            self.ledgers[link as usize] = Ledger { queued, ..Ledger::default() };
        }
        self.ports.iter_mut().for_each(|port| (port.bytes, port.packets) = (0, 0));
        self.mishaps.iter_mut().for_each(Mishaps::forget);
        self.queues.forget();
        self.store.iter_mut().for_each(Store::forget);
        traffic
    }

    /// Bytes that a queue holds at a time, those of a packet that is being sent as far as they are not on the wire.
    fn queued_bytes(&self, link: u32, at: Picoseconds) -> u64 {
        let port = &self.ports[link as usize];
        let waiting = self.store.as_ref().map_or(0, |store| store.line(link).waiting);
        port.bytes_in(port.backlog(at).saturating_add(waiting))
    }

    fn link_traffic(&mut self, link: u32, until: Picoseconds) -> LinkTraffic {
        let queued = self.queued_bytes(link, until);
        let (port, ledger) = (&self.ports[link as usize], &self.ledgers[link as usize]);
        let mishaps = self.mishaps.get(link as usize).copied().unwrap_or_default();
        let mut queue = |share| self.queues.quantile(link, share).map(|queue| port.bytes_in(queue));
        let line = self.store.as_ref().map(|store| store.line(link));
        LinkTraffic {
            bytes: port.bytes,
            carried: (ledger.queued + port.bytes).saturating_sub(queued),
            packets: port.packets,
            drops: ledger.drops,
            dropped_bytes: ledger.dropped_bytes,
            losses: mishaps.losses,
            lost_bytes: mishaps.lost_bytes,
            duplicates: mishaps.duplicates,
            duplicate_bytes: mishaps.duplicate_bytes,
            marks: ledger.marks,
            queue_median: queue(0.5),
            queue_p99: queue(0.99),
            queue_max: queue(1.0),
            pauses: line.map_or(0, |line| line.pauses),
            paused_ps: line.map_or(0, |line| line.paused_ps),
        }
    }
}
