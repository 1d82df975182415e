//! The packet engine: data packet-hops a CPU second and peak memory, on the workloads of
//! ../shared/specs/peers.md.
//!
//! Fat trees of three levels, 100 Gbit/s, 1 µs a link, 4096 bytes a packet. `permutation`: every
//! host sends 1 MiB (or more) to another one. `ring`: allreduce of 16 MiB. Each packet is
//! acknowledged by a packet of its own over as many links, so data packet-hops are half of all
//! (`usnic` sends fewer acknowledgements: its figure is too low; `ideal` sends none). Each case is
//! a process, three times; the median counts. `cargo bench --bench packet -- WORD` runs the cases
//! with WORD in their name.
#![allow(clippy::expect_used, reason = "a bench without its input is no bench")]
#![allow(clippy::print_stdout, reason = "its figures are its output")]

use std::process::Command;

use phaseflow_simulate::packet::transport::usnic::{Preset, Usnic};
use phaseflow_simulate::packet::transport::{Dctcp, Ideal, Roce, Stack};
use phaseflow_simulate::packet::{Carrier, Fabric, FabricOptions, Marking, Message, Paths, Simulation};
use phaseflow_simulate::topology::{HostId, Topology, TopologyChoice, TopologyOptions, topology};

/// Who sends what.
#[derive(Clone, Copy)]
enum Pattern {
    /// Every host sends this number of bytes to another one.
    Permutation(u64),
    /// Allreduce of 16 MiB.
    Ring,
    /// 64 KiB from each to each other of the first 64 hosts.
    AllToAll,
}

use Pattern::{AllToAll, Permutation, Ring};

/// Name; ports of a switch; transport; paths; pattern; data packet-hops a second, or seconds, that
/// are asked.
const CASES: &[(&str, u32, &str, Paths, Pattern, &str)] = &[
    (
        "permutation 128 dctcp",
        8,
        "dctcp",
        Paths::Flow,
        Permutation(1 << 20),
        ">= 4 M/s; htsim RoCE 1.0 M/s, ns-3 0.064",
    ),
    (
        "permutation 128 dctcp spray",
        8,
        "dctcp",
        Paths::Spray,
        Permutation(1 << 20),
        ">= 4 M/s; htsim UEC 1.1 M/s",
    ),
    ("permutation 128 roce", 8, "roce", Paths::Flow, Permutation(1 << 20), "htsim RoCE 1.0 M/s"),
    ("permutation 128 usnic-4.1", 8, "usnic-4.1", Paths::Flow, Permutation(1 << 20), "-"),
    ("permutation 128 ideal", 8, "ideal", Paths::Flow, Permutation(1 << 20), "-"),
    (
        "permutation 1024 dctcp",
        16,
        "dctcp",
        Paths::Flow,
        Permutation(1 << 20),
        ">= 3 M/s; htsim RoCE 0.37 M/s, ns-3 0.036",
    ),
    (
        "permutation 1024 dctcp spray",
        16,
        "dctcp",
        Paths::Spray,
        Permutation(1 << 20),
        ">= 3 M/s; htsim UEC 0.23 M/s",
    ),
    ("permutation 1024 roce", 16, "roce", Paths::Flow, Permutation(1 << 20), "htsim RoCE 0.37 M/s"),
    ("permutation 1024 ideal", 16, "ideal", Paths::Flow, Permutation(1 << 20), "-"),
    ("linear 128 dctcp 4 MiB", 8, "dctcp", Paths::Flow, Permutation(4 << 20), "as with 1 MiB"),
    ("linear 128 dctcp 16 MiB", 8, "dctcp", Paths::Flow, Permutation(16 << 20), "as with 1 MiB"),
    ("ring 128 dctcp", 8, "dctcp", Paths::Flow, Ring, "<= 1 s, 60 MB; htsim UEC 7.5 s, 632 MB"),
    ("all-to-all 64 dctcp spray", 8, "dctcp", Paths::Spray, AllToAll, "htsim UEC 0.60 s, 361 us"),
    ("ring 128 roce", 8, "roce", Paths::Flow, Ring, "<= 1 s, 60 MB; htsim UEC 7.5 s, 632 MB"),
];

const RING_BYTES: u64 = 16 << 20;
/// Payload of a packet.
const PAYLOAD: u32 = 4096;

/// What a case prints and its parent reads: hops, CPU seconds, peak memory in kB, makespan, most
/// pending.
type Figures = [f64; 5];

