//! The phases over time: one lane per phase, idle time below.
//!
//! A run may have more occurrences than a screen has pixels. Time is cut into as many columns as the drawing is wide; a
//! column is as dark as the phase fills it, and neighbours of equal shade become one rectangle.

use std::fmt::Write;

use phaseflow_segment::Segmentation;
use phaseflow_simulate::workload::Workload;

use super::chart::{COLOURS, grid, step};
use super::text::{counted, escape, shortened};
use crate::number;

const LEFT: f64 = 240.0;
const WIDTH: f64 = 1000.0;
const COLUMNS: usize = 720;
const LANE: f64 = 24.0;

/// Shades of a column, from nothing to full.
const SHADES: f64 = 5.0;

/// Lanes shown; further phases are named below.
const LANES: usize = 16;

/// How a workload's phases lie in time, and what there is to say where nothing is known of time.
pub(super) fn timeline(workload: &Workload) -> String {
    let segmentation = &workload.segmentation;
    let end_ns = segmentation.occurrences.iter().map(|occurrence| occurrence.end_ns).max().unwrap_or(0);
    let heading = format!(
        "<h3>{}</h3><p>{}, {}, split by <code>{}</code>.",
        escape(&workload.name),
        counted(segmentation.header.ranks as usize, "rank"),
        counted(segmentation.phases.len(), "phase"),
        escape(&segmentation.header.method),
    );
    if end_ns == 0 {
        return format!(
            "{heading} Its trace does not say when messages were sent, so there is nothing to show.</p>"
        );
    }
    let lanes = segmentation.phases.len().min(LANES);
    let idle_ns = time_of(segmentation, None);
    let all = lanes + usize::from(idle_ns > 0);
    let height = LANE * all as f64 + 34.0;
    let about = escape(&format!("Phases of {} over time", workload.name));
    let mut svg = format!(
        "{heading}</p><div class=\"wide\" tabindex=\"0\"><svg class=\"timeline\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{about}\">"
    );
    let end_s = end_ns as f64 * 1e-9;
    for time in grid(end_s, step(end_s)) {
        let x = LEFT + time / end_s * COLUMNS as f64;
        let bottom = LANE * all as f64;
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{x:.1} 0V{:.1}\"/><text class=\"middle\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
            bottom + 5.0,
            bottom + 21.0,
            number::seconds(time),
        );
    }
    for lane in 0..all {
        let phase = (lane < lanes).then_some(lane as u32);
        let (name, colour) = match phase {
            Some(phase) => {
                (segmentation.phases[phase as usize].name.as_str(), format!("f{}", lane % COLOURS))
            }
            None => ("idle", "idle".into()),
        };
        let share = time_of(segmentation, phase) as f64 / end_ns as f64;
        let times = tiles(segmentation, phase).count();
        let top = LANE * lane as f64;
        let _ = write!(
            svg,
            "<text x=\"0\" y=\"{:.1}\">{}</text><text class=\"end dim\" x=\"{:.1}\" y=\"{:.1}\">{times} × · {}</text><g class=\"{colour}\">",
            top + 16.0,
            escape(&shortened(name, 16)),
            LEFT - 10.0,
            top + 16.0,
            number::percent(share),
        );
        for (from, to, shade) in runs(&filled(segmentation, phase, end_ns)) {
            let x = LEFT + from as f64;
            let _ = write!(
                svg,
                "<rect x=\"{x}\" y=\"{:.0}\" width=\"{}\" height=\"18\" opacity=\"{shade}\"/>",
                top + 2.0,
                to - from,
            );
        }
        svg.push_str("</g>");
    }
    svg.push_str("</svg></div>");
    if segmentation.phases.len() > lanes {
        let rest = counted(segmentation.phases.len() - lanes, "further phase");
        let _ = write!(svg, "<p>{rest} are not drawn.</p>");
    }
    svg
}

/// Occurrences of a phase (or idle ones) that tile the run, as start and end.
fn tiles(segmentation: &Segmentation, phase: Option<u32>) -> impl Iterator<Item = (u64, u64)> + '_ {
    let tiles = segmentation.occurrences.iter().filter(move |o| o.depth == 0 && o.phase == phase);
    tiles.map(|occurrence| (occurrence.start_ns, occurrence.end_ns))
}

fn time_of(segmentation: &Segmentation, phase: Option<u32>) -> u64 {
    tiles(segmentation, phase).fold(0, |sum, (start, end)| sum.saturating_add(end - start))
}

/// How much of each column of time a phase fills, 0 to 1.
fn filled(segmentation: &Segmentation, phase: Option<u32>, end_ns: u64) -> Vec<f64> {
    let mut filled = vec![0.0; COLUMNS];
    let column = |time: u64| time as f64 / end_ns as f64 * COLUMNS as f64;
    for (start, end) in tiles(segmentation, phase) {
        let (start, end) = (column(start), column(end));
        for (at, part) in filled.iter_mut().enumerate().take(end.ceil() as usize).skip(start as usize) {
            *part += (end.min(at as f64 + 1.0) - start.max(at as f64)).max(0.0);
        }
    }
    filled
}

/// Neighbouring columns of equal shade: from, to, shade; empty ones left out. What is there at all is seen.
fn runs(filled: &[f64]) -> Vec<(usize, usize, f64)> {
    let mut runs: Vec<(usize, usize, f64)> = Vec::new();
    for (at, part) in filled.iter().enumerate().filter(|(_, part)| **part > 1e-9) {
        let shade = (part.min(1.0) * SHADES).ceil() / SHADES;
        match runs.last_mut() {
            Some(last) if last.1 == at && (last.2 - shade).abs() < 1e-9 => last.1 = at + 1,
            _ => runs.push((at, at + 1, shade)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_equal_shade_become_one() {
        assert_eq!(
            runs(&[0.0, 1.0, 1.0, 0.5, 0.001, 0.0, 1.0]),
            [(1, 3, 1.0), (3, 4, 0.6), (4, 5, 0.2), (6, 7, 1.0)]
        );
    }
}
