//! The drawings of the page as files: matrices, time lines, link loads, runs and their speed-up.

use maud::{Markup, html};
use phaseflow_simulate::workload::Workload;

use super::kept::KeptRun;
use super::picture::Picture;
use super::text::shortened;
use super::{Page, headline, link_loads, matrix, timeline};
use crate::axes;
use crate::number;

/// Runs compared in one picture.
const RUNS: usize = 40;
/// Size of a bar chart, units.
const WIDTH: f64 = 640.0;
const ROW: f64 = 24.0;
const LEFT: f64 = 250.0;
const RIGHT: f64 = 80.0;

impl Page {
    /// All pictures, in the order of the page.
    pub fn pictures(&self, workloads: &[Workload]) -> Vec<Picture> {
        let mut pictures = Vec::new();
        let differ = axes::differing(&self.runs.iter().map(|run| &run.choices).collect::<Vec<_>>());
        pictures.extend(comparison(&self.runs, &differ));
        pictures.extend(speed_up(&self.runs, &differ));
        let several = workloads.len() > 1;
        let of = |number: usize| if several { format!("-{number}") } else { String::new() };
        for (number, workload) in workloads.iter().enumerate() {
            let title = format!("Phases of {} over time", workload.name);
            let svg = timeline::picture(workload).map(Markup::into_string);
            pictures.extend(
                svg.and_then(|svg| Picture::new(&format!("timeline{}", of(number)), &title, &svg, &[])),
            );
        }
        for figure in matrix::figures(workloads, headline::hottest_phase(&self.runs), true).0 {
            let title = format!("Who sends to whom in phase {}", figure.name);
            let name = format!("matrix{}-{}", of(figure.workload), place(&figure.phase));
            pictures.extend(Picture::new(&name, &title, &figure.svg.into_string(), &[]));
        }
        let names = link_loads::names(&self.runs, &differ);
        for ((_, phase), chart) in link_loads::charts(&self.runs) {
            let title = format!("Links of {}, the most loaded first", chart.title);
            let name = format!("links-{}", phase.map_or_else(|| "all".into(), place));
            pictures.extend(Picture::new(&name, &title, &chart.svg().into_string(), &names));
        }
        let mut known = std::collections::BTreeSet::new();
        pictures.retain(|picture| known.insert(picture.name.clone()));
        pictures
    }
}

/// The part of a name that a file name may have.
fn place(name: &str) -> String {
    let first = name.split(' ').next().unwrap_or_default();
    first
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' })
        .take(60)
        .collect()
}

/// Times of the runs, or their highest utilizations where the model gives no time; the best first.
fn comparison(runs: &[KeptRun], differ: &[usize]) -> Option<Picture> {
    let seconds: Option<Vec<f64>> = runs.iter().map(KeptRun::simulated_s).collect();
    let peak = |run: &KeptRun| run.statistics.max_utilization;
    let is_timed = seconds.is_some();
    let values: Vec<f64> = seconds.or_else(|| runs.iter().map(peak).collect())?;
    let title = if is_timed { "Time of each run" } else { "Highest utilization of a link in each run" };
    let text = if is_timed { number::seconds } else { number::percent };
    let mut order: Vec<(f64, String)> =
        values.into_iter().zip(runs).map(|(value, run)| (value, name(run, differ))).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    Picture::new("runs", title, &bars(&order, text), &[])
}

/// How many times as fast as the first run each one is.
fn speed_up(runs: &[KeptRun], differ: &[usize]) -> Option<Picture> {
    let seconds: Vec<f64> = runs.iter().map(KeptRun::simulated_s).collect::<Option<_>>()?;
    let first = seconds.first().copied().filter(|first| *first > 0.0 && runs.len() > 1)?;
    let mut order: Vec<(f64, String)> = seconds
        .iter()
        .zip(runs)
        .filter(|(own, run)| {
            **own > 0.0 && axes::MODEL.iter().all(|axis| run.choices[*axis] == runs[0].choices[*axis])
        })
        .map(|(own, run)| (first / own, name(run, differ)))
        .collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    Picture::new("speed-up", "Speed-up against the first run", &bars(&order, number::significant), &[])
}

fn name(run: &KeptRun, differ: &[usize]) -> String {
    let told = axes::told_by(&run.choices, differ);
    if told.is_empty() { format!("run {}", run.labels.run) } else { told }
}

/// Horizontal bars from 0, one a row.
fn bars(rows: &[(f64, String)], text: impl Fn(f64) -> String) -> String {
    let rows = &rows[..rows.len().min(RUNS)];
    let most = rows.iter().map(|row| row.0).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let height = ROW * rows.len() as f64 + 6.0;
    let bars = html! {
        svg viewBox=(format!("0 0 {WIDTH} {height}")) {
            @for (at, (value, name)) in rows.iter().enumerate() {
                @let top = ROW * at as f64 + 4.0;
                @let width = (WIDTH - LEFT - RIGHT) * value / most;
                @let middle = format!("{:.1}", top + 13.0);
                text.end x=(format!("{:.1}", LEFT - 8.0)) y=(middle) { (shortened(name, 40)) }
                rect.f0 x=(LEFT) y=(format!("{top:.1}")) width=(format!("{width:.1}")) height="16" {}
                text x=(format!("{:.1}", LEFT + width + 6.0)) y=(middle) { (text(*value)) }
            }
        }
    };
    bars.into_string()
}
