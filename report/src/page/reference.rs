//! What stands at the end of the page: all runs, the configuration, the files, the words.

use std::fmt::Write;

use serde_json::Value;

use super::kept::KeptRun;
use super::text::{counted, escape, shortened};
use crate::axes::AXES;
use crate::makespan::Makespan;
use crate::number;

/// Runs listed.
const RUNS: usize = 1000;

/// Characters of a configuration shown.
const CONFIGURATION: usize = 100_000;

/// The table of all runs, as runs.csv has it, with short numbers.
pub(super) fn runs(runs: &[KeptRun]) -> String {
    let mut html = String::from(
        "<div class=\"wide\" tabindex=\"0\"><table><caption>All runs</caption><thead><tr><th scope=\"col\">run</th>",
    );
    let numbers = [
        "makespan",
        "max congestion",
        "mean congestion",
        "stddev congestion",
        "max utilization",
        "max flows",
        "jobs finished",
    ];
    for name in AXES.iter().chain(&numbers) {
        let _ = write!(html, "<th scope=\"col\">{name}</th>");
    }
    html.push_str("</tr></thead><tbody>");
    for run in runs.iter().take(RUNS) {
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", run.labels.run);
        for choice in &run.choices {
            let _ = write!(html, "<td>{}</td>", escape(&shortened(choice, 48)));
        }
        let statistics = &run.statistics;
        let plain = |value: Option<f64>| value.map(|value| number::scaled(value, ""));
        for cell in [
            run.makespan.map(Makespan::text),
            plain(statistics.max_congestion),
            plain(statistics.mean_congestion),
            plain(statistics.stddev_congestion),
            statistics.max_utilization.map(number::percent),
            statistics.max_flows.map(|flows| flows.to_string()),
            Some(format!("{} of {}", statistics.jobs_finished, run.jobs)),
        ] {
            let _ = write!(html, "<td class=\"n\">{}</td>", cell.unwrap_or_default());
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    if runs.len() > RUNS {
        let rest = counted(runs.len() - RUNS, "further run");
        let _ = write!(html, "<p>{rest} in <a href=\"runs.csv\">runs.csv</a>.</p>");
    }
    html
}

/// What was simulated, sweep by sweep.
pub(super) fn configurations(configurations: &[Value]) -> String {
    let mut html = String::new();
    for configuration in configurations {
        // The alternate form of a value is indented.
        let _ =
            write!(html, "<pre>{}</pre>", escape(&shortened(&format!("{configuration:#}"), CONFIGURATION)));
    }
    html
}

pub(super) const FILES: &str = "<ul>\
<li><a href=\"runs.csv\">runs.csv</a>, <a href=\"phases.csv\">phases.csv</a>, <a href=\"links.csv\">links.csv</a>, \
<a href=\"jobs.csv\">jobs.csv</a>, <a href=\"series.csv\">series.csv</a>, <a href=\"statistics.csv\">statistics.csv</a>, \
<a href=\"path.csv\">path.csv</a>, <a href=\"blame.csv\">blame.csv</a>: \
all numbers, unshortened</li>\
<li><a href=\"graphml/\">graphml/</a>: the network with what its links carry, a graph per run and phase \
(networkx, python-igraph, Gephi, Cytoscape)</li>\
<li><a href=\"fabric.gexf\">fabric.gexf</a>: the first run as it changes in time (Gephi)</li></ul>";

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
