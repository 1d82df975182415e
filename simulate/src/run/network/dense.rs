//! Loads of dense phases, whose pairs are too many to keep their routes.
//!
//! A router that [repeats](crate::routing::Router::repeats) walks each route when it is needed:
//! once for the loads, once more for the pairs that send over the most loaded links. Hosts of one
//! switch share a walk where the router forgets the source. Any other router is asked in parts, in
//! the order of the pairs, with the loads so far.

use phaseflow_collect::Result;
use phaseflow_collect::trace::Rank;

use super::{Network, RouteQuery};
use crate::demand::{PairDemand, Turn, decimal_places};
use crate::routing::{HostDemand, RouteRequest, Routes};
use crate::run::senders::{FirstPairs, Senders};
use crate::topology::{HostId, LinkId, Topology};
use crate::traffic::LinkShare;

/// Pairs of ranks from which a phase is dense: the list of its pairs and their routes would take
/// 100 MB.
pub(in crate::run) const DENSE: usize = 1 << 20;

/// Pairs that are routed at once: 30 MB of demands and routes.
const PART: usize = 1 << 18;

/// The pairs of a phase, without a list of them.
pub(in crate::run) struct DensePairs<'q> {
    query: &'q RouteQuery<'q>,
    of_rank: &'q [u32],
    /// By host number within the job: its ranks, ascending.
    ranks: Vec<Vec<u32>>,
    /// By rank: its place in the order of decimal digits.
    places: Vec<u32>,
    /// Hosts by number within the job.
    groups: Vec<Group>,
}

/// Hosts whose routes are alike after the first link.
struct Group {
    hosts: Vec<u32>,
    /// False if their routes differ from the first link on: a single host.
    is_shared: bool,
}

/// Scratch memory of [`DensePairs::each_route`].
#[derive(Default)]
struct Room {
    demands: Vec<HostDemand>,
    routes: Routes,
    /// By destination: bytes and rank pairs from the present group.
    row: Vec<(u64, u32)>,
    touched: Vec<u32>,
}

impl<'q> DensePairs<'q> {
    /// `forgets_source`: that of the router.
    pub(in crate::run) fn new(
        topology: &Topology,
        query: &'q RouteQuery<'q>,
        of_rank: &'q [u32],
        forgets_source: bool,
    ) -> Self {
        let mut ranks = vec![Vec::new(); query.hosts.len()];
        for (rank, host) in (0..).zip(of_rank) {
            ranks[*host as usize].push(rank);
        }
        let mut places = Vec::new();
        decimal_places(of_rank.len(), &mut places);
        let mut groups: Vec<Group> = Vec::new();
        let mut of_switch = vec![None; topology.switch_count()];
        for (number, host) in (0..).zip(query.hosts) {
            let switch = only_link(topology, *host).and_then(|link| topology.switch_after(link));
            let switch = switch.filter(|_| forgets_source);
            match switch.and_then(|switch| of_switch[switch]) {
                Some(group) => {
                    let group: &mut Group = &mut groups[group];
                    group.hosts.push(number);
                }
                None => {
                    switch.into_iter().for_each(|switch| of_switch[switch] = Some(groups.len()));
                    groups.push(Group { hosts: vec![number], is_shared: switch.is_some() });
                }
            }
        }
        Self { query, of_rank, ranks, places, groups }
    }

    fn host(&self, number: u32) -> HostId {
        self.query.hosts[number as usize]
    }

    /// The demand of two hosts, and its place in the order of equal ones.
    fn pair(&self, src: u32, dst: u32) -> Option<(PairDemand, Turn)> {
        let mut found: Option<(PairDemand, Turn)> = None;
        for rank in &self.ranks[src as usize] {
            for to in &self.ranks[dst as usize] {
                let Some(cell) = self.query.matrix.get(Rank(*rank), Rank(*to)) else { continue };
                let turn = (self.places[*rank as usize], *to);
                let (pair, first) = found.get_or_insert((PairDemand { src, dst, bytes: 0, flows: 0 }, turn));
                pair.bytes += cell.bytes;
                pair.flows = pair.flows.saturating_add(1);
                *first = turn.min(*first);
            }
        }
        found
    }

