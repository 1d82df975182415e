//! When jobs waited and ran: a bar each, run by run; nothing where runs have one job.

use maud::{Markup, html};

use super::chart::{COLOURS, grid, step};
use super::kept::KeptRun;
use super::text::{counted, shortened};
use crate::axes;
use crate::number;

/// Runs drawn.
const RUNS: usize = 12;

/// Size of a drawing and of its bars, units.
const WIDTH: f64 = 1000.0;
const LEFT: f64 = 200.0;
const RIGHT: f64 = 20.0;
const ROW: f64 = 20.0;

/// The jobs of every run, the first one open.
pub(super) fn jobs(runs: &[KeptRun], differ: &[usize]) -> Markup {
    let drawn: Vec<&KeptRun> = runs.iter().filter(|run| run.jobs.len() > 1).collect();
    let last = |run: &&KeptRun| {
        let ends = run.jobs.iter().flat_map(|job| [Some(job.submitted), job.started, job.finished]);
        ends.flatten().fold(run.statistics.makespan_s.unwrap_or(0.0), f64::max)
    };
    // One scale for all runs, so that they can be compared.
    let end = drawn.iter().map(last).fold(0.0, f64::max);
    html! {
        @if end > 0.0 { section {
            h2 { "Jobs over time" }
            p.dim { "Hollow: waiting for hosts. Filled: running, a colour for each workload." }
            @for (number, run) in drawn.iter().take(RUNS).enumerate() {
                details open[number == 0] {
                    summary { (name(run, differ)) " " small { (counted(run.job_count, "job")) } }
                    div.wide tabindex="0" { (chart(run, end)) }
                    @if run.job_count > run.jobs.len() { p { (run.job_count - run.jobs.len()) " more in " a href="jobs.csv" { "jobs.csv" } "." } }
                }
            }
            @if drawn.len() > RUNS { p { (counted(drawn.len() - RUNS, "further run")) " in " a href="jobs.csv" { "jobs.csv" } "." } }
        } }
    }
}

fn name(run: &KeptRun, differ: &[usize]) -> String {
    let told = axes::told_by(&run.choices, differ);
    if told.is_empty() {
        format!("run {}", run.labels.run)
    } else {
        format!("run {}: {}", run.labels.run, shortened(&told, 80))
    }
}

fn chart(run: &KeptRun, end: f64) -> Markup {
    let bottom = ROW * run.jobs.len() as f64;
    let x = |time: f64| LEFT + time / end * (WIDTH - LEFT - RIGHT);
    let bar = |class: String, from: f64, to: f64, row: usize| {
        let (left, width) = (format!("{:.1}", x(from)), format!("{:.1}", (x(to) - x(from)).max(1.0)));
        let top = format!("{:.1}", ROW * row as f64 + 3.0);
        html! { rect class=(class) x=(left) y=(top) width=(width) height="13" {} }
    };
    html! {
        svg.timeline.items viewBox=(format!("0 0 {WIDTH} {}", bottom + 30.0)) role="img" aria-label="Jobs over time" {
            @for time in grid(end, step(end)) {
                path.grid d=(format!("M{:.1} 0V{:.1}", x(time), bottom + 5.0)) {}
                text.middle x=(format!("{:.1}", x(time))) y=(format!("{:.1}", bottom + 21.0)) { (number::seconds(time)) }
            }
            @for (row, job) in run.jobs.iter().enumerate() {
                text x="0" y=(format!("{:.1}", ROW * row as f64 + 14.0)) { (job.job) " " (shortened(&job.name, 24)) }
                g data-about=(job.about()) {
                    title { (job.about()) }
                    (bar("waiting".into(), job.submitted, job.started.unwrap_or(end), row))
                    @if let Some(started) = job.started {
                        (bar(format!("f{}", job.workload % COLOURS), started, job.finished.unwrap_or(end), row))
                    }
                }
            }
        }
    }
}
