//! The recorded run and the simulated ones on one scale of time: a strip each.
//!
//! A simulation says how long a phase takes over all of its occurrences. A strip stretches each
//! occurrence as its phase is stretched as a whole, and gives idle stretches what remains of the
//! run's time; single occurrences may have taken more or less than it shows.

use maud::{Markup, html};
use phaseflow_simulate::workload::Workload;

use super::chart::{COLOURS, grid, step};
use super::kept::KeptRun;
use super::text::shortened;
use crate::axes;
use crate::number;

/// Runs drawn, the first ones.
const RUNS: usize = 24;

/// Phases named in the legend.
const LEGEND: usize = 24;

/// Columns of time: neighbours of one phase become one rectangle.
const COLUMNS: usize = 360;

/// Size of the drawing and of a strip, units.
const WIDTH: f64 = 1100.0;
const LEFT: f64 = 340.0;
const RIGHT: f64 = 40.0;
const ROW: f64 = 26.0;

/// Phases of a strip one after the other: phase, or `None` if idle, and seconds.
type Strip = Vec<(Option<u32>, f64)>;

/// The strips of a workload that runs alone; nothing if no model gives times.
pub(super) fn strips(runs: &[KeptRun], differ: &[usize], number: usize, workload: &Workload) -> Markup {
    let mut strips: Vec<(String, Strip)> = Vec::new();
    let of = |run: &&KeptRun| {
        !run.phase_seconds.is_empty() && run.spots.iter().any(|kept| kept.spot.workload == Some(number))
    };
    let all = runs.iter().filter(of).count();
    for run in runs.iter().filter(of).take(RUNS) {
        let told = axes::told_by(&run.choices, differ);
        let name = if told.is_empty() { format!("run {}", run.labels.run) } else { told };
        strips.extend(simulated(run, workload).map(|strip| (name, strip)));
    }
    if strips.is_empty() {
        return Markup::default();
    }
    strips.insert(0, ("recorded".into(), recorded(workload)));
    let end = strips.iter().map(|(_, strip)| length(strip)).fold(0.0, f64::max);
    if end <= 0.0 {
        return Markup::default();
    }
    let bottom = ROW * strips.len() as f64;
    let scale = (WIDTH - LEFT - RIGHT) / end;
    html! {
        h4 { "As recorded and as simulated" }
        p.dim {
            "Each occurrence is stretched as its phase is as a whole."
            @if all > RUNS { " The first " (RUNS) " of " (all) " runs are drawn." }
        }
        (legend(workload, &strips[0].1))
        div.wide tabindex="0" { svg.timeline.items viewBox=(format!("0 0 {WIDTH} {}", bottom + 30.0)) role="img" aria-label="The recorded and the simulated runs over time" data-left=(LEFT) data-second=(scale) {
            @for time in grid(end, step(end)) {
                @let x = format!("{:.1}", LEFT + time * scale);
                path.grid d=(format!("M{x} 0V{:.1}", bottom + 4.0)) {}
                text.middle x=(x) y=(format!("{:.1}", bottom + 20.0)) { (number::seconds(time)) }
            }
            @for (row, (name, strip)) in strips.iter().enumerate() {
                @let top = ROW * row as f64 + 2.0;
                text x="0" y=(format!("{:.1}", top + 15.0)) { (shortened(name, 40)) }
                text.end.dim x=(format!("{:.1}", LEFT - 10.0)) y=(format!("{:.1}", top + 15.0)) { (number::seconds(length(strip))) }
                @for (phase, from, to) in pieces(strip, end) {
                    g class=(colour(phase)) data-about=(format!("{}: {}", shortened(name, 40), named(workload, phase))) {
                        rect x=(format!("{:.1}", LEFT + from * scale)) y=(top) width=(format!("{:.1}", ((to - from) * scale).max(0.5))) height="20" {}
                    }
                }
            }
        } }
    }
}

/// The colours of the phases that are there, in order of appearance.
fn legend(workload: &Workload, strip: &Strip) -> Markup {
    let mut phases: Vec<Option<u32>> = Vec::new();
    for (phase, _) in strip {
        if !phases.contains(phase) {
            phases.push(*phase);
        }
    }
    phases.sort_by_key(|phase| phase.unwrap_or(u32::MAX));
    html! {
        ul.legend { @for phase in phases.iter().take(LEGEND) { li {
            svg width="14" height="10" aria-hidden="true" { rect class=(colour(*phase)) width="14" height="10" {} }
            (named(workload, *phase))
        } } }
        @if phases.len() > COLOURS { p.dim { "Colours come again after " (COLOURS) " phases: pointer and arrow keys tell which one it is." } }
    }
}

