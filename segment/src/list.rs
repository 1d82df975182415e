//! Segmentations as text.

use std::io::Write;

use phaseflow_collect::{Error, Result};

use crate::segment::Outcome;
use crate::segmentation::Segmentation;

/// How idle stretches are called where phases have names.
pub(crate) const IDLE: &str = "idle";

/// Writes one line an occurrence: `occurrence,phase,depth,start_ns,end_ns,messages,bytes`, by
/// start, then depth. Times are nanoseconds since the start of the run; empty if the trace has an
/// order but no times.
///
/// # Errors
/// What the output reports.
pub fn write_list(out: &mut impl Write, outcome: &Outcome) -> Result<()> {
    let segmentation = &outcome.segmentation;
    let timed = outcome.ordered.is_empty();
    let occurrences = if timed { &segmentation.occurrences } else { &outcome.ordered };
    writeln!(out, "occurrence,phase,depth,start_ns,end_ns,messages,bytes")?;
    for (number, occurrence) in occurrences.iter().enumerate() {
        let phase = occurrence.phase.and_then(|phase| segmentation.phases.get(phase as usize));
        let phase = phase.map_or(IDLE, |phase| phase.name.as_str());
        let time = |ns: u64| if timed { ns.to_string() } else { String::new() };
        let (start, end) = (time(occurrence.start_ns), time(occurrence.end_ns));
        let (depth, messages, bytes) = (occurrence.depth, occurrence.messages, occurrence.bytes);
        writeln!(out, "{number},{phase},{depth},{start},{end},{messages},{bytes}")?;
    }
    Ok(())
}

/// Writes the matrix of the phase called `name`, one line a pair that spoke:
/// `src,dst,messages,bytes`.
///
/// # Errors
/// No such phase, or what the output reports.
pub fn write_matrix_list(out: &mut impl Write, segmentation: &Segmentation, name: &str) -> Result<()> {
    let phases = &segmentation.phases;
    let phase = phases.iter().find(|phase| phase.name == name);
    let phase = phase.ok_or_else(|| {
        let names = match phases.len() {
            0 => String::new(),
            1 => ", 0".into(),
            count => format!(", 0 to {}", count - 1),
        };
        Error::usage(format!("there is no phase `{name}`; the run has {}{names}", phases.len()))
    })?;
    writeln!(out, "src,dst,messages,bytes")?;
    for cell in phase.matrix.cells() {
        writeln!(out, "{},{},{},{}", cell.src, cell.dst, cell.messages, cell.bytes)?;
    }
    Ok(())
}
