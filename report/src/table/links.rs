//! The table `links`: one row per run, job, phase and link that carries traffic.

use std::io::Write;

use phaseflow_collect::Result;

use phaseflow_simulate::result::LinkPackets;

use super::Rows;
use crate::view::{RunView, rates};

/// `link` is the link's number in the topology: it tells parallel links apart.
pub(super) const COLUMNS: &[&str] = &[
    "run",
    "job",
    "phase",
    "src",
    "dst",
    "capacity",
    "bytes",
    "flows",
    "load",
    "utilization",
    "link",
    "packets",
    "drops",
    "losses",
    "marks",
    "queue_median",
    "queue_p99",
    "queue_max",
    "pauses",
    "paused_ps",
    "duplicates",
    "path_s",
];

pub(super) fn write<W: Write>(view: &RunView<'_>, rows: &mut Rows<W>) -> Result<()> {
    let table = &view.run.links;
    for row in 0..table.link.len() {
        let (job, link, load) = (table.job[row], table.link[row], table.load[row]);
        let phase = view.phase(job, table.phase[row]);
        let (found, src, dst) = view.link(link);
        rows.integer(view.run.labels.run)?
            .count(job.map(u64::from))?
            .text(phase.map_or("", |phase| &phase.phase))?
            .text(src)?
            .text(dst)?
            .float(found.capacity)?
            .integer(table.bytes[row])?
            .integer(table.flows[row])?
            .float(load)?
            .float(view.utilization(link, load, phase.map_or_else(|| view.rates(), rates)))?
            .integer(link.0)?;
        match table.packets.get(row).copied().flatten() {
            None => {
                rows.empty(LinkPackets::COLUMNS.len());
            }
            Some(mut packets) => {
                for (_, _, value) in LinkPackets::COLUMNS {
                    rows.count(Some(*value(&mut packets)))?;
                }
            }
        }
        // Where critical paths are known, those that did not wait for the link did so for no time.
        let slowed = view.slowed(job, table.phase[row]);
        rows.float(slowed.map(|slowed| slowed.links.get(&link).copied().unwrap_or(0.0)))?.end()?;
    }
    Ok(())
}
