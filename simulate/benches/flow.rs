//! Flows through the flow model, and the same with all rates from scratch at every event.
//!
//! Loads as in SimGrid's comparison (benches/peers/): `A`: all-to-all, 64 KiB a pair. `U`: Poisson
//! arrivals at half the capacity of the host links, exponential sizes of mean 1 MB, random pairs.
//! `R`: random pairs and sizes, all at once; with a tolerance too. Three-level fat trees with full
//! bisection, D-mod-K, 100 Gbit/s, 1 µs a link.
#![allow(clippy::expect_used, reason = "a bench without its input is no bench")]

use std::collections::BinaryHeap;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use phaseflow_collect::TrafficMatrix;
use phaseflow_collect::choice::Choice;
use phaseflow_simulate::flow::{FlowNetwork, FlowOptions};
use phaseflow_simulate::process_mapping::Placement;
use phaseflow_simulate::routing::{HostDemand, RouteRequest, Routes, router};
use phaseflow_simulate::topology::{HostId, LinkId, Topology, TopologyChoice, TopologyOptions, topology};
use rand::{Rng, SeedableRng};
use rand_distr::Exp1;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Start in picoseconds, ends, bytes; by start.
type Flow = (u64, u32, u32, u64);

fn tree(text: &str) -> Topology {
    let options = TopologyOptions { capacity_gbps: Some(100.0), ..TopologyOptions::default() };
    topology(&TopologyChoice::parse(text).expect("a topology"), &options).expect("a topology")
}

fn all_to_all(hosts: u32) -> Vec<Flow> {
    let pairs = (0..hosts).flat_map(|src| (0..hosts).map(move |dst| (src, dst)));
    pairs.filter(|(src, dst)| src != dst).map(|(src, dst)| (0, src, dst, 65_536)).collect()
}

/// `load` of the host links in time, or all at once.
fn random(hosts: u32, flows: usize, load: Option<f64>) -> Vec<Flow> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut now = 0.0;
    let flow = |_| {
        if let Some(load) = load {
            // 1 MB takes 80 µs.
            now += rng.sample::<f64, _>(Exp1) * 80e6 / (load * f64::from(hosts));
        }
        let src = rng.gen_range(0..hosts);
        let dst = (src + rng.gen_range(1..hosts)) % hosts;
        (now as u64, src, dst, 1 + (rng.sample::<f64, _>(Exp1) * 1e6) as u64)
    };
    (0..flows).map(flow).collect()
}

fn run(net: &Topology, flows: &[Flow], tolerance: f32) -> f64 {
    let router = router(&Choice::plain("dmodk"), 1).expect("a router");
    let options = FlowOptions { tolerance, ..FlowOptions::default() };
    let mut network = FlowNetwork::new(net, router, &options);
    let mut last = 0.0;
    for (key, (start, src, dst, bytes)) in (0..).zip(flows) {
        network.advance(*start, |_, end| last = end);
        network.start(*start, (HostId(*src), HostId(*dst)), *bytes, None, key).expect("a route");
    }
    network.advance(u64::MAX, |_, end| last = end);
    last
}

/// The state of water filling from scratch.
struct WaterFilling {
    /// By link: bytes per picosecond.
    capacity: Vec<f64>,
    /// By link: active flows.
    members: Vec<Vec<u32>>,
    /// By link: capacity and weight that are left.
    rest: Vec<f64>,
    weight: Vec<u32>,
    /// By flow.
    rate: Vec<f64>,
    /// Links by their level, lowest first; entries may be outdated.
    heap: BinaryHeap<(u64, usize)>,
}

impl WaterFilling {
    fn new(net: &Topology, flows: usize) -> Self {
        let links = net.link_count();
        Self {
            capacity: (0..links as u32).map(|link| net.link(LinkId(link)).capacity * 1.25e-4).collect(),
            members: vec![Vec::new(); links],
            rest: vec![0.0; links],
            weight: vec![0; links],
            rate: vec![0.0; flows],
            heap: BinaryHeap::new(),
        }
    }

    fn level(&self, link: usize) -> f64 {
        (self.rest[link] / f64::from(self.weight[link])).max(0.0)
    }

    /// Computes the rates of all active flows.
    fn solve(&mut self, active: &[(usize, f64)], routes: &Routes) {
        self.rest.copy_from_slice(&self.capacity);
        self.weight.fill(0);
        self.members.iter_mut().for_each(Vec::clear);
        for (flow, _) in active {
            self.rate[*flow] = f64::INFINITY;
            for link in routes.get(*flow) {
                self.weight[link.0 as usize] += 1;
                self.members[link.0 as usize].push(*flow as u32);
            }
        }
        let links = (0..self.capacity.len()).filter(|link| self.weight[*link] > 0);
        let entries: Vec<(u64, usize)> = links.map(|link| (!self.level(link).to_bits(), link)).collect();
        self.heap.extend(entries);
        while let Some((bits, link)) = self.heap.pop() {
            if self.weight[link] > 0 {
                self.fill(link, f64::from_bits(!bits), routes);
            }
        }
    }

