//! Shortest paths towards a host, as a DAG that is never spelt out into paths.
//!
//! A switch at distance `d` from the destination may send to any neighbour at distance `d − 1`: these *candidates* of each
//! hop are all that routing needs, whatever the number of paths (a three-level fat tree of 2 048 hosts has 256 between two
//! hosts, a torus of 16³ millions). Memory: 8 bytes per pair of a switch and an attachment that is routed to, as the
//! candidates of most hops are neighbours in the CSR and need only be pointed at; 4 more where distances are asked for, 8
//! where numbers of paths are.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::adjacency::Adjacency;
use super::{HostId, LinkId, NodeId, Topology};

/// No switch, no link, no path.
const NONE: u32 = u32::MAX;

/// What is known about paths: where hosts hang, and what was worked out so far for each attachment.
#[derive(Clone, Debug)]
pub(super) struct PathTables {
    /// By node: number among the switches.
    switch: Vec<u32>,
    /// By switch: its node.
    nodes: Vec<NodeId>,
    /// By link: number of the switch it leads to.
    leads_to: Vec<u32>,
    /// By place in the incoming adjacency: number of the switch that the link comes from.
    before: Vec<u32>,
    /// By place in the incoming adjacency: place in the outgoing one.
    leaves_at: Vec<u32>,
    /// By host: its attachment.
    attachment: Vec<u32>,
    /// By attachment: the switches at the other end of the hosts' incoming links, ascending, once per link.
    attachments: Vec<Vec<u32>>,
    /// By host: true if it may have to choose between links at departure.
    multihomed: Vec<bool>,
    /// True if some link joins two hosts.
    back_to_back: bool,
    /// By attachment, then switch: links to the nearest switch of the attachment.
    distances: Vec<OnceLock<Vec<u32>>>,
    /// By attachment: candidates by switch.
    hops: Vec<OnceLock<Hops>>,
    /// By attachment, then switch: number of shortest paths to the hosts.
    counts: Vec<OnceLock<Vec<f64>>>,
}

/// Candidates of each switch towards one attachment.
#[derive(Clone, Debug)]
struct Hops {
    /// By switch: a range of the outgoing adjacency, or, from its length on, of `scattered`.
    ranges: Vec<(u32, u32)>,
    /// Candidates that are no neighbours in the adjacency.
    scattered: Vec<LinkId>,
}

