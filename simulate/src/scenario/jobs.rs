//! The key `jobs`: endless generators, as PFSim has them, jobs at given times, or a log of jobs.

use std::path::Path;

use phaseflow_collect::Result;
use phaseflow_collect::choice::Choice;
use phaseflow_collect::pattern::Program;

use super::algorithms::class_name;
use super::node::Node;
use super::{Job, JobLog, Trace};
use crate::distribution::Distribution;
use crate::run::{MOST_JOBS, Submission};

/// The job lines of a scenario.
pub(super) fn jobs(node: &Node, folder: &Path) -> Result<Vec<Job>> {
    let jobs = node.list().iter().map(|line| job(line, folder)).collect::<Result<Vec<_>>>()?;
    if jobs.is_empty() {
        return Err(node.error("jobs is an empty list, expected one job or more"));
    }
    let total: u64 = jobs.iter().map(|job| u64::from(job.count)).sum();
    if total > u64::from(MOST_JOBS) {
        return Err(node.error(format!("all counts together are {total} jobs, expected at most {MOST_JOBS}")));
    }
    Ok(jobs)
}

/// The log of `jobs: {log: FILE, …}`; `None` for a list of jobs.
pub(super) fn log(node: &Node, folder: &Path) -> Result<Option<JobLog>> {
    if !node.is_map() || node.any_map("jobs")?.get("log").is_none() {
        return Ok(None);
    }
    let map = node.map("jobs", &["log", "traces", "pattern", "first"])?;
    let label = map.required("jobs", "log")?.text("log", "the path of a log in SWF")?;
    let mut traces = Vec::new();
    if let Some(node) = map.get("traces") {
        for node in node.list() {
            traces.push(trace(node, folder)?);
        }
    }
    let pattern = match map.get("pattern") {
        None => None,
        Some(node) => {
            let text = node.text("pattern", "a program of patterns: halo2d[bytes=64KiB]*20,allreduce")?;
            node.locate(Program::parse(text).map(drop))?;
            Some(text.to_string())
        }
    };
    let first = match map.get("first") {
        None => None,
        Some(node) => match node.whole32("first")? {
            0 => return Err(node.error("first is 0, expected a number of jobs")),
            first => Some(first),
        },
    };
    Ok(Some(JobLog { label: label.into(), path: folder.join(label), traces, pattern, first }))
}

fn trace(node: &Node, folder: &Path) -> Result<Trace> {
    let label = node.text("trace", "the path of a phase archive, trace archive or PFProf archive")?;
    Ok(Trace { label: label.into(), path: folder.join(label) })
}

fn job(line: &Node, folder: &Path) -> Result<Job> {
    let map = line.map("a job", &["submit", "at", "duration", "trace", "count"])?;
    let trace = map.get("trace").map(|node| trace(node, folder)).transpose()?;
    let submit = match (map.get("submit"), map.get("at")) {
        (Some(_), Some(at)) => return Err(at.error("a job has `submit` and `at`, expected one of them")),
        (submit, at) => submit.or(at),
    };
    let duration = map.get("duration");
    let submission = match submit {
        Some(submit) if is_distribution(submit) => Submission::Endless {
            submit: distribution("submit", submit)?,
            duration: duration.map(|node| distribution("duration", node)).transpose()?,
        },
        _ => Submission::Fixed {
            at_s: submit.map_or(Ok(0.0), |node| node.seconds("submit"))?,
            duration_s: duration.map(|node| node.seconds("duration")).transpose()?,
        },
    };
    let count = match map.get("count") {
        None => 1,
        Some(node) => match (node.whole32("count")?, &submission) {
            (_, Submission::Endless { .. }) => {
                return Err(node.error("count goes with a time, this job is submitted by a distribution"));
            }
            (count @ 1..=MOST_JOBS, _) => count,
            (count, _) => {
                return Err(node.error(format!("count is {count}, expected 1 to {MOST_JOBS}")));
            }
        },
    };
    Ok(Job { trace, submission, count })
}

/// A mapping or text with brackets is a distribution; any other value of `submit` is a time.
fn is_distribution(node: &Node) -> bool {
    node.is_map() || node.text("", "").is_ok_and(|text| text.contains('['))
}

/// `{exponential: {lambd: 0.1}}`, `exponential[lambd=0.1]`, PFSim's `{distribution:
/// module.ExponentialDistribution, params: {lambd: 0.1}}`, or a time: always that one.
fn distribution(what: &str, node: &Node) -> Result<Distribution> {
    if !is_distribution(node) {
        return Ok(Distribution::constant(node.seconds(what)?));
    }
    if !node.is_map() {
        return named(node, node.text(what, "a distribution")?);
    }
    let map = node.any_map(what)?;
    let (name, params) = match (map.get("distribution"), map.only_entry()) {
        (None, Some((name, params))) => (name.to_string(), Some(params)),
        _ => {
            let map = node.map(what, &["distribution", "params"])?;
            let class =
                map.required(what, "distribution")?.text("distribution", "the name of a distribution")?;
            let class = class_name(class).unwrap_or(class).trim_end_matches("Distribution");
            (class.to_ascii_lowercase(), map.get("params"))
        }
    };
    let mut parameters = Vec::new();
    if let Some(params) = params {
        for (key, value) in params.any_map("params")?.entries() {
            parameters.push(format!("{key}={}", value.number(key)?));
        }
    }
    named(node, &format!("{name}[{}]", parameters.join(",")))
}

fn named(node: &Node, spelling: &str) -> Result<Distribution> {
    node.locate(Choice::parse(spelling).and_then(|choice| Distribution::new(&choice)))
}
