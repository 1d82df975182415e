//! Flows on a topology, in time.
//!
//! A flow starts with its hosts and bytes and gets a route from the router. It waits for the
//! latency of the route (links, and switches between them), and then shares the links: at each
//! moment its rate is max-min fair. The flow finishes with its last byte, so a flow alone takes L +
//! S / B.
//!
//! Callers use whole picoseconds. Inside, the end of a flow may lie between two picoseconds, and
//! the capacity that it frees is shared from that time on. Only reported times are rounded, so
//! rounding errors do not add up over a chain of flows. Flows that finish within [`INSTANT_PS`] of
//! each other finish together: their ends differ by rounding alone.
//!
//! Flows of one pair of hosts form one class of [`Sharing`] if the router always gives them the
//! same route; the class costs one update. Memory: about 230 bytes per active pair, 32 for each
//! further flow of a pair, 24 for each flow in its latency; 80 for each of the latest pairs without
//! a flow.

use std::collections::BTreeMap;
use std::iter;

use phaseflow_collect::{Result, TrafficMatrix};

use super::delay_attribution::{Delay, DelayAttribution, Loss, Pair, competing_pairs};
use super::indexed_heap::IndexedHeap;
use super::max_min::{ClassId, Sharing};
use super::order::Connections;
use super::owner_traffic::OwnerTraffic;
use super::paths::{NONE, Path, Paths};
use super::progress::{Flow, Progress};
use super::usage::{LinkUsage, Usage};
use super::{Fairness, FlowOptions};
use crate::engine::Picoseconds;
use crate::process_mapping::Placement;
use crate::routing::{HostDemand, RouteRequest, Router, Routes};
use crate::topology::{HostId, LinkId, Topology};
use crate::units::{BYTES_PER_PS, PS_PER_S};

/// Flows that finish within this time finish together, picoseconds. A clock of 2⁴⁰ ps, about a
/// second, has steps of 2⁻¹² ps as an `f64`: this is 16 of them. Later, 2⁻⁴⁸ of the time counts.
/// Half and double give the same makespan of `halo3d`, `alltoall` and `random` on 128 ranks.
const INSTANT_PS: f64 = 1.0 / 256.0;

/// Links of a route for which memory is reserved: those between hosts of a fat tree with three
/// levels. Longer routes reallocate once. Half and double change the time of the flow model by less
/// than the noise of the measurement, 10 %.
const USUAL_LINKS: usize = 6;

/// The flows of a run.
pub struct FlowNetwork<'a> {
    pub(super) topology: &'a Topology,
    router: Box<dyn Router>,
    /// The router's answer depends on the pair alone.
    repeats: bool,
    fairness: Fairness,
    /// True if messages within a host take time; then there is a link per host behind those of the
    /// topology.
    slow_memory: bool,

    pub(super) sharing: Sharing,
    /// By class.
    pub(super) progress: Vec<Progress>,
    /// Classes by the end of their next flow.
    pub(super) finishing: IndexedHeap,
    pub(super) paths: Paths,

    /// Flows in their latency, by the time at which they begin to share. Flows of one latency keep
    /// the order of their start.
    pub(super) waiting: BTreeMap<Picoseconds, Vec<Waiting>>,
    /// Flows that wait for others of their connection.
    pub(super) connections: Connections<Waiting>,
    /// Time of the last change of rates, picoseconds.
    pub(super) clock: f64,
    /// The time of the last call, picoseconds.
    pub(super) now: Picoseconds,
    sequence: u64,

    pub(super) usage: Usage,
    /// What flows lose to each other; `None` unless requested.
    pub(super) delays: Option<Box<DelayAttribution>>,
    /// What links carried for each owner; `None` unless requested.
    pub(super) owner_traffic: Option<Box<OwnerTraffic>>,
    /// By link: capacity, bytes per picosecond.
    capacity: Vec<f64>,
    /// By link: the load that routers see, bytes per second; empty unless the router uses loads.
    pub(super) load: Vec<f64>,
    /// By link: the highest rates of flows that are still in their latency, bytes per second.
    expected: Vec<f64>,
    /// Room for the router's answer.
    routes: Routes,
    /// Routers of single flows are told no job.
    no_placement: Placement,
    no_matrix: TrafficMatrix,
}

