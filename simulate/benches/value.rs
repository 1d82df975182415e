//! What phases are good for: how far the busiest link of a phase is from what one matrix of the
//! whole run shows, and how far detected phases are from the true ones.
//!
//! Labelled runs of all families (one rank a host) on a two-level fat tree with full bisection
//! under D-mod-K. The *peak* of a matrix is the highest rate on a link between switches: bytes over
//! the time of the phase. True phases are the runs' marks. Options: `--methods A,B`, `--families
//! A,B`, `--ranks A,B`, `--seeds A,B`, `--messages N`, `--runs` for a line each.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::io::Cursor;

use phaseflow_collect::TrafficMatrix;
use phaseflow_collect::choice::Choice;
use phaseflow_collect::export::ArchiveExport;
use phaseflow_collect::pattern::{FAMILIES, PROGRAM_FAMILIES};
use phaseflow_segment::{Method, Options, Rewind, Segmentation, segment};
use phaseflow_simulate::process_mapping::Placement;
use phaseflow_simulate::routing::{HostDemand, RouteRequest, Router, Routes, router};
use phaseflow_simulate::topology::{HostId, Topology, TopologyChoice, TopologyOptions, topology};

fn main() {
    let ranks = option("--ranks", "16,64,256");
    let seeds = option("--seeds", "101,102");
    let messages: u64 = option("--messages", "200000").parse().unwrap();
    let all = [&FAMILIES[..], &PROGRAM_FAMILIES].concat();
    let names: Vec<&str> = all.iter().map(|family| family.name).collect();
    let families = option("--families", &names.join(","));
    let known = |name: &&str| Method::parse(&Choice::plain(name)).is_ok();
    let methods: Vec<&str> = ["rounds", "jsd", "kmeans"].into_iter().filter(known).collect();
    let methods = option("--methods", &methods.join(","));
    let one_by_one = std::env::args().any(|argument| argument == "--runs");
    let mut ratios = Vec::new();
    let mut other_links = (0.0, 0.0);
    let mut errors: Vec<(&str, Vec<f64>, Vec<f64>)> =
        methods.split(',').map(|method| (method, Vec::new(), Vec::new())).collect();
    for ranks in numbers(&ranks) {
        let mut network = Network::new(u32::try_from(ranks).unwrap());
        for family in all.iter().filter(|family| families.split(',').any(|name| name == family.name)) {
            for seed in numbers(&seeds) {
                let run = family.run(network.ranks, messages, seed).unwrap();
                let mut archive = Vec::new();
                run.generate(&mut ArchiveExport::new(&mut archive, false), &mut |_| Ok(())).unwrap();
                let truth = split(&archive, "marks");
                let phases = network.peaks(&truth);
                let merged = network.peak(&split(&archive, "none").phases[0].matrix);
                let duration = truth.header.duration_ns.unwrap() as f64;
                // One phase, or an idle stretch of noise, says nothing new.
                if !["stationary", "steady"].contains(&family.name) {
                    ratios.push(highest(&phases) / (merged.0 / duration));
                }
                for (phase, peak) in truth.phases.iter().zip(&phases) {
                    let bytes = phase.matrix.bytes() as f64;
                    other_links.0 += if peak.1 == merged.1 { 0.0 } else { bytes };
                    other_links.1 += bytes;
                }
                for (method, of_runs, of_phases) in &mut errors {
                    let found = split(&archive, method);
                    let peaks = network.peaks(&found);
                    let error = highest(&peaks) / highest(&phases) - 1.0;
                    let own = matched(&truth, &found).into_iter().enumerate();
                    let own = own.map(|(i, j)| j.map_or(1.0, |j| (peaks[j].0 / phases[i].0 - 1.0).abs()));
                    of_phases.extend(own.filter(|error| error.is_finite()));
                    if one_by_one {
                        println!(
                            "{} {ranks} ranks, seed {seed}, {method}: {:.2} %",
                            family.name,
                            100.0 * error
                        );
                    }
                    of_runs.push(error);
                }
            }
        }
    }
    let (middle, worst) = spread(&mut ratios);
    println!("peak of the phases over that of one matrix: median {middle:.2}, most {worst:.1}");
    let share = 100.0 * other_links.0 / other_links.1;
    println!("bytes in phases whose busiest link is not that of one matrix: {share:.0} %\n");
    println!(
        "| method | peak of the run, error: median | worst | within 10 % | least, of the true one | peak of each phase, error: median | worst |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (method, of_runs, mut of_phases) in errors {
        let least = 1.0 + of_runs.iter().copied().fold(f64::INFINITY, f64::min);
        let mut sizes: Vec<f64> = of_runs.iter().map(|error| error.abs()).collect();
        let near = sizes.iter().filter(|error| **error <= 0.1).count() as f64 / sizes.len() as f64;
        let ((a, b), (c, d)) = (spread(&mut sizes), spread(&mut of_phases));
        let [a, b, near, least, c, d] = [a, b, near, least, c, d].map(|part| 100.0 * part);
        println!("| {method} | {a:.2} % | {b:.1} % | {near:.1} % | {least:.1} % | {c:.2} % | {d:.1} % |");
    }
}

