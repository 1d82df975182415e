//! Flows on a topology, in time.
//!
//! A flow is started with its ends and bytes, gets a route from the router, pays the latency of the
//! route (links, and switches between them), and only then begins to share: its bytes go at the
//! max-min fair rate of each moment. It has finished when the last byte has; so one flow alone
//! takes L + S / B.
//!
//! Time at the outside is whole picoseconds. Inside, flows finish when they finish, between two
//! picoseconds, and what they leave is shared from then on; only what is told is rounded. So
//! rounding does not add up, however many flows follow each other. Flows that finish within
//! [`INSTANT_PS`] of each other finish together: what is equal by right differs by rounding.
//!
//! Flows of one pair of hosts share one class of [`Sharing`] if the router always gives them one
//! route, and cost one update together. Memory: about 230 bytes a pair under way, 32 bytes for each
//! further flow of a pair, 24 for each that pays latency.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::iter;

use phaseflow_collect::{Result, TrafficMatrix};
use rustc_hash::FxHashMap;

use super::delay_attribution::{Delay, DelayAttribution, Loss, Pair, competing_pairs};
use super::indexed_heap::IndexedHeap;
use super::max_min::{ClassId, Route, Sharing};
use super::order::Connections;
use super::owner_traffic::OwnerTraffic;
use super::progress::{Flow, Progress};
use super::usage::{LinkUsage, Usage};
use super::{Fairness, FlowOptions};
use crate::engine::Picoseconds;
use crate::process_mapping::Placement;
use crate::routing::{HostDemand, RouteRequest, Router, Routes};
use crate::topology::{HostId, LinkId, Topology};
use crate::units::{BYTES_PER_PS, PS_PER_S};

/// Flows that finish within this time finish together, picoseconds; or within 2⁻⁴⁸ of the time of
/// the clock, where that is more.
const INSTANT_PS: f64 = 1.0 / 256.0;

/// Links of a route for which room is made.
const USUAL_LINKS: usize = 6;

/// No path, no class.
const NONE: u32 = u32::MAX;

/// The flows of a run.
pub struct FlowNetwork<'a> {
    topology: &'a Topology,
    router: Box<dyn Router>,
    /// The router's answer depends on the pair alone.
    repeats: bool,
    fairness: Fairness,
    /// True if messages within a host take time; then there is a link per host behind those of the
    /// topology.
    slow_memory: bool,

    sharing: Sharing,
    /// By class.
    progress: Vec<Progress>,
    /// Classes by the end of their next flow.
    finishing: IndexedHeap,
    /// By pair of hosts: path.
    pairs: FxHashMap<(u32, u32), u32>,
    paths: Vec<Path>,
    unused_paths: Vec<u32>,

    /// By the time when they begin to share, in the order of their start: there are few latencies,
    /// and many start at once.
    waiting: BTreeMap<Picoseconds, Vec<Waiting>>,
    /// Flows that wait for others of their connection.
    connections: Connections<Waiting>,
    /// Time of the last change of rates, picoseconds.
    clock: f64,
    /// What the caller knows of the time.
    now: Picoseconds,
    sequence: u64,

    usage: Usage,
    /// What flows lose to each other, where that is asked for.
    delays: Option<Box<DelayAttribution>>,
    /// What links carried for whom, where that is asked for.
    owner_traffic: Option<Box<OwnerTraffic>>,
    /// By link: capacity, bytes per picosecond.
    capacity: Vec<f64>,
    /// By link: what routers see, bytes per second; kept only for those who look.
    load: Vec<f64>,
    /// By link: what flows that pay latency may come to use, bytes per second.
    expected: Vec<f64>,
    /// Room for the router's answer.
    routes: Routes,
    /// Routers of single flows know of no job.
    no_placement: Placement,
    no_matrix: TrafficMatrix,
}

/// A route with what is known of it.
#[derive(Clone, Copy, Debug, Default)]
struct Path {
    route: Route,
    latency_ps: Picoseconds,
    /// The class of its flows without a cap, or `NONE`.
    class: u32,
    /// For all flows of the pair; else for one flow.
    is_kept: bool,
}

/// A flow that pays latency, or waits for its connection.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    bytes: u64,
    /// When it has paid its latency, picoseconds.
    since: f64,
    /// ∞ if there is none.
    cap: f64,
    path: u32,
    key: u32,
    connection: u32,
}

impl Waiting {
    /// What it is when it shares.
    fn flow(&self, sequence: &mut u64) -> Flow {
        *sequence += 1;
        let Self { bytes, path, key, connection, .. } = *self;
        Flow { bytes, sequence: *sequence, key, path, connection }
    }

