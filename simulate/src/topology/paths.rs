//! Shortest paths towards a host as a DAG; paths are not enumerated.
//!
//! A switch at distance `d` from the destination may send to any neighbour at distance `d − c` over
//! a link of cost `c`, which is 1 unless the network says otherwise. Routing needs only these
//! *candidates* of each hop, for any number of paths: a three-level fat tree of 2 048 hosts has 256
//! between two hosts, a torus of 16³ millions. Distances to an attachment are computed together,
//! those to 64 attachments at once if several are used. Candidates of a switch are computed when a
//! route first passes it. Memory: 8 bytes per pair of a switch and an attachment that is routed to,
//! as most candidates are a range of the CSR; 8 more for numbers of paths.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use super::adjacency::Adjacency;
use super::search::{self, NONE};
use super::{HostId, LinkId, LinkSpec, NodeId, Topology};

/// Shortest paths: the attachments of hosts, and the results so far for each attachment.
#[derive(Clone, Debug)]
pub(super) struct PathTables {
    /// By node: number among the switches.
    switch: Vec<u32>,
    /// By switch: its node, and where the links that leave it begin in the outgoing adjacency.
    nodes: Vec<NodeId>,
    outgoing: Vec<u32>,
    /// By link: number of the switch it leads to.
    leads_to: Vec<u32>,
    /// By place in the incoming adjacency: number of the switch that the link comes from.
    before: Vec<u32>,
    /// By link: its cost; empty if all cost 1.
    costs: Vec<u32>,
    /// By host: its attachment.
    attachment: Vec<u32>,
    /// By attachment: the switches at the other end of the hosts' incoming links, ascending, once
    /// per link.
    attachments: Vec<Vec<u32>>,
    /// By host: true if it may have to choose between links at departure.
    multihomed: Vec<bool>,
    /// True if some link joins two hosts.
    back_to_back: bool,
    /// By block of attachments: number of single searches so far.
    searches: Arc<[AtomicU32]>,
    /// By attachment, then switch: links to the nearest switch of the attachment.
    distances: Vec<OnceLock<Vec<u32>>>,
    /// By attachment: candidates by switch.
    hops: Vec<OnceLock<Arc<Hops>>>,
    /// By attachment, then switch: number of shortest paths to the hosts.
    counts: Vec<OnceLock<Vec<f64>>>,
}

/// Candidates of each switch towards one attachment.
#[derive(Debug)]
struct Hops {
    attachment: u32,
    /// By switch: `UNKNOWN`, `SCATTERED`, or first and number of the links that leave it, 16 bits
    /// each. All threads write the same value, so no lock is needed.
    ranges: Vec<AtomicU32>,
    /// Candidates of switches for which they are no range of the adjacency.
    scattered: OnceLock<Scattered>,
}

/// Candidates one after the other.
#[derive(Debug)]
struct Scattered {
    /// By switch: where its candidates end.
    ends: Vec<u32>,
    links: Vec<LinkId>,
}

/// Attachments of a block that are searched one by one; the next one triggers the search of the
/// whole block. A search of 64 together costs a few single ones.
const FEW: u32 = 4;

/// Candidates that are not computed yet.
const UNKNOWN: u32 = u32::MAX;
/// Candidates that are kept in a list.
const SCATTERED: u32 = u32::MAX - 1;
/// Least number that does not fit into 16 bits of a range.
const MANY: u32 = u16::MAX as u32;

/// Cost of the shortest paths from anywhere to one host: the number of their links, if all cost 1.
#[derive(Clone, Copy, Debug)]
pub struct Distances<'a> {
    topology: &'a Topology,
    to: HostId,
    by_switch: &'a [u32],
}

/// The shortest-path DAG towards one host.
#[derive(Clone, Copy, Debug)]
pub struct ShortestPaths<'a> {
    topology: &'a Topology,
    to: HostId,
    hops: &'a Hops,
}

