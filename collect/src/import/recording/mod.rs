//! Run directories of pf-profile, one recording per process.
//!
//! All records are read in one pass, per thread from front to back ([`lane`]), put on one time
//! line, and joined by [`ranks`].
//!
//! Memory: 32 KiB a thread of the program, 48 KiB with `expand`, and that of [`ranks`].

mod lane;
mod process;
mod remarks;
#[cfg(test)]
mod tests;

use std::path::Path;

use phaseflow_profiler::Run;

use self::process::Process;
use super::{Imported, ranks};
use crate::expand::Rules;
use crate::trace::{Header, Kind, MOST_RANKS, RunFacts, Sink};
use crate::{Error, Result};

/// Reads a run directory into `sink`.
///
/// # Errors
/// A directory without recordings, two of one rank, damage, or an error of the operating system or
/// `sink`.
pub(super) fn read(directory: &Path, expand: Option<Rules>, sink: &mut dyn Sink) -> Result<Imported> {
    let run = Run::open(directory)?;
    if run.ranks() > MOST_RANKS {
        return Err(Error::data(format!("has {} ranks, expected at most {MOST_RANKS}", run.ranks())));
    }
    let processes = Process::all(&run);
    sink.begin(&Header::new(Kind::Timed, source(&run)))?;
    let mut remarks = ranks::merge(&processes, expand, sink)?;
    // A recording tells of each receive what it took, except from other worlds.
    remarks.anonymous = 0;
    let alignment = run.alignment();
    let facts = RunFacts {
        ranks: Some(run.ranks()),
        span_ns: span_ns(&processes),
        unmatched: Some(remarks.unreceived + remarks.unsent),
        unmatched_receives: remarks.unmatched.clone(),
        clock_error_ns: alignment.error_ns().map(|error| error.saturating_add(remarks.back_ns)),
        ..RunFacts::default()
    };
    let summary = sink.finish(&facts)?;
    Ok(Imported { summary, remarks: remarks::sentences(&remarks, &run) })
}

/// The recorded programs.
fn source(run: &Run) -> String {
    let mut programs: Vec<&str> =
        run.processes().map(|(_, recording)| recording.header().program.as_str()).collect();
    programs.sort_unstable();
    programs.dedup();
    format!("pf-profile {}", programs.join(", "))
}

/// From the first `MPI_Init` to the last `MPI_Finalize`, or to the last record of processes without
/// it.
fn span_ns(processes: &[Process<'_>]) -> Option<(i64, i64)> {
    let times = processes.iter().flat_map(|process| {
        let header = process.recording.header();
        [Some(header.init), header.finalize].into_iter().flatten().map(|pair| process.time_ns(pair.ticks))
    });
    times.fold(None, |span, time| {
        let (start, end) = span.unwrap_or((time, time));
        Some((start.min(time), end.max(time)))
    })
}
