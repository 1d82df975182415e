//! The outline of a run that has more phases than a person reads one by one.
//!
//! What divides the program itself divides the outline: its [chapters] lie between barriers of all
//! ranks, and begin at an exact message. Within a long chapter, or where no barriers divide the
//! run, the outline follows a readable [level](super::levels). What begins near a border of a
//! chapter begins there.

use super::stretches::Start;
use crate::first_pass::survey::Run;
use crate::hierarchy::chapters::{Chapter, LARGE, SMALL, chapters};
use crate::hierarchy::level::READABLE;
use crate::plan::Part;

/// The parts of the outline, in order; `since_start` tells when a window begins. A few `phases`
/// need no outline, unless the level has fewer stretches.
///
/// A chapter is divided if one of its sections is [`LARGE`]. It has the label of what takes most of
/// its time, unless all of its sections are [`SMALL`]. What begins within so small a part of the
/// run from a chapter's borders begins there.
pub(super) fn outline(
    run: &Run,
    phases: &[Start],
    level: &[Start],
    since_start: impl Fn(usize) -> u64,
) -> Vec<Part> {
    let part = |(number, (window, label)): (usize, &Start)| {
        let start_ns = if number == 0 { 0 } else { since_start(*window) };
        Part { start_ns, label: *label, exact: false }
    };
    let level: Vec<Part> = level.iter().enumerate().map(part).collect();
    if phases.len() <= READABLE {
        return if level.len() < phases.len() { level } else { Vec::new() };
    }
    let chapters = chapters(run);
    if chapters.len() < 2 {
        return level;
    }
    let mut parts: Vec<Part> = Vec::new();
    let mut next = level.iter().map(|part| part.label + 1).max().unwrap_or_default();
    for (number, chapter) in chapters.iter().enumerate() {
        let before = parts.last().map(|part| part.label);
        let known = longest(&level, chapter).filter(|label| Some(*label) != before);
        let label = known.filter(|_| chapter.main_part() >= SMALL).unwrap_or_else(|| {
            next += 1;
            next - 1
        });
        parts.push(Part { start_ns: chapter.span_ns.start, label, exact: number > 0 });
        if chapter.main_part() >= LARGE {
            let border = (SMALL * run.duration_ns as f64) as u64;
            let inner = chapter.span_ns.start + border..chapter.span_ns.end.saturating_sub(border);
            parts.extend(level.iter().filter(|part| inner.contains(&part.start_ns)));
        }
    }
    parts
}

/// The label of the part that takes most of a chapter's time.
fn longest(level: &[Part], chapter: &Chapter) -> Option<u32> {
    let ns = |at: usize| {
        let end = level.get(at + 1).map_or(u64::MAX, |next| next.start_ns);
        end.min(chapter.span_ns.end).saturating_sub(level[at].start_ns.max(chapter.span_ns.start))
    };
    (0..level.len()).max_by_key(|at| ns(*at)).map(|at| level[at].label)
}