impl PathTables {
    /// Empty tables; `hosts` in order.
    pub(super) fn new(
        is_switch: &[bool],
        hosts: &[NodeId],
        (src, dst): (&[NodeId], &[NodeId]),
        links: &[LinkSpec],
        outgoing: &Adjacency,
        incoming: &Adjacency,
    ) -> Self {
        let mut nodes = Vec::new();
        let mut switch = vec![NONE; is_switch.len()];
        for (node, _) in is_switch.iter().enumerate().filter(|(_, is)| **is) {
            switch[node] = nodes.len() as u32;
            nodes.push(NodeId(node as u32));
        }
        let mut numbers: HashMap<Vec<u32>, u32> = HashMap::new();
        let mut attachments: Vec<Vec<u32>> = Vec::new();
        let mut last = 0;
        let mut ends = Vec::new();
        let attachment = hosts.iter().map(|host| {
            let links = incoming.of(*host).iter().map(|link| switch[src[link.0 as usize].0 as usize]);
            ends.clear();
            ends.extend(links.filter(|end| *end != NONE));
            ends.sort_unstable();
            // Hosts of one switch mostly follow each other.
            if attachments.get(last as usize) != Some(&ends) {
                last = *numbers.entry(ends.clone()).or_insert_with_key(|ends| {
                    attachments.push(ends.clone());
                    attachments.len() as u32 - 1
                });
            }
            last
        });
        let attachment = attachment.collect();
        let leads_to: Vec<u32> = dst.iter().map(|node| switch[node.0 as usize]).collect();
        let is_host = |node: NodeId| !is_switch[node.0 as usize];
        let from = |link: &LinkId| switch[src[link.0 as usize].0 as usize];
        Self {
            before: incoming.all().iter().map(from).collect(),
            costs: match links.iter().all(|link| link.cost == 1) {
                true => Vec::new(),
                false => links.iter().map(|link| link.cost).collect(),
            },
            multihomed: hosts.iter().map(|host| outgoing.of(*host).len() > 1).collect(),
            back_to_back: src.iter().zip(dst).any(|(src, dst)| is_host(*src) && is_host(*dst)),
            outgoing: nodes.iter().map(|node| outgoing.range(*node).0).collect(),
            searches: (0..attachments.len().div_ceil(search::PLACES)).map(|_| AtomicU32::new(0)).collect(),
            distances: vec![OnceLock::new(); attachments.len()],
            hops: vec![OnceLock::new(); attachments.len()],
            counts: vec![OnceLock::new(); attachments.len()],
            switch,
            nodes,
            leads_to,
            attachment,
            attachments,
        }
    }

    /// Number of switches.
    pub(super) fn switches(&self) -> usize {
        self.nodes.len()
    }
}

impl Topology {
    /// Number of switches.
    pub fn switch_count(&self) -> usize {
        self.paths.switches()
    }

    /// Number of the switch that a link leads to, among the switches; `None` if it leads to a host.
    pub fn switch_after(&self, link: LinkId) -> Option<usize> {
        let switch = self.paths.leads_to[link.0 as usize];
        (switch != NONE).then_some(switch as usize)
    }

    /// The node of a switch, by its number among the switches.
    pub fn switch(&self, number: usize) -> NodeId {
        self.paths.nodes[number]
    }

    /// The number of a switch among the switches; `None` for a host.
    pub fn switch_number(&self, node: NodeId) -> Option<usize> {
        let switch = self.paths.switch[node.0 as usize];
        (switch != NONE).then_some(switch as usize)
    }

