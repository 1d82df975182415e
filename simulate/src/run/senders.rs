//! Senders: the pairs of hosts with most bytes on the most loaded links of a phase.

use rustc_hash::FxHashMap;

use crate::demand::PairDemand;
use crate::result::Sender;
use crate::topology::{HostId, LinkId, Topology};
use crate::traffic::LinkShare;

/// Pairs kept per link: three show whether one, a few or many pairs load it.
const KEPT: usize = 3;
/// Least bytes / capacity of a link that is kept, as part of the highest. A replay rounds bytes, so
/// any of these links may be its bottleneck. A distance of half and of double changes no sender of
/// the 124 phases of the recordings in tests/data.
const NEAR: f64 = 0.99;
/// Most links that are kept, the most loaded ones; it bounds the memory of a phase whose links are
/// all alike. Half and double change no sender of the same phases.
const LINKS: usize = 64;

/// By link, the pairs of hosts whose routes contain it, those with the most bytes first, ties in
/// the order of the pairs.
#[derive(Debug, Default)]
pub(super) struct Senders(FxHashMap<LinkId, Vec<Sender>>);

impl Senders {
    /// Senders over the links that carry the most of `shares`. `hosts` are those of the job by
    /// number, `route` gives the links of pair i.
    pub(super) fn new<'r>(
        topology: &Topology,
        shares: &[LinkShare],
        pairs: &[PairDemand],
        route: impl Fn(usize) -> &'r [LinkId],
        hosts: &[HostId],
    ) -> Self {
        let ratio = |share: &LinkShare| share.bytes as f64 / topology.link(share.link).capacity;
        let most = shares.iter().map(ratio).fold(0.0, f64::max);
        let mut near: Vec<&LinkShare> = shares.iter().filter(|share| ratio(share) >= NEAR * most).collect();
        near.sort_by(|a, b| ratio(b).total_cmp(&ratio(a)));
        near.truncate(LINKS);
        let mut kept: FxHashMap<LinkId, Vec<Sender>> =
            near.into_iter().map(|share| (share.link, Vec::with_capacity(KEPT + 1))).collect();
        let node = |host: u32| topology.host(hosts[host as usize]);
        for (i, pair) in pairs.iter().enumerate() {
            for link in route(i) {
                let Some(senders) = kept.get_mut(link) else { continue };
                if senders.get(KEPT - 1).is_some_and(|least| pair.bytes <= least.bytes) {
                    continue;
                }
                let place = senders.partition_point(|other| other.bytes >= pair.bytes);
                senders.insert(place, Sender { src: node(pair.src), dst: node(pair.dst), bytes: pair.bytes });
                senders.truncate(KEPT);
            }
        }
        Self(kept)
    }

    /// The pairs of a link; empty if it is not among the most loaded ones.
    pub(super) fn of(&mut self, link: LinkId) -> Vec<Sender> {
        self.0.remove(&link).unwrap_or_default()
    }
}
