//! PFSim's traces and clusters, read in place; for benches.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "only benches use it")]

use std::path::{Path, PathBuf};

use phaseflow_collect::choice::Choice;
use phaseflow_collect::import::{Input, read_pfprof};
use phaseflow_segment::{Header, Phase, Segmentation};
use phaseflow_simulate::distribution::Distribution;
use phaseflow_simulate::result::RunLabels;
use phaseflow_simulate::run::{Algorithms, JobSource, LinkStatistics, Model, Reroute, Setup, Submission};
use phaseflow_simulate::topology::{Topology, TopologyChoice, TopologyOptions, topology};
use phaseflow_simulate::workload::Workload;
use phaseflow_simulate::{host_selection, process_mapping, routing, scheduling};

/// A file of PFSim's; `None`, with a word about it, where the data is not there.
pub(crate) fn file(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/pfsim").join(name);
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

/// A PFProf archive as a workload of one phase.
pub(crate) fn workload(name: &str) -> Option<Workload> {
    let aggregate = read_pfprof(Input::open(&file(name)?).unwrap()).unwrap();
    let matrix = aggregate.matrix;
    let header = Header {
        format: phaseflow_segment::FORMAT.into(),
        version: phaseflow_segment::VERSION,
        source: name.into(),
        method: "none".into(),
        ranks: matrix.ranks(),
        duration_ns: None,
        unmatched_receives: Default::default(),
    };
    let phase = Phase { name: "0".into(), title: String::new(), occurrences: 1, duration_ns: None, matrix };
    let segmentation = Segmentation { header, phases: vec![phase], occurrences: Vec::new() };
    Some(Workload::new(name, segmentation))
}

/// A network from a file of PFSim's.
pub(crate) fn cluster(name: &str) -> Option<Topology> {
    let choice = TopologyChoice::File(file(name)?);
    Some(topology(&choice, &TopologyOptions::default()).unwrap())
}

/// An endless line of jobs, times between and of jobs exponential.
pub(crate) fn line(workload: usize, submit_lambd: f64, duration_lambd: f64) -> JobSource {
    let exponential = |lambd: f64| {
        Distribution::new(&Choice::parse(&format!("exponential[lambd={lambd}]")).unwrap()).unwrap()
    };
    let submission = Submission::Endless {
        submit: exponential(submit_lambd),
        duration: Some(exponential(duration_lambd)),
    };
    JobSource { workload, submission }
}

/// A setup of endless jobs.
pub(crate) fn setup<'a>(
    topology: &'a Topology,
    workloads: &'a [Workload],
    jobs: &'a [JobSource],
    duration_s: f64,
) -> Setup<'a> {
    Setup {
        progress: None,
        known_replays: None,
        labels: labels(1),
        topology,
        topology_index: 0,
        workloads,
        jobs,
        duration_s: Some(duration_s),
        merged: false,
        reroute: Reroute::Job,
        snapshots_s: &[],
        record_routes: false,
        link_statistics: LinkStatistics::Run,
        model: Model::Traffic,
    }
}

fn labels(seed: u64) -> RunLabels {
    RunLabels { model: "traffic".into(), phases: "segmented".into(), seed, ..RunLabels::default() }
}

/// Algorithms by the names that users give them.
pub(crate) fn algorithms(scheduler: &str, selector: &str, mapper: &str, router: &str) -> Algorithms {
    let choice = |name: &str| Choice::parse(name).unwrap();
    Algorithms {
        scheduler: scheduling::scheduler(&choice(scheduler), 1).unwrap(),
        host_selector: host_selection::host_selector(&choice(selector), 1).unwrap(),
        process_mapper: process_mapping::process_mapper(&choice(mapper), 1).unwrap(),
        router: routing::router(&choice(router), 1).unwrap(),
    }
}
