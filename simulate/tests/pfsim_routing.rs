//! PFSim's published maxima, from the routers alone: one job of 128 ranks on the first hosts of the cluster milk.
//!
//! Linear selection gives every job the first 16 of 20 hosts, so the maximum over PFSim's run is that of its first job.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests stop where something is wrong"
)]
#![allow(clippy::float_cmp, reason = "loads are whole bytes, far below 2^53")]

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use phaseflow_collect::TrafficMatrix;
use phaseflow_collect::choice::Choice;
use phaseflow_simulate::process_mapping::Placement;
use phaseflow_simulate::routing::{HostDemand, RouteRequest, Routes, router};
use phaseflow_simulate::topology::{HostId, LinkId, Topology, TopologyChoice, TopologyOptions, topology};

const BLOCK: fn(u32) -> u32 = |rank| rank / 8;
const CYCLIC: fn(u32) -> u32 = |rank| rank % 16;

fn data(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/pfsim").join(name);
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

/// Bytes by rank pair, source ranks in the order of their names (0, 1, 10, 100, …) as in the archive.
fn traffic(path: &Path) -> Vec<(u32, u32, u64)> {
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(File::open(path).unwrap()));
    let mut traffic = Vec::new();
    for member in archive.entries().unwrap() {
        let member = member.unwrap();
        if !member.header().entry_type().is_file() {
            continue;
        }
        let rank: serde_json::Value = serde_json::from_reader(member).unwrap();
        let src = rank["rank"].as_u64().unwrap() as u32;
        let messages = rank["tx_messages"].as_array().unwrap();
        for (dst, bytes) in rank["tx_bytes"].as_array().unwrap().iter().enumerate() {
            if messages[dst].as_u64().unwrap() > 0 {
                traffic.push((src, dst as u32, bytes.as_u64().unwrap()));
            }
        }
    }
    traffic.sort_by_key(|(src, dst, _)| (src.to_string(), *dst));
    traffic
}

fn demands(traffic: &[(u32, u32, u64)], host: fn(u32) -> u32) -> Vec<HostDemand> {
    let mut place = HashMap::new();
    let mut demands: Vec<HostDemand> = Vec::new();
    for (src, dst, bytes) in traffic {
        let pair = (HostId(host(*src)), HostId(host(*dst)));
        if pair.0 == pair.1 {
            continue;
        }
        let next = demands.len();
        let at = *place.entry(pair).or_insert(next);
        if at == next {
            demands.push(HostDemand { src: pair.0, dst: pair.1, bytes: 0, load: 0.0, flows: 0 });
        }
        demands[at].bytes += bytes;
        demands[at].load += *bytes as f64;
        demands[at].flows += 1;
    }
    // Stable: equal pairs stay in the order in which they appear, as in PFSim.
    demands.sort_by_key(|demand| std::cmp::Reverse(demand.bytes));
    demands
}

fn max_congestion(topology: &Topology, demands: &[HostDemand], name: &str) -> f64 {
    let mut router = router(&Choice::parse(name).unwrap(), 1).unwrap();
    let mut routes = Routes::default();
    let idle = vec![0.0; topology.link_count()];
    let request = RouteRequest {
        topology,
        demands,
        link_load: &idle,
        job: 0,
        phase: "0",
        placement: &Placement::default(),
        matrix: &TrafficMatrix::default(),
    };
    router.route(&request, &mut routes).unwrap();
    let mut load = idle.clone();
    for (route, demand) in routes.iter().zip(demands) {
        for link in route {
            load[link.0 as usize] += demand.load;
        }
    }
    let links = (0..load.len() as u32).map(LinkId).filter(|link| topology.between_switches(*link));
    links.map(|link| load[link.0 as usize] / topology.link(link).capacity).fold(0.0, f64::max)
}

#[track_caller]
fn check(trace: &str, host: fn(u32) -> u32, dmodk: f64, greedy: f64, greedy_max: f64) {
    let (Some(cluster), Some(trace)) = (data("milk.graphml"), data(trace)) else { return };
    let milk = topology(&TopologyChoice::File(cluster), &TopologyOptions::default()).unwrap();
    let demands = demands(&traffic(&trace), host);
    let found = |router| max_congestion(&milk, &demands, router);
    assert_eq!(found("dmodk"), dmodk);
    assert_eq!(found("dmodk[variant=pfsim]"), dmodk);
    assert_eq!(found("greedy"), greedy);
    assert_eq!(found("greedy-max"), greedy_max);
}

#[test]
fn cg_in_blocks() {
    check("cg-c-128.tar.gz", BLOCK, 5_928_262_656.0, 3_260_400_000.0, 2_964_262_664.0);
}

#[test]
fn cg_dealt_out() {
    check("cg-c-128.tar.gz", CYCLIC, 11_708_587_972.0, 10_522_987_972.0, 10_374_525_380.0);
}

#[test]
fn milc_in_blocks() {
    check("milc-128.tar.gz", BLOCK, 4_597_266_432.0, 3_792_248_768.0, 3_792_248_768.0);
}

#[test]
fn milc_dealt_out() {
    check("milc-128.tar.gz", CYCLIC, 5_743_219_456.0, 5_021_909_120.0, 4_848_272_192.0);
}
