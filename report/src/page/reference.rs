//! What stands at the end of the page: all runs, the configuration, the files, the words.

use maud::{Markup, html};
use serde_json::Value;

use super::kept::KeptRun;
use super::text::{counted, shortened};
use crate::axes::AXES;
use crate::makespan::Makespan;
use crate::number;

/// Runs listed.
const RUNS: usize = 1000;

/// Characters of a configuration shown.
const CONFIGURATION: usize = 100_000;

/// The table of all runs, as runs.csv has it, with short numbers.
pub(super) fn runs(runs: &[KeptRun]) -> Markup {
    let numbers = [
        "makespan",
        "max congestion",
        "mean congestion",
        "stddev congestion",
        "max utilization",
        "max flows",
        "jobs finished",
    ];
    html! {
        div.wide tabindex="0" { table.sortable {
            caption { "All runs" }
            thead { tr { th scope="col" { "run" } @for name in AXES.iter().chain(&numbers) { th scope="col" { (name) } } } }
            tbody { @for run in runs.iter().take(RUNS) { (row(run)) } }
        } }
        @if runs.len() > RUNS { p { (counted(runs.len() - RUNS, "further run")) " in " a href="runs.csv" { "runs.csv" } "." } }
    }
}

fn row(run: &KeptRun) -> Markup {
    let statistics = &run.statistics;
    let plain = |value: Option<f64>| html! { td.n data-v=[value] { (value.map_or_else(String::new, |value| number::scaled(value, ""))) } };
    html! { tr {
        th scope="row" { (run.labels.run) }
        @for choice in &run.choices { td { (shortened(choice, 48)) } }
        td.n data-v=[run.makespan.map(|time| time.seconds)] { (run.makespan.map_or_else(String::new, Makespan::text)) }
        (plain(statistics.max_congestion))
        (plain(statistics.mean_congestion))
        (plain(statistics.stddev_congestion))
        td.n data-v=[statistics.max_utilization] { (statistics.max_utilization.map_or_else(String::new, number::percent)) }
        td.n { (statistics.max_flows.map_or_else(String::new, |flows| flows.to_string())) }
        td.n { (statistics.jobs_finished) " of " (run.job_count) }
    } }
}

/// What was simulated, sweep by sweep.
pub(super) fn configurations(configurations: &[Value]) -> Markup {
    // The alternate form of a value is indented.
    html! { @for configuration in configurations { pre { (shortened(&format!("{configuration:#}"), CONFIGURATION)) } } }
}

/// The files of a report. Some of its phases may have no graph: their number is given.
pub(super) fn files(graphs_left_out: usize) -> Markup {
    html! { ul {
        li {
            @for (at, name) in TABLES.iter().enumerate() { @if at > 0 { ", " } a href=(name) { (name) } }
            ": all numbers, unshortened"
        }
        li {
            a href="graphml/" { "graphml/" }
            ": the network with what its links carry, a graph per run and phase (networkx, python-igraph, Gephi, Cytoscape)"
            @if graphs_left_out > 0 { "; " (graphs_left_out) " cooler phases are left out, " code { "--graphs all" } " writes them too" }
        }
        li { a href="fabric.gexf" { "fabric.gexf" } ": the first run as it changes in time (Gephi)" }
    } }
}

/// The tables that a reader of the page may want.
const TABLES: [&str; 8] = [
    "runs.csv",
    "phases.csv",
    "links.csv",
    "jobs.csv",
    "series.csv",
    "statistics.csv",
    "path.csv",
    "blame.csv",
];

pub(super) const WORDS: &str = "<dl>\
<dt>Phase</dt><dd>A kind of communication behaviour; one stretch of it is an occurrence.</dd>\
<dt>Load</dt><dd>What a link carries while a phase runs: bytes of the phase divided by its duration. Loads are bytes instead \
where the trace knows no duration.</dd>\
<dt>Utilization</dt><dd>Load divided by the link's capacity. More than 100 % is demand that the link cannot carry: the model \
adds loads up without limit.</dd>\
<dt>Congestion</dt><dd>Load divided by the capacity in Gbit/s, over links between switches only: PFSim's measure.</dd>\
<dt>Critical path</dt><dd>What a phase took as long for as it did: from its end back to its beginning, from each wait to the message \
that was waited for, and to the rank that sent it.</dd>\
<dt>Hottest link</dt><dd>The link of the highest load divided by capacity, host links included; the first of equals.</dd></dl>";
