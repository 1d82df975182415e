//! In-network aggregation at full size: our figures beside published ones and those of the
//! specification's throw-away simulation.
//!
//! A star of 8 hosts (or as said), 1 µs a link and in the switch; 100 MB. `x line` is the time over
//! that of the lossless bound, the mean of three seeds. CPU seconds are of one run. Of the lab's
//! protocol, 1 ms a link, milliseconds are those of a chunk. `cargo bench --bench aggregation --
//! WORD` runs the rows with WORD in their name.
#![allow(clippy::expect_used, reason = "a bench without its input is no bench")]
#![allow(clippy::print_stdout, reason = "its figures are its output")]

use phaseflow_collect::choice::Choice;
use phaseflow_simulate::engine::Picoseconds;
use phaseflow_simulate::packet::aggregation::lab::Lab;
use phaseflow_simulate::packet::aggregation::switchml::SwitchMl;
use phaseflow_simulate::packet::{
    Aggregation, AggregationReport, Fabric, FabricOptions, Group, Packet, Program, Timer, Verdict,
};
use phaseflow_simulate::topology::{HostId, LinkId, NodeId, TopologyChoice, TopologyOptions, topology};

/// An aggregation without messages beside it.
struct Alone(Box<dyn Aggregation>);

impl Program for Alone {
    const AT_SWITCHES: bool = true;

    fn receive(&mut self, fabric: &mut Fabric<'_>, host: HostId, packet: Packet) {
        self.0.receive(fabric, host, &packet);
    }

