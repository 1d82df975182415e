//! The table `ranks`: where the time of each rank went in a replayed phase.

use std::io::Write;

use phaseflow_collect::Result;

use super::Rows;
use crate::view::RunView;

/// `phase` is empty where all phases are together.
pub(super) const COLUMNS: &[&str] = &[
    "run",
    "job",
    "phase",
    "rank",
    "host",
    "compute_s",
    "overhead_s",
    "late_sender_s",
    "late_receiver_s",
    "network_s",
];

pub(super) fn write<W: Write>(view: &RunView<'_>, rows: &mut Rows<W>) -> Result<()> {
    let phases = &view.run.phases;
    for row in &view.run.ranks {
        // Phases are sorted by job.
        let first = phases.partition_point(|phase| phase.job < row.job);
        let phase = row.phase.and_then(|phase| phases.get(first + phase as usize));
        rows.integer(view.run.labels.run)?
            .integer(row.job)?
            .text(phase.map_or("", |phase| &phase.phase))?
            .integer(row.rank)?
            .text(view.network.name(row.host))?
            .float(row.compute_s)?
            .float(row.overhead_s)?
            .float(row.late_sender_s)?
            .float(row.late_receiver_s)?
            .float(row.network_s)?
            .end()?;
    }
    Ok(())
}
