//! The phases over time: one lane per phase, those that take least time in one where they are many,
//! idle time below.
//!
//! A run may have more occurrences than a screen has pixels. Time is cut into as many columns as
//! the drawing is wide; a column is as dark as the phase fills it, and neighbours of equal shade
//! become one rectangle.

use maud::{Markup, html};
use phaseflow_segment::{Occurrence, Segmentation};
use phaseflow_simulate::workload::Workload;

use super::chart::{COLOURS, grid, step};
use super::loops::{Loop, loops};
use super::text::{counted, shortened, shown};
use crate::number;

/// Where lanes begin, right of their names, and width of the drawing, units.
const LEFT: f64 = 340.0;
const WIDTH: f64 = 1100.0;
const COLUMNS: usize = 720;
const LANE: f64 = 24.0;

/// Characters of a lane's name and title.
const NAME: usize = 36;

/// Shades of a column, from nothing to full.
const SHADES: f64 = 5.0;

/// Lanes shown; the phases that take least time share the last one where they are more.
const LANES: usize = 16;

/// Height of a row of loops, units; rows of loops drawn, the outermost first.
const LOOP: f64 = 14.0;
const LOOPS: usize = 4;

/// Deepest occurrences drawn: a loop in a loop in a loop.
const DEPTHS: u32 = 3;

/// How a workload's phases lie in time, and what there is to say where nothing is known of time.
pub(super) fn timeline(workload: &Workload) -> Markup {
    let segmentation = &workload.segmentation;
    let header = &segmentation.header;
    let end_ns = end_of(segmentation);
    let idle = time_of(segmentation, |occurrence| occurrence.phase.is_none()) as f64 / end_ns.max(1) as f64;
    html! {
        h3 { (shown(&workload.name)) }
        p {
            (counted(header.ranks as usize, "rank")) ", " (counted(segmentation.phases.len(), "phase"))
            ", split by " code { (shown(&header.method)) } "."
            @if end_ns == 0 { " Its trace does not say when messages were sent, so there is nothing to show." }
            @else if idle > 0.0 { " Idle for " (number::percent(idle)) " of the time." }
            @if let Some(lost) = header.unmatched_receives.sentence() { " " (shown(&lost)) }
        }
        @if end_ns > 0 {
            div.wide tabindex="0" { (svg(workload, end_ns)) }
            @let gathered = Lanes::new(segmentation).gathered;
            p.dim {
                "A stretch is as dark as its phase fills that time."
            }
            @if gathered > 0 { p { "The " (counted(gathered, "phase")) " that take least time share a lane." } }
        }
    }
}

/// When the last occurrence ends, nanoseconds; 0 if nothing is known of time.
fn end_of(segmentation: &Segmentation) -> u64 {
    segmentation.occurrences.iter().map(|occurrence| occurrence.end_ns).max().unwrap_or(0)
}

/// The drawing of [`timeline`]; `end_ns` is above 0.
pub(super) fn picture(workload: &Workload) -> Option<Markup> {
    let end_ns = end_of(&workload.segmentation);
    (end_ns > 0).then(|| svg(workload, end_ns))
}

fn svg(workload: &Workload, end_ns: u64) -> Markup {
    let segmentation = &workload.segmentation;
    let lanes = Lanes::new(segmentation);
    let idle_ns = time_of(segmentation, |occurrence| occurrence.phase.is_none());
    let all = lanes.phases + usize::from(idle_ns > 0);
    let bottom = LANE * all as f64;
    let end_s = end_ns as f64 * 1e-9;
    let about = format!("Phases of {} over time", shown(&workload.name));
    let mut loops = loops(segmentation);
    // Narrower ones would be lines, too many to be told apart.
    let width = |own: &Loop| own.end_ns.saturating_sub(own.start_ns) as f64 / end_ns as f64 * COLUMNS as f64;
    loops.retain(|own| own.depth < LOOPS && width(own) >= 2.0);
    let above = LOOP * loops.iter().map(|own| own.depth + 1).max().unwrap_or(0) as f64;
    html! {
        svg.timeline.items viewBox=(format!("0 0 {WIDTH} {}", above + bottom + 34.0)) role="img" aria-label=(about) data-left=(LEFT) data-second=(COLUMNS as f64 / end_s) {
            g transform=(format!("translate(0 {above})")) {
                @for time in grid(end_s, step(end_s)) {
                    @let x = format!("{:.1}", LEFT + time / end_s * COLUMNS as f64);
                    path.grid d=(format!("M{x} 0V{:.1}", bottom + 5.0)) {}
                    text.middle x=(x) y=(format!("{:.1}", bottom + 21.0)) { (number::seconds(time)) }
                }
                @if !loops.is_empty() { text x="0" y=(format!("{:.0}", 11.0 - above)) { "loops, outer ones above" } }
                @for own in &loops { (bar(own, above, end_ns)) }
                @for lane in 0..all { (lane_of(segmentation, &lanes, lane, end_ns)) }
            }
        }
    }
}