    fn transit(&mut self, fabric: &mut Fabric<'_>, switch: NodeId, packet: &mut Packet) -> Verdict {
        self.0.transit(fabric, switch, packet)
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

/// One allreduce.
struct Row {
    name: &'static str,
    choice: &'static str,
    hosts: u32,
    gbps: f64,
    link_ps: u64,
    switch_ps: u64,
    bytes: u64,
    loss: f64,
    expected: &'static str,
}

const LAB_CHUNKS: u64 = 10_000;
const MB: u64 = 1_000_000;
const PAPER: &str = "switchml[k=32,slots=128]";
const FAST: &str = "switchml[k=64,slots=512]";
const SLOW_TIMEOUT: &str = "switchml[k=256,slots=256,timeout=10ms]";

/// 100 MB at 8 hosts, 1 µs a link and in the switch.
const fn row(name: &'static str, choice: &'static str, gbps: f64, loss: f64, expected: &'static str) -> Row {
    Row {
        name,
        choice,
        hosts: 8,
        gbps,
        link_ps: 1_000_000,
        switch_ps: 1_000_000,
        bytes: 100 * MB,
        loss,
        expected,
    }
}

/// 200 000 chunks of 128 bytes at 10 Gbit/s.
const fn chunks(
    name: &'static str,
    choice: &'static str,
    hosts: u32,
    link_ps: u64,
    expected: &'static str,
) -> Row {
    Row { hosts, link_ps, bytes: 200_000 * 128, ..row(name, choice, 10.0, 0.0, expected) }
}

/// The course's protocol over links so fast that packets have no length, as in the simulation that
/// is compared with.
const fn lab(name: &'static str, hosts: u32, loss: f64, expected: &'static str) -> Row {
    let bytes = 252 * LAB_CHUNKS;
    Row {
        hosts,
        link_ps: 1_000_000_000,
        switch_ps: 0,
        bytes,
        ..row(name, "switchml-lab[invalid=ignore]", 1e9, loss, expected)
    }
}

const ROWS: &[Row] = &[
    row("switchml V1 10 G k=32", PAPER, 10.0, 0.0, "127.503 ms, 196.1 M/s"),
    row("switchml V1 100 G k=64", FAST, 100.0, 0.0, "10.378 ms, 2409.6 M/s"),
    row("switchml V1 100 G k=256", "switchml[k=256,slots=512]", 100.0, 0.0, "8.597 ms, 2909 M/s"),
    row("switchml V2 rdma 4", "switchml[framing=rdma,slots=512]", 100.0, 0.0, "2880 M/s"),
    row("switchml V2 rdma 16", "switchml[framing=rdma,slots=512,message=16]", 100.0, 0.0, "2890 M/s"),
    chunks("switchml V3 2 hosts", PAPER, 2, 1_000_000, "32.643 ms"),
    chunks("switchml V3 8 hosts", PAPER, 8, 1_000_000, "32.643 ms"),
    chunks("switchml V3 32 hosts", PAPER, 32, 1_000_000, "32.643 ms"),
    chunks("switchml V4 8 slots", "switchml[slots=8]", 8, 5_000_000, "283.2 ms"),
    chunks("switchml V4 16 slots", "switchml[slots=16]", 8, 5_000_000, "141.6 ms"),
    chunks("switchml V4 32 slots", "switchml[slots=32]", 8, 5_000_000, "70.8 ms"),
    chunks("switchml V4 64 slots", "switchml[slots=64]", 8, 5_000_000, "35.4 ms"),
    row("switchml V5 10 G 1e-4", PAPER, 10.0, 1e-4, "x 1.01-1.03"),
    row("switchml V5 10 G 1e-3", PAPER, 10.0, 1e-3, "x 1.20-1.25"),
    row("switchml V5 10 G 1e-2", PAPER, 10.0, 1e-2, "x 7.8-8.0"),
    row("switchml V5 100 G 1e-4", FAST, 100.0, 1e-4, "x 1.26-1.28"),
    row("switchml V5 100 G 1e-3", FAST, 100.0, 1e-3, "x 2.4-2.7"),
    row("switchml V5 100 G 1e-2", FAST, 100.0, 1e-2, "x 13.9-14.7"),
    row("switchml V5 10 ms 1e-4", SLOW_TIMEOUT, 100.0, 1e-4, "x 4.9"),
    row("switchml V5 10 ms 1e-3", SLOW_TIMEOUT, 100.0, 1e-3, "x 16.5"),
    lab("lab V8 2 hosts 0", 2, 0.0, "2 ms a chunk"),
    lab("lab V8 2 hosts .01", 2, 0.01, "41 ms a chunk"),
    lab("lab V8 4 hosts .01", 4, 0.01, "78 ms a chunk"),
    lab("lab V8 8 hosts .01", 8, 0.01, "152 ms a chunk"),
    lab("lab V8 2 hosts .1", 2, 0.1, "410 ms a chunk"),
    lab("lab V8 4 hosts .1", 4, 0.1, "670 ms a chunk"),
    lab("lab V8 8 hosts .1", 8, 0.1, "950 ms a chunk"),
    lab("lab V8 2 hosts .3", 2, 0.3, "1610 ms a chunk"),
    lab("lab V8 4 hosts .3", 4, 0.3, "2070 ms a chunk"),
    lab("lab V8 8 hosts .3", 8, 0.3, "2350 ms a chunk"),
    Row { gbps: 10.0, ..lab("lab 8 hosts .01 10 G", 8, 0.01, "-") },
    Row { gbps: 10.0, ..lab("lab 8 hosts .1 10 G", 8, 0.1, "-") },
    Row { gbps: 10.0, ..lab("lab 8 hosts .3 10 G", 8, 0.3, "-") },
];

/// Milliseconds of one allreduce.
fn milliseconds(row: &Row, seed: u64, loss: f64) -> (f64, AggregationReport) {
    let choice =
        TopologyChoice::parse(&format!("star[hosts={},capacity={}]", row.hosts, row.gbps)).expect("a star");
    let options = TopologyOptions {
        link_latency_ps: Some(row.link_ps),
        switch_latency_ps: Some(row.switch_ps),
        ..TopologyOptions::default()
    };
    let network = topology(&choice, &options).expect("a network");
    let mut fabric = Fabric::new(&network, &FabricOptions { loss, seed, ..FabricOptions::default() });
    let choice = Choice::parse(row.choice).expect("a choice");
    let mut program = Alone(match choice.name() {
        "switchml" => Box::new(SwitchMl::new(&choice, seed, false).expect("a protocol")),
        _ => Box::new(Lab::new(&choice, seed, false).expect("a protocol")),
    });
    let workers = (0..row.hosts).map(HostId).collect();
    let number =
        program.0.open(&mut fabric, &Group { job: 0, workers, servers: Vec::new() }).expect("a group");
    for worker in 0..row.hosts {
        program.0.contribute(&mut fabric, number, worker, row.bytes, worker).expect("few packets");
    }
    while program.0.delivered().len() < row.hosts as usize {
        assert!(fabric.step(&mut program), "somebody waits for ever");
    }
    (fabric.now() as f64 / 1e9, program.0.report())
}

/// CPU seconds of this process so far: other work on the machine counts less than in wall-clock
/// time.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux");
    let nanoseconds: f64 = text.split(' ').next().and_then(|word| word.parse().ok()).expect("a number");
    nanoseconds / 1e9
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    println!("row                             ms   M elem/s   x line   resent   CPU s  expected");
    for row in ROWS.iter().filter(|row| words.is_empty() || words.iter().any(|word| row.name.contains(word)))
    {
        let seeds: &[u64] = if row.loss > 0.0 { &[1, 2, 3] } else { &[1] };
        let line = if row.loss > 0.0 { milliseconds(row, 0, 0.0).0 } else { 0.0 };
        let before = cpu_seconds();
        let runs: Vec<(f64, AggregationReport)> =
            seeds.iter().map(|seed| milliseconds(row, *seed, row.loss)).collect();
        let seconds = (cpu_seconds() - before) / seeds.len() as f64;
        let time = runs.iter().map(|run| run.0).sum::<f64>() / seeds.len() as f64;
        let resent = runs.iter().map(|run| run.1.retransmits).sum::<u64>() / seeds.len() as u64;
        let slower = if line > 0.0 { format!("{:.3}", time / line) } else { "-".into() };
        let (time, rate) = match row.choice {
            "switchml-lab[invalid=ignore]" => (time / LAB_CHUNKS as f64, 0.0),
            _ => (time, row.bytes as f64 / 4e3 / time),
        };
        println!(
            "{:26} {time:9.3} {rate:9.1} {slower:>8} {resent:8} {seconds:7.2}  {}",
            row.name, row.expected
        );
    }
}
