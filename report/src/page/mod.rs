//! `index.html`: one page, nothing outside of it, no script.
//!
//! From the answer to the detail: the verdict in sentences, tiles with the hottest link and the choice that cools it, the
//! table of hot spots, the phases over time, their matrices, the loads of all links run against
//! run. What is long is folded. Sizes are bounded whatever the results: [`DETAILED`] runs have
//! charts, further ones are in the tables and in the CSV files.

mod blame;
mod chart;
mod compare;
mod headline;
mod hotspots;
mod kept;
mod map;
mod matrix;
mod path;
mod picture;
mod plots;
mod ranking;
mod reference;
mod text;
mod timeline;

use std::fmt::Write;

use phaseflow_simulate::result::Network;
use phaseflow_simulate::workload::Workload;
use serde_json::Value;

use crate::axes;
use crate::disagreement::Disagreements;
use crate::verdict::Verdict;
use crate::view::RunView;
use kept::KeptRun;
pub use picture::Picture;
use text::{counted, escape};

/// Runs with charts.
const DETAILED: usize = 100;

/// Workloads with a timeline.
const TIMELINES: usize = 10;

/// No script, no request: whatever the data says, a page shows it and does nothing.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
/// How pages look.
pub(crate) const STYLE: &str = include_str!("style.css");

/// The head of the page, with [`POLICY`].
const HEAD: &str = "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">\
<title>PhaseFlow report</title>";

/// Collects what the page shows, run by run.
#[derive(Debug)]
pub struct Page {
    configurations: Vec<Value>,
    runs: Vec<KeptRun>,
    disagreements: Disagreements,
    verdict: Verdict,
}

impl Page {
    /// A page of runs of these configurations.
    pub fn new(configurations: Vec<Value>) -> Self {
        Self {
            configurations,
            runs: Vec::new(),
            disagreements: Disagreements::default(),
            verdict: Verdict::default(),
        }
    }

    /// Takes note of a run.
    pub fn run(&mut self, view: &RunView<'_>) {
        self.disagreements.run(view);
        self.verdict.run(view);
        self.runs.push(KeptRun::new(view, self.runs.len() < DETAILED));
    }

    /// The page.
    pub fn html(&self, networks: &[Network], workloads: &[Workload]) -> String {
        let runs = &self.runs;
        let differ = axes::differing(&runs.iter().map(|run| &run.choices).collect::<Vec<_>>());
        let names: Vec<&str> = workloads.iter().map(|workload| workload.name.as_str()).collect();
        let mut html = String::from(HEAD);
        let _ = write!(html, "<style>{STYLE}</style></head><body>{}<main>", matrix::ramp());
        let _ = write!(
            html,
            "<header><h1>PhaseFlow report</h1><p>{} · {} · {}</p></header>",
            counted(runs.len(), "run"),
            counted(workloads.len(), "workload"),
            counted(networks.len(), "network"),
        );
        let sentences = self.verdict.sentences();
        if !sentences.is_empty() {
            html.push_str("<ul class=\"verdict\">");
            for sentence in sentences {
                let _ = write!(html, "<li>{}</li>", escape(&sentence));
            }
            html.push_str("</ul>");
        }
        html.push_str(&headline::headline(runs, &differ, networks, workloads));
        if runs.iter().flat_map(|run| &run.spots).any(|kept| !kept.spot.rates) {
            html.push_str(
                "<p class=\"note\">A trace here does not know how long its phases last: its loads are bytes, not bytes per \
                 second, and say nothing of utilization.</p>",
            );
        }
        for sentence in self.disagreements.sentences() {
            let _ = write!(html, "<p class=\"note\">Models disagree on {}.</p>", escape(&sentence));
        }
        html.push_str(&ranking::ranking(runs, &differ));
        section(&mut html, "Hot spots", &hotspots::comparison(runs, &differ, &names));
        folded(&mut html, "Every hot spot with its numbers", &hotspots::list(runs, &differ));
        let blame = blame::table(runs, &differ);
        if !blame.is_empty() {
            section(&mut html, "What slowed the critical path", &blame);
        }
        let timelines: String = workloads.iter().take(TIMELINES).map(timeline::timeline).collect();
        section(&mut html, "Phases over time", &timelines);
        section(&mut html, "Who sends to whom", &matrix::matrices(workloads, headline::hottest_phase(runs)));
        let detailed = &runs[..runs.len().min(DETAILED)];
        section(&mut html, "Link loads", &compare::comparisons(detailed, &differ, networks));
        section(&mut html, "Reference", "");
        folded(&mut html, "All runs", &reference::runs(runs));
        folded(&mut html, "Configuration", &reference::configurations(&self.configurations));
        folded(&mut html, "Files beside this page", reference::FILES);
        folded(&mut html, "Words", reference::WORDS);
        html.push_str("</main></body></html>\n");
        html
    }
}

fn section(html: &mut String, heading: &str, body: &str) {
    let _ = write!(html, "<section><h2>{heading}</h2>{body}</section>");
}

fn folded(html: &mut String, heading: &str, body: &str) {
    let _ = write!(html, "<details><summary>{heading}</summary>{body}</details>");
}
