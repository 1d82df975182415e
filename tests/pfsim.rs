//! PFSim's dialect and PFSim's numbers, on archives that pf-collect makes here.
//!
//! The numbers are "Maximum Congestion", "Max", in `output/parity/N/result.txt` of PFSim 1.0.0
//! (<https://github.com/shimojo-lab/pfsim>) with networkx 1.11, in a directory with the scenario
//! and cluster of tests/data:
//!
//! ```text
//! pattern='random*6,shift[bytes=9000]*5,halo2d[bytes=5000]*3,allreduce[bytes=100000]'
//! pf-collect --pattern "$pattern" --ranks 160 \
//!     --bytes 24KiB --seed 3 --to pfprof -o mixed-160.tar.gz
//! pfsim parity.yml
//! ```
//!
//! PFSim adds up bytes. The archive states its duration, so our loads are bytes per second: PFSim's
//! numbers over that time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod stages;

use std::path::{Path, PathBuf};

use stages::{collect, number, output, run, simulate, table};
use tempfile::TempDir;

/// Process mapper, router and PFSim's maximum, by network of the scenario.
const PFSIM: [[f64; 6]; 3] = [
    [33_495.66, 27_496.32, 27_447.42, 54_853.92, 38_708.16, 38_653.92],
    [1_107_727.2, 685_824.0, 685_824.0, 1_877_414.4, 953_625.6, 953_625.6],
    [3_349_566.0, 2_746_752.0, 2_744_742.0, 5_485_392.0, 3_888_624.0, 3_865_392.0],
];

/// Length of the trace, seconds.
const DURATION_S: f64 = 792_206e-9;

/// The trace as PFProf writes it.
const MIXED: [&str; 10] = [
    "--pattern",
    "random*6,shift[bytes=9000]*5,halo2d[bytes=5000]*3,allreduce[bytes=100000]",
    "--ranks",
    "160",
    "--bytes",
    "24KiB",
    "--seed",
    "3",
    "--to",
    "pfprof",
];

/// The listing of the PFAnalyzer paper (Takahashi et al., 2018), as printed.
const LISTING: &str = "\
topology: topologies/milk.graphml
output: output/milk-cg-dmodk
algorithms:
  scheduler:
    - picosim.scheduler.FCFSScheduler
  host_selector:
    - picosim.host_selector.LinearHostSelector
    - picosim.host_selector.RandomHostSelector
  process_mapper:
    - picosim.process_mapper.LinearProcessMapper
    - picosim.process_mapper.CyclicProcessMapper
  router:
    - picosim.router.DmodKRouter
    - picosim.router.GreedyRouter
    - picosim.router.GreedyRouter2
jobs:
  - submit:
      distribution: picosim.math.ExponentialDistribution
      params:
        lambd: 0.1
    trace: traces/cg-c-128.tar.gz
...
";

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// A folder with the cluster and the archive as `trace`, each in a folder of its name.
fn folder(cluster: &str, trace: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    for file in [cluster, trace] {
        std::fs::create_dir_all(folder.path().join(file).parent().unwrap()).unwrap();
    }
    std::fs::copy(data("cluster.graphml"), folder.path().join(cluster)).unwrap();
    std::fs::write(folder.path().join(trace), collect(&MIXED)).unwrap();
    folder
}

#[test]
fn maximum_congestion_is_that_of_pfsim() {
    let folder = folder("cluster.graphml", "mixed-160.tar.gz");
    let scenario = folder.path().join("parity.yml");
    std::fs::copy(data("pfsim/parity.yml"), &scenario).unwrap();
    let rows = table("runs", &output(simulate(&["--quiet", "--scenario", scenario.to_str().unwrap()]), b""));
    assert_eq!(rows.len(), 18);
    for (row, expected) in rows.iter().zip(PFSIM.as_flattened()) {
        let found = number(row, "max_congestion") * DURATION_S;
        let shown = format!("{} {} {}", row["topology"], row["process_mapper"], row["router"]);
        // On three levels the greedy routers meet equal paths in another order than PFSim, and a
        // tie may go either way.
        let is_tied = row["topology"].contains("pfsim") && row["router"] != "dmodk";
        let allowed = if is_tied { 0.01 } else { 1e-12 };
        assert!((found / expected - 1.0).abs() <= allowed, "{shown}: {found}, PFSim {expected}");
    }
}

/// The scenario states no time of any kind: runs end after 1000 s, and the trace says how long a
/// job takes.
#[test]
fn the_listing_of_the_paper_runs_as_printed() {
    let folder = folder("topologies/milk.graphml", "traces/cg-c-128.tar.gz");
    let scenario = folder.path().join("scenario.yml");
    std::fs::write(&scenario, LISTING).unwrap();
    let done = run(simulate(&["--scenario", scenario.to_str().unwrap()]), b"");
    let expected = "pf-simulate: the scenario's `output` is not used: results go to -o or standard output\n\
        pf-simulate: jobs are submitted without end: each run ends after 1000 s; `duration` or --duration says another time\n";
    assert_eq!(String::from_utf8(done.stderr).unwrap(), expected);
    let rows = table("runs", &done.stdout);
    assert_eq!(rows.len(), 12);
    // The first six points select hosts in a line: PFSim's numbers for that cluster.
    for (row, expected) in rows.iter().zip(PFSIM[0]) {
        let found = number(row, "max_congestion") * DURATION_S;
        assert!((found / expected - 1.0).abs() <= 1e-12, "{row:?}: PFSim {expected}");
        assert!(number(row, "jobs_finished") > 50.0, "{row:?}");
    }
}

/// The files of PFSim's example: all combinations in its order. No host is taken twice, which
/// PFSim's random selection may do.
#[test]
fn a_scenario_runs_all_combinations_in_pfsims_order() {
    let scenario = data("pfsim/scenario.yml");
    let results = output(simulate(&["--quiet", "--scenario", scenario.to_str().unwrap()]), b"");
    let mut product = Vec::new();
    for selector in ["linear", "random"] {
        for mapper in ["block", "cyclic"] {
            product.extend(["dmodk", "greedy", "greedy-max"].map(|router| [selector, mapper, router]));
        }
    }
    let rows = table("runs", &results);
    let order: Vec<[&str; 3]> = rows
        .iter()
        .map(|row| [&row["host_selector"], &row["process_mapper"], &row["router"]].map(String::as_str))
        .collect();
    assert_eq!(order, product);
    let started: Vec<_> =
        table("jobs", &results).into_iter().filter(|row| !row["started_s"].is_empty()).collect();
    assert!(started.len() > 100);
    for row in &started {
        let mut hosts: Vec<&str> = row["hosts"].split(' ').collect();
        hosts.sort_unstable();
        hosts.dedup();
        // 24 processes on hosts of 8 slots.
        assert_eq!(hosts.len(), 3, "{row:?}");
    }
}

/// pf-collect reads a PFProf archive that it wrote as the same traffic.
#[test]
fn pfprof_archives_come_back() {
    let archive = collect(&MIXED);
    let pairs = |input: &[u8], arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_pf-collect"));
        command.args(arguments);
        String::from_utf8(output(command, input)).unwrap()
    };
    let generated = [&MIXED[..8], &["--pairs"]].concat();
    assert_eq!(pairs(&archive, &["--pairs"]), pairs(b"", &generated));
    let summary = pairs(&archive, &["--summary"]);
    for line in ["ranks: 160", "messages: 54404", "bytes: 71412960", "unmatched: 0", "duration_ns: 792206"] {
        assert!(summary.lines().any(|found| found == line), "{line}: {summary}");
    }
}