/// The value after `name` on the command line.
fn option(name: &str, default: &str) -> String {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1).unwrap_or_else(|| default.into())
}

fn numbers(text: &str) -> Vec<u64> {
    text.split(',').map(|number| number.parse().unwrap()).collect()
}

fn split(archive: &[u8], method: &str) -> Segmentation {
    let method = Method::parse(&Choice::parse(method).unwrap()).unwrap();
    let options = Options { method, ..Options::default() };
    segment(&mut Rewind(Cursor::new(archive)), &options).unwrap().segmentation
}

/// Median and maximum.
fn spread(values: &mut [f64]) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[values.len() / 2], values[values.len() - 1])
}

fn highest(peaks: &[(f64, usize)]) -> f64 {
    peaks.iter().map(|peak| peak.0).fold(0.0, f64::max)
}

/// For each true phase the found one that has most of its time.
fn matched(truth: &Segmentation, found: &Segmentation) -> Vec<Option<usize>> {
    let mut overlaps = vec![vec![0; found.phases.len()]; truth.phases.len()];
    for one in truth.occurrences.iter().filter(|occurrence| occurrence.depth == 0) {
        for other in found.occurrences.iter().filter(|occurrence| occurrence.depth == 0) {
            let overlap = one.end_ns.min(other.end_ns).saturating_sub(one.start_ns.max(other.start_ns));
            if let (Some(i), Some(j)) = (one.phase, other.phase) {
                overlaps[i as usize][j as usize] += overlap;
            }
        }
    }
    let best = |row: &Vec<u64>| (0..row.len()).filter(|j| row[*j] > 0).max_by_key(|j| row[*j]);
    overlaps.iter().map(best).collect()
}

struct Network {
    ranks: u32,
    topology: Topology,
    router: Box<dyn Router>,
    routes: Routes,
}

impl Network {
    /// As many hosts as ranks, the square root of it on each leaf, as many spines.
    fn new(ranks: u32) -> Self {
        let side = ranks.isqrt();
        assert_eq!(side * side, ranks, "a square number of ranks");
        let choice = TopologyChoice::parse(&format!("xgft[m={side}:{side},w=1:{side}]")).unwrap();
        let topology = topology(&choice, &TopologyOptions::default()).unwrap();
        let router = router(&Choice::plain("dmodk"), 1).unwrap();
        Self { ranks, topology, router, routes: Routes::default() }
    }

    /// Bytes on the busiest link between switches, and which it is.
    fn peak(&mut self, matrix: &TrafficMatrix) -> (f64, usize) {
        let demands: Vec<HostDemand> = matrix
            .cells()
            .map(|cell| HostDemand {
                src: HostId(cell.src.0),
                dst: HostId(cell.dst.0),
                bytes: cell.bytes,
                load: cell.bytes as f64,
                flows: 1,
            })
            .collect();
        let none = vec![0.0; self.topology.link_count()];
        self.routes.clear();
        let request = RouteRequest {
            topology: &self.topology,
            demands: &demands,
            link_load: &none,
            job: 0,
            phase: "0",
            placement: &Placement::default(),
            matrix,
        };
        self.router.route(&request, &mut self.routes).unwrap();
        let mut bytes = none;
        for (demand, route) in demands.iter().zip(self.routes.iter()) {
            for link in route.iter().filter(|link| self.topology.between_switches(**link)) {
                bytes[link.0 as usize] += demand.load;
            }
        }
        let busiest = bytes.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
        (*busiest.1, busiest.0)
    }

    /// Bytes a nanosecond on the busiest link of each phase.
    fn peaks(&mut self, segmentation: &Segmentation) -> Vec<(f64, usize)> {
        let peak = |phase: &phaseflow_segment::Phase| {
            let (bytes, link) = self.peak(&phase.matrix);
            (bytes / phase.duration_ns.unwrap_or_default() as f64, link)
        };
        segmentation.phases.iter().map(peak).collect()
    }
}
