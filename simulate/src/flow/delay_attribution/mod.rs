//! Delay attribution: which links and which owners' flows delayed a flow, and for how long.
//!
//! At any moment a flow has a rate r, held down by its bottleneck, and would have the rate a if it
//! were alone: the least capacity on its route, or its cap. In a short time dt it needs the part
//! r/a for its own bytes. It loses the rest, dt·(1 − r/a), to the other flows on the bottleneck, in
//! proportion to their rates there. Two flows on one link thus cost each other half of their time,
//! and each of n flows into one host loses (n − 1)/n. Both parts add up to the time of the flow
//! after its latency.
//!
//! Losses are added up by *owner*, the job of a flow. Each link has the sum of the bytes of each
//! owner. The growth of these sums gives what a class lost while its rate and bottleneck stayed the
//! same. A change of a rate therefore costs O(links of the route), for any number of flows. Memory:
//! 100 bytes a class, 32 for each link and owner on it, and 24 for each link and owner that delayed
//! a flow; [competing pairs](mod@competing_pairs) take 48 a flow.

mod competing_pairs;
mod sums;
#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;

use competing_pairs::FlowRecord;
pub(super) use competing_pairs::competing_pairs;
pub use competing_pairs::{Loss, Pair};
pub use sums::DelaySums;

use super::max_min::{ClassId, Sharing};
use super::progress::Flow;
use crate::topology::LinkId;

/// Part of the time that a flow took after its latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delay {
    /// The bottleneck; `None` for the flow's cap, or the memory of a host.
    pub link: Option<LinkId>,
    /// The owner of the flows to which the time is lost; `None` for the time that the flow needs
    /// alone.
    pub by: Option<u32>,
    /// Picoseconds.
    pub time: f64,
}

/// Relative error of sums of times and bytes: smaller differences are rounding. A sum of n terms in
/// `f64` errs by up to n·2⁻⁵³, so this allows ten million terms.
const NOISE: f64 = 1e-9;

/// The attribution of all active and finished flows.
#[derive(Clone, Debug, Default)]
pub(super) struct DelayAttribution {
    /// Of flows that start now.
    owner: u32,
    pair: Pair,
    links: Vec<LinkShares>,
    /// Links above are not the topology's.
    topology_links: u32,
    classes: Vec<ClassDelay>,
    /// Classes that flows have joined or left.
    pending: Vec<ClassId>,
    /// By key.
    flows: FxHashMap<u32, ActiveFlow>,
    /// Flows that have finished, in the order of their ends.
    records: Vec<FlowRecord>,
    /// By key of a flow that has finished.
    finished: FxHashMap<u32, Vec<Delay>>,
}

/// A flow under way.
#[derive(Clone, Debug, Default)]
struct ActiveFlow {
    owner: u32,
    pair: Pair,
    path: u32,
    /// Time at which it began to share, picoseconds.
    begin: f64,
    /// How long it waited for its connection before that, and the first link of its route.
    waited: (f64, Option<LinkId>),
    /// What its class had lost when it joined.
    before: Vec<Delay>,
    /// What it had lost on routes that it took before.
    on_other_routes: Vec<Delay>,
}

/// A link.
#[derive(Clone, Debug)]
struct LinkShares {
    capacity: f64,
    classes: u32,
    shares: Vec<Share>,
}

/// What the flows of an owner do on a link.
#[derive(Clone, Copy, Debug)]
struct Share {
    owner: u32,
    /// Bytes until `since`.
    bytes: f64,
    /// Picoseconds.
    since: f64,
    /// Bytes per picosecond.
    rate: f64,
}

impl Share {
    fn bytes_until(&self, now: f64) -> f64 {
        self.bytes + self.rate * (now - self.since)
    }
}

/// A class: flows of one owner, route and rate.
#[derive(Clone, Debug, Default)]
struct ClassDelay {
    owner: u32,
    is_open: bool,
    link: Option<u32>,
    /// Picoseconds.
    since: f64,
    /// Of each flow, bytes per picosecond; alone; and of all its flows.
    rate: f64,
    alone: f64,
    total: f64,
    /// Delays of a flow that belongs to the class from its beginning.
    delays: Vec<Delay>,
    /// What each owner had sent through the bottleneck at `since`.
    marks: Vec<f64>,
}

impl DelayAttribution {
    /// No flows, on links of these capacities; the first `topology_links` are the topology's.
    pub(super) fn new(capacities: &[f64], topology_links: usize) -> Self {
        let line = |capacity: &f64| LinkShares { capacity: *capacity, classes: 0, shares: Vec::new() };
        Self {
            links: capacities.iter().map(line).collect(),
            topology_links: topology_links as u32,
            ..Self::default()
        }
    }

