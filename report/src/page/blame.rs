//! What slowed the critical paths: the phases that lost most time to sharing, run by run.

use std::collections::BTreeMap;
use std::fmt::Write;

use phaseflow_simulate::result::PathRow;

use super::kept::KeptRun;
use super::text::{counted, escape, shortened};
use crate::axes;
use crate::makespan::Makespan;
use crate::number;
use crate::view::RunView;

/// Phases that are kept of a run, and rows that are shown.
const PHASES: usize = 64;
const ROWS: usize = 200;

/// A job, and a sender and a receiver of its.
type Pair = (u32, u32, u32);

/// The critical path of a phase; times in seconds.
#[derive(Debug)]
pub(super) struct KeptPath {
    job: u32,
    phase: String,
    makespan: Makespan,
    network: f64,
    same_job: f64,
    other_jobs: f64,
    by_job: Option<u32>,
    /// The job and ranks that the steps which are told lost most to.
    by_ranks: Option<Pair>,
    /// `a → b`, and how long the path needed it.
    link: Option<(String, f64)>,
}

/// The paths of a run that lost most time to sharing.
pub(super) fn paths(view: &RunView<'_>) -> Vec<KeptPath> {
    let mut paths = Vec::new();
    let lost = lost_to(&view.run.path);
    for job in &view.run.jobs {
        for (position, phase) in (0..).zip(view.phases_of(job.job)) {
            let Some(slowed) = view.slowed(Some(job.job), Some(position)) else { continue };
            let Some(replayed) = &phase.replayed else { continue };
            let link = slowed.link().map(|link| {
                let (src, dst) = view.ends(Some(link));
                (format!("{src} → {dst}"), slowed.links[&link])
            });
            paths.push(KeptPath {
                job: job.job,
                phase: phase.phase.clone(),
                makespan: Makespan {
                    seconds: replayed.path_ranks_s + replayed.path_network_s,
                    error: replayed.makespan_error,
                },
                network: replayed.path_network_s,
                same_job: slowed.same_job_s,
                other_jobs: slowed.other_jobs_s,
                by_job: slowed.by_job,
                by_ranks: lost.get(&(job.job, position)).and_then(most),
                link,
            });
        }
    }
    paths.sort_by(|a, b| b.lost().total_cmp(&a.lost()));
    paths.truncate(PHASES);
    paths
}

/// By job and phase: what the steps of its path lost to each pair of ranks.
fn lost_to(rows: &[PathRow]) -> BTreeMap<(u32, u32), BTreeMap<Pair, f64>> {
    let mut lost: BTreeMap<_, BTreeMap<Pair, f64>> = BTreeMap::new();
    for row in rows {
        if let (Some(job), Some(rank), Some(peer), Some(time)) =
            (row.by_job, row.by_rank, row.by_peer, row.shared_s)
        {
            *lost.entry((row.job, row.phase)).or_default().entry((job, rank, peer)).or_default() += time;
        }
    }
    lost
}

/// The first of equal ones.
fn most(lost: &BTreeMap<Pair, f64>) -> Option<Pair> {
    lost.iter().rev().max_by(|a, b| a.1.total_cmp(b.1)).map(|(pair, _)| *pair)
}

impl KeptPath {
    fn lost(&self) -> f64 {
        self.same_job + self.other_jobs
    }
}

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
