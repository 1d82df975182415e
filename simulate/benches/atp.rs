//! ATP at full size: what the protocol's numbers say, what is reached, and how long that takes to
//! simulate.
//!
//! Expected figures are closed forms from packet sizes and rates, or those that the paper names
//! (Lao et al., NSDI 2021). 100 Gbit/s, 500 ns a link. `cargo bench --bench atp -- WORD` runs the
//! cases with WORD in their name.
#![allow(clippy::expect_used, reason = "a bench without its input is no bench")]
#![allow(clippy::print_stdout, reason = "its figures are its output")]

use std::time::Instant;

use phaseflow_collect::choice::Choice;
use phaseflow_simulate::packet::aggregation::atp::Atp;
use phaseflow_simulate::packet::transport::{Ideal, Stack};
use phaseflow_simulate::packet::{
    Aggregated, AggregationReport, Fabric, FabricOptions, Group, Marking, Simulation,
};
use phaseflow_simulate::topology::{HostId, Topology, TopologyChoice, TopologyOptions, topology};

/// 100 MB.
const BYTES: u64 = 100_000_000;
/// Bytes of numbers in a packet.
const PAYLOAD: u64 = 248;
/// Picoseconds of a packet of 330 bytes (paper) and 332 (code).
const PAPER: f64 = 26_400.0;
const CODE: f64 = 26_560.0;
/// Picoseconds of four links and the packet on three of them: what a star adds to the time of the
/// first link.
const ROUND: f64 = 4.0 * 500_000.0 + 3.0 * PAPER;

/// What came out of a run.
struct Outcome {
    /// When the last worker of a living job had its sum.
    ps: f64,
    report: AggregationReport,
    simulation: Simulation<'static, Aggregated<Stack<Ideal>>>,
    wall: f64,
}

/// A job: its workers, its server, and whether all of its workers take part; if not, it never ends.
struct Job {
    workers: Vec<u32>,
    server: u32,
    lives: bool,
}

fn job(workers: std::ops::Range<u32>, server: u32) -> Job {
    Job { workers: workers.collect(), server, lives: true }
}

fn network(text: &str, latency_ps: u64) -> &'static Topology {
    let options = TopologyOptions {
        capacity_gbps: Some(100.0),
        link_latency_ps: Some(latency_ps),
        ..TopologyOptions::default()
    };
    let choice = TopologyChoice::parse(text).expect("a topology");
    Box::leak(Box::new(topology(&choice, &options).expect("a network")))
}

fn run(net: &'static Topology, text: &str, options: &FabricOptions, jobs: &[Job], bytes: u64) -> Outcome {
    let choice = Choice::parse(text).expect("a choice");
    let aggregation = Box::new(Atp::new(&choice, 1, false).expect("parameters"));
    let fabric = Fabric::new(net, options);
    let carrier = Aggregated { carrier: Stack::new(&fabric, Ideal { mtu: 4096 }), aggregation };
    let mut simulation = Simulation { fabric, carrier };
    let start = Instant::now();
    let mut missing = 0;
    for (number, job) in (0..).zip(jobs) {
        let workers = job.workers.iter().copied().map(HostId).collect();
        let group = Group { job: number, workers, servers: vec![HostId(job.server)] };
        let group = simulation.carrier.aggregation.open(&mut simulation.fabric, &group).expect("a group");
        let takes_part = if job.lives { job.workers.len() as u32 } else { 1 };
        missing += if job.lives { takes_part } else { 0 };
        for worker in 0..takes_part {
            let add = simulation.carrier.aggregation.contribute(
                &mut simulation.fabric,
                group,
                worker,
                bytes,
                u32::from(job.lives),
            );
            add.expect("a vector");
        }
        if !job.lives {
            // They allocate their aggregators before all other jobs.
            simulation.advance(simulation.fabric.now() + 100_000_000, &mut Vec::new());
        }
    }
    let before = simulation.carrier.aggregation.report().fallbacks;
    let (began, mut done, mut ps) = (simulation.fabric.now(), Vec::new(), 0);
    while missing > 0 && simulation.run(u64::MAX, &mut done) {
        ps = simulation.fabric.now() - began;
        missing -= done.drain(..).count() as u32;
    }
    assert_eq!(missing, 0, "{text}: {:?}", simulation.carrier.aggregation.stuck());
    let mut report = simulation.carrier.aggregation.report();
    // Jobs that never end meet each other too.
    report.fallbacks -= before;
    Outcome { ps: ps as f64, report, simulation, wall: start.elapsed().as_secs_f64() }
}

