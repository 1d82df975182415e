//! Where the models of a sweep agree: each run beside the first one that differs from it in its
//! model alone.

use std::collections::HashMap;
use std::io::Write;

use phaseflow_collect::Result;

use super::Rows;
use crate::disagreement::all_but_model;
use crate::makespan::Makespan;
use crate::view::{RunView, rates};

/// A row of a phase has no link, and a row of a link no makespan. A ratio is that of the run to its
/// reference.
pub(super) const COLUMNS: &[&str] = &[
    "run",
    "reference",
    "model",
    "reference_model",
    "job",
    "phase",
    "src",
    "dst",
    "makespan_s",
    "reference_makespan_s",
    "makespan_ratio",
    "bytes",
    "reference_bytes",
    "bytes_ratio",
    "utilization",
    "reference_utilization",
    "utilization_ratio",
    "makespan_error",
    "reference_makespan_error",
];

/// The first run of each kind, by its labels without number and model.
#[derive(Debug)]
pub(super) struct References {
    known: HashMap<Vec<String>, Reference>,
    /// False if all runs are of one model, so that none is a reference.
    are_wanted: bool,
}

impl References {
    pub(super) fn new(are_wanted: bool) -> Self {
        Self { known: HashMap::new(), are_wanted }
    }
}

#[derive(Debug)]
struct Reference {
    run: u32,
    model: String,
    /// By job and position of the phase.
    phases: HashMap<(u32, u32), Phase>,
}

#[derive(Debug, Default)]
struct Phase {
    makespan: Option<Makespan>,
    peak: Carried,
    /// By number of the link, ascending.
    links: Vec<(u32, Carried)>,
}

impl Phase {
    fn link(&self, link: u32) -> Carried {
        let found = self.links.binary_search_by_key(&link, |(number, _)| *number);
        found.map(|at| self.links[at].1).unwrap_or_default()
    }
}

/// What a link carries in a phase, or the most that one does.
#[derive(Clone, Copy, Debug, Default)]
struct Carried {
    bytes: Option<u64>,
    utilization: Option<f64>,
}

/// Compares a run with its reference, or makes it one.
pub(super) fn write<W: Write>(
    references: &mut References,
    view: &RunView<'_>,
    rows: &mut Rows<W>,
) -> Result<()> {
    if !references.are_wanted {
        return Ok(());
    }
    let key = all_but_model(&view.run.labels);
    let phases = phases(view);
    let Some(reference) = references.known.get(&key) else {
        let labels = &view.run.labels;
        let phases = phases.into_iter().map(|(place, _, phase)| (place, phase)).collect();
        let reference = Reference { run: labels.run, model: labels.model.clone(), phases };
        references.known.insert(key, reference);
        return Ok(());
    };
    let nothing = Phase::default();
    for (place, name, phase) in &phases {
        let other = reference.phases.get(place).unwrap_or(&nothing);
        let makespans = (phase.makespan, other.makespan);
        row(rows, view, reference, (place.0, name), ("", ""), makespans, (phase.peak, other.peak))?;
        let mut links: Vec<u32> = phase.links.iter().chain(&other.links).map(|(link, _)| *link).collect();
        links.sort_unstable();
        links.dedup();
        for link in links {
            let (_, src, dst) = view.link(phaseflow_simulate::topology::LinkId(link));
            let carried = (phase.link(link), other.link(link));
            row(rows, view, reference, (place.0, name), (src, dst), (None, None), carried)?;
        }
    }
    Ok(())
}

fn row<W: Write>(
    rows: &mut Rows<W>,
    view: &RunView<'_>,
    reference: &Reference,
    (job, phase): (u32, &str),
    (src, dst): (&str, &str),
    (makespan, other_makespan): (Option<Makespan>, Option<Makespan>),
    (carried, other): (Carried, Carried),
) -> Result<()> {
    let ratio = |a: Option<f64>, b: Option<f64>| Some(a? / b.filter(|b| *b > 0.0)?);
    let number = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64);
    let seconds = |makespan: Option<Makespan>| makespan.map(|makespan| makespan.seconds);
    let error = |makespan: Option<Makespan>| makespan.and_then(|makespan| makespan.error);
    rows.integer(view.run.labels.run)?
        .integer(reference.run)?
        .text(&view.run.labels.model)?
        .text(&reference.model)?
        .integer(job)?
        .text(phase)?
        .text(src)?
        .text(dst)?
        .float(seconds(makespan))?
        .float(seconds(other_makespan))?
        .float(ratio(seconds(makespan), seconds(other_makespan)))?
        .count(carried.bytes)?
        .count(other.bytes)?
        .float(ratio(number(carried.bytes), number(other.bytes)))?
        .float(carried.utilization)?
        .float(other.utilization)?
        .float(ratio(carried.utilization, other.utilization))?
        .float(error(makespan))?
        .float(error(other_makespan))?
        .end()
}

/// The phases of a run by job and position, with their names.
fn phases<'a>(view: &RunView<'a>) -> Vec<((u32, u32), &'a str, Phase)> {
    let mut jobs: Vec<u32> = view.run.phases.iter().map(|phase| phase.job).collect();
    jobs.dedup();
    let mut all = Vec::new();
    for job in jobs {
        for (position, row) in (0..).zip(view.phases_of(job)) {
            let table = &view.run.links;
            let carried = |place: &usize| {
                let (link, load) = (table.link[*place], table.load[*place]);
                let utilization = view.utilization(link, load, rates(row));
                (link.0, Carried { bytes: Some(table.bytes[*place]), utilization })
            };
            let mut links: Vec<(u32, Carried)> =
                view.links_of(Some(job), Some(position)).iter().map(carried).collect();
            links.sort_by_key(|(link, _)| *link);
            let peak = Carried { bytes: row.max_link_bytes, utilization: row.max_utilization };
            let makespan = Makespan::of_phase(row);
            all.push(((job, position), &row.phase[..], Phase { makespan, peak, links }));
        }
    }
    all
}
