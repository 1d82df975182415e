//! The truth of a run: the phases of its generator or its marks, in time and to the message.
//!
//! Ranks do not change phase at one instant: one rank may still send messages of the old phase when
//! another has begun the new one. The change is then a zone, from the first message of the new
//! phase to the last one of the old. Each stretch therefore has the positions, in trace order, of
//! its own first and last message, without noise.

mod marks;

use std::io::Write;

pub use marks::TruthOfMarks;

use crate::Result;

/// The columns of [`write_truth`]. The first three are required of any truth.
pub const TRUTH_COLUMNS: &str = "start_ns,end_ns,label,outer,first_message,last_message";

/// A stretch of a run with its phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrueStretch<'a> {
    /// When its first message is posted, nanoseconds since the start of the run; the first stretch
    /// begins at 0. An idle one begins when the last message has arrived.
    pub start_ns: u64,
    /// When the next one begins, or the end of the run.
    pub end_ns: u64,
    /// The phase, or `idle`: of a generated run as it is written in the program, of marks their
    /// level.
    pub label: &'a str,
    /// The phase or loop of the outermost level that it belongs to, or `idle`; `None` if there are
    /// no levels.
    pub outer: Option<&'a str>,
    /// Positions of its first and last message among those of the trace, from 0; `None` if it is
    /// idle.
    pub messages: Option<(u64, u64)>,
}

/// Writes a line of the truth; [`TRUTH_COLUMNS`] is the line before the first.
///
/// # Errors
/// An error of the output.
pub fn write_truth(out: &mut impl Write, stretch: &TrueStretch<'_>) -> Result<()> {
    // Names of phases have no quotes; commas stand between their parameters.
    let quoted = |text: &str| if text.contains(',') { format!("\"{text}\"") } else { text.to_string() };
    let (label, outer) = (quoted(stretch.label), stretch.outer.map(quoted).unwrap_or_default());
    write!(out, "{},{},{label},{outer},", stretch.start_ns, stretch.end_ns)?;
    match stretch.messages {
        Some((first, last)) => writeln!(out, "{first},{last}")?,
        None => writeln!(out, ",")?,
    }
    Ok(())
}