    /// Flows that start from now on are of this owner, and of this pair of its ranks.
    pub(super) fn belong(&mut self, owner: u32, pair: Pair) {
        (self.owner, self.pair) = (owner, pair);
    }

    /// A flow starts.
    pub(super) fn start(&mut self, key: u32) {
        let (owner, pair) = (self.owner, self.pair);
        self.flows.insert(key, ActiveFlow { owner, pair, ..ActiveFlow::default() });
    }

    /// True if the flow is of the same owner as the class.
    pub(super) fn are_alike(&self, key: u32, class: u32) -> bool {
        let owner = self.flows.get(&key).map(|flow| flow.owner);
        owner == self.classes.get(class as usize).map(|class| class.owner)
    }

    /// A flow begins to share, on a path; it had paid its latency `since` then.
    pub(super) fn begin(&mut self, key: u32, path: u32, (since, now): (f64, f64), first: Option<u32>) {
        let first = first.filter(|link| *link < self.topology_links).map(LinkId);
        if let Some(flow) = self.flows.get_mut(&key) {
            (flow.path, flow.begin) = (path, now);
            flow.waited = (now - since, first);
        }
    }

    /// Opens a class with one flow.
    pub(super) fn open(&mut self, class: u32, key: u32, cap: f64, route: &[u32], now: f64) {
        let number = class as usize;
        self.classes.resize_with(self.classes.len().max(number + 1), ClassDelay::default);
        let mut alone = cap;
        for link in route {
            let line = &mut self.links[*link as usize];
            alone = alone.min(line.capacity);
            line.classes += 1;
        }
        let owner = self.flows.get(&key).map_or(0, |flow| flow.owner);
        let held = &mut self.classes[number];
        held.delays.clear();
        held.marks.clear();
        (held.owner, held.is_open, held.link) = (owner, true, None);
        (held.since, held.rate, held.alone, held.total) = (now, 0.0, alone, 0.0);
    }

    /// It joins a class.
    pub(super) fn join(&mut self, class: u32, key: u32, now: f64) {
        self.add_up(class, now);
        if let Some(flow) = self.flows.get_mut(&key) {
            flow.before.clone_from(&self.classes[class as usize].delays);
        }
        self.pending.push(ClassId(class));
    }

    /// A flow without bytes has finished.
    pub(super) fn skip(&mut self, key: u32) {
        let Some(flow) = self.flows.remove(&key) else { return };
        let (time, link) = flow.waited;
        if time > 0.0 {
            self.finished.insert(key, vec![Delay { link, by: Some(flow.owner), time }]);
        }
    }

    /// A flow of a class has finished; `is_last` if it has no other one.
    pub(super) fn leave(&mut self, class: u32, flow: &Flow, route: &[u32], is_last: bool, now: f64) {
        let (_, delays) = self.part(class, flow, route, is_last, now);
        self.finished.insert(flow.key, delays);
    }

    /// A flow leaves its class, and goes on over another route; of its bytes, `flow` has those that
    /// it has got.
    pub(super) fn divert(&mut self, class: u32, flow: &Flow, route: &[u32], is_last: bool, now: f64) {
        let (ActiveFlow { owner, pair, .. }, on_other_routes) = self.part(class, flow, route, is_last, now);
        let rest = ActiveFlow { owner, pair, on_other_routes, ..ActiveFlow::default() };
        self.flows.insert(flow.key, rest);
    }

    /// A flow leaves its class; returns its delays.
    fn part(
        &mut self,
        class: u32,
        flow: &Flow,
        route: &[u32],
        is_last: bool,
        now: f64,
    ) -> (ActiveFlow, Vec<Delay>) {
        self.add_up(class, now);
        self.records.extend(self.record(flow.key, flow.bytes as f64, now));
        let mut flow = self.flows.remove(&flow.key).unwrap_or_default();
        let held = &mut self.classes[class as usize];
        let mut delays = if is_last { std::mem::take(&mut held.delays) } else { held.delays.clone() };
        for (delay, before) in delays.iter_mut().zip(&flow.before) {
            delay.time -= before.time;
        }
        let (time, link) = flow.waited;
        add(&mut delays, Delay { link, by: Some(flow.owner), time });
        flow.on_other_routes.drain(..).for_each(|delay| add(&mut delays, delay));
        delays.retain(|delay| delay.time > 0.0);
        if is_last {
            held.is_open = false;
            for link in route {
                let line = &mut self.links[*link as usize];
                line.change(held.owner, -held.total, now);
                line.classes -= 1;
                if line.classes == 0 {
                    line.shares.clear();
                }
            }
        } else {
            self.pending.push(ClassId(class));
        }
        (flow, delays)
    }

