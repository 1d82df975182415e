//! The routes that messages take, which all networks of a run share.
//!
//! Where a route depends on its two hosts alone, the router is asked anew for each flow, and no
//! route is kept. Otherwise a route is set once for its pair. Memory: nothing, or 24 bytes a pair
//! and 4 for each link of its route.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use phaseflow_collect::{Result, TrafficMatrix};
use rustc_hash::FxHashMap;

use crate::process_mapping::Placement;
use crate::routing::{HostDemand, RouteRequest, Router, Routes, SharedRouter};
use crate::topology::{HostId, LinkId, Topology};

/// Routes of messages between hosts. A clone is the same routes.
#[derive(Clone)]
pub struct MessageRoutes(Source);

#[derive(Clone)]
enum Source {
    Router(SharedRouter),
    Set(Rc<RefCell<SetRoutes>>),
}

/// Routes by pair of hosts. A source has a table of its own: messages of one rank follow each
/// other, and find it in the cache.
#[derive(Debug, Default)]
struct SetRoutes {
    /// By source, then destination: the position of its route.
    positions: Vec<FxHashMap<u32, u32>>,
    /// At the position of a route the number of its links, then these.
    links: Vec<LinkId>,
}

impl SetRoutes {
    fn get(&self, src: HostId, dst: HostId) -> Option<&[LinkId]> {
        let position = *self.positions.get(src.0 as usize)?.get(&dst.0)?;
        self.at(position)
    }

    fn at(&self, position: u32) -> Option<&[LinkId]> {
        let (count, links) = self.links.get(position as usize..)?.split_first()?;
        links.get(..count.0 as usize)
    }

    fn insert(&mut self, src: HostId, dst: HostId, links: &[LinkId]) {
        let position = self.links.len() as u32; // 16 GB of links before it overflows
        self.links.push(LinkId(links.len() as u32));
        self.links.extend_from_slice(links);
        let least = self.positions.len().max(src.0 as usize + 1);
        self.positions.resize_with(least, FxHashMap::default);
        self.positions[src.0 as usize].insert(dst.0, position);
    }
}

impl fmt::Debug for MessageRoutes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MessageRoutes")
    }
}

impl Default for MessageRoutes {
    /// No route is set.
    fn default() -> Self {
        Self(Source::Set(Rc::default()))
    }
}

impl MessageRoutes {
    /// The routes of a router that [repeats](Router::repeats); nothing can be set. Of any other
    /// router no route is set yet.
    pub fn of(router: &SharedRouter) -> Self {
        if router.borrow().repeats() { Self(Source::Router(Rc::clone(router))) } else { Self::default() }
    }

    /// True if the router is asked for each route.
    pub fn are_asked_for(&self) -> bool {
        matches!(self.0, Source::Router(_))
    }

    /// Room for the routes of `pairs` more pairs, with `links` links in all.
    pub fn reserve(&self, pairs: usize, links: usize) {
        if let Source::Set(known) = &self.0 {
            known.borrow_mut().links.reserve(pairs + links);
        }
    }

    /// Messages between two hosts take these links from now on; true if they took others, or none,
    /// before. The memory of a replaced route is not freed.
    pub fn set(&self, src: HostId, dst: HostId, links: &[LinkId]) -> bool {
        let Source::Set(known) = &self.0 else { return false };
        let mut known = known.borrow_mut();
        let is_new = known.get(src, dst) != Some(links);
        if is_new {
            known.insert(src, dst, links);
        }
        is_new
    }

    /// True if a pair of hosts has a route.
    pub fn has(&self, src: HostId, dst: HostId) -> bool {
        match &self.0 {
            Source::Router(_) => true,
            Source::Set(known) => known.borrow().get(src, dst).is_some(),
        }
    }

    /// The pairs, ascending, with a route that was set and has a link that is down.
    pub fn cut_off(&self, topology: &Topology) -> Vec<(HostId, HostId)> {
        let Source::Set(known) = &self.0 else { return Vec::new() };
        let known = known.borrow();
        let is_down = topology.links_down();
        let is_cut = |position: u32| {
            known.at(position).unwrap_or_default().iter().any(|link| is_down[link.0 as usize])
        };
        let routes = (0..).zip(&known.positions).flat_map(|(src, positions)| {
            positions.iter().map(move |(dst, position)| (HostId(src), HostId(*dst), *position))
        });
        let cut = routes.filter(|(.., position)| is_cut(*position));
        let mut pairs: Vec<(HostId, HostId)> = cut.map(|(src, dst, _)| (src, dst)).collect();
        pairs.sort_unstable();
        pairs
    }