    /// Distances to a host. The first call for an attachment takes time in proportion to the number
    /// of links.
    pub fn distances_to(&self, host: HostId) -> Distances<'_> {
        let by_switch = self.distances(self.paths.attachment[host.0 as usize]);
        Distances { topology: self, to: host, by_switch }
    }

    /// The shortest-path DAG towards a host. The first call for an attachment takes time in
    /// proportion to the number of links.
    #[inline]
    pub fn paths_to(&self, host: HostId) -> ShortestPaths<'_> {
        let attachment = self.paths.attachment[host.0 as usize];
        ShortestPaths { topology: self, to: host, hops: self.hops(attachment) }
    }

    /// The first two hosts without a path from the one to the other. Looks at all pairs, so it
    /// keeps no distances.
    pub(super) fn unreachable_pair(&self) -> Option<(NodeId, NodeId)> {
        let hosts = || (0..self.host_count() as u32).map(HostId);
        let mut known = (NONE, Vec::new());
        for to in hosts() {
            let attachment = self.paths.attachment[to.0 as usize];
            if known.0 != attachment {
                known = (attachment, self.find_distances(attachment));
            }
            let distances = Distances { topology: self, to, by_switch: &known.1 };
            let cut_off = hosts().map(|src| self.host(src)).find(|src| distances.from(*src).is_none());
            if let Some(src) = cut_off {
                return Some((src, self.host(to)));
            }
        }
        None
    }

    fn distances(&self, attachment: u32) -> &[u32] {
        let known = &self.paths.distances;
        let number = attachment as usize;
        if known[number].get().is_none() {
            let block = number / search::PLACES;
            let is_single = !self.paths.costs.is_empty()
                || self.paths.searches[block].fetch_add(1, Ordering::Relaxed) < FEW;
            if is_single {
                return known[number].get_or_init(|| self.find_distances(attachment));
            }
            let first = block * search::PLACES;
            let places = &self.paths.attachments[first..];
            let found = search::distances(self.switch_count(), places, |switch| self.before(switch));
            for (known, found) in known[first..].iter().zip(found) {
                // Another thread may have been first, with the same result.
                let _ = known.set(found);
            }
        }
        known[number].get_or_init(|| self.find_distances(attachment))
    }

    /// The switches with a link to a switch, by number; `NONE` for hosts.
    fn before(&self, switch: u32) -> &[u32] {
        let (start, end) = self.incoming.range(self.paths.nodes[switch as usize]);
        &self.paths.before[start as usize..end as usize]
    }

    /// Search against the links, from all switches of the attachment at once: breadth first if all
    /// links cost 1.
    fn find_distances(&self, attachment: u32) -> Vec<u32> {
        let tables = &self.paths;
        if !tables.costs.is_empty() {
            let starts = &tables.attachments[attachment as usize];
            return search::least_costs(tables.nodes.len(), starts, |switch| {
                let (start, end) = self.incoming.range(tables.nodes[switch as usize]);
                let links = &self.incoming.all()[start as usize..end as usize];
                let costs = links.iter().map(|link| tables.costs[link.0 as usize]);
                self.before(switch).iter().copied().zip(costs)
            });
        }
        let mut distances = vec![NONE; tables.nodes.len()];
        let mut queue: Vec<u32> = Vec::with_capacity(tables.nodes.len());
        queue.extend(&tables.attachments[attachment as usize]);
        queue.dedup();
        for switch in &queue {
            distances[*switch as usize] = 0;
        }
        let mut next = 0;
        while let Some(&switch) = queue.get(next) {
            next += 1;
            let further = distances[switch as usize] + 1;
            for before in self.before(switch) {
                // No switch has no distance.
                if let Some(distance) = distances.get_mut(*before as usize)
                    && *distance == NONE
                {
                    *distance = further;
                    queue.push(*before);
                }
            }
        }
        distances
    }

    fn hops(&self, attachment: u32) -> &Hops {
        self.paths.hops[attachment as usize].get_or_init(|| {
            let unknown = || AtomicU32::new(UNKNOWN);
            let ranges = std::iter::repeat_with(unknown).take(self.switch_count()).collect();
            Arc::new(Hops { attachment, ranges, scattered: OnceLock::new() })
        })
    }

    /// The links of a switch that lead to one that is nearer to the attachment, with their places
    /// among those that leave it.
    fn nearer<'a>(&'a self, switch: usize, distances: &'a [u32]) -> impl Iterator<Item = (u32, LinkId)> + 'a {
        let links = self.outgoing(self.switch(switch));
        // The attachment itself has no candidates, nor has a switch without a path.
        let distance = Some(distances[switch]).filter(|distance| *distance != NONE).unwrap_or(0);
        let after = move |link: &LinkId| distances.get(self.paths.leads_to[link.0 as usize] as usize);
        let cost = |link: &LinkId| self.paths.costs.get(link.0 as usize).copied().unwrap_or(1);
        let is_nearer = move |link: &LinkId| {
            after(link).is_some_and(|after| after.checked_add(cost(link)) == Some(distance))
        };
        (0..).zip(links.iter().copied()).filter(move |(_, link)| is_nearer(link))
    }

    /// The range of the candidates of a switch, which is stored.
    #[cold]
    fn find_range(&self, hops: &Hops, switch: usize) -> u32 {
        let (mut first, mut last, mut count) = (NONE, 0, 0);
        for (place, _) in self.nearer(switch, self.distances(hops.attachment)) {
            (first, last, count) = (first.min(place), place, count + 1);
        }
        let range = match count {
            0 => 0,
            _ if last - first < count && last < MANY => first << 16 | count,
            _ => SCATTERED,
        };
        hops.ranges[switch].store(range, Ordering::Relaxed);
        range
    }

    #[cold]
    fn find_scattered(&self, attachment: u32) -> Scattered {
        let distances = self.distances(attachment);
        let mut found = Scattered { ends: Vec::with_capacity(distances.len()), links: Vec::new() };
        for switch in 0..distances.len() {
            found.links.extend(self.nearer(switch, distances).map(|(_, link)| link));
            found.ends.push(found.links.len() as u32);
        }
        found
    }

    #[inline]
    fn candidates<'a>(&'a self, hops: &'a Hops, switch: usize) -> &'a [LinkId] {
        let mut range = hops.ranges[switch].load(Ordering::Relaxed);
        if range == UNKNOWN {
            range = self.find_range(hops, switch);
        }
        if range == SCATTERED {
            return hops.scattered.get_or_init(|| self.find_scattered(hops.attachment)).of(switch);
        }
        let first = self.paths.outgoing[switch] + (range >> 16);
        &self.outgoing.all()[first as usize..(first + (range & MANY)) as usize]
    }

    fn find_counts(&self, attachment: u32) -> Vec<f64> {
        let distances = self.distances(attachment);
        let mut counts = vec![0.0; distances.len()];
        for switch in &self.paths.attachments[attachment as usize] {
            counts[*switch as usize] += 1.0;
        }
        let hops = self.hops(attachment);
        let mut order: Vec<usize> = (0..counts.len()).filter(|switch| distances[*switch] != NONE).collect();
        order.sort_unstable_by_key(|switch| (distances[*switch], *switch));
        for switch in order.into_iter().filter(|switch| distances[*switch] > 0) {
            let after = |link: &LinkId| counts[self.paths.leads_to[link.0 as usize] as usize];
            counts[switch] = self.candidates(hops, switch).iter().map(after).sum();
        }
        counts
    }
}