    /// The record of a flow under way that has sent `bytes` bytes.
    pub(super) fn record(&self, key: u32, bytes: f64, now: f64) -> Option<FlowRecord> {
        let flow = self.flows.get(&key)?;
        let (owner, pair, path, begin) = (flow.owner, flow.pair, flow.path, flow.begin);
        Some(FlowRecord { owner, pair, path, bytes, begin, end: now })
    }

    /// Flows that have finished after a time, in the order of their ends.
    pub(super) fn records_after(&self, time: f64) -> &[FlowRecord] {
        &self.records[self.records.partition_point(|record| record.end <= time)..]
    }

    /// Drops the records of flows that ended before a time.
    pub(super) fn forget(&mut self, time: f64) {
        let before = self.records.len() - self.records_after(time).len();
        // Removal moves the rest, so it waits until half of the records are old.
        if 2 * before >= self.records.len() {
            self.records.drain(..before);
        }
    }

    /// The delays of a finished flow, returned once.
    pub(super) fn take(&mut self, key: u32) -> Vec<Delay> {
        self.finished.remove(&key).unwrap_or_default()
    }

    /// Rates have changed.
    pub(super) fn follow(&mut self, sharing: &Sharing, now: f64) {
        let mut pending = std::mem::take(&mut self.pending);
        for class in pending.iter().chain(sharing.changed()).chain(sharing.moved()) {
            self.update(*class, sharing, now);
        }
        pending.clear();
        self.pending = pending;
    }

    fn update(&mut self, class: ClassId, sharing: &Sharing, now: f64) {
        let number = class.0;
        if !self.classes[number as usize].is_open {
            return;
        }
        self.add_up(number, now);
        let held = &mut self.classes[number as usize];
        held.rate = sharing.rate(class);
        let total = held.rate * f64::from(sharing.count(class));
        let more = total - std::mem::replace(&mut held.total, total);
        for link in sharing.route(class) {
            self.links[*link as usize].change(held.owner, more, now);
        }
        held.link = sharing.bottleneck(class);
        held.marks.clear();
        if let Some(link) = held.link {
            let shares = self.links[link as usize].shares.iter();
            held.marks.extend(shares.map(|share| share.bytes_until(now)));
        }
    }

    /// Adds up what each flow of a class lost since the last change.
    fn add_up(&mut self, class: u32, now: f64) {
        let held = &mut self.classes[class as usize];
        let time = now - std::mem::replace(&mut held.since, now);
        if time <= 0.0 {
            return;
        }
        let link = held.link.filter(|link| *link < self.topology_links).map(LinkId);
        let mut own = time;
        let lost = time * (1.0 - held.rate / held.alone);
        if let Some(line) = held.link.map(|link| &self.links[link as usize])
            && lost > NOISE * time
        {
            // Owners that came later have no mark.
            let marks = || held.marks.iter().copied().chain(std::iter::repeat(0.0));
            let bytes = |(share, mark): (&Share, f64)| {
                let own = if share.owner == held.owner { held.rate * time } else { 0.0 };
                let bytes = share.bytes_until(now) - mark - own;
                (bytes > NOISE * line.capacity * time).then_some((share.owner, bytes))
            };
            let others = || line.shares.iter().zip(marks()).filter_map(bytes);
            let all: f64 = others().map(|(_, bytes)| bytes).sum();
            own -= if all > 0.0 { lost } else { 0.0 };
            for (owner, bytes) in others() {
                add(&mut held.delays, Delay { link, by: Some(owner), time: lost * bytes / all });
            }
        }
        add(&mut held.delays, Delay { link, by: None, time: own });
    }
}

fn add(delays: &mut Vec<Delay>, more: Delay) {
    match delays.iter_mut().find(|delay| delay.link == more.link && delay.by == more.by) {
        Some(delay) => delay.time += more.time,
        None => delays.push(more),
    }
}

impl LinkShares {
    /// Changes the rate of an owner on a link.
    fn change(&mut self, owner: u32, more: f64, now: f64) {
        match self.shares.iter_mut().find(|share| share.owner == owner) {
            Some(share) => {
                share.bytes = share.bytes_until(now);
                (share.since, share.rate) = (now, share.rate + more);
            }
            None => self.shares.push(Share { owner, bytes: 0.0, since: now, rate: more }),
        }
    }
}
