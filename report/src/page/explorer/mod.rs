//! One phase of one run: its matrix, its links on the network, their loads and names together.
//!
//! What is shown first, the hottest phase, stands in the page as it is. A script shows the others
//! (`explorer.js`); what it needs beyond the page is JSON inside of it ([`data`]).

mod data;

use maud::{Markup, PreEscaped, html};
use phaseflow_simulate::result::Network;
use phaseflow_simulate::workload::Workload;
use sha2::{Digest, Sha256};

use super::address::encoded;
use super::chart::legend;
use super::headline::first_shown;
use super::kept::{KeptRun, KeptSpot};
use super::link_loads::{self, PhaseKey};
use super::matrix::{self, MatrixFigure};
use super::network_map::NetworkMap;
use super::text::{counted, shortened};
use crate::axes;
use crate::makespan::Makespan;
use crate::number;

/// The only script of a page.
const SCRIPT: &str = include_str!("explorer.js");

/// What a page is allowed: its style, its drawings, and [`SCRIPT`], known by its hash. Whatever the
/// data says, a page runs nothing else and asks for nothing.
pub(super) fn policy() -> String {
    use base64::Engine;
    let hash = base64::prelude::BASE64_STANDARD.encode(Sha256::digest(SCRIPT));
    format!("default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{hash}'")
}

/// The script, at the end of the page.
pub(super) fn script() -> Markup {
    html! { script { (PreEscaped(SCRIPT)) } }
}

/// What the section is made of.
struct Explorer<'r> {
    runs: &'r [KeptRun],
    differ: &'r [usize],
    /// Phases of all runs.
    phases: Vec<PhaseKey<'r>>,
    matrices: Vec<MatrixFigure>,
    /// By network, where it can be drawn.
    maps: &'r [Option<NetworkMap>],
    /// The widest line of maps, in the unit of their values.
    most: f64,
}

/// The section; nothing if no phase put a load on the network.
pub(super) fn section(
    runs: &[KeptRun],
    differ: &[usize],
    networks: &[Network],
    workloads: &[Workload],
    maps: &[Option<NetworkMap>],
) -> Markup {
    let Some((run, spot)) = first_shown(runs) else { return Markup::default() };
    let (run, kept) = (&runs[run], &runs[run].spots[spot]);
    let hottest = kept.spot.workload.zip(kept.spot.phase.as_deref());
    let (matrices, all_matrices) = matrix::figures(workloads, hottest, false);
    let mut phases: Vec<PhaseKey<'_>> = Vec::new();
    for kept in runs.iter().flat_map(|run| &run.spots) {
        let phase = (kept.spot.workload, kept.spot.phase.as_deref());
        if !phases.contains(&phase) {
            phases.push(phase);
        }
    }
    let values = runs.iter().flat_map(|run| &run.spots).filter_map(|kept| kept.details.as_ref());
    let most = values.flat_map(|details| &details.map).copied().fold(0.0, f32::max);
    let explorer = Explorer { runs, differ, phases, matrices, maps, most: f64::from(most) };
    html! { section #explore {
        h2 { "One phase of one run" }
        (explorer.choice(run, kept, workloads))
        p #facts aria-live="polite" { (facts(run, kept)) }
        div.panels {
            (explorer.matrix_panel(kept, all_matrices))
            (explorer.links_panel(kept))
            (explorer.loads_panel(kept))
            (explorer.map_panel(run, kept, networks))
        }
        (explorer.data())
    } }
}