    /// The pair has no route any more.
    pub fn forget(&self, src: HostId, dst: HostId) {
        let Source::Set(known) = &self.0 else { return };
        if let Some(positions) = known.borrow_mut().positions.get_mut(src.0 as usize) {
            positions.remove(&dst.0);
        }
    }

    /// Appends the route of a pair; an empty one if it has none.
    ///
    /// # Errors
    /// Those of the [router](Router::route).
    pub fn append(
        &self,
        topology: &Topology,
        (src, dst): (HostId, HostId),
        routes: &mut Routes,
    ) -> Result<()> {
        let router = match &self.0 {
            Source::Router(router) => router,
            Source::Set(known) => {
                let known = known.borrow();
                known.get(src, dst).unwrap_or_default().iter().for_each(|link| routes.push_link(*link));
                routes.end_route();
                return Ok(());
            }
        };
        let request = RouteRequest {
            topology,
            demands: &[HostDemand { src, dst, bytes: 0, load: 0.0, flows: 1 }],
            link_load: &[],
            job: 0,
            phase: "",
            placement: &Placement::default(),
            matrix: &TrafficMatrix::default(),
        };
        router.borrow_mut().route(&request, routes)
    }
}

/// Flow networks ask for the route of each flow.
impl Router for MessageRoutes {
    fn route(&mut self, request: &RouteRequest<'_>, routes: &mut Routes) -> Result<()> {
        for demand in request.demands {
            self.append(request.topology, (demand.src, demand.dst), routes)?;
        }
        Ok(())
    }

    /// Until a route is [set](Self::set) anew.
    fn repeats(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use phaseflow_collect::choice::Choice;

    use super::*;
    use crate::routing::router;
    use crate::topology::Failure;
    use crate::topology::measured::made;

    fn route(routes: &MessageRoutes, net: &Topology, src: u32, dst: u32) -> Vec<LinkId> {
        let mut found = Routes::default();
        routes.append(net, (HostId(src), HostId(dst)), &mut found).unwrap();
        assert_eq!(found.len(), 1);
        found.get(0).to_vec()
    }

    fn of(name: &str) -> MessageRoutes {
        let router: Box<dyn Router> = router(&Choice::plain(name), 1).unwrap();
        MessageRoutes::of(&Rc::new(RefCell::new(router)))
    }

    #[test]
    fn routes_that_depend_on_the_pair_alone_are_those_of_the_router() {
        let net = made("fat-tree[k=4]");
        let routes = of("dmodk");
        assert!(routes.are_asked_for() && routes.has(HostId(0), HostId(9)));
        let links = route(&routes, &net, 0, 9);
        assert_eq!((net.src(links[0]), net.dst(links[5])), (net.host(HostId(0)), net.host(HostId(9))));
        assert!(!routes.set(HostId(0), HostId(9), &[]));
        assert_eq!(route(&routes, &net, 0, 9), links);
    }

    #[test]
    fn routes_over_failed_links_are_found_and_forgotten() {
        let failure = Failure::parse("s2.0@1s").unwrap();
        let net = made("leaf-spine[leaves=2,spines=2,hosts=2]").with_failures(&[failure]).unwrap();
        let failed = &net.changes()[0].topology;
        let (routes, spread) = (of("greedy"), of("dmodk"));
        for (src, dst) in [(0, 2), (0, 3), (0, 1)] {
            routes.set(HostId(src), HostId(dst), &route(&spread, &net, src, dst));
        }
        assert_eq!(routes.cut_off(&net), []);
        // One of the two goes over the first spine; the third stays at its leaf.
        let cut = routes.cut_off(failed);
        let [(src, dst)] = cut[..] else { panic!("{cut:?}") };
        assert!(src == HostId(0) && dst != HostId(1));
        routes.forget(src, dst);
        assert!(!routes.has(src, dst) && routes.cut_off(failed).is_empty());
        assert!(routes.has(HostId(0), HostId(1)));
    }

    #[test]
    fn other_routes_are_those_that_were_set_last() {
        let net = made("fat-tree[k=4]");
        let routes = of("greedy");
        let same = routes.clone();
        assert!(!routes.are_asked_for() && !routes.has(HostId(0), HostId(9)));
        assert_eq!(route(&routes, &net, 0, 9), []);
        assert!(routes.set(HostId(0), HostId(9), &[LinkId(3), LinkId(4)]));
        assert!(!same.set(HostId(0), HostId(9), &[LinkId(3), LinkId(4)]));
        assert_eq!(route(&same, &net, 0, 9), [LinkId(3), LinkId(4)]);
        assert!(same.set(HostId(0), HostId(9), &[LinkId(5)]));
        assert_eq!(route(&routes, &net, 0, 9), [LinkId(5)]);
    }
}
