//! Test fixture: an aggregation alone on a network, step by step.

use super::*;
use crate::engine::Picoseconds;
use crate::packet::FabricOptions;
use crate::packet::Program;
use crate::topology::sketch::sketch;
use crate::topology::{PortOrder, Topology};

/// A microsecond, picoseconds.
pub(super) const MICROSECOND: Picoseconds = 1_000_000;
/// A millisecond, picoseconds.
pub(super) const MILLISECOND: Picoseconds = 1_000_000_000;

/// A network drawn in a line, all links of one capacity and latency.
pub(super) fn network(
    text: &str,
    gbps: f64,
    latency_ps: Picoseconds,
    switch_latency_ps: Picoseconds,
) -> Topology {
    let mut graph = sketch(text);
    for link in graph.edge_weights_mut() {
        (link.capacity, link.latency_ps) = (gbps, latency_ps);
    }
    Topology::freeze("net", graph, PortOrder::Name, switch_latency_ps).unwrap()
}

/// Hosts at one switch.
pub(super) fn star(
    hosts: u32,
    gbps: f64,
    latency_ps: Picoseconds,
    switch_latency_ps: Picoseconds,
) -> Topology {
    let text: Vec<String> = (0..hosts).map(|host| format!("h{host:03}-s")).collect();
    network(&text.join(" "), gbps, latency_ps, switch_latency_ps)
}

pub(super) fn group(job: u32, workers: std::ops::Range<u32>) -> Group {
    Group { job, workers: workers.map(HostId).collect(), servers: Vec::new() }
}

#[derive(Debug)]
pub(super) struct Alone<A>(pub(super) A);

impl<A: Aggregation> Program for Alone<A> {
    const AT_SWITCHES: bool = true;

    fn receive(&mut self, fabric: &mut Fabric<'_>, host: HostId, packet: Packet) {
        self.0.receive(fabric, host, &packet);
    }

    fn transit(&mut self, fabric: &mut Fabric<'_>, switch: NodeId, packet: &mut Packet) -> Verdict {
        self.0.transit(fabric, switch, packet)
    }

    fn doubled(&mut self, packet: &mut Packet) {
        self.0.doubled(packet);
    }

    fn resumed(&mut self, fabric: &mut Fabric<'_>, link: LinkId) {
        self.0.resumed(fabric, link);
    }

    fn needs(&mut self, timer: Timer, at: Picoseconds) -> bool {
        self.0.needs(timer, at)
    }

    fn timer(&mut self, fabric: &mut Fabric<'_>, timer: Timer) {
        self.0.timer(fabric, timer);
    }
}

/// A run.
#[derive(Debug)]
pub(super) struct Trial<'a, A> {
    pub(super) fabric: Fabric<'a>,
    pub(super) program: Alone<A>,
    /// Keys and times of sums that have arrived.
    pub(super) sums: Vec<(Picoseconds, u32)>,
}

impl<'a, A: Aggregation> Trial<'a, A> {
    pub(super) fn new(network: &'a Topology, options: &FabricOptions, aggregation: A) -> Self {
        Self { fabric: Fabric::new(network, options), program: Alone(aggregation), sums: Vec::new() }
    }

    pub(super) fn open(&mut self, group: &Group) -> Result<u32> {
        self.program.0.open(&mut self.fabric, group)
    }

    pub(super) fn add(&mut self, group: u32, worker: u32, bytes: u64, key: u32) -> Result<()> {
        self.program.0.contribute(&mut self.fabric, group, worker, bytes, key)
    }

    /// Processes the next event; false if none is pending.
    pub(super) fn step(&mut self) -> bool {
        let goes_on = self.fabric.step(&mut self.program);
        let now = self.fabric.now();
        self.sums.extend(self.program.0.delivered().drain(..).map(|key| (now, key)));
        goes_on
    }

    /// All hosts sum `bytes` once, now. Returns the time at which the last one has the sum; `None`
    /// for a deadlock.
    pub(super) fn allreduce(&mut self, bytes: u64) -> Option<Picoseconds> {
        let workers = self.fabric.topology().host_count() as u32;
        let number = self.open(&group(0, 0..workers)).unwrap();
        (0..workers).for_each(|worker| self.add(number, worker, bytes, worker).unwrap());
        while self.step() {}
        let mut keys: Vec<u32> = self.sums.iter().map(|(_, key)| *key).collect();
        keys.sort_unstable();
        assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "a sum came twice");
        (keys.len() as u32 == workers).then(|| self.sums.last().unwrap().0)
    }
}