/// Number of links from anywhere to one host.
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
        src: &[NodeId],
        dst: &[NodeId],
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
        let mut attachments = Vec::new();
        let attachment = hosts.iter().map(|host| {
            let links = incoming.of(*host).iter().map(|link| switch[src[link.0 as usize].0 as usize]);
            let mut ends: Vec<u32> = links.filter(|end| *end != NONE).collect();
            ends.sort_unstable();
            *numbers.entry(ends).or_insert_with_key(|ends| {
                attachments.push(ends.clone());
                attachments.len() as u32 - 1
            })
        });
        let attachment = attachment.collect();
        let leads_to: Vec<u32> = dst.iter().map(|node| switch[node.0 as usize]).collect();
        let is_host = |node: NodeId| !is_switch[node.0 as usize];
        let mut places = vec![0; src.len()];
        for (place, link) in (0..).zip(outgoing.all()) {
            places[link.0 as usize] = place;
        }
        let from = |link: &LinkId| switch[src[link.0 as usize].0 as usize];
        Self {
            before: incoming.all().iter().map(from).collect(),
            leaves_at: incoming.all().iter().map(|link| places[link.0 as usize]).collect(),
            multihomed: hosts.iter().map(|host| outgoing.of(*host).len() > 1).collect(),
            back_to_back: src.iter().zip(dst).any(|(src, dst)| is_host(*src) && is_host(*dst)),
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

    /// Distances to a host. The first call for an attachment takes time in proportion to the number of links.
    pub fn distances_to(&self, host: HostId) -> Distances<'_> {
        let by_switch = self.distances(self.paths.attachment[host.0 as usize]);
        Distances { topology: self, to: host, by_switch }
    }

    /// The shortest-path DAG towards a host. The first call for an attachment takes time in proportion to the number of
    /// links.
    #[inline]
    pub fn paths_to(&self, host: HostId) -> ShortestPaths<'_> {
        let attachment = self.paths.attachment[host.0 as usize];
        let hops = self.paths.hops[attachment as usize].get_or_init(|| self.find_hops(attachment));
        ShortestPaths { topology: self, to: host, hops }
    }

    /// The first two hosts without a path from the one to the other. Looks at all pairs, so it keeps no distances.
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
        self.paths.distances[attachment as usize].get_or_init(|| self.find_distances(attachment))
    }

    fn find_distances(&self, attachment: u32) -> Vec<u32> {
        self.breadth_first(attachment, |_, _| {})
    }

    /// Breadth-first search against the links, from all switches of the attachment at once. `found` gets each link of the DAG, by its
    /// place in the incoming adjacency, with the switch it comes from.
    fn breadth_first(&self, attachment: u32, mut found: impl FnMut(usize, u32)) -> Vec<u32> {
        let tables = &self.paths;
        let mut distances = vec![NONE; tables.nodes.len()];
        let mut queue: Vec<u32> = tables.attachments[attachment as usize].clone();
        queue.dedup();
        for switch in &queue {
            distances[*switch as usize] = 0;
        }
        let mut next = 0;
        while let Some(&switch) = queue.get(next) {
            next += 1;
            let further = distances[switch as usize] + 1;
            let (start, end) = self.incoming.range(tables.nodes[switch as usize]);
            for (place, before) in (start as usize..).zip(&tables.before[start as usize..end as usize]) {
                // No switch has no distance.
                let Some(distance) = distances.get_mut(*before as usize) else { continue };
                if *distance == NONE {
                    *distance = further;
                    queue.push(*before);
                }
                if *distance == further {
                    found(place, *before);
                }
            }
        }
        distances
    }

    fn find_hops(&self, attachment: u32) -> Hops {
        let tables = &self.paths;
        // By switch: first and last place of its candidates, and how many they are.
        let mut found = vec![(NONE, 0, 0); tables.nodes.len()];
        let distances = self.breadth_first(attachment, |place, before| {
            let place = tables.leaves_at[place];
            let (first, last, count) = &mut found[before as usize];
            (*first, *last, *count) = (place.min(*first), place.max(*last), *count + 1);
        });
        let all = self.outgoing.all();
        let mut hops = Hops { ranges: vec![(0, 0); found.len()], scattered: Vec::new() };
        for ((range, (first, last, count)), distance) in hops.ranges.iter_mut().zip(found).zip(&distances) {
            if count == 0 {
                continue;
            }
            *range = (first, last + 1);
            if last - first >= count {
                let from = all.len() + hops.scattered.len();
                let links = &all[first as usize..=last as usize];
                let after = |link: &LinkId| distances.get(tables.leads_to[link.0 as usize] as usize);
                hops.scattered.extend(links.iter().filter(|link| after(link) == Some(&(distance - 1))));
                *range = (from as u32, (all.len() + hops.scattered.len()) as u32);
            }
        }
        hops
    }

    fn find_counts(&self, attachment: u32) -> Vec<f64> {
        let distances = self.distances(attachment);
        let mut counts = vec![0.0; distances.len()];
        for switch in &self.paths.attachments[attachment as usize] {
            counts[*switch as usize] += 1.0;
        }
        let hops = self.paths.hops[attachment as usize].get_or_init(|| self.find_hops(attachment));
        let mut order: Vec<usize> = (0..counts.len()).filter(|switch| distances[*switch] != NONE).collect();
        order.sort_unstable_by_key(|switch| (distances[*switch], *switch));
        for switch in order.into_iter().filter(|switch| distances[*switch] > 0) {
            let after = |link: &LinkId| counts[self.paths.leads_to[link.0 as usize] as usize];
            counts[switch] = hops.of(&self.outgoing, switch).iter().map(after).sum();
        }
        counts
    }
}

impl Hops {
    #[inline]
    fn of<'a>(&'a self, outgoing: &'a Adjacency, switch: usize) -> &'a [LinkId] {
        let (start, end) = (self.ranges[switch].0 as usize, self.ranges[switch].1 as usize);
        let all = outgoing.all();
        if start < all.len() { &all[start..end] } else { &self.scattered[start - all.len()..end - all.len()] }
    }
}

impl Distances<'_> {
    /// Links on a shortest path from `node` through switches; 0 from the host itself, `None` if there is no path.
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
    /// The links by which `src` may leave, none if there is no path. Hosts with several links need room for the answer.
    #[inline]
    pub fn departures<'s>(&self, src: HostId, room: &'s mut Vec<LinkId>) -> &'s [LinkId]
    where
        'a: 's,
    {
        let links = self.topology.outgoing(self.topology.host(src));
        if !self.topology.paths.multihomed[src.0 as usize] && !self.topology.paths.back_to_back {
            return links;
        }
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

    /// The links by which a switch (number among the switches) may forward; none where the host is next.
    #[inline]
    pub fn candidates(&self, switch: usize) -> &'a [LinkId] {
        self.hops.of(&self.topology.outgoing, switch)
    }

    /// The links by which a switch of the attachment may deliver: one, unless parallel links lead to the host.
    #[inline]
    pub fn deliveries(&self, switch: usize) -> &'a [LinkId] {
        let links = self.topology.incoming(self.topology.host(self.to));
        if links.len() == 1 {
            return links;
        }
        let node = self.topology.switch(switch);
        let is_from = |link: &&LinkId| self.topology.src(**link) == node;
        let Some(first) = links.iter().position(|link| is_from(&link)) else { return &[] };
        let count = links[first..].iter().take_while(is_from).count();
        &links[first..first + count]
    }

    /// Number of shortest paths from each switch to the host, by number among the switches; links that run in parallel
    /// make different paths. Exact up to 2⁵³.
    pub fn counts(&self) -> &'a [f64] {
        let attachment = self.topology.paths.attachment[self.to.0 as usize];
        self.topology.paths.counts[attachment as usize].get_or_init(|| self.topology.find_counts(attachment))
    }
}