/// A flow in its latency, or one that waits for its connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) bytes: u64,
    /// End of its latency, picoseconds.
    pub(super) since: f64,
    /// ∞ if there is none.
    pub(super) cap: f64,
    pub(super) path: u32,
    pub(super) key: u32,
    pub(super) connection: u32,
}

impl Waiting {
    /// The flow, once it shares.
    fn flow(&self, sequence: &mut u64) -> Flow {
        *sequence += 1;
        let Self { bytes, path, key, connection, .. } = *self;
        Flow { bytes, sequence: *sequence, key, path, connection }
    }

    /// True if the flow can take the place of the finished one in its class.
    fn takes_over(&self, finished: &Flow) -> bool {
        self.path == finished.path && self.bytes > 0 && self.cap == f64::INFINITY
    }
}

impl<'a> FlowNetwork<'a> {
    /// A network without flows at time 0.
    pub fn new(topology: &'a Topology, router: Box<dyn Router>, options: &FlowOptions) -> Self {
        let links = topology.link_count();
        let ids = (0..links as u32).map(LinkId);
        let rate = |link: LinkId| topology.link(link).capacity * BYTES_PER_PS / (1.0 + options.headers);
        let mut capacity: Vec<f64> = ids.map(rate).collect();
        if let Some(rate) = options.memory_gbps {
            capacity.resize(links + topology.host_count(), rate * BYTES_PER_PS);
        }
        let mut sharing = Sharing::new(capacity.iter().copied());
        sharing.set_tolerance(options.tolerance);
        let repeats = router.repeats();
        let watched = if repeats { 0 } else { links };
        Self {
            topology,
            router,
            repeats,
            fairness: options.fairness,
            slow_memory: options.memory_gbps.is_some(),
            sharing,
            progress: Vec::new(),
            finishing: IndexedHeap::default(),
            paths: Paths::default(),
            waiting: BTreeMap::new(),
            connections: Connections::new(options.order),
            clock: 0.0,
            now: 0,
            sequence: 0,
            usage: Usage::new(capacity.len()),
            delays: None,
            owner_traffic: None,
            capacity,
            load: vec![0.0; watched],
            expected: vec![0.0; watched],
            routes: Routes::default(),
            no_placement: Placement::default(),
            no_matrix: TrafficMatrix::default(),
        }
    }

    /// Reserves memory for flows of `pairs` pairs at once.
    pub fn reserve(&mut self, pairs: usize) {
        self.paths.reserve(pairs);
        self.progress.reserve(pairs);
        self.finishing.reserve(pairs);
        self.sharing.reserve(pairs, pairs * USUAL_LINKS);
    }

    /// Attributes the [delays](Delay) of flows from now on; to be called before the first flow.
    /// Memory: about 300 bytes more per active flow, and 48 per finished one until it is
    /// [forgotten](Self::forget).
    pub fn attribute_delays(&mut self) {
        self.delays = Some(Box::new(DelayAttribution::new(&self.capacity, self.topology.link_count())));
    }

    /// True if delays are attributed.
    pub fn attributes_delays(&self) -> bool {
        self.delays.is_some()
    }

    /// Records the [bytes that links carry](Self::take_owner_traffic) for each owner; to be called
    /// before the first flow.
    pub fn record_owner_traffic(&mut self) {
        self.owner_traffic = Some(Box::new(OwnerTraffic::new(self.topology.link_count())));
    }