impl Explorer<'_> {
    fn choice(&self, run: &KeptRun, kept: &KeptSpot, workloads: &[Workload]) -> Markup {
        let own = (kept.spot.workload, kept.spot.phase.as_deref());
        html! { div.choice hidden {
            label { "Run " select #run { @for (at, other) in self.runs.iter().enumerate() {
                option value=(at) selected[other.labels.run == run.labels.run] data-run=(other.labels.run) { (self.name(other)) }
            } } }
            label { "Phase " select #phase { @for (at, (workload, phase)) in self.phases.iter().enumerate() {
                @let title = self.runs.iter().find_map(|run| run.find(*workload, *phase)).map_or_else(String::new, |kept| kept.spot.name());
                @let of = workload.filter(|_| workloads.len() > 1).and_then(|load| workloads.get(load));
                option value=(at) selected[(*workload, *phase) == own] data-workload=[workload] data-phase=[phase.map(encoded)] {
                    @if let Some(of) = of { (shortened(&of.name, 40)) ": " }
                    (shortened(&title, 90))
                }
            } } }
        } }
    }

    fn name(&self, run: &KeptRun) -> String {
        let told = axes::told_by(&run.choices, self.differ);
        if told.is_empty() {
            format!("run {}", run.labels.run)
        } else {
            format!("{}: {}", run.labels.run, shortened(&told, 80))
        }
    }

    fn number_of(&self, phase: PhaseKey<'_>) -> Option<usize> {
        self.phases.iter().position(|known| *known == phase)
    }

    fn matrix_panel(&self, kept: &KeptSpot, all: usize) -> Markup {
        let own = kept.spot.workload.zip(kept.spot.phase.as_deref());
        html! { div.panel-of {
            h3 { "Who sends to whom" }
            @for figure in &self.matrices {
                @let of = (figure.workload, figure.phase.as_str());
                figure hidden[Some(of) != own] data-matrix=[self.number_of((Some(of.0), Some(of.1)))] { figcaption { (shortened(&figure.about, 300)) } (figure.svg) p.readout {} }
            }
            p.missing hidden[self.matrices.iter().any(|figure| Some((figure.workload, figure.phase.as_str())) == own)] { "The matrix of this phase is not drawn." }
            @if all > self.matrices.len() { p.dim { "The " (self.matrices.len()) " of " (counted(all, "phase")) " with the most bytes are drawn." } }
        } }
    }

    fn loads_panel(&self, kept: &KeptSpot) -> Markup {
        let own = (kept.spot.workload, kept.spot.phase.as_deref());
        let names = link_loads::names(self.runs, self.differ);
        html! { div.panel-of {
            h3 { "Links, the most loaded first" }
            (legend(names.iter().map(|(colour, name)| (*colour, name.as_str()))))
            @if self.runs.len() > names.len() { p.dim { "The first " (names.len()) " of " (counted(self.runs.len(), "run")) ", and the chosen one in black." } }
            @for (phase, chart) in link_loads::charts(self.runs) {
                figure hidden[phase != own] data-loads=[self.number_of(phase)] { (chart.svg()) }
            }
        } }
    }

    fn links_panel(&self, kept: &KeptSpot) -> Markup {
        let listed = kept.details.as_ref().map_or(&[][..], |details| &details.listed);
        html! { div.panel-of {
            h3 { "The most loaded links" }
            div.wide tabindex="0" { table #links {
                thead { tr { th scope="col" { "link" } th scope="col" { "load" } th scope="col" { "used" } } }
                tbody { @for [link, load, used] in listed { tr { td { (link) } td.n { (load) } td.n { (used) } } } }
            } }
        } }
    }

    fn map_panel(&self, run: &KeptRun, kept: &KeptSpot, networks: &[Network]) -> Markup {
        let values = kept.details.as_ref().map_or(&[][..], |details| &details.map);
        let most = if kept.spot.rates { number::percent(self.most) } else { number::scaled(self.most, "B") };
        html! { @if self.maps.iter().any(Option::is_some) { div.panel-of.full {
            h3 { "The network" }
            p.legend.dim {
                "A line is as wide as its link is used: "
                svg width="90" height="14" aria-hidden="true" { path.hot d="M2 7H26" stroke-width="1.2" opacity="0.2" {} path.hot d="M32 7H56" stroke-width="3.5" opacity="0.6" {} path.hot d="M62 7H86" stroke-width="6" {} }
                " from little to " (most) ". Of both directions the more used one counts."
            }
            @for (topology, map) in self.maps.iter().enumerate() {
                @if let Some(map) = map { figure hidden[topology != run.topology] data-map=(topology) {
                    @let network = &networks[topology];
                    figcaption { (shortened(&network.label, 80)) @if map.is_grouped() { ", in groups of neighbours: a line has the value of the most used of its links, a ring that of links inside of a group" } }
                    (map.svg(&format!("Links of {}", shortened(&network.label, 80)), if topology == run.topology { values } else { &[] }, self.most))
                    p.readout {}
                } }
            }
        } } }
    }
}

/// What is known of a phase of a run, in sentences.
fn facts(run: &KeptRun, kept: &KeptSpot) -> String {
    let spot = &kept.spot;
    let mut facts = format!("{} in run {}", shortened(&spot.name(), 120), run.labels.run);
    let mut known: Vec<String> = Vec::new();
    known.extend(spot.occurrences.map(|n| counted(n as usize, "occurrence")));
    known.push(number::scaled(spot.bytes as f64, "B"));
    known.extend(spot.duration_s.map(|seconds| format!("{} recorded", number::seconds(seconds))));
    known.extend(
        spot.makespan
            .filter(|_| run.labels.model != "traffic")
            .map(|time| format!("{} simulated", Makespan::text(time))),
    );
    facts.push_str(&format!(": {}.", known.join(", ")));
    if spot.link.is_some() {
        facts.push_str(&format!(" Its hottest link is {} at {}", shortened(&kept.link, 80), kept.measure()));
        if !kept.senders.is_empty() {
            facts.push_str(&format!(": {}", shortened(&kept.senders, 200)));
        }
        facts.push('.');
    }
    if let Some((dropped, again)) = kept.lost {
        let dropped = counted(dropped as usize, "packet");
        facts.push_str(&format!(
            " {dropped} lost in queues, {} sent again.",
            counted(again as usize, "packet")
        ));
    }
    let path = run.paths.iter().find(|path| {
        spot.worst.is_some_and(|(job, _)| job == path.job) && spot.phase.as_deref() == Some(&path.phase)
    });
    if let Some(path) = path.filter(|path| path.makespan.seconds > 0.0) {
        let share = |part: f64| number::percent(part / path.makespan.seconds);
        facts.push_str(&format!(
            " Its critical path spends {} in the network and loses {} to messages of its own job, {} to other jobs",
            share(path.network),
            share(path.same_job),
            share(path.other_jobs),
        ));
        if let Some((link, seconds)) = &path.link {
            facts.push_str(&format!("; it needs {} for {}", shortened(link, 60), share(*seconds)));
        }
        if let Some((job, rank, peer)) = path.by_ranks {
            facts.push_str(&format!("; it waits most for job {job}, rank {rank} → {peer}"));
        }
        facts.push('.');
    }
    facts
}
