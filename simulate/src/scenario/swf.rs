//! Jobs from a log in the Standard Workload Format (SWF), that of the Parallel Workloads Archive.
//!
//! S. J. Chapin, W. Cirne, D. G. Feitelson, J. P. Jones, S. T. Leutenegger, U. Schwiegelshohn, W.
//! Smith and D. Talby, "Benchmarks and standards for the evaluation of parallel job schedulers"
//! (JSSPP 1999); the fields are those of version 2.2. A line is a job: 18 numbers, −1 where
//! something is unknown; comments begin with a semicolon. Used are the submission (2), the run time
//! (4), the allocated (5) and requested processors (8), the requested time (9) and the status (11).
//! The wait (3) is what a scheduler decides anew.
//!
//! - A job has the processors that it requested, else those that it got.
//! - Its estimate is the requested time, or its run time where that is longer or alone known.
//! - Parts of a job that was checkpointed (status 2 to 4) are left out, as its whole is a line,
//!   too. So are jobs that never ran: without run time or processors.

use std::path::PathBuf;

use phaseflow_collect::{At, Error, Result};

use super::Trace;
use crate::run::MOST_JOBS;

/// Largest log, bytes: a million jobs of 200 bytes.
const LARGEST_LOG: u64 = 256 << 20;

/// A log, and the programs of its jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobLog {
    /// As the user writes it.
    pub label: String,
    /// Its place.
    pub path: PathBuf,
    /// Traces that jobs run, beside the inputs of the command line.
    pub traces: Vec<Trace>,
    /// What jobs do for which no trace has the right size: a program as `pf-collect --pattern`
    /// takes it.
    pub pattern: Option<String>,
    /// Jobs that are taken, from the first on; `None` for all.
    pub first: Option<u32>,
}

/// A job of a log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LoggedJob {
    /// Seconds since the first submission.
    pub(crate) at_s: f64,
    pub(crate) run_s: f64,
    pub(crate) estimate_s: f64,
    pub(crate) processes: u32,
}

/// The jobs of a log in the order of submission, and how many lines are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LoggedJobs {
    pub(crate) jobs: Vec<LoggedJob>,
    pub(crate) left_out: u32,
}

impl JobLog {
    /// Reads the log.
    ///
    /// # Errors
    /// A file that cannot be read, or is no log; with the line.
    pub(crate) fn read(&self) -> Result<LoggedJobs> {
        let read = || {
            let bytes = std::fs::metadata(&self.path)?.len();
            if bytes > LARGEST_LOG {
                return Err(Error::data(format!("has {bytes} bytes, expected at most {LARGEST_LOG}")));
            }
            // Comments may be in any encoding.
            parse(&String::from_utf8_lossy(&std::fs::read(&self.path)?), self.first)
        };
        read().at(|| &self.label)
    }
}

/// Numbers of the fields that are used, from 0.
const SUBMITTED: usize = 1;
const RUN_TIME: usize = 3;
const ALLOCATED: usize = 4;
const REQUESTED: usize = 7;
const REQUESTED_TIME: usize = 8;
const STATUS: usize = 10;
/// Fields of a line.
const FIELDS: usize = 18;

fn parse(text: &str, first: Option<u32>) -> Result<LoggedJobs> {
    let mut logged = LoggedJobs::default();
    for (number, line) in (1_u64..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with(';') {
            continue;
        }
        match job(line).at(|| format!("line {number}"))? {
            Some(job) => logged.jobs.push(job),
            None => logged.left_out += 1,
        }
        if logged.jobs.len() > MOST_JOBS as usize {
            return Err(Error::data(format!("has more than {MOST_JOBS} jobs; take the first ones of it")));
        }
    }
    // Logs are in the order of submission, but for mistakes.
    logged.jobs.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    logged.jobs.truncate(first.map_or(usize::MAX, |first| first as usize));
    let Some(start) = logged.jobs.first().map(|job| job.at_s) else {
        return Err(Error::data("has no job that ran, expected lines of 18 numbers (SWF)"));
    };
    logged.jobs.iter_mut().for_each(|job| job.at_s -= start);
    Ok(logged)
}

