//! Changes as CSV.

use std::io::Write;

use phaseflow_collect::Result;

use super::{Diff, changes, ratio};
use crate::table::Rows;

/// A row is of a run, of a phase (`job`, `phase`) or of a link in a phase (`src`, `dst`); names
/// that begin with `other_` are of the second result, a ratio is second / first.
const COLUMNS: [&str; 16] = [
    "run",
    "other_run",
    "job",
    "phase",
    "title",
    "src",
    "dst",
    "makespan_s",
    "other_makespan_s",
    "makespan_ratio",
    "bytes",
    "other_bytes",
    "bytes_ratio",
    "utilization",
    "other_utilization",
    "utilization_ratio",
];

impl Diff<'_> {
    /// Writes the table: runs, their phases, and links that carry something else than before.
    ///
    /// # Errors
    /// What the output reports.
    pub fn write_csv<W: Write>(&self, out: W) -> Result<W> {
        let mut rows = Rows::new(out, &COLUMNS)?;
        for pair in &self.pairs {
            for change in changes(&self.views(*pair)) {
                let (job, phase) = change.phase.as_ref().map_or((None, ""), |(job, name)| (Some(*job), name));
                let (src, dst) = change.link.as_ref().map_or(("", ""), |(src, dst)| (src, dst));
                rows.integer(change.runs[0])?
                    .integer(change.runs[1])?
                    .count(job.map(u64::from))?
                    .text(phase)?
                    .text(&change.title)?
                    .text(src)?
                    .text(dst)?
                    .float(change.makespan_s[0])?
                    .float(change.makespan_s[1])?
                    .float(ratio(change.makespan_s))?
                    .count(change.bytes[0])?
                    .count(change.bytes[1])?
                    .float(ratio(change.bytes.map(|bytes| Some(bytes? as f64))))?
                    .float(change.utilization[0])?
                    .float(change.utilization[1])?
                    .float(ratio(change.utilization))?
                    .end()?;
            }
        }
        rows.finish()
    }
}
