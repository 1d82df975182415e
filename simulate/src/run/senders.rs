//! Senders: the pairs of hosts with most bytes on the most loaded links of a phase.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use crate::demand::{PairDemand, Turn};
use crate::result::Sender;
use crate::topology::{HostId, LinkId, NodeId, Topology};
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
pub(super) struct Senders(FxHashMap<LinkId, Vec<Kept>>);

/// A pair, and its place among those of equal bytes.
#[derive(Clone, Copy, Debug)]
struct Kept {
    sender: Sender,
    turn: Turn,
}

/// The first pairs of each link. Of pairs that come with the most bytes first, they are those that
/// are kept.
#[derive(Debug)]
pub(super) struct FirstPairs(Vec<[u32; KEPT]>);

/// No pair.
const NO_PAIR: u32 = u32::MAX;

impl FirstPairs {
    pub(super) fn new(links: usize) -> Self {
        Self(vec![[NO_PAIR; KEPT]; links])
    }

    /// A pair sends over a link; pairs come in order.
    #[inline]
    pub(super) fn note(&mut self, link: LinkId, pair: usize) {
        let kept = &mut self.0[link.0 as usize];
        if let Some(free) = kept.iter_mut().find(|kept| **kept == NO_PAIR) {
            *free = pair as u32; // pairs are numbered in 32 bits
        }
    }
}

impl Senders {
    /// No senders yet over the links that carry the most of `shares`.
    pub(super) fn of_most_loaded(topology: &Topology, shares: &[LinkShare]) -> Self {
        let ratio = |share: &LinkShare| share.bytes as f64 / topology.link(share.link).capacity;
        let most = shares.iter().map(ratio).fold(0.0, f64::max);
        let mut near: Vec<&LinkShare> = shares.iter().filter(|share| ratio(share) >= NEAR * most).collect();
        near.sort_by(|a, b| ratio(b).total_cmp(&ratio(a)));
        near.truncate(LINKS);
        Self(near.into_iter().map(|share| (share.link, Vec::with_capacity(KEPT + 1))).collect())
    }

    /// Senders over the links that carry the most of `shares`. `hosts` are those of the job by
    /// number, `route` gives the links of pair i.
    pub(super) fn new<'r>(
        topology: &Topology,
        shares: &[LinkShare],
        pairs: &[PairDemand],
        route: impl Fn(usize) -> &'r [LinkId],
        hosts: &[HostId],
    ) -> Self {
        let mut senders = Self::of_most_loaded(topology, shares);
        let node = |host: u32| topology.host(hosts[host as usize]);
        for (i, pair) in pairs.iter().enumerate() {
            for link in route(i) {
                senders.offer(*link, || (node(pair.src), node(pair.dst)), pair.bytes, (0, i as u32));
            }
        }
        senders
    }

    /// The same from the first pairs of each link.
    pub(super) fn of_first(
        topology: &Topology,
        shares: &[LinkShare],
        pairs: &[PairDemand],
        first: &FirstPairs,
        hosts: &[HostId],
    ) -> Self {
        let mut senders = Self::of_most_loaded(topology, shares);
        let links: Vec<LinkId> = senders.links().collect();
        let node = |host: u32| topology.host(hosts[host as usize]);
        for link in links {
            for i in first.0[link.0 as usize].into_iter().filter(|pair| *pair != NO_PAIR) {
                let pair = &pairs[i as usize];
                senders.offer(link, || (node(pair.src), node(pair.dst)), pair.bytes, (0, i));
            }
        }
        senders
    }

    /// The links whose senders are kept.
    pub(super) fn links(&self) -> impl Iterator<Item = LinkId> + '_ {
        self.0.keys().copied()
    }

    /// A pair sends over a link; `turn` orders pairs of equal bytes.
    #[inline]
    pub(super) fn offer(
        &mut self,
        link: LinkId,
        ends: impl FnOnce() -> (NodeId, NodeId),
        bytes: u64,
        turn: Turn,
    ) {
        let Some(kept) = self.0.get_mut(&link) else { return };
        let key = |kept: &Kept| (Reverse(kept.sender.bytes), kept.turn);
        if kept.get(KEPT - 1).is_some_and(|last| (Reverse(bytes), turn) >= key(last)) {
            return;
        }
        let (src, dst) = ends();
        let place = kept.partition_point(|other| key(other) < (Reverse(bytes), turn));
        kept.insert(place, Kept { sender: Sender { src, dst, bytes }, turn });
        kept.truncate(KEPT);
    }

    /// The pairs of a link; empty if it is not among the most loaded ones.
    pub(super) fn of(&mut self, link: LinkId) -> Vec<Sender> {
        let kept = self.0.remove(&link).unwrap_or_default();
        kept.into_iter().map(|kept| kept.sender).collect()
    }
}
