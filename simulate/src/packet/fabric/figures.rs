//! What can be asked about links.

use super::super::ledger::{Ledger, LinkTraffic, Mishaps};
use super::super::store::Store;
use super::Fabric;
use crate::topology::LinkId;

impl Fabric<'_> {
    /// Links that are paused while packets wait for them. If nothing is pending, these pauses wait for each other: a deadlock.
    pub fn stuck(&self) -> Vec<LinkId> {
        self.store.iter().flat_map(Store::stuck).collect()
    }

    /// What every link carried.
    pub fn traffic(&mut self) -> Vec<LinkTraffic> {
        (0..self.ports.len() as u32).map(|link| self.link_traffic(link)).collect()
    }

    /// The same since the last time that this was asked.
    pub fn take_traffic(&mut self) -> Vec<LinkTraffic> {
        let traffic = self.traffic();
        self.ports.iter_mut().for_each(|port| (port.bytes, port.packets) = (0, 0));
        self.ledgers.fill(Ledger::default());
        self.mishaps.iter_mut().for_each(Mishaps::forget);
        self.queues.forget();
        self.store.iter_mut().for_each(Store::forget);
        traffic
    }

    fn link_traffic(&mut self, link: u32) -> LinkTraffic {
        let (port, ledger) = (&self.ports[link as usize], &self.ledgers[link as usize]);
        let mishaps = self.mishaps.get(link as usize).copied().unwrap_or_default();
        let mut queue = |share| self.queues.quantile(link, share).map(|queue| port.bytes_in(queue));
        let line = self.store.as_ref().map(|store| store.line(link));
        LinkTraffic {
            bytes: port.bytes,
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
