//! The table `blame`: what the critical path of a phase waited for in the network, by cause and
//! link.

use std::io::Write;

use phaseflow_collect::Result;

use super::Rows;
use crate::view::RunView;

/// The rows of a phase add up to its `path_network_s`. `by_job` is the job whose messages shared
/// the link, where the cause is that.
pub(super) const COLUMNS: &[&str] =
    &["run", "job", "phase", "cause", "by_job", "link_src", "link_dst", "link", "path_s"];

pub(super) fn write<W: Write>(view: &RunView<'_>, rows: &mut Rows<W>) -> Result<()> {
    for row in &view.run.blame {
        let phase = view.phase(Some(row.job), Some(row.phase));
        let (src, dst) = view.ends(row.link);
        rows.integer(view.run.labels.run)?
            .integer(row.job)?
            .text(phase.map_or("", |phase| &phase.phase))?
            .text(row.cause.name())?
            .count(row.by_job.map(u64::from))?
            .text(src)?
            .text(dst)?
            .count(row.link.map(|link| u64::from(link.0)))?
            .float(row.path_s)?
            .end()?;
    }
    Ok(())
}