fn fat_tree(k: u32) -> Topology {
    let choice = TopologyChoice::parse(&format!("fat-tree[k={k},capacity=100]")).expect("a tree");
    topology(&choice, &TopologyOptions::default()).expect("a network")
}

/// Every host sends to the next one of a random cycle through all.
fn permutation(hosts: u32, bytes: u64) -> Vec<Message> {
    let mut order: Vec<u32> = (0..hosts).collect();
    let mut state = 1_u64;
    for i in (1..order.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(i, (state >> 33) as usize % (i + 1));
    }
    let next = |i: usize| HostId(order[(i + 1) % order.len()]);
    let message = |(i, src): (usize, &u32)| Message { start: 0, src: HostId(*src), dst: next(i), bytes };
    order.iter().enumerate().map(message).collect()
}

/// 2(p − 1) steps; in each, everyone sends 1/p of the vector to the next one as soon as the step
/// before has come in.
fn ring<C: Carrier>(simulation: &mut Simulation<'_, C>, hosts: u32) {
    let steps = 2 * (hosts - 1);
    let bytes = RING_BYTES / u64::from(hosts);
    let send = |simulation: &mut Simulation<'_, C>, step: u32, src: u32| {
        let dst = HostId((src + 1) % hosts);
        simulation.start(HostId(src), dst, bytes, step * hosts + src).expect("few packets");
    };
    (0..hosts).for_each(|src| send(simulation, 0, src));
    let mut delivered = Vec::new();
    while simulation.run(u64::MAX, &mut delivered) {
        for key in delivered.drain(..) {
            let (step, src) = (key / hosts, key % hosts);
            if step + 1 < steps {
                send(simulation, step + 1, (src + 1) % hosts);
            }
        }
    }
}

fn all_to_all(hosts: u32, bytes: u64) -> Vec<Message> {
    // In each round every host has a partner of its own.
    let pairs = (1..hosts).flat_map(|round| (0..hosts).map(move |src| (src, (src + round) % hosts)));
    pairs.map(|(src, dst)| Message { start: 0, src: HostId(src), dst: HostId(dst), bytes }).collect()
}

fn work<C: Carrier>(fabric: Fabric<'_>, carrier: C, pattern: Pattern) -> Figures {
    let hosts = fabric.topology().host_count() as u32;
    let mut simulation = Simulation { fabric, carrier };
    let mut carry = |messages: Vec<Message>| {
        let arrivals = simulation.carry(&messages, None).expect("few packets");
        arrivals.into_iter().map(|time| time.expect("all arrive")).max().unwrap_or(0)
    };
    let makespan = match pattern {
        Permutation(bytes) => carry(permutation(hosts, bytes)),
        AllToAll => carry(all_to_all(64, 64 << 10)),
        Ring => {
            ring(&mut simulation, hosts);
            simulation.fabric.now()
        }
    };
    let hops = simulation.fabric.hops() as f64;
    [hops, cpu_seconds(), peak_kilobytes(), makespan as f64 / 1e6, simulation.fabric.most_pending() as f64]
}

fn case(name: &str) -> Option<Figures> {
    let (_, k, transport, paths, pattern, _) = *CASES.iter().find(|case| case.0 == name)?;
    let network = fat_tree(k);
    let marking = (transport != "ideal").then_some(Marking::above(200_000));
    let fabric = Fabric::new(&network, &FabricOptions { marking, paths, ..FabricOptions::default() });
    Some(match transport {
        "ideal" => {
            let stack = Stack::new(&fabric, Ideal { mtu: PAYLOAD });
            work(fabric, stack, pattern)
        }
        "roce" => {
            let stack = Stack::new(&fabric, Roce { mtu: PAYLOAD, ..Roce::default() });
            work(fabric, stack, pattern)
        }
        "usnic-4.1" => {
            let preset = Preset { pass: 500_000, ..Preset::v4_1(PAYLOAD + 76) };
            let usnic = Usnic::new(&fabric, preset).expect("an MTU");
            work(fabric, usnic, pattern)
        }
        _ => {
            let is_reordered = paths == Paths::Spray;
            let stack = Stack::new(&fabric, Dctcp { mtu: PAYLOAD + 52, is_reordered, ..Dctcp::default() });
            work(fabric, stack, pattern)
        }
    })
}

/// CPU seconds of this process so far: other work on the machine counts less than in wall-clock
/// time.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux");
    let nanoseconds: f64 = text.split(' ').next().and_then(|word| word.parse().ok()).expect("a number");
    nanoseconds / 1e9
}