    /// Bytes that links carried for an owner since the last call, up to the present time. Links
    /// ascend; those without bytes are left out. Empty unless
    /// [recorded](Self::record_owner_traffic).
    pub fn take_owner_traffic(&mut self, owner: u32) -> Vec<(LinkId, f64)> {
        let Some(owner_traffic) = &mut self.owner_traffic else { return Vec::new() };
        let now = self.clock.max(self.now as f64);
        let (sharing, progress) = (&self.sharing, &self.progress);
        let classes = if owner_traffic.is_any_under_way() { progress.len() as u32 } else { 0 };
        let open = (0..classes).map(ClassId).filter(|class| sharing.count(*class) > 0);
        let under_way = open.flat_map(|class| {
            let links = sharing.route(class);
            progress[class.0 as usize].got(now).map(move |(key, bytes)| (key, links, bytes))
        });
        owner_traffic.take(owner, under_way).into_iter().map(|(link, bytes)| (LinkId(link), bytes)).collect()
    }

    /// Drops the [traffic](Self::take_owner_traffic) of an owner that starts no more flows.
    pub fn forget_owner_traffic(&mut self, owner: u32) {
        if let Some(owner_traffic) = &mut self.owner_traffic {
            owner_traffic.forget(owner);
        }
    }

    /// Flows that start from now on are of this owner, and of this pair of its ranks.
    pub fn belong(&mut self, owner: u32, pair: Pair) {
        self.connections.belong(owner, pair);
        if let Some(owner_traffic) = &mut self.owner_traffic {
            owner_traffic.belong(owner);
        }
        if let Some(delays) = &mut self.delays {
            delays.belong(owner, pair);
        }
    }

    /// The pair of ranks to which a flow lost most, for each of its losses: the pair whose flows
    /// carried most bytes over the link meanwhile. Each flow counts at its mean rate. Losses ascend
    /// in time and do not overlap. `None` unless delays are [attributed](Self::attribute_delays),
    /// and for times that are [forgotten](Self::forget).
    pub fn competing_pairs(&self, losses: &[Loss]) -> Vec<Option<Pair>> {
        let (Some(delays), Some(first)) = (&self.delays, losses.first()) else {
            return vec![None; losses.len()];
        };
        let now = self.clock.max(self.now as f64);
        let open = (0..self.progress.len() as u32).filter(|class| self.sharing.count(ClassId(*class)) > 0);
        let under_way = open.flat_map(|class| self.progress[class as usize].got(now));
        let under_way = under_way.filter_map(|(key, bytes)| delays.record(key, bytes, now));
        let finished = delays.records_after(first.from).iter().copied();
        let crosses = |path: u32, link: LinkId| self.sharing.links(self.paths[path].route).contains(&link.0);
        competing_pairs(losses, finished.chain(under_way), crosses)
    }

    /// Drops what [`competing_pairs`](Self::competing_pairs) needs of times before this one.
    pub fn forget(&mut self, before: Picoseconds) {
        if let Some(delays) = &mut self.delays {
            delays.forget(before as f64);
        }
    }

    /// The delays of a finished flow; their sum is its time after its latency. They are returned
    /// once, before the key is used again. Empty unless [attributed](Self::attribute_delays).
    pub fn take_delays(&mut self, key: u32) -> Vec<Delay> {
        self.delays.as_mut().map(|delays| delays.take(key)).unwrap_or_default()
    }

    /// Starts a flow of `bytes` at `now`, which is not before the time of earlier calls. Its rate
    /// is at most `cap_gbps`, if there is a cap. [`advance`](Self::advance) reports its `key` at
    /// its end. Within a host there is no latency.
    ///
    /// # Errors
    /// Those of the [router](Router::route).
    pub fn start(
        &mut self,
        now: Picoseconds,
        (src, dst): (HostId, HostId),
        bytes: u64,
        cap_gbps: Option<f64>,
        key: u32,
    ) -> Result<()> {
        self.now = self.now.max(now);
        let path = self.path(src, dst, bytes)?;
        let cap = cap_gbps.map_or(f64::INFINITY, |cap| cap * BYTES_PER_PS);
        let begin = self.now.saturating_add(self.paths[path].latency_ps);
        let connection = self.connections.of(src);
        let waiting = Waiting { bytes, since: begin as f64, cap, path, key, connection };
        if !self.load.is_empty() {
            self.expect(&waiting, 1.0);
        }
        if let Some(delays) = &mut self.delays {
            delays.start(key);
        }
        if let Some(owner_traffic) = &mut self.owner_traffic {
            owner_traffic.start(key);
        }
        self.waiting.entry(begin).or_default().push(waiting);
        Ok(())
    }

