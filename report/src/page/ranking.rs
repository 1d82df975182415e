//! The runs of a sweep, the best first.

use maud::{Markup, html};

use super::kept::KeptRun;
use super::text::shortened;
use crate::axes;
use crate::makespan::Makespan;
use crate::number;

/// Runs listed; the others are in runs.csv.
const RUNS: usize = 40;

/// A table of the runs by time where models give one, else by their highest utilization; empty for
/// one run. The speed-up is that against the first run, of runs of its model.
pub(super) fn ranking(runs: &[KeptRun], differ: &[usize]) -> Markup {
    if runs.len() < 2 {
        return Markup::default();
    }
    let seconds = KeptRun::simulated_s;
    let is_timed = runs.iter().all(|run| seconds(run).is_some());
    let rank = |run: &KeptRun| {
        let by = if is_timed { seconds(run) } else { run.statistics.max_utilization };
        by.unwrap_or(f64::INFINITY)
    };
    let speed_up = |run: &KeptRun| {
        let is_like_first = axes::MODEL.iter().all(|axis| run.choices[*axis] == runs[0].choices[*axis]);
        let (first, own) = seconds(&runs[0]).zip(seconds(run)).filter(|_| is_like_first)?;
        (own > 0.0).then(|| number::significant(first / own))
    };
    let mut order: Vec<&KeptRun> = runs.iter().collect();
    order.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
    html! {
        section {
            h2 { "Runs" }
            div.wide tabindex="0" { table.sortable {
                caption { "The runs, the best first" }
                thead { tr { @for name in ["run", "choice", "time", "speed-up", "highest use of a link"] { th scope="col" { (name) } } } }
                tbody { @for run in order.iter().take(RUNS) { tr {
                    th scope="row" { (run.labels.run) }
                    td { (shortened(&axes::told_by(&run.choices, differ), 80)) }
                    td.n data-v=[run.makespan.map(|time| time.seconds)] { (run.makespan.map_or_else(String::new, Makespan::text)) }
                    td.n { (speed_up(run).unwrap_or_default()) }
                    td.n data-v=[run.statistics.max_utilization] { (run.statistics.max_utilization.map_or_else(String::new, number::percent)) }
                } } }
            } }
            @if runs.len() > RUNS { p { (runs.len() - RUNS) " more in " a href="runs.csv" { "runs.csv" } "." } }
        }
    }
}