fn marks() -> FabricOptions {
    FabricOptions { marking: Some(Marking::above(80_000)), ..FabricOptions::default() }
}

fn packets(bytes: u64) -> f64 {
    bytes.div_ceil(PAYLOAD) as f64
}

/// Prints a line: what it is, what was expected and reached, by how much that differs.
fn line(name: &str, what: &str, expected: f64, reached: f64) {
    println!(
        "{name:34} {what:24} {expected:10.3} {reached:10.3} {:+7.2} %",
        (reached / expected - 1.0) * 100.0
    );
}

fn ceiling() {
    let net = network("star[hosts=9]", 500_000);
    let jobs = [job(0..8, 8)];
    let plain = FabricOptions::default();
    for (name, text, options, packet) in [
        ("code", "atp[profile=code]", &plain, CODE),
        ("paper", "atp", &marks(), PAPER),
        ("by hash, window 85", "atp[index=hash,congestion-control=off,window=85]", &plain, PAPER),
        ("by hash, window 200", "atp[index=hash,congestion-control=off]", &plain, PAPER),
        ("by hash, marks above 80 kB", "atp[index=hash]", &marks(), PAPER),
        ("by hash, no marks", "atp[index=hash]", &plain, PAPER),
        ("by hash, 65536 aggregators, marks", "atp[index=hash,aggregators=65536]", &marks(), PAPER),
        (
            "by hash, no control, window 8192",
            "atp[index=hash,congestion-control=off,window=8192]",
            &plain,
            PAPER,
        ),
    ] {
        let outcome = run(net, text, options, &jobs, BYTES);
        let name = format!("V13 {name}");
        line(&name, "ms for 100 MB", (packets(BYTES) * packet + ROUND) / 1e9, outcome.ps / 1e9);
        line(&name, "M elements/s", 62e6 / packet, BYTES as f64 / 4.0 / outcome.ps * 1e6);
        let AggregationReport { fallbacks, retransmits, .. } = outcome.report;
        println!(
            "{:34} {fallbacks} fallbacks, {retransmits} resends, {:.1} M hops, {:.2} s wall",
            "",
            outcome.simulation.fabric.hops() as f64 / 1e6,
            outcome.wall
        );
    }
}

fn window() {
    for (us, expected) in [(5, 97.9_f64.min(100.0 * 306.0 / 330.0)), (10, 49.0), (20, 24.5)] {
        let net = network("star[hosts=9]", us * 1_000_000 / 4 - 26_400);
        let text = "atp[congestion-control=off,window=200,aggregators=1000000]";
        let outcome = run(net, text, &FabricOptions::default(), &[job(0..8, 8)], BYTES);
        let reached = packets(BYTES) * 306.0 * 8e3 / outcome.ps;
        line(&format!("V14 round trip {us} us"), "Gbit/s of 306 B packets", expected, reached);
    }
}

