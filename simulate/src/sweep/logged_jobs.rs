//! Jobs of a log, each with the program of its size.

use std::collections::BTreeMap;

use phaseflow_collect::import::{Input, Scratch};
use phaseflow_collect::pattern::{LabelledRun, Program};
use phaseflow_collect::{At, Error, Result};

use crate::run::{JobSource, Submission};
use crate::scenario::{JobLog, LoggedJob};
use crate::workload::{Reading, Workload};

/// The workloads of a log's jobs and the jobs that run them.
///
/// A job runs the trace with as many ranks as it has processors. Where there is none, it runs the
/// pattern with that many ranks; without a pattern the largest trace that it has processors for. Of
/// traces of one size the first is taken.
///
/// # Errors
/// A log or trace that cannot be read; a job for which nothing fits.
pub(super) fn assign(
    log: &JobLog,
    inputs: Vec<Workload>,
    scratch: Scratch,
    reading: Reading,
) -> Result<(Vec<Workload>, Vec<JobSource>)> {
    let logged = log.read()?;
    let mut workloads = inputs;
    for trace in &log.traces {
        let read = Input::open(&trace.path).and_then(|input| Workload::read(input, scratch, reading));
        workloads.push(read.at(|| trace.path.display())?.named(&trace.label));
    }
    let mut by_ranks: BTreeMap<u32, usize> = BTreeMap::new();
    for (number, workload) in workloads.iter().enumerate() {
        by_ranks.entry(workload.segmentation.header.ranks).or_insert(number);
    }
    let program = log.pattern.as_deref().map(Program::parse).transpose()?;
    let (mut jobs, mut smaller) = (Vec::with_capacity(logged.jobs.len()), 0_u32);
    for (number, job) in logged.jobs.iter().enumerate() {
        let ranks = job.processes;
        let exact = by_ranks.get(&ranks).copied();
        let workload = match (exact, &program) {
            (Some(workload), _) => workload,
            (None, Some(program)) => {
                let made = pattern(program, ranks, reading);
                workloads.push(made.at(|| format!("job {number} of {}", log.label))?);
                by_ranks.insert(ranks, workloads.len() - 1);
                workloads.len() - 1
            }
            (None, None) => {
                smaller += 1;
                largest(&by_ranks, job).at(|| format!("job {number} of {}", log.label))?
            }
        };
        let LoggedJob { at_s, run_s, estimate_s, .. } = *job;
        jobs.push(JobSource { workload, submission: Submission::Logged { at_s, run_s, estimate_s } });
    }
    let mut remarks = Vec::new();
    if logged.left_out > 0 {
        remarks.push(format!("{}: {} jobs did not run and are left out", log.label, logged.left_out));
    }
    if smaller > 0 {
        let of = jobs.len();
        remarks.push(format!(
            "{}: {smaller} of {of} jobs run a trace with fewer ranks than they have processors",
            log.label
        ));
    }
    if let Some(first) = workloads.first_mut() {
        first.remarks.extend(remarks);
    }
    Ok((workloads, jobs))
}

/// The trace with most ranks that a job has processors for.
fn largest(by_ranks: &BTreeMap<u32, usize>, job: &LoggedJob) -> Result<usize> {
    let fitting = by_ranks.range(..=job.processes).next_back();
    fitting.map(|(_, workload)| *workload).ok_or_else(|| {
        let smallest = by_ranks
            .keys()
            .next()
            .map_or("there is no trace".into(), |ranks| format!("the smallest trace has {ranks} ranks"));
        Error::usage(format!(
            "has {} processors, {smallest}; expected a smaller one, or a pattern",
            job.processes
        ))
    })
}

/// A generated workload; a single rank has nobody to send to.
fn pattern(program: &Program, ranks: u32, reading: Reading) -> Result<Workload> {
    let run = LabelledRun::new(program.clone(), ranks);
    let made = if ranks < 2 {
        Workload::silent(ranks)
    } else {
        Workload::generated(|sink| run.generate(sink, &mut |_| Ok(())).map(drop), reading)?
    };
    Ok(made.named(&format!("{} × {ranks}", program.text())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use crate::sweep::{Plan, Sweep};

    fn sweep(folder: &std::path::Path, keys: &str, inputs: Vec<Workload>) -> Result<Sweep> {
        let text = format!("topology: 'star[hosts=16]'\njobs: {{log: log.swf{keys}}}\n");
        Sweep::load(Plan::new(Scenario::parse(&text, folder)?)?, inputs, tempfile::tempfile)
    }

    fn of_ranks(ranks: u32) -> Workload {
        pattern(&Program::parse("shift").unwrap(), ranks, Reading::Matrices).unwrap()
    }

    #[test]
    fn each_job_runs_what_has_its_size() {
        let folder = tempfile::tempdir().unwrap();
        let line = |number: u32, at: u32, processors: u32| {
            format!("{number} {at} 0 10 {processors} -1 -1 {processors} 20 -1 1 1 1 1 1 1 -1 -1\n")
        };
        let log: String = [(0, 4), (1, 8), (2, 5), (3, 1), (4, 5)]
            .iter()
            .zip(1..)
            .map(|((at, processors), number)| line(number, *at, *processors))
            .collect();
        std::fs::write(folder.path().join("log.swf"), log).unwrap();
        let ranks = |sweep: &Sweep| -> Vec<u32> {
            let of = |job: &JobSource| sweep.workloads()[job.workload].segmentation.header.ranks;
            sweep.jobs.iter().map(of).collect()
        };
        let inputs = || vec![of_ranks(4), of_ranks(2), of_ranks(8)];
        let with_pattern = sweep(folder.path(), ", pattern: halo2d", inputs()).unwrap();
        assert_eq!(ranks(&with_pattern), [4, 8, 5, 1, 5]);
        // One workload a size.
        assert_eq!(with_pattern.workloads().len(), 5);
        let first = sweep(folder.path(), ", first: 3", inputs()).unwrap();
        assert_eq!(ranks(&first), [4, 8, 4]);
        let remarks: Vec<&str> = first.remarks().collect();
        assert_eq!(remarks, ["log.swf: 1 of 3 jobs run a trace with fewer ranks than they have processors"]);
        let error = sweep(folder.path(), "", inputs()).err().unwrap();
        assert_eq!(
            error.to_string(),
            "job 3 of log.swf: has 1 processors, the smallest trace has 2 ranks; expected a smaller one, or a pattern"
        );
    }
}
