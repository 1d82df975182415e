//! The table `jobs`: one row per run and job, with its times, hosts and slowdown.

use std::io::Write;

use phaseflow_collect::Result;

use super::Rows;
use crate::view::RunView;

/// `hosts` are names, a blank between them; `wait_s` ends with the start, `response_s` begins with
/// the submission. `slowdown` is `run_s` over `alone_s`, `bounded_slowdown` is `response_s` over
/// `run_s`, or over 10 s where that is longer, and 1 at least.
pub(super) const COLUMNS: &[&str] = &[
    "run",
    "job",
    "submitted_s",
    "started_s",
    "finished_s",
    "wait_s",
    "run_s",
    "response_s",
    "hosts",
    "workload",
    "alone_s",
    "slowdown",
    "bounded_slowdown",
];

/// Shortest run time that counts for the bounded slowdown, seconds: with less, jobs that fail at
/// once decide means (Feitelson, Rudolph, Schwiegelshohn, Sevcik and Wong, JSSPP 1997).
const BOUND_S: f64 = 10.0;

pub(super) fn write<W: Write>(view: &RunView<'_>, rows: &mut Rows<W>) -> Result<()> {
    for job in &view.run.jobs {
        let (started, finished) = (job.started_s, job.finished_s);
        let run = started.zip(finished).map(|(start, end)| end - start);
        let hosts = job.hosts.iter().map(|host| view.network.name(*host)).collect::<Vec<_>>().join(" ");
        rows.integer(view.run.labels.run)?
            .integer(job.job)?
            .float(job.submitted_s)?
            .float(started)?
            .float(finished)?
            .float(started.map(|at| at - job.submitted_s))?
            .float(run)?
            .float(finished.map(|at| at - job.submitted_s))?
            .text(&hosts)?
            .text(&view.workloads[job.workload].name)?
            .float(job.alone_s)?
            .float(run.zip(job.alone_s).map(|(run, alone)| run / alone))?
            .float(run.zip(finished).map(|(run, end)| ((end - job.submitted_s) / run.max(BOUND_S)).max(1.0)))?
            .end()?;
    }
    Ok(())
}