    /// True if it goes on where another one has finished, at the rate of that one's class.
    fn takes_over(&self, finished: &Flow) -> bool {
        self.path == finished.path && self.bytes > 0 && self.cap == f64::INFINITY
    }
}

impl<'a> FlowNetwork<'a> {
    /// A network without flows at time 0.
    pub fn new(topology: &'a Topology, router: Box<dyn Router>, options: &FlowOptions) -> Self {
        let links = topology.link_count();
        let ids = (0..links as u32).map(LinkId);
        let mut capacity: Vec<f64> = ids.map(|link| topology.link(link).capacity * BYTES_PER_PS).collect();
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
            pairs: FxHashMap::default(),
            paths: Vec::new(),
            unused_paths: Vec::new(),
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

    /// Room for flows of `pairs` pairs at once, where that is known.
    pub fn reserve(&mut self, pairs: usize) {
        self.pairs.reserve(pairs);
        self.paths.reserve(pairs);
        self.progress.reserve(pairs);
        self.finishing.reserve(pairs);
        self.sharing.reserve(pairs, pairs * USUAL_LINKS);
    }

    /// Of flows that start from now on it is told what [held](Delay) them up; there is none yet.
    /// Takes about 300 bytes more a flow under way, and 48 for each that has finished until it is
    /// [forgotten](Self::forget).
    pub fn attribute_delays(&mut self) {
        self.delays = Some(Box::new(DelayAttribution::new(&self.capacity, self.topology.link_count())));
    }

    /// True if it is told what holds flows up.
    pub fn attributes_delays(&self) -> bool {
        self.delays.is_some()
    }

    /// Of flows that start from now on it is told what links [carried](Self::take_owner_traffic) for
    /// their owners; there is none yet.
    pub fn record_owner_traffic(&mut self) {
        self.owner_traffic = Some(Box::new(OwnerTraffic::new(self.topology.link_count())));
    }

    /// Bytes that links carried for an owner since this was asked last, up to the time that the
    /// network has gone on to; links in ascending order, those without bytes left out. Nothing if
    /// nobody wanted to be [told](Self::record_owner_traffic).
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

    /// Nobody will ask what links [carried](Self::take_owner_traffic) for an owner any more, who starts
    /// no flow either.
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

    /// Of each loss of a flow, the pair that it lost most to: whose flows carried most over the
    /// link meanwhile, each taken to have gone evenly. Losses are in the order of time and do not
    /// overlap. Nothing if nobody asked for [holds](Self::attribute_delays), or the time is
    /// [forgotten](Self::forget).
    pub fn competing_pairs(&self, losses: &[Loss]) -> Vec<Option<Pair>> {
        let (Some(delays), Some(first)) = (&self.delays, losses.first()) else {
            return vec![None; losses.len()];
        };
        let now = self.clock.max(self.now as f64);
        let open = (0..self.progress.len() as u32).filter(|class| self.sharing.count(ClassId(*class)) > 0);
        let under_way = open.flat_map(|class| self.progress[class as usize].got(now));
        let under_way = under_way.filter_map(|(key, bytes)| delays.record(key, bytes, now));
        let finished = delays.records_after(first.from).iter().copied();
        let crosses =
            |path: u32, link: LinkId| self.sharing.links(self.paths[path as usize].route).contains(&link.0);
        competing_pairs(losses, finished.chain(under_way), crosses)
    }

    /// Nobody will [ask](Self::rivals) for what was before a time.
    pub fn forget(&mut self, before: Picoseconds) {
        if let Some(delays) = &mut self.delays {
            delays.forget(before as f64);
        }
    }

    /// What held up a flow that has finished: together the time that it took after its latency.
    /// Told once, before its key is used again; nothing if nobody [asked](Self::attribute_delays).
    pub fn take_delays(&mut self, key: u32) -> Vec<Delay> {
        self.delays.as_mut().map(|delays| delays.take(key)).unwrap_or_default()
    }

    /// A flow of `bytes` starts at `now`, which is not before the time of earlier calls; it gets no
    /// more than `cap_gbps`, if there is a cap. [`advance`](Self::advance) tells its `key` when it
    /// has finished. Within a host there is no latency.
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
        let begin = self.now.saturating_add(self.paths[path as usize].latency_ps);
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

    /// When something happens next, if nothing is started until then: a flow finishes, or begins to
    /// share.
    pub fn next(&self) -> Option<Picoseconds> {
        let end = self.finishing.earliest().map(|end| (end.round() as Picoseconds).max(self.now));
        match (self.next_begin(), end) {
            (Some(begin), Some(end)) => Some(begin.min(end)),
            (begin, end) => begin.or(end),
        }
    }

    /// Goes on to the time `to`. `finished` gets the key of each flow that has finished by then, in
    /// the order of time, with its exact time in picoseconds.
    pub fn advance(&mut self, to: Picoseconds, mut finished: impl FnMut(u32, f64)) {
        while self.next().is_some_and(|next| next <= to) {
            self.step(&mut finished);
        }
        self.now = self.now.max(to);
    }

    /// What happened to a link so far.
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

    /// When flows begin to share next.
    fn next_begin(&self) -> Option<Picoseconds> {
        self.waiting.first_key_value().map(|(begin, _)| *begin)
    }

    /// All that happens at the next instant.
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
        // The earliest has to be known without a change.
        self.finishing.first();
    }

