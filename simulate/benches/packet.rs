//! The packet engine: data packet-hops a second and memory, on the fat trees of ../shared/specs/peers.md.
#![allow(clippy::expect_used, reason = "a bench without its input is no bench")]
#![allow(clippy::print_stdout, reason = "its figures are its output")]

use phaseflow_simulate::packet::transport::{Dctcp, Ideal, Stack, Transport};
use phaseflow_simulate::packet::{Fabric, FabricOptions, Marking, Message, Paths, Simulation};
use phaseflow_simulate::topology::{HostId, Topology, TopologyChoice, TopologyOptions, topology};

fn fat_tree(k: u32) -> Topology {
    let choice = TopologyChoice::parse(&format!("fat-tree[k={k},capacity=100]")).expect("a tree");
    topology(&choice, &TopologyOptions::default()).expect("a network")
}

/// Every host sends to the one half the tree away, or to the next one of a fixed random cycle.
fn permutation(hosts: u32, bytes: u64) -> Vec<Message> {
    let mut order: Vec<u32> = (0..hosts).collect();
    let mut state = 1_u64;
    for i in (1..order.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(i, (state >> 33) as usize % (i + 1));
    }
    let next = |i: usize| order[(i + 1) % order.len()];
    let message =
        |(i, src): (usize, &u32)| Message { start: 0, src: HostId(*src), dst: HostId(next(i)), bytes };
    order.iter().enumerate().map(message).collect()
}

/// CPU seconds of this process so far: other work on the machine counts less than in wall-clock time.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux");
    let nanoseconds: f64 = text.split(' ').next().and_then(|word| word.parse().ok()).expect("a number");
    nanoseconds / 1e9
}

fn run<T: Transport>(name: &str, network: &Topology, options: &FabricOptions, transport: T) {
    let messages = permutation(network.host_count() as u32, 1 << 20);
    let start = cpu_seconds();
    let fabric = Fabric::new(network, options);
    let carrier = Stack::new(&fabric, transport);
    let mut simulation = Simulation { fabric, carrier };
    let arrivals = simulation.carry(&messages, None).expect("few packets");
    let seconds = cpu_seconds() - start;
    let last = arrivals.iter().map(|time| time.expect("all arrive")).max().unwrap_or(0);
    let hops = simulation.fabric.hops();
    println!(
        "{name:24} {:5} hosts {hops:9} hops {:7.1} ms, {:6.2} M hops/s, makespan {:8.1} us, pending {}",
        network.host_count(),
        seconds * 1e3,
        hops as f64 / seconds / 1e6,
        last as f64 / 1e6,
        simulation.fabric.most_pending(),
    );
}

fn main() {
    for k in [8, 16] {
        let network = fat_tree(k);
        for _ in 0..2 {
            for (name, paths) in [("flow", Paths::Flow), ("spray", Paths::Spray)] {
                let options = FabricOptions { paths, ..FabricOptions::default() };
                run(&format!("ideal {name}"), &network, &options, Ideal { mtu: 4096 });
                let options = FabricOptions { marking: Some(Marking::above(200_000)), ..options };
                let dctcp = Dctcp { mtu: 4096, is_reordered: paths == Paths::Spray, ..Dctcp::default() };
                run(&format!("dctcp {name}"), &network, &options, dctcp);
            }
        }
    }
}