    /// Time of the next event, if no flow starts before: a flow finishes, or begins to share.
    pub fn next(&self) -> Option<Picoseconds> {
        let end = self.finishing.earliest().map(|end| (end.round() as Picoseconds).max(self.now));
        match (self.next_begin(), end) {
            (Some(begin), Some(end)) => Some(begin.min(end)),
            (begin, end) => begin.or(end),
        }
    }

    /// Advances to the time `to`. `finished` receives the key and the exact end, in picoseconds, of
    /// each flow that finishes by then, in the order of time.
    pub fn advance(&mut self, to: Picoseconds, mut finished: impl FnMut(u32, f64)) {
        while self.next().is_some_and(|next| next <= to) {
            self.step(&mut finished);
        }
        self.now = self.now.max(to);
    }

    /// Usage of a link so far.
    pub fn usage(&self, link: LinkId) -> LinkUsage {
        self.usage.of(link, self.clock.max(self.now as f64))
    }

    /// Bytes per second that a link carries now.
    pub fn rate(&self, link: LinkId) -> f64 {
        self.sharing.link_rate(link.0) * PS_PER_S
    }

    /// Flows on a link now.
    pub fn flows(&self, link: LinkId) -> u32 {
        self.usage.flows(link)
    }

    /// Time at which flows begin to share next.
    fn next_begin(&self) -> Option<Picoseconds> {
        self.waiting.first_key_value().map(|(begin, _)| *begin)
    }

    /// Processes all events of the next instant.
    fn step(&mut self, finished: &mut impl FnMut(u32, f64)) {
        let begin = self.next_begin().map_or(f64::INFINITY, |begin| begin as f64);
        let end = self.finishing.earliest().unwrap_or(f64::INFINITY);
        self.clock = self.clock.max(begin.min(end));
        let instant = self.clock + INSTANT_PS.max(self.clock * (0.5_f64).powi(48));
        while let Some(class) = self.finishing.pop_due(instant) {
            self.finish(class, finished);
        }
        while self.next_begin().is_some_and(|begin| begin as f64 <= instant) {
            let Some((_, waiting)) = self.waiting.pop_first() else { break };
            for waiting in waiting {
                if let Some(flow) = self.connections.enter(waiting.connection, waiting) {
                    self.begin(flow, finished);
                }
            }
        }
        self.share_out();
    }

    /// Works out the rates, and when flows end.
    pub(super) fn share_out(&mut self) {
        self.sharing.solve();
        let changed = self.sharing.changed();
        let ends = changed.iter().map(|class| {
            let progress = &mut self.progress[class.0 as usize];
            progress.set_rate(self.clock, self.sharing.rate(*class));
            (class.0, progress.end())
        });
        self.finishing.set_many(changed.len(), ends);
        if let Some(delays) = &mut self.delays {
            delays.follow(&self.sharing, self.clock);
        }
        for link in self.sharing.changed_links() {
            let rate = self.sharing.link_rate(link);
            self.usage.see(link, rate / self.capacity[link as usize]);
            if let Some(load) = self.load.get_mut(link as usize) {
                *load = (rate * PS_PER_S).round() + self.expected[link as usize];
            }
        }
        // The heap must be exact before its first entry is read.
        self.finishing.first();
    }

