//! One point of a sweep, as tests run it where they ask for nothing else.

#![allow(clippy::unwrap_used, reason = "only tests use it")]

use phaseflow_collect::choice::Choice;
use phaseflow_simulate::result::RunLabels;
use phaseflow_simulate::run::{Algorithms, JobSource, LinkStatistics, Model, Reroute, Setup};
use phaseflow_simulate::topology::Topology;
use phaseflow_simulate::workload::Workload;
use phaseflow_simulate::{host_selection, process_mapping, routing, scheduling};

/// Jobs to their ends in the traffic model, links by job, seed 1.
pub(crate) fn setup<'a>(
    topology: &'a Topology,
    workloads: &'a [Workload],
    jobs: &'a [JobSource],
) -> Setup<'a> {
    Setup {
        progress: None,
        known_replays: None,
        labels: RunLabels { seed: 1, ..RunLabels::default() },
        topology,
        topology_index: 0,
        workloads,
        jobs,
        duration_s: None,
        merged: false,
        reroute: Reroute::Job,
        snapshots_s: &[],
        record_routes: false,
        link_statistics: LinkStatistics::Jobs,
        model: Model::Traffic,
    }
}

/// Seed 1, ranks in blocks.
pub(crate) fn algorithms(scheduler: &str, selector: &str, router: &str) -> Algorithms {
    let choice = |name: &str| Choice::parse(name).unwrap();
    Algorithms {
        scheduler: scheduling::scheduler(&choice(scheduler), 1).unwrap(),
        host_selector: host_selection::host_selector(&choice(selector), 1).unwrap(),
        process_mapper: process_mapping::process_mapper(&choice("block"), 1).unwrap(),
        router: routing::router(&choice(router), 1).unwrap(),
    }
}
