//! The table `phases`: one row per run, job and phase, with its traffic and its simulated times.

use std::io::Write;

use phaseflow_collect::Result;

use super::Rows;
use crate::view::RunView;

pub(super) const COLUMNS: &[&str] = &[
    "run",
    "job",
    "phase",
    "occurrences",
    "duration_s",
    "makespan_s",
    "bytes",
    "max_link_bytes",
    "max_link_load",
    "max_utilization",
    "mean_utilization",
    "bottleneck_src",
    "bottleneck_dst",
    "drops",
    "retransmits",
    "min_link_load",
    "mean_link_load",
    "variance_link_load",
    "simulated",
    "compute_s",
    "overhead_s",
    "late_sender_s",
    "late_receiver_s",
    "network_s",
    "path_ranks_s",
    "path_network_s",
    "unshared_s",
    "unlimited_s",
    "makespan_error",
    "hops",
    "losses",
    "marks",
    "pauses",
    "checked_sums",
    "wrong_sums",
    "fallbacks",
    "model",
    "reason",
    "duplicates",
    "path_same_job_s",
    "path_other_jobs_s",
    "slowed_by",
    "title",
    "changed_routes",
];

pub(super) fn write<W: Write>(view: &RunView<'_>, rows: &mut Rows<W>) -> Result<()> {
    let (mut job, mut position) = (None, 0);
    for phase in &view.run.phases {
        position = if job == Some(phase.job) { position + 1 } else { 0 };
        job = Some(phase.job);
        let slowed = view.slowed(job, Some(position));
        let (src, dst) = view.ends(phase.bottleneck);
        rows.integer(view.run.labels.run)?
            .integer(phase.job)?
            .text(&phase.phase)?
            .integer(phase.occurrences)?
            .float(phase.duration_s)?
            .float(phase.makespan_s)?
            .integer(phase.bytes)?
            .count(phase.max_link_bytes)?
            .float(phase.max_link_load)?
            .float(phase.max_utilization)?
            .float(phase.mean_utilization)?
            .text(src)?
            .text(dst)?
            .count(phase.drops)?
            .count(phase.retransmits)?
            .float(phase.min_link_load)?
            .float(phase.mean_link_load)?
            .float(phase.variance_link_load)?;
        let replayed = phase.replayed.as_ref();
        rows.count(replayed.map(|replayed| replayed.simulated))?
            .float(replayed.map(|replayed| replayed.compute_s))?
            .float(replayed.map(|replayed| replayed.overhead_s))?
            .float(replayed.map(|replayed| replayed.late_sender_s))?
            .float(replayed.map(|replayed| replayed.late_receiver_s))?
            .float(replayed.map(|replayed| replayed.network_s))?
            .float(replayed.map(|replayed| replayed.path_ranks_s))?
            .float(replayed.map(|replayed| replayed.path_network_s))?
            .float(replayed.and_then(|replayed| replayed.unshared_s))?
            .float(replayed.and_then(|replayed| replayed.unlimited_s))?
            .float(replayed.and_then(|replayed| replayed.makespan_error))?;
        let packets = phase.packets.as_ref();
        rows.count(packets.map(|packets| packets.hops))?
            .count(packets.map(|packets| packets.losses))?
            .count(packets.map(|packets| packets.marks))?
            .count(packets.map(|packets| packets.pauses))?
            .count(packets.map(|packets| packets.checked_sums))?
            .count(packets.map(|packets| packets.wrong_sums))?
            .count(packets.map(|packets| packets.fallbacks))?;
        let chosen = phase.chosen.as_ref();
        rows.text(chosen.map_or("", |chosen| &chosen.model))?
            .text(chosen.map_or("", |chosen| &chosen.reason))?
            .count(packets.map(|packets| packets.duplicates))?
            .float(slowed.map(|slowed| slowed.same_job_s))?
            .float(slowed.map(|slowed| slowed.other_jobs_s))?
            .count(slowed.and_then(|slowed| slowed.by_job).map(u64::from))?
            .text(view.job(phase.job).map_or("", |job| view.title(job.workload, &phase.phase)))?
            .count(phase.changed_routes)?
            .end()?;
    }
    Ok(())
}