fn peak_kilobytes() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = text.lines().find(|line| line.starts_with("VmHWM")).expect("a peak");
    line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("a number")
}

/// Runs a case in a process of its own.
fn measure(name: &str) -> Figures {
    let program = std::env::current_exe().expect("this program");
    let output = Command::new(program).args(["--case", name]).output().expect("a process");
    let text = String::from_utf8(output.stdout).expect("figures");
    let figures: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    figures.try_into().expect("five figures")
}

/// Rows V9, V10 and V12 of ../shared/specs/protocols.md at their full size: one fragment of 100 000
/// chunks over a cable with MTU 9000, our figures and those of the specification's throw-away
/// simulation.
fn rows() {
    const CHUNKS: u64 = 100_000;
    // Passes of the specification.
    let bulk = Preset { has_put: true, pass: 500_000, ..Preset::v4_1(9000) };
    let timeouts = |ms: u64| Preset { has_fast_retransmit: false, timeout: ms * 1_000_000_000, ..bulk };
    let slow = Preset { pass: 100_000_000, ..bulk };
    let rows = [
        (
            "V9 RTT 100 ms, with start",
            Preset { timeout: 1_000_000_000_000, ..bulk },
            100_000_000_000,
            0.0,
            "2.92 (2.935)",
        ),
        ("V10 pass 100 us", slow, 10_000_000, 0.0, "5.71 (5.711)"),
        ("V12 loss 1e-4", bulk, 10_000_000, 1e-4, "9.12, 8.3 k resends, 0 timeouts"),
        ("V12 loss 1e-3", bulk, 10_000_000, 1e-3, "9.19, 7.4 k resends, 0 timeouts"),
        ("V12 loss 1e-2", bulk, 10_000_000, 1e-2, "9.07, 8.8 k resends, 0 timeouts"),
        ("V12 1e-4, timeouts 5 ms", timeouts(5), 10_000_000, 1e-4, "9.863, 110 resends"),
        ("V12 1e-3, timeouts 5 ms", timeouts(5), 10_000_000, 1e-3, "9.728, 900 resends"),
        ("V12 1e-3, timeouts 100 ms", timeouts(100), 10_000_000, 1e-3, "3.58, in flight 4095"),
    ];
    println!("usNIC 4.1                   Gbit/s  resends  timeouts  in flight  specification");
    let choice = TopologyChoice::parse("star[hosts=2,capacity=10]").expect("a star");
    for (name, preset, round_trip, loss, expected) in rows {
        let options = TopologyOptions { link_latency_ps: Some(round_trip / 4), ..TopologyOptions::default() };
        let network = topology(&choice, &options).expect("a network");
        // Two links on the way: half of the loss on each.
        let fabric = Fabric::new(&network, &FabricOptions { loss: loss / 2.0, ..FabricOptions::default() });
        let carrier = Usnic::new(&fabric, preset).expect("an MTU");
        let mut simulation = Simulation { fabric, carrier };
        let bytes = CHUNKS * 8924;
        simulation.start(HostId(0), HostId(1), bytes, 0).expect("few packets");
        simulation.run(u64::MAX, &mut Vec::new());
        let counts = simulation.carrier.counts();
        println!(
            "{name:26} {:7.3} {:8} {:9} {:10}  {expected}",
            bytes as f64 * 8000.0 / simulation.fabric.now() as f64,
            counts.resends,
            counts.timeouts,
            counts.most_in_flight,
        );
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name] = &words[..]
        && flag == "--case"
    {
        let figures = case(name).expect("a known case");
        println!("{}", figures.map(|figure| figure.to_string()).join(" "));
        return;
    }
    let words: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    println!(
        "case                           data hops  CPU s  M hops/s  peak MB  B/packet  makespan us  asked, peers"
    );
    for (name, _, transport, _, _, asked) in CASES {
        if !words.is_empty() && !words.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        let mut runs = [0; 3].map(|_| measure(name));
        runs.sort_by(|a, b| a[1].total_cmp(&b[1]));
        let [hops, seconds, kilobytes, makespan, pending] = runs[1];
        let hops = if *transport == "ideal" { hops } else { hops / 2.0 };
        println!(
            "{name:30} {hops:9.0} {seconds:6.3} {:9.2} {:8.1} {:9.0} {makespan:12.1}  {asked}",
            hops / seconds / 1e6,
            kilobytes / 1e3,
            kilobytes * 1e3 / pending,
        );
    }
    if words.is_empty() || words.iter().any(|word| "rows".contains(word.as_str())) {
        rows();
    }
}