impl Scattered {
    fn of(&self, switch: usize) -> &[LinkId] {
        let start = switch.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.links[start as usize..self.ends[switch] as usize]
    }
}

impl Distances<'_> {
    /// Cost of a shortest path from `node` through switches, the links of hosts at 1; 0 from the
    /// host itself, `None` if there is no path.
    pub fn from(&self, node: NodeId) -> Option<u32> {
        let tables = &self.topology.paths;
        if node == self.topology.host(self.to) {
            return Some(0);
        }
        let through =
            |switch: u32| Some(self.by_switch[switch as usize]).filter(|distance| *distance != NONE);
        if tables.switch[node.0 as usize] != NONE {
            return through(tables.switch[node.0 as usize]).map(|distance| distance + 1);
        }
        let step = |link: &LinkId| match tables.leads_to[link.0 as usize] {
            NONE => (self.topology.dst(*link) == self.topology.host(self.to)).then_some(1),
            switch => through(switch).map(|distance| distance + 2),
        };
        self.topology.outgoing(node).iter().filter_map(step).min()
    }
}

impl<'a> ShortestPaths<'a> {
    /// The links by which `src` may leave, none if there is no path. Hosts with several links need
    /// room for the answer.
    #[inline]
    pub fn departures<'s>(&self, src: HostId, room: &'s mut Vec<LinkId>) -> &'s [LinkId]
    where
        'a: 's,
    {
        let links = self.topology.outgoing(self.topology.host(src));
        if !self.topology.paths.multihomed[src.0 as usize] && !self.topology.paths.back_to_back {
            return links;
        }
        self.nearest(src, room)
    }

    /// Of several links those by which a host may leave.
    #[cold]
    fn nearest<'s>(&self, src: HostId, room: &'s mut Vec<LinkId>) -> &'s [LinkId] {
        let links = self.topology.outgoing(self.topology.host(src));
        let distances = self.topology.distances_to(self.to);
        let after = |link: &LinkId| match self.topology.switch_after(*link) {
            Some(switch) => distances.from(self.topology.switch(switch)),
            None => (self.topology.dst(*link) == self.topology.host(self.to)).then_some(0),
        };
        let nearest = links.iter().filter_map(after).min();
        room.clear();
        room.extend(links.iter().filter(|link| nearest.is_some() && after(link) == nearest));
        room
    }

    /// Number of the destination's attachment: destinations with the same one have the same
    /// candidates everywhere.
    #[inline]
    pub(crate) fn attachment(&self) -> usize {
        self.hops.attachment as usize
    }

    /// The links by which a switch (number among the switches) may forward; none where the host is
    /// next.
    #[inline]
    pub fn candidates(&self, switch: usize) -> &'a [LinkId] {
        self.topology.candidates(self.hops, switch)
    }

    /// The links by which a switch of the attachment may deliver: one, unless parallel links lead
    /// to the host.
    #[inline]
    pub fn deliveries(&self, switch: usize) -> &'a [LinkId] {
        let links = self.topology.incoming(self.topology.host(self.to));
        if links.len() == 1 {
            return links;
        }
        self.parallel(links, switch)
    }

    /// Of the links that lead to the host those that leave a switch.
    #[cold]
    fn parallel(&self, links: &'a [LinkId], switch: usize) -> &'a [LinkId] {
        let node = self.topology.switch(switch);
        let is_from = |link: &&LinkId| self.topology.src(**link) == node;
        let Some(first) = links.iter().position(|link| is_from(&link)) else { return &[] };
        let count = links[first..].iter().take_while(is_from).count();
        &links[first..first + count]
    }

    /// Number of shortest paths from each switch to the host, by number among the switches; links
    /// that run in parallel make different paths. Exact up to 2⁵³.
    pub fn counts(&self) -> &'a [f64] {
        let attachment = self.topology.paths.attachment[self.to.0 as usize];
        self.topology.paths.counts[attachment as usize].get_or_init(|| self.topology.find_counts(attachment))
    }
}

#[cfg(test)]
mod tests {
    use crate::topology::{HostId, TopologyChoice, TopologyOptions, topology};

    /// Distances of the first that are asked for, and of those that are found together.
    #[test]
    fn distances_do_not_depend_on_how_they_are_found() {
        for text in ["xgft[m=4:4:3,w=1:2:2]", "torus[dims=9x9]", "torus[dims=300]"] {
            let choice = TopologyChoice::parse(text).unwrap();
            let net = topology(&choice, &TopologyOptions::default()).unwrap();
            let far: Vec<Option<u32>> = (0..net.host_count() as u32)
                .map(|host| net.distances_to(HostId(0)).from(net.host(HostId(host))))
                .collect();
            let again = topology(&choice, &TopologyOptions::default()).unwrap();
            let hosts = || (0..net.host_count() as u32).map(HostId);
            hosts().rev().for_each(|to| assert_eq!(again.distances_to(to).from(again.host(to)), Some(0)));
            let found = hosts().map(|from| again.distances_to(HostId(0)).from(again.host(from)));
            assert_eq!(far, found.collect::<Vec<_>>(), "{text}");
        }
    }
}
