//! The table `runs`: one row per run, with its choices and its statistics.

use std::io::Write;

use phaseflow_collect::Result;

use super::Rows;
use crate::hotspot::peak_loads;
use crate::makespan::Makespan;
use crate::view::RunView;

/// The four that end in `link_load`: over all links, of each link's highest load in the run, those
/// without traffic included.
pub(super) const COLUMNS: &[&str] = &[
    "run",
    "topology",
    "scheduler",
    "host_selector",
    "process_mapper",
    "router",
    "model",
    "transport",
    "collective",
    "phases",
    "seed",
    "makespan_s",
    "max_congestion",
    "mean_congestion",
    "stddev_congestion",
    "max_utilization",
    "max_flows",
    "jobs_finished",
    "max_link_load",
    "min_link_load",
    "mean_link_load",
    "variance_link_load",
    "makespan_error",
];

pub(super) fn write<W: Write>(view: &RunView<'_>, rows: &mut Rows<W>) -> Result<()> {
    let (labels, statistics) = (&view.run.labels, &view.run.statistics);
    rows.integer(labels.run)?
        .text(&labels.topology)?
        .text(&labels.scheduler)?
        .text(&labels.host_selector)?
        .text(&labels.process_mapper)?
        .text(&labels.router)?
        .text(&labels.model)?
        .text(&labels.transport)?
        .text(&labels.collective)?
        .text(&labels.phases)?
        .integer(labels.seed)?
        .float(statistics.makespan_s)?
        .float(statistics.max_congestion)?
        .float(statistics.mean_congestion)?
        .float(statistics.stddev_congestion)?
        .float(statistics.max_utilization)?
        .count(statistics.max_flows)?
        .integer(statistics.jobs_finished)?;
    let peaks = peak_loads(view);
    let n = peaks.len() as f64;
    if peaks.is_empty() {
        rows.text("")?.text("")?.text("")?.text("")?;
    } else {
        let mean = peaks.iter().sum::<f64>() / n;
        let variance = peaks.iter().map(|load| (load - mean).powi(2)).sum::<f64>() / n;
        rows.float(peaks.iter().copied().fold(f64::MIN, f64::max))?
            .float(peaks.iter().copied().fold(f64::MAX, f64::min))?
            .float(mean)?
            .float(variance)?;
    }
    rows.float(Makespan::of_run(view).and_then(|makespan| makespan.error))?.end()
}