/// A loop above the lanes, with what comes again in it where there is room.
fn bar(own: &Loop, above: f64, end_ns: u64) -> Markup {
    let x = |time: u64| LEFT + time as f64 / end_ns as f64 * COLUMNS as f64;
    let (from, to) = (x(own.start_ns), x(own.end_ns));
    let top = LOOP * own.depth as f64 - above;
    let name = shown(&own.name);
    // A letter of 10 units is about 5.5 wide.
    let room = ((to - from - 8.0) / 5.5).max(0.0) as usize;
    html! {
        g.loop data-about=(format!("loop {}", shortened(&name, 90))) {
            rect x=(format!("{from:.1}")) y=(format!("{:.1}", top + 1.0)) width=(format!("{:.1}", (to - from).max(1.0))) height=(LOOP - 2.0) {}
            @if name.chars().count() <= room { text.name x=(format!("{:.1}", from + 4.0)) y=(format!("{:.1}", top + 10.5)) { (name) } }
        }
    }
}

fn lane_of(segmentation: &Segmentation, lanes: &Lanes, lane: usize, end_ns: u64) -> Markup {
    let name = lanes.name(segmentation, lane);
    let colour = if lane < lanes.phases { format!("f{}", lane % COLOURS) } else { "idle".into() };
    let is_own = |occurrence: &Occurrence| lanes.of(occurrence.phase) == lane;
    let share = time_of(segmentation, is_own) as f64 / end_ns as f64;
    let times = segmentation.occurrences.iter().filter(|own| is_own(own)).count();
    let top = LANE * lane as f64;
    let title = lanes.title(segmentation, lane);
    let about = if title.is_empty() { name.clone() } else { format!("phase {name} ({title})") };
    html! {
        text x="0" y=(format!("{:.1}", top + 16.0)) {
            (shortened(&if title.is_empty() { name.clone() } else { format!("{name}  {title}") }, NAME)) title { (shown(&title)) }
        }
        text.end.dim x=(format!("{:.1}", LEFT - 10.0)) y=(format!("{:.1}", top + 16.0)) { (times) " × · " (number::percent(share)) }
        g class=(colour) data-about=(shortened(&about, 90)) {
            @for depth in 0..=DEPTHS { @for (from, to, shade) in runs(&filled(segmentation, |own| is_own(own) && own.depth == depth, end_ns)) {
                // What lies inside of something else is drawn narrower.
                @let height = 18.0 - 4.0 * f64::from(depth);
                rect x=(LEFT + from as f64) y=(format!("{:.0}", top + 2.0 + (18.0 - height) / 2.0)) width=(to - from) height=(format!("{height:.0}")) opacity=(shade) {}
            } }
        }
    }
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

/// Time of the occurrences of a kind, nanoseconds; what lies inside of another one of them counts
/// once.
fn time_of(segmentation: &Segmentation, is_own: impl Fn(&Occurrence) -> bool) -> u64 {
    let mut until = 0;
    let mut time = 0_u64;
    // They come by start, then depth.
    for own in segmentation.occurrences.iter().filter(|own| is_own(own)) {
        time = time.saturating_add(own.end_ns.saturating_sub(own.start_ns.max(until)));
        until = until.max(own.end_ns);
    }
    time
}

/// How much of each column of time the occurrences of a kind fill, 0 to 1.
fn filled(segmentation: &Segmentation, is_own: impl Fn(&Occurrence) -> bool, end_ns: u64) -> Vec<f64> {
    let mut filled = vec![0.0; COLUMNS];
    let column = |time: u64| time as f64 / end_ns as f64 * COLUMNS as f64;
    for own in segmentation.occurrences.iter().filter(|own| is_own(own)) {
        let (start, end) = (column(own.start_ns), column(own.end_ns));
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
