//! The phases over time: one lane per phase, those that take least time in one where they are many,
//! idle time below.
//!
//! A run may have more occurrences than a screen has pixels. Time is cut into as many columns as
//! the drawing is wide; a column is as dark as the phase fills it, and neighbours of equal shade
//! become one rectangle.

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

/// Lanes shown; the phases that take least time share the last one where they are more.
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
    let lanes = Lanes::new(segmentation);
    let all = lanes.phases + usize::from(time_of(segmentation, &lanes, lanes.phases) > 0);
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
        let name = lanes.name(segmentation, lane);
        let colour = if lane < lanes.phases { format!("f{}", lane % COLOURS) } else { "idle".into() };
        let share = time_of(segmentation, &lanes, lane) as f64 / end_ns as f64;
        let times = tiles(segmentation, &lanes, lane).count();
        let top = LANE * lane as f64;
        let _ = write!(
            svg,
            "<text x=\"0\" y=\"{:.1}\">{}<title>{}</title></text><text class=\"end dim\" x=\"{:.1}\" y=\"{:.1}\">{times} × · {}</text><g class=\"{colour}\">",
            top + 16.0,
            escape(&shortened(&name, 16)),
            escape(&lanes.title(segmentation, lane)),
            LEFT - 10.0,
            top + 16.0,
            number::percent(share),
        );
        for (from, to, shade) in runs(&filled(segmentation, &lanes, lane, end_ns)) {
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
    if lanes.gathered > 0 {
        let rest = counted(lanes.gathered, "phase");
        let _ = write!(svg, "<p>The {rest} that take least time share a lane.</p>");
    }
    svg
}

/// Which phases are drawn in which lane.
struct Lanes {
    /// By phase.
    of_phase: Vec<usize>,
    /// Lanes of phases; idle time is in the next one.
    phases: usize,
    /// How many phases share the last of them; 0 if each has its own.
    gathered: usize,
}

impl Lanes {
    /// A lane for each phase, in their order; where these are too many, the ones that take least
    /// time share one.
    fn new(segmentation: &Segmentation) -> Self {
        let count = segmentation.phases.len();
        if count <= LANES {
            return Self { of_phase: (0..count).collect(), phases: count, gathered: 0 };
        }
        let mut time_ns = vec![0_u64; count];
        for occurrence in segmentation.occurrences.iter().filter(|occurrence| occurrence.depth == 0) {
            if let Some(time_ns) = occurrence.phase.and_then(|phase| time_ns.get_mut(phase as usize)) {
                *time_ns = time_ns.saturating_add(occurrence.end_ns.saturating_sub(occurrence.start_ns));
            }
        }
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|phase| (std::cmp::Reverse(time_ns[*phase]), *phase));
        let mut drawn = order[..LANES - 1].to_vec();
        drawn.sort_unstable();
        let of_phase = (0..count).map(|phase| drawn.binary_search(&phase).unwrap_or(LANES - 1)).collect();
        Self { of_phase, phases: LANES, gathered: count - (LANES - 1) }
    }

    fn of(&self, phase: Option<u32>) -> usize {
        phase.and_then(|phase| self.of_phase.get(phase as usize).copied()).unwrap_or(self.phases)
    }

    /// What the phase of a lane does; for the pointer.
    fn title(&self, segmentation: &Segmentation, lane: usize) -> String {
        let phase = self.of_phase.iter().position(|own| *own == lane);
        phase.map(|phase| segmentation.phases[phase].title.clone()).unwrap_or_default()
    }

    fn name(&self, segmentation: &Segmentation, lane: usize) -> String {
        if lane == self.phases {
            return "idle".into();
        }
        if self.gathered > 0 && lane + 1 == self.phases {
            return format!("{} others", self.gathered);
        }
        let phase = self.of_phase.iter().position(|own| *own == lane);
        phase.map(|phase| segmentation.phases[phase].name.clone()).unwrap_or_default()
    }
}

/// Occurrences of a lane that tile the run, as start and end.
fn tiles<'a>(
    segmentation: &'a Segmentation,
    lanes: &'a Lanes,
    lane: usize,
) -> impl Iterator<Item = (u64, u64)> + 'a {
    let tiles = segmentation.occurrences.iter().filter(move |o| o.depth == 0 && lanes.of(o.phase) == lane);
    tiles.map(|occurrence| (occurrence.start_ns, occurrence.end_ns))
}

fn time_of(segmentation: &Segmentation, lanes: &Lanes, lane: usize) -> u64 {
    tiles(segmentation, lanes, lane).fold(0, |sum, (start, end)| sum.saturating_add(end - start))
}

/// How much of each column of time a lane fills, 0 to 1.
fn filled(segmentation: &Segmentation, lanes: &Lanes, lane: usize, end_ns: u64) -> Vec<f64> {
    let mut filled = vec![0.0; COLUMNS];
    let column = |time: u64| time as f64 / end_ns as f64 * COLUMNS as f64;
    for (start, end) in tiles(segmentation, lanes, lane) {
        let (start, end) = (column(start), column(end));
        for (at, part) in filled.iter_mut().enumerate().take(end.ceil() as usize).skip(start as usize) {
            *part += (end.min(at as f64 + 1.0) - start.max(at as f64)).max(0.0);
        }
    }
    filled
}

/// Neighbouring columns of equal shade: from, to, shade; empty ones left out. What is there at all
/// is seen.
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