    /// Fixes the flows of a link that was at `level` when it was put into the heap.
    fn fill(&mut self, link: usize, level: f64, routes: &Routes) {
        let now_level = self.level(link);
        if now_level > level {
            self.heap.push((!now_level.to_bits(), link));
            return;
        }
        for flow in &self.members[link] {
            if self.rate[*flow as usize] == f64::INFINITY {
                self.rate[*flow as usize] = now_level;
                for other in routes.get(*flow as usize) {
                    self.rest[other.0 as usize] -= now_level;
                    self.weight[other.0 as usize] -= 1;
                }
            }
        }
    }
}

/// The routes of all flows.
fn routes_of(net: &Topology, flows: &[Flow]) -> Routes {
    let demand = |flow: &Flow| HostDemand {
        src: HostId(flow.1),
        dst: HostId(flow.2),
        bytes: flow.3,
        load: 0.0,
        flows: 1,
    };
    let demands: Vec<HostDemand> = flows.iter().map(demand).collect();
    let request = RouteRequest {
        topology: net,
        demands: &demands,
        link_load: &[],
        job: 0,
        phase: "",
        placement: &Placement::default(),
        matrix: &TrafficMatrix::default(),
    };
    let mut routes = Routes::default();
    router(&Choice::plain("dmodk"), 1).expect("a router").route(&request, &mut routes).expect("routes");
    routes
}

/// All rates from scratch at every event, by water filling with a heap of links.
fn run_from_scratch(net: &Topology, flows: &[Flow]) -> f64 {
    let routes = routes_of(net, flows);
    let mut begins: Vec<(u64, usize)> = flows
        .iter()
        .enumerate()
        .map(|(i, flow)| (flow.0 + 1_000_000 * routes.get(i).len() as u64, i))
        .collect();
    begins.sort_unstable();
    let mut begins = begins.into_iter().peekable();

    let mut filling = WaterFilling::new(net, flows.len());
    let mut active: Vec<(usize, f64)> = Vec::new();
    let mut now = 0.0_f64;
    while begins.peek().is_some() || !active.is_empty() {
        let rate = &filling.rate;
        let begin = begins.peek().map_or(f64::INFINITY, |begin| begin.0 as f64);
        let next = active.iter().map(|(flow, bytes)| now + bytes / rate[*flow]).fold(begin, f64::min);
        let step = next - now;
        active.iter_mut().for_each(|(flow, bytes)| *bytes -= rate[*flow] * step);
        active.retain(|(flow, bytes)| *bytes > rate[*flow] * 1e-2);
        now = next;
        while let Some((_, flow)) = begins.next_if(|begin| begin.0 as f64 <= now) {
            active.push((flow, flows[flow].3 as f64));
        }
        filling.solve(&active, &routes);
    }
    now
}

fn flows(criterion: &mut Criterion) {
    let small = tree("xgft[m=4:4:8,w=1:4:4]");
    let large = tree("xgft[m=8:8:16,w=1:8:8]");
    let cases = [
        ("A64", &small, all_to_all(64)),
        ("A128", &small, all_to_all(128)),
        ("A1024", &large, all_to_all(1024)),
        ("U128", &small, random(128, 10_000, Some(0.5))),
        ("U1024", &large, random(1024, 20_000, Some(0.5))),
        ("R128", &small, random(128, 2_000, None)),
        ("R1024", &large, random(1024, 10_000, None)),
    ];
    let mut group = criterion.benchmark_group("flows");
    group.sample_size(10).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    for (name, net, list) in &cases {
        group.throughput(Throughput::Elements(list.len() as u64));
        group.bench_function(*name, |bencher| bencher.iter(|| run(net, list, 0.0)));
    }
    for (name, net, list) in cases.iter().filter(|(name, ..)| name.starts_with('R')) {
        group.throughput(Throughput::Elements(list.len() as u64));
        group.bench_function(format!("{name}, tolerance 0.05"), |bencher| {
            bencher.iter(|| run(net, list, 0.05));
        });
    }
    for (name, net, list) in cases.iter().filter(|(name, ..)| ["U128", "R128"].contains(name)) {
        let (fast, slow) = (run(net, list, 0.0), run_from_scratch(net, list));
        assert!((fast - slow).abs() <= 1e-9 * slow, "{name}: {fast} and {slow}");
        group.throughput(Throughput::Elements(list.len() as u64));
        group.bench_function(format!("{name}, from scratch"), |bencher| {
            bencher.iter(|| run_from_scratch(net, list));
        });
    }
    group.finish();
}

criterion_group!(benches, flows);
criterion_main!(benches);
