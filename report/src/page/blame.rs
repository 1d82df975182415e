//! What slowed the critical paths: the phases that lost most time to sharing, run by run.

use maud::{Markup, html};

use super::kept::KeptRun;
use super::path::KeptPath;
use super::text::{counted, shortened};
use crate::axes;
use crate::number;

/// Most rows of the table.
const ROWS: usize = 200;

/// The table; nothing if nothing is known.
pub(super) fn table(runs: &[KeptRun], differ: &[usize]) -> Markup {
    let rows = || runs.iter().flat_map(|run| run.paths.iter().map(move |path| (run, path)));
    if rows().next().is_none() {
        return Markup::default();
    }
    let headings = [
        "run",
        "choice",
        "job",
        "phase",
        "time",
        "in the network",
        "lost to its own job",
        "lost to other jobs",
        "most to",
        "steps most to",
        "slowest link",
        "its share",
    ];
    html! { section {
        h2 { "What slowed the critical path" }
        div.wide tabindex="0" { table.sortable {
            caption { "Shares of the time of each phase that its critical path spent in the network, and lost to other messages there" }
            thead { tr { @for heading in headings { th scope="col" { (heading) } } } }
            tbody { @for (run, path) in rows().take(ROWS) { tr {
                th scope="row" { (run.labels.run) }
                td { (shortened(&axes::told_by(&run.choices, differ), 60)) }
                td.n { (path.job) }
                td { (shortened(&path.phase, 40)) }
                td.n data-v=(path.makespan.seconds) { (path.makespan.text()) }
                (share(path, Some(path.network)))
                (share(path, Some(path.same_job)))
                (share(path, Some(path.other_jobs)))
                td { (path.by_job.map_or_else(String::new, |job| format!("job {job}"))) }
                td { (path.by_ranks.map_or_else(String::new, |(job, rank, peer)| format!("job {job}, rank {rank} → {peer}"))) }
                td { (path.link.as_ref().map_or_else(String::new, |(name, _)| shortened(name, 60))) }
                (share(path, path.link.as_ref().map(|(_, time)| *time)))
            } } }
        } }
        @if rows().count() > ROWS { p { (counted(rows().count() - ROWS, "further phase")) " in " a href="blame.csv" { "blame.csv" } "." } }
    } }
}

/// A part of the time of a path.
fn share(path: &KeptPath, part: Option<f64>) -> Markup {
    let share = part.filter(|_| path.makespan.seconds > 0.0).map(|part| part / path.makespan.seconds);
    html! { td.n data-v=[share] { (share.map_or_else(String::new, number::percent)) } }
}