fn colour(phase: Option<u32>) -> String {
    phase.map_or_else(|| "idle".into(), |phase| format!("f{}", phase as usize % COLOURS))
}

fn named(workload: &Workload, phase: Option<u32>) -> String {
    let Some(phase) = phase.and_then(|phase| workload.segmentation.phases.get(phase as usize)) else {
        return "idle".into();
    };
    if phase.title.is_empty() {
        format!("phase {}", shortened(&phase.name, 40))
    } else {
        format!("phase {} ({})", shortened(&phase.name, 40), shortened(&phase.title, 60))
    }
}

fn length(strip: &Strip) -> f64 {
    strip.iter().map(|(_, seconds)| seconds).sum()
}

fn recorded(workload: &Workload) -> Strip {
    let occurrences = workload.segmentation.occurrences.iter().filter(|own| own.depth == 0);
    occurrences.map(|own| (own.phase, own.end_ns.saturating_sub(own.start_ns) as f64 * 1e-9)).collect()
}

/// `None` if the run does not have the phases of the workload.
fn simulated(run: &KeptRun, workload: &Workload) -> Option<Strip> {
    let mut strip = recorded(workload);
    let seconds_of = |phase: Option<u32>| -> f64 {
        strip.iter().filter(|(own, _)| *own == phase).map(|(_, seconds)| seconds).sum()
    };
    let mut factors: Vec<f64> = Vec::new();
    for (number, phase) in (0..).zip(&workload.segmentation.phases) {
        let (_, simulated) = run.phase_seconds.iter().find(|(name, _)| *name == phase.name)?;
        let recorded = seconds_of(Some(number));
        factors.push(if recorded > 0.0 { simulated / recorded } else { 0.0 });
    }
    let idle = seconds_of(None);
    let busy: f64 =
        strip.iter().filter_map(|(phase, own)| Some(own * factors.get((*phase)? as usize)?)).sum();
    let rest = (run.simulated_s()? - busy).max(0.0);
    let idle = if idle > 0.0 { rest / idle } else { 0.0 };
    for (phase, seconds) in &mut strip {
        *seconds *= phase.map_or(idle, |phase| factors.get(phase as usize).copied().unwrap_or(0.0));
    }
    Some(strip)
}

/// Rectangles of a strip: phase, from, to. Where occurrences are shorter than a column, the one
/// that fills most of it stands for them.
fn pieces(strip: &Strip, end: f64) -> Vec<(Option<u32>, f64, f64)> {
    let column = end / COLUMNS as f64;
    let mut pieces: Vec<(Option<u32>, f64, f64)> = Vec::new();
    let mut inside: Vec<(Option<u32>, f64)> = Vec::new();
    let (mut at, mut column_start) = (0.0, 0.0);
    for (phase, seconds) in strip {
        let to = at + seconds;
        match inside.iter_mut().find(|known| known.0 == *phase) {
            Some(known) => known.1 += seconds,
            None => inside.push((*phase, *seconds)),
        }
        if to - column_start >= column {
            let most = inside.drain(..).reduce(|a, b| if b.1 > a.1 { b } else { a });
            let phase = most.and_then(|most| most.0);
            match pieces.last_mut() {
                Some(last) if last.0 == phase => last.2 = to,
                _ => pieces.push((phase, column_start, to)),
            }
            column_start = to;
        }
        at = to;
    }
    if at > column_start {
        let most = inside.drain(..).reduce(|a, b| if b.1 > a.1 { b } else { a });
        pieces.push((most.and_then(|most| most.0), column_start, at));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_occurrences_share_a_column() {
        // 0.1 of a column each, then one that fills two.
        let column = 1.0 / COLUMNS as f64;
        let strip: Strip = vec![
            (Some(0), 0.1 * column),
            (Some(1), 0.2 * column),
            (Some(0), 0.2 * column),
            (Some(2), 2.0 * column),
        ];
        let pieces = pieces(&strip, 1.0);
        assert_eq!(pieces.len(), 1);
        assert_eq!((pieces[0].0, pieces[0].1), (Some(2), 0.0));
        assert!((pieces[0].2 - 2.5 * column).abs() < 1e-12);
    }

    #[test]
    fn pieces_cover_the_strip() {
        let strip: Strip = (0..1000).map(|i| ((i % 3 != 0).then_some(i % 3), f64::from(i % 7))).collect();
        let end = length(&strip);
        let pieces = pieces(&strip, end);
        assert!(pieces.windows(2).all(|pair| (pair[0].2 - pair[1].1).abs() < 1e-9 && pair[0].0 != pair[1].0));
        assert!((pieces[0].1.abs() < 1e-9) && (pieces[pieces.len() - 1].2 - end).abs() < 1e-6);
        assert!(pieces.len() <= COLUMNS + 1);
    }
}
