//! The table `series`: how quantities of a run change in time, one row per change of value.

use std::io::Write;

use phaseflow_collect::Result;

use super::Rows;
use crate::view::RunView;

/// A value holds until the next row of its series.
pub(super) const COLUMNS: &[&str] = &["run", "series", "time_s", "value"];

pub(super) fn write<W: Write>(view: &RunView<'_>, rows: &mut Rows<W>) -> Result<()> {
    for series in &view.run.series {
        for (time, value) in series.time_s.iter().zip(&series.value) {
            rows.integer(view.run.labels.run)?.text(&series.name)?.float(*time)?.float(*value)?.end()?;
        }
    }
    Ok(())
}