    /// A flow has paid its latency and has its connection to itself. So have those that wait for
    /// it, if there is nothing to send.
    fn begin(&mut self, flow: Waiting, finished: &mut impl FnMut(u32, f64)) {
        let mut next = Some(flow);
        while let Some(flow) = next {
            if !self.load.is_empty() {
                self.expect(&flow, -1.0);
            }
            let links = self.sharing.links(self.paths[flow.path as usize].route);
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
    fn share(&mut self, waiting: &Waiting) {
        let path = &mut self.paths[waiting.path as usize];
        self.usage.begin(self.sharing.links(path.route), self.clock);
        if let Some(owner_traffic) = &mut self.owner_traffic {
            owner_traffic.begin();
        }
        let flow = waiting.flow(&mut self.sequence);
        let joins = waiting.cap == f64::INFINITY && path.class != NONE;
        // Flows of several owners are no class where it matters whose they are.
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
        let path = &mut self.paths[flow.path as usize];
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
            return self.follow(class, &next, is_last);
        }
        self.sharing.leave(ClassId(class));
        if is_last {
            if path.class == class {
                path.class = NONE;
            }
            self.drop_path(flow.path);
        } else {
            self.finishing.set(class, self.progress[class as usize].end());
        }
        if let Some(next) = next {
            self.begin(next, finished);
        }
    }

    /// A flow takes the place of one of its connection that has just finished: nobody's rate
    /// changes.
    fn follow(&mut self, class: u32, next: &Waiting, alone: bool) {
        if !self.load.is_empty() {
            self.expect(next, -1.0);
        }
        let links = self.sharing.links(self.paths[next.path as usize].route);
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

    /// Flows of a pair that start from now on take these links, whatever the router would say; for
    /// routers whose answer depends on the pair alone. A changed route costs the memory of the old
    /// one.
    pub fn set_route(&mut self, src: HostId, dst: HostId, links: &[LinkId]) {
        let same = |path: &u32| {
            let known = self.sharing.links(self.paths[*path as usize].route);
            known.len() == links.len() && known.iter().zip(links).all(|(known, link)| *known == link.0)
        };
        if self.pairs.get(&(src.0, dst.0)).is_some_and(same) {
            return;
        }
        let latency_ps = latency_ps(self.topology, links);
        let route = self.sharing.add_route(links.iter().map(|link| link.0));
        self.paths.push(Path { route, latency_ps, class: NONE, is_kept: true });
        self.pairs.insert((src.0, dst.0), (self.paths.len() - 1) as u32);
    }

    /// The path of a new flow.
    fn path(&mut self, src: HostId, dst: HostId, bytes: u64) -> Result<u32> {
        let is_kept = self.repeats || src == dst;
        let kept = is_kept.then(|| self.pairs.entry((src.0, dst.0)));
        if let Some(Entry::Occupied(kept)) = kept {
            return Ok(*kept.get());
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
        let path = Path { route, latency_ps, class: NONE, is_kept };
        let number = self.unused_paths.pop().unwrap_or(self.paths.len() as u32);
        match self.paths.get_mut(number as usize) {
            Some(place) => *place = path,
            None => self.paths.push(path),
        }
        if let Some(Entry::Vacant(place)) = kept {
            place.insert(number);
        }
        Ok(number)
    }

    /// A flow of the path has gone.
    fn drop_path(&mut self, number: u32) {
        let path = &self.paths[number as usize];
        // Who asks afterwards has to know which way flows went.
        if !path.is_kept && self.delays.is_none() {
            self.sharing.drop_route(path.route);
            self.unused_paths.push(number);
        }
    }

    /// A flow that pays latency begins (1) or ceases (−1) to be expected on its links, with the
    /// highest rate that it could have: routers that look would else send all flows of one instant
    /// the same way.
    fn expect(&mut self, waiting: &Waiting, sign: f64) {
        let links = self.sharing.links(self.paths[waiting.path as usize].route);
        let least = links.iter().map(|link| self.capacity[*link as usize]).fold(waiting.cap, f64::min);
        // Whole numbers, so that nothing is left when all have gone.
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