    /// Lets a flow share after its latency, when its connection is free. A flow of 0 bytes ends at
    /// once, and the next one of the connection follows.
    fn begin(&mut self, flow: Waiting, finished: &mut impl FnMut(u32, f64)) {
        let mut next = Some(flow);
        while let Some(flow) = next {
            if !self.load.is_empty() {
                self.expect(&flow, -1.0);
            }
            let links = self.sharing.links(self.paths[flow.path].route);
            let is_sent = flow.bytes > 0 && !links.is_empty();
            if let Some(delays) = &mut self.delays {
                let first = links.first().copied();
                delays.begin(flow.key, flow.path, (flow.since, self.clock), first);
            }
            if is_sent {
                return self.share(&flow);
            }
            if let Some(delays) = &mut self.delays {
                delays.skip(flow.key);
            }
            finished(flow.key, self.clock);
            self.drop_path(flow.path);
            next = self.connections.leave(flow.connection);
        }
    }

    /// A flow begins to share its links.
    pub(super) fn share(&mut self, waiting: &Waiting) {
        let path = &mut self.paths[waiting.path];
        self.usage.begin(self.sharing.links(path.route), self.clock);
        if let Some(owner_traffic) = &mut self.owner_traffic {
            owner_traffic.begin();
        }
        let flow = waiting.flow(&mut self.sequence);
        let joins = waiting.cap == f64::INFINITY && path.class != NONE;
        // Attribution needs a class per owner.
        if joins && self.delays.as_ref().is_none_or(|delays| delays.are_alike(waiting.key, path.class)) {
            let class = path.class;
            if let Some(delays) = &mut self.delays {
                delays.join(class, waiting.key, self.clock);
            }
            self.sharing.join(ClassId(class));
            let progress = &mut self.progress[class as usize];
            progress.join(self.clock, flow);
            self.finishing.set(class, progress.end());
            return;
        }
        let weight = match self.fairness {
            Fairness::MaxMin => 1.0,
            // 1 for a microsecond.
            Fairness::Rtt => 1e6 / path.latency_ps.max(1) as f64,
        };
        let cap = (waiting.cap < f64::INFINITY).then_some(waiting.cap);
        let class = self.sharing.open(path.route, weight, cap).0;
        if let Some(delays) = &mut self.delays {
            let links = self.sharing.links(path.route);
            delays.open(class, waiting.key, waiting.cap, links, self.clock);
        }
        if cap.is_none() {
            path.class = class;
        }
        if self.progress.len() <= class as usize {
            self.progress.resize_with(class as usize + 1, Progress::default);
        }
        self.progress[class as usize].open(self.clock, flow);
    }

    /// The first flow of a class has finished.
    fn finish(&mut self, class: u32, finished: &mut impl FnMut(u32, f64)) {
        let progress = &mut self.progress[class as usize];
        let (flow, is_last) = progress.leave(self.clock);
        let path = &mut self.paths[flow.path];
        let links = self.sharing.links(path.route);
        self.usage.end(links, flow.bytes, self.clock);
        if let Some(owner_traffic) = &mut self.owner_traffic {
            owner_traffic.finish(flow.key, links, flow.bytes);
        }
        let next = self.connections.leave(flow.connection);
        let goes_on = next.as_ref().is_some_and(|next| {
            let is_alike = |delays: &DelayAttribution| delays.are_alike(next.key, class);
            path.class == class && next.takes_over(&flow) && self.delays.as_deref().is_none_or(is_alike)
        });
        if let Some(delays) = &mut self.delays {
            delays.leave(class, &flow, links, is_last && !goes_on, self.clock);
        }
        finished(flow.key, self.clock);
        if let Some(next) = next.filter(|_| goes_on) {
            path.flows -= 1;
            return self.follow(class, &next, is_last);
        }
        self.sharing.leave(ClassId(class));
        if is_last {
            if path.class == class {
                path.class = NONE;
            }
        } else {
            self.finishing.set(class, self.progress[class as usize].end());
        }
        self.drop_path(flow.path);
        if let Some(next) = next {
            self.begin(next, finished);
        }
    }