fn fallback() {
    let net = network("star[hosts=12]", 500_000);
    let (rows, window) = (100_000.0_f64, 200.0);
    for share in [0.0_f64, 0.05, 0.5, 1.0] {
        let text = if share < 1.0 { "100000" } else { "0" };
        let text = format!(
            "atp[index=hash,congestion-control=off,window=200,aggregators={text},first-timeout=1000s,leak-timeout=1000s]"
        );
        // The number of jobs that never end, so that they hold this share of the aggregators.
        let dead = if share < 1.0 { (1.0 - share).ln() / (1.0 - 1.0 / rows).ln() / window } else { 0.0 };
        let dead = (0..dead.round() as u32).map(|_| Job { lives: false, ..job(9..11, 11) });
        let jobs: Vec<Job> = dead.chain([job(0..8, 8)]).collect();
        let outcome = run(net, &text, &FabricOptions::default(), &jobs, BYTES / 10);
        let fell = outcome.report.fallbacks as f64 / (8.0 * packets(BYTES / 10));
        let name = format!("V16 share {share} to the server");
        line(&name, "rate of the line", 1.0 / (1.0 + 7.0 * share), packets(BYTES / 10) * PAPER / outcome.ps);
        println!("{:34} share reached {fell:.4}, with own packets that meet", "");
    }
}

fn sharing() {
    // Four jobs of four workers; the window covers the round trip, so 640 packets are on their way.
    let net = network("star[hosts=20]", 1_030_000);
    let all: Vec<Job> = (0..4).map(|first| job(5 * first..5 * first + 4, 5 * first + 4)).collect();
    let demand = 640;
    let plain = FabricOptions::default();
    for (index, control, options) in [
        ("hash", "off", &plain),
        ("hash", "on", &marks()),
        ("place", "off", &plain),
        ("place", "on", &marks()),
    ] {
        for (name, jobs) in [("four of four jobs", &all[..]), ("two of four jobs", &all[..2])] {
            let time = |rows: u32, sharing: &str| {
                let text = format!(
                    "atp[index={index},congestion-control={control},window=160,aggregators={rows},sharing={sharing}]"
                );
                run(net, &text, options, jobs, BYTES / 20).ps
            };
            let best = time(10_000_000, "dynamic");
            for rows in [4 * demand, 2 * demand, demand, demand / 2, demand / 4] {
                let [shared, divided] =
                    ["dynamic", "static,jobs=4"].map(|sharing| best / time(rows, sharing) * 100.0);
                println!(
                    "V17 by {index}, control {control}, {name}, {:4.2} of demand: {shared:5.1} % of the rate if shared, {divided:5.1} % if divided",
                    f64::from(rows) / f64::from(demand)
                );
            }
        }
    }
}

fn levels() {
    let net = network("leaf-spine[leaves=4,spines=1,hosts=2]", 500_000);
    let outcome = run(net, "atp[profile=code]", &FabricOptions::default(), &[job(0..6, 6)], BYTES / 10);
    let mut simulation = outcome.simulation;
    let traffic = simulation.fabric.traffic();
    let into = net.incoming(net.host(HostId(6)))[0];
    let reached = traffic[into.0 as usize].packets as f64 / packets(BYTES / 10);
    line("V18 three racks", "packets at the server", 1.0, reached);
}

fn control() {
    let net = network("star[hosts=9]", 500_000);
    let options = FabricOptions { buffer: Some(200_000), ..marks() };
    let time = |text: &str| run(net, text, &options, &[job(0..8, 8)], BYTES / 20);
    let [on, off] = ["on", "off,window=2000"].map(|control| {
        time(&format!("atp[index=hash,aggregators=100,congestion-control={control},window-limit=2000]"))
    });
    println!(
        "CC, 100 aggregators, 200 kB queues: {:.2} ms, {} resends with, {:.2} ms, {} resends without: {:.1} times",
        on.ps / 1e9,
        on.report.retransmits,
        off.ps / 1e9,
        off.report.retransmits,
        off.ps / on.ps
    );
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    println!("case                               what                       expected    reached  differs");
    let cases: [(&str, fn()); 6] = [
        ("V13 ceiling", ceiling),
        ("V14 window", window),
        ("V16 fallback", fallback),
        ("V17 sharing", sharing),
        ("V18 levels", levels),
        ("CC control", control),
    ];
    for (name, case) in cases {
        if words.is_empty() || words.iter().any(|word| name.contains(word.as_str())) {
            case();
        }
    }
}
