//! Loads on links from the demands of a phase.

mod dense;

use phaseflow_collect::{Result, TrafficMatrix};

use crate::demand::PairDemand;
use crate::process_mapping::Placement;
use crate::result::PhaseRoutes;
use crate::routing::{HostDemand, RouteRequest, Routes, SharedRouter};
use crate::topology::{HostId, LinkId, Topology};
use crate::traffic::{LinkLoads, LinkShare, Quantum};

pub(super) use dense::{DENSE, DensePairs};

/// The loads of links and the router.
pub(super) struct Network<'a> {
    pub(super) topology: &'a Topology,
    pub(super) loads: LinkLoads,
    /// By link: bytes per second that it carries now, if known; routers see it instead of the
    /// loads.
    pub(super) rates: Option<Vec<f64>>,
    router: SharedRouter,
    quantum: Quantum,
    demands: Vec<HostDemand>,
    sum: LinkSums,
}

/// Demands that are routed together.
#[derive(Clone, Copy)]
pub(super) struct RouteQuery<'a> {
    pub(super) job: u32,
    pub(super) phase: &'a str,
    pub(super) placement: &'a Placement,
    pub(super) matrix: &'a TrafficMatrix,
    /// By number within the job: the host.
    pub(super) hosts: &'a [HostId],
    pub(super) pairs: &'a [PairDemand],
    /// Divisor from bytes to loads: seconds, or 1.
    pub(super) divisor: f64,
}

impl RouteQuery<'_> {
    /// The question with its answer, for forwarding tables; `route` gives the links of pair i.
    pub(super) fn with_routes<'r>(&self, route: impl Fn(usize) -> &'r [LinkId]) -> PhaseRoutes {
        let host = |number: u32| self.hosts[number as usize];
        let mut routes = Routes::default();
        for pair in 0..self.pairs.len() {
            route(pair).iter().for_each(|link| routes.push_link(*link));
            routes.end_route();
        }
        PhaseRoutes {
            job: self.job,
            phase: self.phase.into(),
            pairs: self.pairs.iter().map(|pair| (host(pair.src), host(pair.dst))).collect(),
            routes,
        }
    }
}

impl<'a> Network<'a> {
    pub(super) fn new(topology: &'a Topology, router: SharedRouter, quantum: Quantum) -> Self {
        Self {
            topology,
            loads: LinkLoads::new(topology),
            rates: None,
            router,
            quantum,
            demands: Vec::new(),
            sum: LinkSums::new(topology.link_count()),
        }
    }

    /// Whether the router [repeats](crate::routing::Router::repeats).
    pub(super) fn router_repeats(&self) -> bool {
        self.router.borrow().repeats()
    }

    /// Whether it [forgets the source](crate::routing::Router::forgets_source).
    pub(super) fn router_forgets_source(&self) -> bool {
        self.router.borrow().forgets_source()
    }

    /// Whether it [divides](crate::routing::Router::divides).
    pub(super) fn router_divides(&self) -> bool {
        self.router.borrow().divides()
    }

    fn set_demands(&mut self, query: &RouteQuery<'_>, pairs: &[PairDemand]) {
        self.demands.clear();
        self.demands.extend(pairs.iter().map(|pair| HostDemand {
            src: query.hosts[pair.src as usize],
            dst: query.hosts[pair.dst as usize],
            bytes: pair.bytes,
            load: self.quantum.round(pair.bytes as f64 / query.divisor),
            flows: pair.flows,
        }));
    }

    /// Asks the router: one route per pair, in their order.
    pub(super) fn route(&mut self, query: &RouteQuery<'_>, routes: &mut Routes) -> Result<()> {
        self.set_demands(query, query.pairs);
        routes.clear();
        let request = RouteRequest {
            topology: self.topology,
            demands: &self.demands,
            link_load: self.rates.as_deref().unwrap_or(self.loads.load()),
            job: query.job,
            phase: query.phase,
            placement: query.placement,
            matrix: query.matrix,
        };
        self.router.borrow_mut().route(&request, routes)?;
        // Half a gigabyte for an all-to-all of 4 096 hosts.
        if self.demands.len() >= DENSE {
            self.demands = Vec::new();
        }
        Ok(())
    }

    /// Asks the router for pairs of hosts that the matrix of `question` lacks.
    pub(super) fn route_hosts(
        &mut self,
        query: &RouteQuery<'_>,
        pairs: &[(HostId, HostId)],
        routes: &mut Routes,
    ) -> Result<()> {
        self.demands.clear();
        let demand = |(src, dst): &(HostId, HostId)| HostDemand {
            src: *src,
            dst: *dst,
            bytes: 0,
            load: 0.0,
            flows: 1,
        };
        self.demands.extend(pairs.iter().map(demand));
        routes.clear();
        let request = RouteRequest {
            topology: self.topology,
            demands: &self.demands,
            link_load: self.rates.as_deref().unwrap_or(self.loads.load()),
            job: query.job,
            phase: query.phase,
            placement: query.placement,
            matrix: query.matrix,
        };
        self.router.borrow_mut().route(&request, routes)
    }

    /// Bytes of all pairs by link; `route` gives the links of pair i.
    pub(super) fn shares<'r>(
        &mut self,
        pairs: &[PairDemand],
        route: impl Fn(usize) -> &'r [LinkId],
        divisor: f64,
        shares: &mut Vec<LinkShare>,
    ) {
        for (i, pair) in pairs.iter().enumerate() {
            for link in route(i) {
                self.sum.add(*link, pair.bytes, pair.flows);
            }
        }
        self.sum.finish(|bytes| self.quantum.round(bytes as f64 / divisor), shares);
    }
}

/// Sums by link that are mostly 0.
struct LinkSums {
    /// Bytes and rank pairs.
    sums: Vec<(u64, u64)>,
    links: Vec<LinkId>,
}

impl LinkSums {
    fn new(links: usize) -> Self {
        Self { sums: vec![(0, 0); links], links: Vec::new() }
    }

    #[inline]
    fn add(&mut self, link: LinkId, bytes: u64, flows: u32) {
        let sum = &mut self.sums[link.0 as usize];
        if sum.1 == 0 {
            self.links.push(link);
        }
        sum.0 += bytes;
        sum.1 += u64::from(flows);
    }

    /// Returns the sums in ascending order of links and resets them.
    fn finish(&mut self, load: impl Fn(u64) -> f64, shares: &mut Vec<LinkShare>) {
        // A scan of all links is cheaper than sorting many of them.
        if self.links.len() * 8 > self.sums.len() {
            self.links.clear();
            let used = (0..).map(LinkId).zip(&self.sums).filter(|(_, sum)| sum.1 > 0);
            self.links.extend(used.map(|(link, _)| link));
        } else {
            self.links.sort_unstable();
        }
        shares.clear();
        shares.extend(self.links.drain(..).map(|link| {
            let (bytes, flows) = std::mem::take(&mut self.sums[link.0 as usize]);
            LinkShare { link, flows, bytes, load: load(bytes) }
        }));
    }
}
