//! What slowed the critical paths: the phases that lost most time to sharing, run by run.

use std::fmt::Write;

use super::kept::KeptRun;
use super::text::{counted, escape, shortened};
use crate::axes;
use crate::number;

/// Most rows of the table.
const ROWS: usize = 200;

/// The table; nothing if nothing is known.
pub(super) fn table(runs: &[KeptRun], differ: &[usize]) -> String {
    let rows = || runs.iter().flat_map(|run| run.paths.iter().map(move |path| (run, path)));
    if rows().next().is_none() {
        return String::new();
    }
    let mut html = String::from(
        "<div class=\"wide\" tabindex=\"0\"><table><caption>Shares of the time of each phase that its critical path spent in the network, and lost to \
         other messages there</caption><thead><tr>",
    );
    for heading in [
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
    ] {
        let _ = write!(html, "<th scope=\"col\">{heading}</th>");
    }
    html.push_str("</tr></thead><tbody>");
    for (run, path) in rows().take(ROWS) {
        let share = |part: f64| {
            if path.makespan.seconds > 0.0 {
                number::percent(part / path.makespan.seconds)
            } else {
                String::new()
            }
        };
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td></tr>",
            run.labels.run,
            escape(&shortened(&axes::told_by(&run.choices, differ), 60)),
            path.job,
            escape(&shortened(&path.phase, 40)),
            path.makespan.text(),
            share(path.network),
            share(path.same_job),
            share(path.other_jobs),
            path.by_job.map_or_else(String::new, |job| format!("job {job}")),
            path.by_ranks
                .map_or_else(String::new, |(job, rank, peer)| format!("job {job}, rank {rank} → {peer}")),
            path.link.as_ref().map_or_else(String::new, |(name, _)| escape(&shortened(name, 60))),
            path.link.as_ref().map_or_else(String::new, |(_, time)| share(*time)),
        );
    }
    html.push_str("</tbody></table></div>");
    if rows().count() > ROWS {
        let rest = counted(rows().count() - ROWS, "further phase");
        let _ = write!(html, "<p>{rest} in <a href=\"blame.csv\">blame.csv</a>.</p>");
    }
    html
}
