//! Hot spots as tables: runs against phases, then each with all that is known.

use maud::{Markup, html};

use super::address::address;
use super::kept::KeptRun;
use super::text::{counted, shortened};
use crate::axes;
use crate::makespan::Makespan;
use crate::number;

/// Columns and rows of the comparison.
const PHASES: usize = 12;
const ROWS: usize = 200;

/// Rows of the list.
const LISTED: usize = 1000;

/// Values nearer than this read alike in three digits.
const ALIKE: f64 = 1.001;

/// What a column of the comparison is of: workload and name of the phase, `None` for the whole run.
type Column<'r> = (Option<usize>, Option<&'r str>);

/// Runs against phases: how much of its hottest link each uses, and which link that is. A cell
/// leads to what is known of it in the section below.
pub(super) fn comparison(runs: &[KeptRun], differ: &[usize], workloads: &[&str]) -> Markup {
    let (mut columns, folded) = columns(runs);
    let all = columns.len();
    columns.truncate(PHASES);
    let shown_spots = || runs.iter().take(ROWS).flat_map(|run| &run.spots);
    let most = shown_spots().map(|spot| spot.spot.congestion).fold(0.0, f64::max);
    let first = columns.iter().find_map(|column| column.0);
    let several = columns.iter().filter_map(|column| column.0).any(|load| Some(load) != first);
    let least: Vec<Option<f64>> = columns.iter().map(|column| lowest(runs, *column)).collect();
    html! {
        div.wide tabindex="0" { table.spots {
            caption { "The most loaded link of every phase, run by run. A bar is as long as that link is used, against the most used of all." }
            thead { tr {
                th scope="col" { "run" }
                @for axis in differ { th scope="col" { (axes::AXES[*axis]) } }
                @for column in &columns { (heading(runs, *column, workloads, several)) }
            } }
            tbody { @for run in runs.iter().take(ROWS) { tr {
                th scope="row" { (run.labels.run) }
                @for axis in differ { td { (shortened(&run.choices[*axis], 48)) } }
                @for (column, least) in columns.iter().zip(&least) { (cell(run, *column, *least, most)) }
            } } }
        } }
        @if folded > 0 { p { (counted(folded, "other phase")) ", under 1 % of bytes and time together, in " a href="phases.csv" { "phases.csv" } "." } }
        @if all > PHASES { p { (counted(all - PHASES, "cooler phase")) " in " a href="phases.csv" { "phases.csv" } "." } }
        @if runs.len() > ROWS { p { (counted(runs.len() - ROWS, "further run")) " in " a href="phases.csv" { "phases.csv" } "." } }
    }
}

fn heading(runs: &[KeptRun], column: Column<'_>, workloads: &[&str], several: bool) -> Markup {
    let (workload, phase) = column;
    let of = workload.and_then(|load| workloads.get(load)).filter(|_| several);
    let title = runs.iter().find_map(|run| run.find(workload, phase)).map_or("", |kept| &kept.spot.title);
    html! { th scope="col" {
        @match phase { Some(phase) => { "phase " (shortened(phase, 24)) } None => { "all jobs" } }
        // Narrow columns: a part of the title stands on each line.
        @if !title.is_empty() { small { @for (at, part) in title.split(" · ").enumerate() { @if at > 0 { br; } (shortened(part, 32)) } } }
        @if let Some(of) = of { small { (shortened(of, 32)) } }
    } }
}

fn cell(run: &KeptRun, column: Column<'_>, least: Option<f64>, most: f64) -> Markup {
    let Some(kept) = run.find(column.0, column.1) else { return html! { td {} } };
    let share = if most > 0.0 { kept.spot.congestion / most * 100.0 } else { 0.0 };
    let best = least.is_some_and(|least| kept.spot.congestion <= least * ALIKE);
    html! { td.bar style=(format!("--v:{share:.1}%")) {
        a href=(address(run, kept)) { b { (kept.measure()) } }
        @if best { " " span.best { "lowest" } }
        small { (shortened(&kept.link, 40)) }
    } }
}

/// Phases in order of first appearance, and how many are negligible in every run and left out; the
/// hottest first if there are more than fit.
fn columns(runs: &[KeptRun]) -> (Vec<Column<'_>>, usize) {
    let mut columns: Vec<(Column<'_>, f64, bool)> = Vec::new();
    for kept in runs.iter().take(ROWS).flat_map(|run| &run.spots) {
        let column = (kept.spot.workload, kept.spot.phase.as_deref());
        match columns.iter_mut().find(|known| known.0 == column) {
            Some(known) => {
                known.1 = known.1.max(kept.spot.congestion);
                known.2 &= kept.is_negligible;
            }
            None => columns.push((column, kept.spot.congestion, kept.is_negligible)),
        }
    }
    let all = columns.len();
    columns.retain(|column| !column.2);
    let folded = all - columns.len();
    if columns.len() > PHASES {
        columns.sort_by(|a, b| b.1.total_cmp(&a.1));
    }
    (columns.into_iter().map(|(column, ..)| column).collect(), folded)
}

/// The lowest value of a column, if there is anything to choose between.
fn lowest(runs: &[KeptRun], column: Column<'_>) -> Option<f64> {
    let values = || runs.iter().filter_map(|run| Some(run.find(column.0, column.1)?.spot.congestion));
    let (least, most) = values().fold((f64::MAX, 0.0f64), |(least, most), v| (least.min(v), most.max(v)));
    (most > least * ALIKE).then_some(least)
}

/// Every hot spot with all that is known of it.
pub(super) fn list(runs: &[KeptRun], differ: &[usize]) -> Markup {
    let rows = || runs.iter().flat_map(|run| run.spots.iter().map(move |spot| (run, spot)));
    let headings = [
        "run",
        "choice",
        "phase",
        "jobs",
        "occurrences",
        "duration",
        "simulated",
        "bytes",
        "hottest link",
        "load",
        "utilization",
    ];
    html! {
        div.wide tabindex="0" { table.sortable {
            caption { "Hot spots" }
            thead { tr { @for heading in headings { th scope="col" { (heading) } } } }
            tbody { @for (run, kept) in rows().take(LISTED) { @let spot = &kept.spot; tr {
                th scope="row" { (run.labels.run) }
                td { (shortened(&axes::told_by(&run.choices, differ), 60)) }
                td { (shortened(&spot.name(), 80)) }
                td.n { (spot.jobs) }
                td.n { (spot.occurrences.map_or_else(String::new, |n| n.to_string())) }
                td.n data-v=[spot.duration_s] { (spot.duration_s.map_or_else(String::new, number::seconds)) }
                td.n data-v=[spot.makespan.map(|time| time.seconds)] { (spot.makespan.map_or_else(String::new, Makespan::text)) }
                td.n data-v=(spot.bytes) { (number::scaled(spot.bytes as f64, "B")) }
                td { (shortened(&kept.link, 60)) }
                td.n data-v=(spot.load) { (number::load(spot.load, spot.rates)) }
                td.n data-v=[spot.utilization] { (spot.utilization.map_or_else(String::new, number::percent)) }
            } } }
        } }
        @if rows().count() > LISTED { p { (rows().count() - LISTED) " more in " a href="phases.csv" { "phases.csv" } "." } }
    }
}
