//! Counts of packets in a phase.

use crate::link_bytes::LinkBytes;
use crate::packet::{AggregationReport, LinkTraffic};
use crate::result::{LinkPackets, PacketCounts};
use crate::topology::LinkId;
use crate::traffic::LinkShare;

/// Counts of packets: those of links since the last query, the others since the beginning.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) links: Vec<LinkTraffic>,
    pub(super) retransmits: u64,
    pub(super) report: AggregationReport,
}

/// Counts of a phase: its occurrences, or of one of them.
#[derive(Clone, Debug, Default)]
pub(super) struct PhasePackets {
    /// By link, those without packets left out.
    pub(super) links: Vec<(LinkId, LinkTraffic)>,
    pub(super) counts: PacketCounts,
}

impl PhasePackets {
    /// Between two readings of the counters of a network.
    pub(super) fn between(before: &Counts, after: Counts) -> Self {
        let links = (0..)
            .map(LinkId)
            .zip(after.links)
            .filter(|(_, link)| link.packets + link.drops + link.carried > 0);
        let links: Vec<(LinkId, LinkTraffic)> = links.collect();
        let sum = |part: fn(&LinkTraffic) -> u64| links.iter().map(|(_, link)| part(link)).sum();
        let (now, then) = (after.report, before.report);
        let counts = PacketCounts {
            hops: sum(|link| link.packets),
            drops: sum(|link| link.drops),
            losses: sum(|link| link.losses),
            marks: sum(|link| link.marks),
            pauses: sum(|link| link.pauses),
            retransmits: after.retransmits - before.retransmits,
            checked_sums: now.checked - then.checked,
            wrong_sums: now.wrong - then.wrong,
            fallbacks: now.fallbacks - then.fallbacks,
            duplicates: sum(|link| link.duplicates),
        };
        Self { links, counts }
    }

    /// The counts times a factor; queue lengths are unchanged.
    pub(super) fn scaled(&self, factor: f64) -> Self {
        let links = self.links.iter().map(|(link, traffic)| (*link, traffic.scaled(factor))).collect();
        Self { links, counts: self.counts.scaled(factor) }
    }

    /// Adds an occurrence. Queues are those of the worst one.
    pub(super) fn add(&mut self, other: &Self) {
        let mut links = Vec::with_capacity(self.links.len().max(other.links.len()));
        let mut own = self.links.iter().peekable();
        for (link, traffic) in &other.links {
            while let Some(before) = own.next_if(|(own, _)| own < link) {
                links.push(*before);
            }
            let mut sum = *traffic;
            if let Some((_, own)) = own.next_if(|(own, _)| own == link) {
                sum.add(own);
            }
            links.push((*link, sum));
        }
        links.extend(own);
        self.links = links;
        self.counts.add(&other.counts);
    }

    /// Bytes that links carried.
    pub(super) fn carried(&self) -> impl Iterator<Item = (LinkId, f64)> + '_ {
        self.links.iter().map(|(link, traffic)| (*link, traffic.carried as f64))
    }

    /// Packet counts of the links of [`shares`](Self::shares).
    pub(super) fn of_links(&self, shares: &[LinkShare]) -> Vec<LinkPackets> {
        let of = |link: LinkId| self.links.binary_search_by_key(&link, |(link, _)| *link);
        let traffic = |share: &LinkShare| {
            of(share.link).map_or_else(|_| LinkTraffic::default(), |place| self.links[place].1)
        };
        let row = |traffic: LinkTraffic| LinkPackets {
            packets: traffic.packets,
            drops: traffic.drops,
            losses: traffic.losses,
            marks: traffic.marks,
            queue_median: traffic.queue_median.unwrap_or(0),
            queue_p99: traffic.queue_p99.unwrap_or(0),
            queue_max: traffic.queue_max.unwrap_or(0),
            pauses: traffic.pauses,
            paused_ps: traffic.paused_ps,
            duplicates: traffic.duplicates,
        };
        shares.iter().map(traffic).map(row).collect()
    }

    /// Bytes of links, and links that dropped packets; `flows` are those of `asked`.
    pub(super) fn shares(&self, carried: &LinkBytes, asked: &[LinkShare]) -> Vec<LinkShare> {
        carried.shares(self.links.iter().map(|(link, _)| *link), asked)
    }

    /// Without bytes that links carried.
    pub(super) fn without_carried(mut self) -> Self {
        self.links.iter_mut().for_each(|(_, traffic)| traffic.carried = 0);
        self
    }
}
