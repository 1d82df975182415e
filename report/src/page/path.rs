//! What the page keeps of the critical paths of a run: those that lost most time to sharing.

use std::collections::BTreeMap;

use phaseflow_simulate::result::PathRow;

use crate::makespan::Makespan;
use crate::view::RunView;

/// Most paths that are kept of a run.
const PATHS: usize = 64;

/// A job, and a sender and a receiver of its.
type Pair = (u32, u32, u32);

/// The critical path of a phase; times in seconds.
#[derive(Debug)]
pub(super) struct KeptPath {
    pub(super) job: u32,
    pub(super) phase: String,
    pub(super) makespan: Makespan,
    pub(super) network: f64,
    pub(super) same_job: f64,
    pub(super) other_jobs: f64,
    pub(super) by_job: Option<u32>,
    /// The job and ranks that the steps which are told lost most to.
    pub(super) by_ranks: Option<Pair>,
    /// `a → b`, and how long the path needed it.
    pub(super) link: Option<(String, f64)>,
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
    paths.truncate(PATHS);
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
