//! Run directories: what pf-profile left, one recording a process.
//!
//! One pass: every thread's records are read front to back where they are needed ([`lane`]), put on one time line, merged by
//! time ([`merge`]), and each send gets the receive that took it ([`receives`]). Collectives of which only the calls were
//! recorded become messages on request ([`collectives`]).
//!
//! Memory: 32 KiB a thread of the program, 48 KiB with `expand`, up to 65 536 receives a rank that wait for their sends, and a
//! few blocks; independent of the number of messages.

mod collectives;
mod lane;
mod merge;
mod piece;
mod process;
mod receives;
mod remarks;

use std::path::Path;
use std::sync::mpsc::{channel, sync_channel};

use phaseflow_profiler::Run;

use self::collectives::Collectives;
use self::merge::Merge;
use self::piece::{Piece, Pieces};
use self::process::Process;
use self::remarks::Remarks;
use super::Imported;
use crate::expand::Rules;
use crate::trace::{Block, Header, Kind, RunFacts, Sink};
use crate::{Error, Result};

/// Pieces on their way from the merge to the sink.
const IN_FLIGHT: usize = 2;

/// Reads a run directory into `sink`. Merging has a thread of its own.
///
/// # Errors
/// A directory without recordings, two of one rank, damage, or what the operating system or `sink` says.
pub(super) fn read(directory: &Path, expand: Option<Rules>, sink: &mut dyn Sink) -> Result<Imported> {
    let run = Run::open(directory)?;
    let processes = Process::all(&run);
    sink.begin(&Header::new(Kind::Timed, source(&run)))?;
    let (full, pieces) = sync_channel(IN_FLIGHT);
    let (back, used) = channel();
    let remarks = std::thread::scope(|scope| {
        let processes = &processes;
        let merging = scope.spawn(move || -> Result<Remarks> {
            let mut out = Pieces::new(full, used);
            let merge = Merge::new(processes, Collectives::new(expand, processes)?)?;
            let remarks = merge.run(&mut out)?;
            out.finish()?;
            Ok(remarks)
        });
        let taken = pieces.iter().try_for_each(|piece: Piece| {
            if !piece.calls.is_empty() {
                sink.block(Block::Calls(&piece.calls))?;
            }
            if !piece.marks.is_empty() {
                sink.block(Block::Marks(&piece.marks))?;
            }
            if !piece.messages.is_empty() {
                sink.block(Block::Messages(&piece.messages))?;
            }
            // The merge may be done already.
            let _ = back.send(piece);
            Ok(())
        });
        drop(pieces);
        let merged = merging.join().map_err(|_| Error::data("merging failed"))?;
        taken.and(merged)
    })?;
    let alignment = run.alignment();
    let facts = RunFacts {
        ranks: Some(run.ranks()),
        span_ns: span_ns(&processes),
        unmatched: Some(remarks.unreceived + remarks.unsent),
        clock_error_ns: alignment.error_ns().map(|error| error.saturating_add(remarks.back_ns)),
        ..RunFacts::default()
    };
    let summary = sink.finish(&facts)?;
    Ok(Imported { summary, remarks: remarks.sentences(&run) })
}

/// What was recorded: the programs.
fn source(run: &Run) -> String {
    let mut programs: Vec<&str> =
        run.processes().map(|(_, recording)| recording.header().program.as_str()).collect();
    programs.sort_unstable();
    programs.dedup();
    format!("pf-profile {}", programs.join(", "))
}

/// From the first `MPI_Init` to the last `MPI_Finalize`, or as far as is known of processes that did not come to that.
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