    /// Calls `each` with every group and destination, the bytes and rank pairs of the hosts of the
    /// group together, and the route of one of them.
    fn each_route(
        &self,
        network: &mut Network<'_>,
        mut each: impl FnMut(&mut Network<'_>, &Group, (u32, u64, u32), &[LinkId]),
    ) -> Result<()> {
        let mut room = Room { row: vec![(0, 0); self.query.hosts.len()], ..Room::default() };
        for group in &self.groups {
            self.gather(group, &mut room);
            room.demands.clear();
            for dst in &room.touched {
                // The group has a host other than the destination, which sends to it.
                let src = group.hosts.iter().find(|host| *host != dst).copied().unwrap_or_default();
                let (bytes, flows) = room.row[*dst as usize];
                let (src, dst) = (self.host(src), self.host(*dst));
                room.demands.push(HostDemand { src, dst, bytes, load: 0.0, flows });
            }
            room.routes.clear();
            let request = RouteRequest {
                topology: network.topology,
                demands: &room.demands,
                link_load: network.loads.load(),
                job: self.query.job,
                phase: self.query.phase,
                placement: self.query.placement,
                matrix: self.query.matrix,
            };
            network.router.borrow_mut().route(&request, &mut room.routes)?;
            for ((dst, demand), route) in room.touched.iter().zip(&room.demands).zip(room.routes.iter()) {
                each(network, group, (*dst, demand.bytes, demand.flows), route);
            }
            room.touched.drain(..).for_each(|dst| room.row[dst as usize] = (0, 0));
        }
        Ok(())
    }

    /// Adds up what the hosts of a group send, by destination.
    fn gather(&self, group: &Group, room: &mut Room) {
        for host in &group.hosts {
            for rank in &self.ranks[*host as usize] {
                for cell in self.query.matrix.row(Rank(*rank)) {
                    let dst = self.of_rank[cell.dst.0 as usize];
                    if dst == *host {
                        continue;
                    }
                    let (bytes, flows) = &mut room.row[dst as usize];
                    if *flows == 0 {
                        room.touched.push(dst);
                    }
                    *bytes += cell.bytes;
                    *flows = flows.saturating_add(1);
                }
            }
        }
    }

    /// Bytes and rank pairs that leave a host.
    fn leaves(&self, host: u32) -> (u64, u32) {
        let cells = self.ranks[host as usize].iter().flat_map(|rank| self.query.matrix.row(Rank(*rank)));
        let far = cells.filter(|cell| self.of_rank[cell.dst.0 as usize] != host);
        far.fold((0, 0), |(bytes, flows): (u64, u32), cell| (bytes + cell.bytes, flows.saturating_add(1)))
    }

    /// Bytes of all pairs by link.
    pub(in crate::run) fn shares(
        &self,
        network: &mut Network<'_>,
        shares: &mut Vec<LinkShare>,
    ) -> Result<()> {
        self.each_route(network, |network, group, (_, bytes, flows), route| {
            for link in &route[usize::from(group.is_shared)..] {
                network.sum.add(*link, bytes, flows);
            }
        })?;
        for group in self.groups.iter().filter(|group| group.is_shared) {
            for host in &group.hosts {
                let (bytes, flows) = self.leaves(*host);
                if let Some(link) = only_link(network.topology, self.host(*host)).filter(|_| flows > 0) {
                    network.sum.add(link, bytes, flows);
                }
            }
        }
        let (quantum, divisor) = (network.quantum, self.query.divisor);
        network.sum.finish(|bytes| quantum.round(bytes as f64 / divisor), shares);
        Ok(())
    }

    /// The pairs that send over the most loaded links.
    pub(in crate::run) fn senders(&self, network: &mut Network<'_>, shares: &[LinkShare]) -> Result<Senders> {
        let topology = network.topology;
        let mut senders = Senders::of_most_loaded(topology, shares);
        let mut is_kept = vec![false; topology.link_count()];
        senders.links().for_each(|link| is_kept[link.0 as usize] = true);
        let node = |host: u32| topology.host(self.host(host));
        let mut offer = |link: LinkId, src: u32, dst: u32| {
            if let Some((pair, turn)) = self.pair(src, dst).filter(|_| src != dst) {
                senders.offer(link, || (node(src), node(dst)), pair.bytes, turn);
            }
        };
        self.each_route(network, |network, group, (dst, ..), route| {
            for link in route[usize::from(group.is_shared)..].iter().filter(|link| is_kept[link.0 as usize]) {
                group.hosts.iter().for_each(|src| offer(*link, *src, dst));
            }
            if group.is_shared {
                for src in &group.hosts {
                    let link = only_link(network.topology, self.host(*src));
                    if let Some(link) = link.filter(|link| is_kept[link.0 as usize]) {
                        offer(link, *src, dst);
                    }
                }
            }
        })?;
        Ok(senders)
    }
}

/// The link by which a host leaves, if it has no choice.
fn only_link(topology: &Topology, host: HostId) -> Option<LinkId> {
    match topology.outgoing(topology.host(host)) {
        [only] => Some(*only),
        _ => None,
    }
}

impl Network<'_> {
    /// Bytes of all pairs by link, with a router that is asked in parts; `first` learns which pairs
    /// use a link.
    pub(in crate::run) fn shares_in_parts(
        &mut self,
        query: &RouteQuery<'_>,
        shares: &mut Vec<LinkShare>,
        mut first: Option<&mut FirstPairs>,
    ) -> Result<()> {
        let mut load = self.loads.load().to_vec();
        let mut routes = Routes::default();
        for (part, pairs) in query.pairs.chunks(PART).enumerate() {
            self.set_demands(query, pairs);
            routes.clear();
            let request = RouteRequest {
                topology: self.topology,
                demands: &self.demands,
                link_load: &load,
                job: query.job,
                phase: query.phase,
                placement: query.placement,
                matrix: query.matrix,
            };
            self.router.borrow_mut().route(&request, &mut routes)?;
            for (i, ((pair, demand), route)) in pairs.iter().zip(&self.demands).zip(routes.iter()).enumerate()
            {
                for link in route {
                    load[link.0 as usize] += demand.load;
                    self.sum.add(*link, pair.bytes, pair.flows);
                    if let Some(first) = &mut first {
                        first.note(*link, part * PART + i);
                    }
                }
            }
        }
        let (quantum, divisor) = (self.quantum, query.divisor);
        self.sum.finish(|bytes| quantum.round(bytes as f64 / divisor), shares);
        Ok(())
    }
}
