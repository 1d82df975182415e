//! Runs a list of flows through the flow model: `flows TOPOLOGY FLOWS.csv [--capacity RATE]
//! [--latency TIME] [--router NAME] [--fairness maxmin|rtt] [--tolerance F] [--ends FILE]`.
//!
//! The list has lines `src,dst,bytes[,start_ns]` with hosts by number. Prints the number of flows,
//! the makespan and the time it took; `--ends` writes the end of each flow in seconds, a line each,
//! in the order of the list. Made for comparisons with other engines (`benches/peers/`).
#![allow(clippy::print_stdout, reason = "a program")]

use std::fmt::Write as _;
use std::time::Instant;

use phaseflow_collect::choice::Choice;
use phaseflow_collect::units::{parse_rate_gbps, parse_time_ns};
use phaseflow_collect::{Error, Result};
use phaseflow_simulate::flow::{Fairness, FlowNetwork, FlowOptions};
use phaseflow_simulate::routing::router;
use phaseflow_simulate::topology::{HostId, TopologyChoice, TopologyOptions, topology};

/// Bytes of a line, about; more make the list grow.
const USUAL_LINE: usize = 12;

/// Digits of numbers that are sure to fit.
const MOST_DIGITS: usize = 19;

struct Flow {
    start_ns: u64,
    src: u32,
    dst: u32,
    bytes: u64,
}

fn read(path: &str, hosts: u32) -> Result<Vec<Flow>> {
    let text = std::fs::read(path).map_err(|error| Error::from(error).at(path))?;
    let mut flows = Vec::with_capacity(text.len() / USUAL_LINE);
    let mut rest = text.as_slice();
    while !rest.is_empty() {
        let mut fields = [0; 4];
        let parsed = parse(rest, &mut fields);
        let Some((3.., after)) = parsed.filter(|_| fields[0].max(fields[1]) < u64::from(hosts)) else {
            let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let line = String::from_utf8_lossy(line);
            let wrong = format!("`{line}`, expected src,dst,bytes[,start_ns] with hosts below {hosts}");
            return Err(Error::data(wrong).at(format!("line {}", flows.len() + 1)).at(path));
        };
        let [src, dst, bytes, start_ns] = fields;
        flows.push(Flow { start_ns, src: src as u32, dst: dst as u32, bytes });
        rest = after;
    }
    Ok(flows)
}

/// Whole numbers between commas up to the end of the line: how many they are, and what comes after.
fn parse<'a>(text: &'a [u8], fields: &mut [u64; 4]) -> Option<(usize, &'a [u8])> {
    let mut rest = text;
    for (count, field) in (1..).zip(fields) {
        let (mut number, mut digits) = (0_u64, rest);
        while let [digit @ b'0'..=b'9', after @ ..] = digits {
            number = number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            digits = after;
        }
        if !(1..=MOST_DIGITS).contains(&(rest.len() - digits.len())) {
            return None;
        }
        *field = number;
        match digits {
            [b',', after @ ..] => rest = after,
            [b'\n', after @ ..] | [b'\r', b'\n', after @ ..] | after @ [] => return Some((count, after)),
            _ => return None,
        }
    }
    None
}

fn run(arguments: &[String]) -> Result<()> {
    let usage = || {
        Error::usage(
            "flows TOPOLOGY FLOWS.csv [--capacity RATE] [--latency TIME] [--router NAME] [--fairness maxmin|rtt] [--tolerance F] [--ends FILE]",
        )
    };
    let [network, list, rest @ ..] = arguments else { return Err(usage()) };
    let mut options = TopologyOptions::default();
    let mut flow_options = FlowOptions::default();
    let (mut router_name, mut ends_file) = ("dmodk", None);
    for option in rest.chunks(2) {
        let [name, value] = option else { return Err(usage()) };
        match name.as_str() {
            "--capacity" => options.capacity_gbps = Some(parse_rate_gbps(value)?),
            "--latency" => options.link_latency_ps = Some(parse_time_ns(value)?.saturating_mul(1000)),
            "--router" => router_name = value,
            "--fairness" if value == "maxmin" => flow_options.fairness = Fairness::MaxMin,
            "--fairness" if value == "rtt" => flow_options.fairness = Fairness::Rtt,
            "--tolerance" => flow_options.tolerance = value.parse().map_err(|_| usage())?,
            "--ends" => ends_file = Some(value),
            _ => return Err(usage()),
        }
    }
    let net = topology(&TopologyChoice::parse(network)?, &options)?;
    let flows = read(list, net.host_count() as u32)?;
    let mut order = Vec::new();
    if !flows.is_sorted_by_key(|flow| flow.start_ns) {
        order.extend(0..flows.len() as u32);
        order.sort_by_key(|flow| flows[*flow as usize].start_ns);
    }
    let mut ends = vec![0.0; flows.len()];

    let began = Instant::now();
    let mut engine = FlowNetwork::new(&net, router(&Choice::parse(router_name)?, 1)?, &flow_options);
    engine.reserve(flows.len());
    for place in 0..flows.len() {
        let key = order.get(place).copied().unwrap_or(place as u32);
        let flow = &flows[key as usize];
        let now = flow.start_ns.saturating_mul(1000);
        engine.advance(now, |key, end| ends[key as usize] = end);
        engine.start(now, (HostId(flow.src), HostId(flow.dst)), flow.bytes, None, key)?;
    }
    engine.advance(u64::MAX, |key, end| ends[key as usize] = end);
    let took = began.elapsed();

    println!("flows: {}", flows.len());
    println!("makespan_ms: {:.9}", ends.iter().copied().fold(0.0, f64::max) / 1e9);
    println!("took_ms: {:.3}", took.as_secs_f64() * 1e3);
    if let Some(path) = ends_file {
        let mut text = String::new();
        for end in &ends {
            let _ = writeln!(text, "{:.12}", end / 1e12);
        }
        std::fs::write(path, text).map_err(|error| Error::from(error).at(path))?;
    }
    Ok(())
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    run(&arguments)
}
