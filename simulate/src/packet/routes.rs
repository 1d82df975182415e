//! Routes of packets.
//!
//! A route is a part of one table: its links, then a mark. Packets carry their position in it.
//! Behind one kind of mark, each switch chooses the next link of each packet.
//!
//! Connections keep the position at which their route begins. A pair that gets another route
//! therefore keeps that position: its first link is replaced, and behind it the table refers to the
//! rest of the new route. Packets that are further on their way stay on the old one.

use phaseflow_collect::{Error, Result};
use rustc_hash::FxHashMap;

use super::arena::NONE;
use super::chance::mix;
use super::options::Paths;
use crate::topology::{HostId, LinkId, NodeId, Topology};

/// The route is over.
pub(super) const END: u32 = NONE;
/// Spraying: each switch chooses for each packet. The destination follows this mark, so switches
/// need not read the packet.
pub(super) const SPRAY: u32 = NONE - 1;
/// Each switch hashes the packet's flow and destination: packets of a flow stay in order.
pub(super) const HASH: u32 = NONE - 2;
/// The route goes on at another position of the table: this value and more, less this value.
pub(super) const MOVED: u32 = 1 << 31;

/// All routes of a network.
#[derive(Clone, Debug, Default)]
pub(super) struct Routes {
    table: Vec<u32>,
    pairs: FxHashMap<(u32, u32), u32>,
    paths: Paths,
    seed: u64,
    room: Vec<LinkId>,
}

impl Routes {
    pub(super) fn new(paths: Paths, seed: u64) -> Self {
        Self { paths, seed: mix(seed), table: vec![HASH, END], ..Self::default() }
    }

    /// The entry at a position.
    #[inline]
    pub(super) fn at(&self, position: u32) -> u32 {
        self.table[position as usize]
    }

    /// A position at which every switch hashes.
    pub(super) fn hashed(&self) -> u32 {
        0
    }

    /// A position at which a route is over.
    pub(super) fn end(&self) -> u32 {
        1
    }

    pub(super) fn insert(&mut self, links: &[LinkId]) -> u32 {
        let route = self.table.len() as u32;
        self.table.extend(links.iter().map(|link| link.0));
        self.table.push(END);
        route
    }

    /// Messages from `src` to `dst` take these links.
    ///
    /// # Errors
    /// Links that are no path from `src` to `dst`.
    pub(super) fn set(
        &mut self,
        topology: &Topology,
        (src, dst): (HostId, HostId),
        links: &[LinkId],
    ) -> Result<()> {
        let mut node = topology.host(src);
        for link in links {
            if link.0 as usize >= topology.link_count() || topology.src(*link) != node {
                return Err(Error::data(format!(
                    "route from host {} to {}: link {} does not leave {}",
                    src.0,
                    dst.0,
                    link.0,
                    topology.node(node).name
                )));
            }
            node = topology.dst(*link);
        }
        if node != topology.host(dst) || links.is_empty() {
            let name = &topology.node(node).name;
            return Err(Error::data(format!("route from host {} to {} ends at {name}", src.0, dst.0)));
        }
        let route = self.insert(links);
        self.put(src, dst, route);
        Ok(())
    }

    /// The route of a pair is now that of a position.
    fn put(&mut self, src: HostId, dst: HostId, route: u32) {
        let Some(first) = self.pairs.get(&(src.0, dst.0)) else {
            self.pairs.insert((src.0, dst.0), route);
            return;
        };
        let first = *first as usize;
        self.table[first] = self.table[route as usize];
        self.table[first + 1] = MOVED + route + 1;
    }

    /// Links have failed: pairs whose route has one of them get the route that hashes choose in
    /// what is left, `topology`; `is_down` is by link.
    pub(super) fn fail(&mut self, topology: &Topology, is_down: &[bool]) {
        let mut pairs: Vec<(u32, u32)> = self.pairs.keys().copied().collect();
        pairs.sort_unstable();
        for (src, dst) in pairs {
            if self.links(self.pairs[&(src, dst)]).any(|link| is_down[link.0 as usize]) {
                let route = self.hashed_path(topology, HostId(src), HostId(dst));
                self.put(HostId(src), HostId(dst), route);
            }
        }
    }

    /// The links of a route up to where switches choose.
    fn links(&self, route: u32) -> impl Iterator<Item = LinkId> + '_ {
        let mut position = route;
        std::iter::from_fn(move || {
            position = self.follow(position);
            let link = self.at(position);
            position += 1;
            (link < MOVED).then_some(LinkId(link))
        })
    }

    /// Where the route of a position goes on, if another one has replaced it.
    #[inline]
    pub(super) fn follow(&self, mut position: u32) -> u32 {
        while (MOVED..HASH).contains(&self.at(position)) {
            position = self.at(position) - MOVED;
        }
        position
    }

    /// The route from `src` to `dst`: the one that is [`set`](Self::set), or that of [`Paths`].
    pub(super) fn of(&mut self, topology: &Topology, src: HostId, dst: HostId) -> u32 {
        if let Some(known) = self.pairs.get(&(src.0, dst.0)) {
            return *known;
        }
        let route = self.hashed_path(topology, src, dst);
        self.pairs.insert((src.0, dst.0), route);
        route
    }

    /// Appends the route from `src` to `dst` of [`Paths`].
    fn hashed_path(&mut self, topology: &Topology, src: HostId, dst: HostId) -> u32 {
        let route = self.table.len() as u32;
        let flow = mix(self.seed ^ (u64::from(src.0) << 32 | u64::from(dst.0)));
        let paths = topology.paths_to(dst);
        let mut candidates = paths.departures(src, &mut self.room);
        let mut node = topology.host(src);
        while let Some(link) = pick(candidates, flow, node) {
            self.table.push(link.0);
            let Some(switch) = topology.switch_after(link) else { break };
            if self.paths == Paths::Spray {
                self.table.extend([SPRAY, dst.0]);
                break;
            }
            let onward = paths.candidates(switch);
            candidates = if onward.is_empty() { paths.deliveries(switch) } else { onward };
            node = topology.dst(link);
        }
        self.table.push(END);
        route
    }

    /// The next link on a shortest path to host `dst` for a packet that arrived by `link`; [`END`]
    /// if there is none. Packets with equal `what` take the same path.
    pub(super) fn choose(&self, topology: &Topology, link: LinkId, dst: HostId, what: u64) -> u32 {
        let Some(switch) = topology.switch_after(link) else { return END };
        let paths = topology.paths_to(dst);
        let onward = paths.candidates(switch);
        let candidates = if onward.is_empty() { paths.deliveries(switch) } else { onward };
        pick(candidates, mix(self.seed ^ what), topology.dst(link)).map_or(END, |link| link.0)
    }
}

/// The candidate that a hash and a node choose, as the router `ecmp` does.
#[inline]
fn pick(candidates: &[LinkId], flow: u64, node: NodeId) -> Option<LinkId> {
    match candidates {
        [] => None,
        [only] => Some(*only),
        _ => {
            let hash = mix(flow ^ u64::from(node.0)) >> 32;
            candidates.get(((hash * candidates.len() as u64) >> 32) as usize).copied()
        }
    }
}
