//! What the page keeps of the jobs of a run.

use phaseflow_simulate::result::JobRow;

use super::text::{counted, shortened};
use crate::number;
use crate::view::RunView;

/// Jobs kept of a run, those that were submitted first.
const JOBS: usize = 60;

/// A job, times in seconds since the start of the run.
#[derive(Clone, Debug)]
pub(super) struct KeptJob {
    pub(super) job: u32,
    pub(super) workload: usize,
    pub(super) name: String,
    pub(super) hosts: usize,
    pub(super) submitted: f64,
    /// Unknown for one that never started, or never ended.
    pub(super) started: Option<f64>,
    pub(super) finished: Option<f64>,
}

impl KeptJob {
    /// The jobs of a run that has several.
    pub(super) fn of_run(view: &RunView<'_>) -> Vec<Self> {
        if view.run.jobs.len() < 2 {
            return Vec::new();
        }
        let kept = |job: &JobRow| Self {
            job: job.job,
            workload: job.workload,
            name: view.workloads.get(job.workload).map_or_else(String::new, |workload| workload.name.clone()),
            hosts: job.hosts.len(),
            submitted: job.submitted_s,
            started: job.started_s,
            finished: job.finished_s,
        };
        view.run.jobs.iter().take(JOBS).map(kept).collect()
    }

    /// All of it in a sentence.
    pub(super) fn about(&self) -> String {
        let time = |time: Option<f64>| time.map_or_else(|| "never".into(), number::seconds);
        format!(
            "job {} ({}) on {}: submitted {}, started {}, finished {}",
            self.job,
            shortened(&self.name, 60),
            counted(self.hosts, "host"),
            number::seconds(self.submitted),
            time(self.started),
            time(self.finished),
        )
    }
}
