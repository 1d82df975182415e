//! The loads of a phase's links, from the most loaded to the least: a line a run.

use super::chart::{COLOURS, Chart, Scale, ends};
use super::kept::KeptRun;
use super::text::shortened;
use crate::axes;

/// Lines a chart: more cannot be told apart.
const LINES: usize = COLOURS;

/// A phase: number of its workload and its name; `None` for all jobs together.
pub(super) type PhaseKey<'r> = (Option<usize>, Option<&'r str>);

/// A chart for each phase whose links are known, all on one scale. Runs beyond the first
/// [`LINES`] are not drawn.
pub(super) fn charts(runs: &[KeptRun]) -> Vec<(PhaseKey<'_>, Chart<'_>)> {
    let spots = || runs.iter().flat_map(|run| &run.spots).filter(|kept| kept.details.is_some());
    let mut phases: Vec<PhaseKey<'_>> = Vec::new();
    for kept in spots() {
        let phase = (kept.spot.workload, kept.spot.phase.as_deref());
        if !phases.contains(&phase) {
            phases.push(phase);
        }
    }
    let shares = spots().all(|kept| kept.spot.utilization.is_some() || kept.spot.link.is_none());
    let all = ends(spots().filter_map(|kept| Some(&kept.details.as_ref()?.curve)).flatten());
    let chart = |phase: PhaseKey<'_>| {
        let lines = runs.iter().take(LINES).enumerate();
        let title = spots().find(|kept| (kept.spot.workload, kept.spot.phase.as_deref()) == phase);
        Chart {
            title: title.map_or_else(String::new, |kept| shortened(&kept.spot.name(), 60)),
            x_label: "links, most loaded first",
            x: Scale::Plain,
            y: if shares { Scale::Share } else { Scale::Bytes },
            lines: lines.filter_map(|(colour, run)| Some((colour, points(run, phase)?))).collect(),
            ends: all,
        }
    };
    phases.into_iter().map(|phase| (phase, chart(phase))).collect()
}

fn points<'r>(run: &'r KeptRun, phase: PhaseKey<'_>) -> Option<&'r [(f64, f64)]> {
    Some(&run.find(phase.0, phase.1)?.details.as_ref()?.curve)
}

/// The names of the lines of [`charts`] by colour.
pub(super) fn names(runs: &[KeptRun], differ: &[usize]) -> Vec<(usize, String)> {
    let name = |run: &KeptRun| match axes::told_by(&run.choices, differ) {
        told if told.is_empty() => format!("run {}", run.labels.run),
        told => told,
    };
    runs.iter().take(LINES).map(name).enumerate().collect()
}
