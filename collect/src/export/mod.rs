//! Exports of a trace: its archive, text formats, a PFProf archive, programs for other simulators
//! (GOAL, SimGrid), a summary, a table of pairs.
//!
//! Each is a [`Sink`](crate::trace::Sink) over any writer, one file each.

mod archive;
mod csv;
mod goal;
mod ndjson;
mod operations;
mod pairs;
mod pfprof;
mod simgrid;
mod summary;

pub use archive::ArchiveExport;
pub use csv::CsvExport;
pub use goal::GoalExport;
pub use ndjson::NdjsonExport;
pub use pairs::PairsExport;
pub use pfprof::PfprofExport;
pub use simgrid::SimgridExport;
pub use summary::SummaryExport;

use crate::trace::{Header, Kind};
use crate::{Error, Result};

/// Message formats need messages.
fn only_messages(header: &Header, format: &str) -> Result<()> {
    match header.kind {
        Kind::Timed | Kind::Ordered => Ok(()),
        Kind::Aggregate => Err(Error::usage(format!(
            "the trace has sums only, no single messages for {format}; use --pairs or --to archive"
        ))),
    }
}
