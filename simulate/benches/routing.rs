//! Routes per second of each router, on one core.
//!
//! `pairs of 16`: the host pairs of a 128-rank job on a two-level tree like the cluster milk.
//! `neighbours of 128`: 128 hosts spread over a three-level tree of 2 048 hosts with 256 paths
//! between far ones, eight partners each, as CG has. `all pairs of 9 826`: a fat tree of 34-port
//! switches, whose shortest paths are found anew.
#![allow(clippy::expect_used, reason = "a bench without its input is no bench")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use phaseflow_collect::TrafficMatrix;
use phaseflow_collect::choice::Choice;
use phaseflow_simulate::process_mapping::Placement;
use phaseflow_simulate::routing::{HostDemand, RouteRequest, Routes, router};
use phaseflow_simulate::topology::{HostId, Topology, TopologyChoice, TopologyOptions, topology};

const ROUTERS: &[&str] =
    &["dmodk", "smodk", "random", "ecmp", "greedy", "greedy-max", "minimal", "valiant", "ugal"];

fn network(text: &str) -> Topology {
    let choice = TopologyChoice::parse(text).expect("a topology");
    topology(&choice, &TopologyOptions::default()).expect("a topology")
}

fn demand(src: u32, dst: u32) -> HostDemand {
    HostDemand { src: HostId(src), dst: HostId(dst), bytes: 1, load: f64::from(1 + (src ^ dst)), flows: 1 }
}

fn measure(criterion: &mut Criterion, name: &str, topology: &Topology, demands: &[HostDemand]) {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(demands.len() as u64));
    let link_load = vec![0.0; topology.link_count()];
    let request = RouteRequest {
        topology,
        demands,
        link_load: &link_load,
        job: 0,
        phase: "0",
        placement: &Placement::default(),
        matrix: &TrafficMatrix::default(),
    };
    for name in ROUTERS {
        let mut router = router(&Choice::plain(name), 1).expect("a router");
        let mut routes = Routes::default();
        group.bench_function(*name, |bencher| {
            bencher.iter(|| {
                routes.clear();
                router.route(black_box(&request), &mut routes).expect("routes");
                routes.len()
            });
        });
    }
    group.finish();
}

fn pairs_of_16(criterion: &mut Criterion) {
    let tree = network("leaf-spine[leaves=4,spines=2,hosts=5]");
    let pairs = (0..16).flat_map(|src| (0..16).map(move |dst| (src, dst)));
    let demands: Vec<HostDemand> =
        pairs.filter(|(src, dst)| src != dst).map(|(src, dst)| demand(src, dst)).collect();
    measure(criterion, "pairs of 16", &tree, &demands);
}

fn neighbours_of_128(criterion: &mut Criterion) {
    let tree = network("xgft[m=16:16:8,w=1:16:16]");
    let host = |rank: u32| rank * 37 % 2048;
    let partners = (0..128).flat_map(|rank| (0..7).map(move |bit| (rank, rank ^ 1 << bit)));
    let demands: Vec<HostDemand> = partners.map(|(a, b)| demand(host(a), host(b))).collect();
    measure(criterion, "neighbours of 128", &tree, &demands);
}

/// All 96.5 million pairs of a fat tree of 34-port switches, destination by destination, with the
/// shortest paths to all hosts.
fn all_pairs_of_9826(criterion: &mut Criterion) {
    let fresh = network("fat-tree[k=34]");
    let hosts = fresh.host_count() as u32;
    let mut group = criterion.benchmark_group("all pairs of 9 826");
    group.sample_size(10).throughput(Throughput::Elements(u64::from(hosts) * u64::from(hosts - 1)));
    for name in ["dmodk", "minimal"] {
        let mut demands = Vec::new();
        let mut routes = Routes::default();
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let topology = fresh.clone();
                let link_load = vec![0.0; topology.link_count()];
                let mut router = router(&Choice::plain(name), 1).expect("a router");
                let mut count = 0;
                for dst in 0..hosts {
                    demands.clear();
                    demands.extend((0..hosts).filter(|src| *src != dst).map(|src| demand(src, dst)));
                    routes.clear();
                    let request = RouteRequest {
                        topology: &topology,
                        demands: &demands,
                        link_load: &link_load,
                        job: 0,
                        phase: "0",
                        placement: &Placement::default(),
                        matrix: &TrafficMatrix::default(),
                    };
                    router.route(black_box(&request), &mut routes).expect("routes");
                    count += routes.len();
                }
                count
            });
        });
    }
    group.finish();
}

criterion_group!(benches, pairs_of_16, neighbours_of_128, all_pairs_of_9826);
criterion_main!(benches);
