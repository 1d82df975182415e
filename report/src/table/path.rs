//! The table `path`: steps of the critical path of each run, job and phase.

use std::io::Write;

use phaseflow_collect::Result;

use super::Rows;
use crate::view::RunView;

/// Steps in order of time; a row without step is of all further ones of its kind. `rank` is the
/// sender of a message, `peer` its receiver; the link is the one that held it up the longest;
/// `by_rank` and `by_peer` are sender and receiver of the messages of `by_job` that it lost most
/// to.
pub(super) const COLUMNS: &[&str] = &[
    "run", "job", "phase", "step", "kind", "rank", "peer", "start_s", "end_s", "time_s", "bytes", "link_src",
    "link_dst", "link", "shared_s", "by_job", "by_rank", "by_peer",
];

pub(super) fn write<W: Write>(view: &RunView<'_>, rows: &mut Rows<W>) -> Result<()> {
    let (mut of, mut step) = (None, 0_u64);
    for row in &view.run.path {
        let place = Some((row.job, row.phase));
        step = if of == place { step } else { 0 };
        of = place;
        step += u64::from(row.start_s.is_some());
        let phase = view.phase(Some(row.job), Some(row.phase));
        let (src, dst) = view.ends(row.link);
        rows.integer(view.run.labels.run)?
            .integer(row.job)?
            .text(phase.map_or("", |phase| &phase.phase))?
            .count(row.start_s.map(|_| step))?
            .text(row.kind.name())?
            .count(row.rank.map(u64::from))?
            .count(row.peer.map(u64::from))?
            .float(row.start_s)?
            .float(row.start_s.map(|start| start + row.time_s))?
            .float(row.time_s)?
            .count(row.bytes)?
            .text(src)?
            .text(dst)?
            .count(row.link.map(|link| u64::from(link.0)))?
            .float(row.shared_s)?
            .count(row.by_job.map(u64::from))?
            .count(row.by_rank.map(u64::from))?
            .count(row.by_peer.map(u64::from))?
            .end()?;
    }
    Ok(())
}