/// The job of a line; `None` if it is left out.
fn job(line: &str) -> Result<Option<LoggedJob>> {
    let mut fields = [0.0; FIELDS];
    let mut found = 0;
    for word in line.split_whitespace() {
        let value = word.parse::<f64>().ok().filter(|value| value.is_finite());
        let value = value.ok_or_else(|| {
            Error::data(format!("field {} is `{word}`, expected a number (SWF)", found + 1))
        })?;
        if let Some(field) = fields.get_mut(found) {
            *field = value;
        }
        found += 1;
    }
    if found != FIELDS {
        return Err(Error::data(format!("has {found} fields, expected {FIELDS} (SWF)")));
    }
    let processors = if fields[REQUESTED] > 0.0 { fields[REQUESTED] } else { fields[ALLOCATED] };
    let is_part = (2.0..=4.0).contains(&fields[STATUS]);
    if is_part || processors < 1.0 || fields[RUN_TIME] < 0.0 {
        return Ok(None);
    }
    if processors > f64::from(u32::MAX) {
        return Err(Error::data(format!("has {processors} processors, expected fewer than 2^32")));
    }
    if fields[SUBMITTED] < 0.0 {
        return Err(Error::data("has no time of submission (field 2), expected seconds"));
    }
    Ok(Some(LoggedJob {
        at_s: fields[SUBMITTED],
        run_s: fields[RUN_TIME],
        estimate_s: fields[REQUESTED_TIME].max(fields[RUN_TIME]),
        processes: processors as u32,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_by_their_numbers() {
        let text = "; Version: 2.2\n; MaxProcs: 8\n\n\
            1 100 5 60 4 -1 -1 8 90 -1 1 3 1 1 1 1 -1 -1\n\
            2 101 0 30 2 -1 -1 -1 -1 -1 1 3 1 1 1 1 -1 -1\n\
            3 102 0 50 1 -1 -1 1 40 -1 0 3 1 1 1 1 -1 -1\n\
            4 103 9 -1 -1 -1 -1 4 60 -1 5 3 1 1 1 1 -1 -1\n\
            5 104 0 20 1 -1 -1 1 40 -1 2 3 1 1 1 1 -1 -1\n";
        let job = |at_s, run_s, estimate_s, processes| LoggedJob { at_s, run_s, estimate_s, processes };
        let expected = [job(0.0, 60.0, 90.0, 8), job(1.0, 30.0, 30.0, 2), job(2.0, 50.0, 50.0, 1)];
        let logged = parse(text, None).unwrap();
        assert_eq!((&logged.jobs[..], logged.left_out), (&expected[..], 2));
        assert_eq!(parse(text, Some(2)).unwrap().jobs, expected[..2]);
    }

    #[test]
    fn what_is_no_log_is_refused_with_its_line() {
        for (text, expected) in [
            ("; only a comment\n", "has no job that ran, expected lines of 18 numbers (SWF)"),
            ("1 2 3\n", "line 1: has 3 fields, expected 18 (SWF)"),
            (
                ";\n1 0 5 60 4 -1 x 8 90 -1 1 3 1 1 1 1 -1 -1\n",
                "line 2: field 7 is `x`, expected a number (SWF)",
            ),
            (
                "1 -1 5 60 4 -1 -1 8 90 -1 1 3 1 1 1 1 -1 -1\n",
                "line 1: has no time of submission (field 2), expected seconds",
            ),
            (
                "1 0 5 60 4 -1 -1 1e10 90 -1 1 3 1 1 1 1 -1 -1\n",
                "line 1: has 10000000000 processors, expected fewer than 2^32",
            ),
        ] {
            assert_eq!(parse(text, None).unwrap_err().to_string(), expected);
        }
    }
}
