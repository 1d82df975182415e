//! Run directories of pf-profile, one recording per process.
//!
//! All records are read in one pass, per thread from front to back ([`lane`]). They are put on one
//! time line and merged by time ([`merge`]), and each send gets its receive ([`matching`],
//! [`receives`]). Collectives that are recorded only as calls become messages on request
//! ([`collectives`]).
//!
//! Memory: 32 KiB a thread of the program, 48 KiB with `expand`, up to 65 536 receives a rank that
//! wait for their sends (4 MB), and a few blocks; independent of the number of messages.

mod collectives;
mod lane;
mod matching;
mod merge;
mod piece;
mod process;
mod receives;
mod remarks;
#[cfg(test)]
mod tests;
mod tournament;

use std::path::Path;
use std::sync::mpsc::{channel, sync_channel};

use phaseflow_profiler::Run;

use self::collectives::Collectives;
use self::matching::Matching;
use self::merge::Merge;
use self::piece::Pieces;
use self::process::Process;
use self::remarks::Remarks;
use super::Imported;
use crate::expand::Rules;
use crate::trace::{Block, Call, Header, Kind, MOST_RANKS, Mark, MessageBlock, RunFacts, Sink};
use crate::{Error, Result};

/// Most pieces between two threads: enough for both to work, with one piece each, one ready and one
/// returning.
const IN_FLIGHT: usize = 4;

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
    let remarks = pipeline(&processes, expand, sink)?;
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
    Ok(Imported { summary, remarks: remarks.sentences(&run) })
}

/// Merges in one thread, matches in another, and passes the records to the sink.
fn pipeline(processes: &[Process<'_>], expand: Option<Rules>, sink: &mut dyn Sink) -> Result<Remarks> {
    std::thread::scope(|scope| {
        let (to_matching, merged) = sync_channel(IN_FLIGHT);
        let (merged_back, merged_used) = channel();
        let merging = scope.spawn(move || -> Result<Remarks> {
            let mut out = Pieces::new(to_matching, merged_used);
            let remarks = Merge::new(processes, Collectives::new(expand, processes)?).run(&mut out)?;
            out.finish()?;
            Ok(remarks)
        });
        let (to_sink, matched) = sync_channel(IN_FLIGHT);
        let (matched_back, matched_used) = channel::<Matched>();
        let matching = scope.spawn(move || -> Result<Remarks> {
            let mut matching = Matching::new(processes)?;
            for mut piece in merged {
                let Matched { mut messages, .. } = matched_used.try_recv().unwrap_or_default();
                messages.clear();
                for leaving in &mut piece.messages {
                    matching.complete(leaving)?;
                    messages.push(&leaving.message);
                }
                let (calls, marks) = (std::mem::take(&mut piece.calls), std::mem::take(&mut piece.marks));
                // A thread that ends early has an error, which its join reports.
                let _ = merged_back.send(piece);
                if to_sink.send(Matched { messages, calls, marks }).is_err() {
                    return Err(Error::data("stopped"));
                }
            }
            matching.finish()
        });
        let taken: Result<()> = matched.iter().try_for_each(|piece| {
            piece.write(sink)?;
            let _ = matched_back.send(piece);
            Ok(())
        });
        drop(matched);
        let joined = |outcome: std::thread::Result<Result<Remarks>>| {
            outcome.unwrap_or_else(|_| Err(Error::data("a thread failed")))
        };
        let (matched, merged) = (joined(matching.join()), joined(merging.join()));
        // A failure stops the threads before it, so the last thread has the cause.
        taken?;
        Ok(matched?.and(&merged?))
    })
}

/// A piece on its last way.
#[derive(Default)]
struct Matched {
    messages: MessageBlock,
    calls: Vec<Call>,
    marks: Vec<Mark>,
}

impl Matched {
    fn write(&self, sink: &mut dyn Sink) -> Result<()> {
        if !self.calls.is_empty() {
            sink.block(Block::Calls(&self.calls))?;
        }
        if !self.marks.is_empty() {
            sink.block(Block::Marks(&self.marks))?;
        }
        if !self.messages.is_empty() {
            sink.block(Block::Messages(&self.messages))?;
        }
        Ok(())
    }
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