    /// Puts a flow in the place of the one of its connection that has just finished; no rate
    /// changes.
    fn follow(&mut self, class: u32, next: &Waiting, alone: bool) {
        if !self.load.is_empty() {
            self.expect(next, -1.0);
        }
        let links = self.sharing.links(self.paths[next.path].route);
        self.usage.begin(links, self.clock);
        if let Some(owner_traffic) = &mut self.owner_traffic {
            owner_traffic.begin();
        }
        if let Some(delays) = &mut self.delays {
            delays.begin(next.key, next.path, (next.since, self.clock), links.first().copied());
            delays.join(class, next.key, self.clock);
        }
        let next = next.flow(&mut self.sequence);
        let progress = &mut self.progress[class as usize];
        if alone {
            progress.follow(next);
        } else {
            progress.join(self.clock, next);
        }
        self.finishing.set(class, progress.end());
    }

    /// Flows of a pair that start from now on take another route than those before: the router is
    /// asked again.
    pub fn route_changes(&mut self, src: HostId, dst: HostId) {
        if let Some(number) = self.paths.part((src.0, dst.0)) {
            self.forget_path(number);
        }
    }

    /// The path of a new flow.
    pub(super) fn path(&mut self, src: HostId, dst: HostId, bytes: u64) -> Result<u32> {
        let pair = (self.repeats || src == dst).then_some((src.0, dst.0));
        if let Some(known) = pair.and_then(|pair| self.paths.join(pair)) {
            return Ok(known);
        }
        self.routes.clear();
        if src != dst {
            let demand = HostDemand { src, dst, bytes, load: 0.0, flows: 1 };
            let request = RouteRequest {
                topology: self.topology,
                demands: &[demand],
                link_load: &self.load,
                job: 0,
                phase: "",
                placement: &self.no_placement,
                matrix: &self.no_matrix,
            };
            self.router.route(&request, &mut self.routes)?;
        }
        let links = self.routes.iter().next().unwrap_or_default();
        let latency_ps = latency_ps(self.topology, links);
        let route = if src == dst && self.slow_memory {
            self.sharing.add_route(iter::once(self.topology.link_count() as u32 + src.0))
        } else {
            self.sharing.add_route(links.iter().map(|link| link.0))
        };
        Ok(self.paths.add(Path { route, latency_ps, class: NONE, flows: 1, pair }))
    }

    /// A flow of the path has gone.
    pub(super) fn drop_path(&mut self, number: u32) {
        if self.paths.leave(number) {
            self.forget_path(number);
        }
    }

    /// Forgets a path that no flow takes.
    pub(super) fn forget_path(&mut self, number: u32) {
        // Competing pairs are found from the routes of finished flows.
        if self.delays.is_none() {
            self.sharing.drop_route(self.paths[number].route);
            self.paths.remove(number);
        }
    }

    /// Adds (1) or removes (−1) the highest rate of a flow in its latency on its links. Without it,
    /// a router that looks at loads sends all flows of one instant the same way.
    pub(super) fn expect(&mut self, waiting: &Waiting, sign: f64) {
        let links = self.sharing.links(self.paths[waiting.path].route);
        let least = links.iter().map(|link| self.capacity[*link as usize]).fold(waiting.cap, f64::min);
        // Whole numbers add and subtract without error, so the sum returns to 0.
        let rate = sign * (least * PS_PER_S).round();
        for link in links {
            if let Some(expected) = self.expected.get_mut(*link as usize) {
                *expected += rate;
                self.load[*link as usize] += rate;
            }
        }
    }
}

/// Of a route: its links, and the switches between them.
fn latency_ps(topology: &Topology, route: &[LinkId]) -> Picoseconds {
    let links = route.iter().map(|link| topology.link(*link).latency_ps);
    let switches = (route.len() as u64).saturating_sub(1);
    let in_switches = topology.switch_latency_ps().saturating_mul(switches);
    links.fold(in_switches, u64::saturating_add)
}
