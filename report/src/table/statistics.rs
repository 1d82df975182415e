//! The table `statistics`: extremes, mean and variance of each series of a run.

use std::io::Write;

use phaseflow_collect::Result;

use super::Rows;
use crate::view::RunView;

/// PFSim's summary of a series: mean and variance are weighted by time.
pub(super) const COLUMNS: &[&str] = &["run", "series", "max", "min", "mean", "variance"];

pub(super) fn write<W: Write>(view: &RunView<'_>, rows: &mut Rows<W>) -> Result<()> {
    for series in &view.run.series {
        let Some(summary) = series.summary else { continue };
        rows.integer(view.run.labels.run)?
            .text(&series.name)?
            .float(summary.max)?
            .float(summary.min)?
            .float(summary.mean)?
            .float(summary.variance)?
            .end()?;
    }
    Ok(())
}
