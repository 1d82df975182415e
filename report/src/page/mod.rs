//! `index.html`: one page, nothing outside of it.
//!
//! From the answer to the detail: the verdict in sentences, the runs, tiles, the most loaded link
//! of every phase, then one phase of one run in all its parts ([`explorer`]), phases and jobs over
//! time. What is long is folded. Sizes are bounded whatever the results: [`DETAILED`] runs have
//! drawings, further ones are in the tables and in the CSV files.
//!
//! Markup is written with maud, which escapes all text.

mod address;
mod blame;
mod chart;
mod explorer;
mod gantt;
mod headline;
mod hotspots;
mod jobs;
mod kept;
mod link_loads;
mod loops;
mod matrix;
mod network_map;
mod over_time;
mod path;
mod picture;
mod plots;
mod ranking;
mod reference;
mod strips;
mod text;
mod timeline;

use std::collections::BTreeMap;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use phaseflow_simulate::result::Network;
use phaseflow_simulate::workload::Workload;
use serde_json::Value;

use crate::axes;
use crate::disagreement::Disagreements;
use crate::verdict::Verdict;
use crate::view::RunView;
use kept::KeptRun;
use network_map::NetworkMap;
pub use picture::Picture;
use text::{counted, shown};

/// Runs with drawings.
const DETAILED: usize = 100;

/// Workloads with a timeline.
const TIMELINES: usize = 10;

/// No script, no request: whatever the data says, a page shows it and does nothing.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
/// How pages look.
pub(crate) const STYLE: &str = include_str!("style.css");

/// Collects what the page shows, run by run.
pub struct Page {
    configurations: Vec<Value>,
    runs: Vec<KeptRun>,
    /// By number of the network; `None` for one that cannot be drawn.
    maps: BTreeMap<usize, Option<NetworkMap>>,
    disagreements: Disagreements,
    verdict: Verdict,
    /// Phases without a graph, for its size.
    graphs_left_out: usize,
}

impl Page {
    /// A page of runs of these configurations.
    pub fn new(configurations: Vec<Value>) -> Self {
        Self {
            configurations,
            runs: Vec::new(),
            maps: BTreeMap::new(),
            disagreements: Disagreements::default(),
            verdict: Verdict::default(),
            graphs_left_out: 0,
        }
    }

    /// Says how many phases have no graph beside the page.
    pub fn leave_out_graphs(&mut self, phases: usize) {
        self.graphs_left_out = phases;
    }

    /// Takes note of a run.
    pub fn run(&mut self, view: &RunView<'_>) {
        self.disagreements.run(view);
        self.verdict.run(view);
        let map = self.maps.entry(view.run.topology).or_insert_with(|| NetworkMap::new(view.network));
        self.runs.push(KeptRun::new(view, map.as_ref(), self.runs.len() < DETAILED));
    }

    /// The page.
    pub fn html(&mut self, networks: &[Network], workloads: &[Workload]) -> String {
        let maps: Vec<Option<NetworkMap>> =
            (0..networks.len()).map(|topology| self.maps.remove(&topology).flatten()).collect();
        let runs = &self.runs;
        let differ = axes::differing(&runs.iter().map(|run| &run.choices).collect::<Vec<_>>());
        let names: Vec<&str> = workloads.iter().map(|workload| workload.name.as_str()).collect();
        let sentences = self.verdict.sentences();
        let is_bytes = runs.iter().flat_map(|run| &run.spots).any(|kept| !kept.spot.rates);
        let body = html! {
            header {
                h1 { "PhaseFlow report" }
                p { (counted(runs.len(), "run")) " · " (counted(workloads.len(), "workload")) " · " (counted(networks.len(), "network")) }
            }
            @if !sentences.is_empty() { ul.verdict { @for sentence in sentences { li { (shown(&sentence)) } } } }
            (ranking::ranking(runs, &differ, &self.verdict))
            (headline::headline(runs, &differ, networks, workloads))
            @if is_bytes { p.note {
                "A trace here does not know how long its phases last: its loads are bytes, not bytes per second, and say \
                 nothing of utilization."
            } }
            @for sentence in self.disagreements.sentences() { p.note { "Models disagree on " (shown(&sentence)) "." } }
            section { h2 { "Hot spots" } (hotspots::comparison(runs, &differ, &names)) }
            (folded("Every hot spot with its numbers", &hotspots::list(runs, &differ)))
            (explorer::section(runs, &differ, networks, workloads, &maps))
            (blame::table(runs, &differ))
            section {
                h2 { "Phases over time" }
                @for (number, workload) in workloads.iter().enumerate().take(TIMELINES) {
                    (timeline::timeline(workload))
                    (strips::strips(runs, &differ, number, workload))
                }
            }
            (gantt::jobs(runs, &differ))
            (over_time::series(&runs[..runs.len().min(DETAILED)], &differ))
            section { h2 { "Reference" } }
            (folded("All runs", &reference::runs(runs)))
            (folded("Configuration", &reference::configurations(&self.configurations)))
            (folded("Files beside this page", &reference::files(self.graphs_left_out)))
            (folded("Words", &PreEscaped(reference::WORDS.into())))
        };
        document(
            "PhaseFlow report",
            &explorer::policy(),
            &html! { (matrix::ramp()) main { (body) } (explorer::script()) },
        )
    }
}

/// A page that needs nothing else, allowed what `policy` says.
pub(crate) fn document(title: &str, policy: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    };
    page.into_string() + "\n"
}

fn folded(heading: &str, body: &Markup) -> Markup {
    html! { details { summary { (heading) } (body) } }
}
