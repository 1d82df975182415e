//! The outline of a run that has more phases than a person reads one by one.
//!
//! What divides the program itself divides the outline: its [chapters] lie between barriers of all
//! ranks, and begin at an exact message. Within a long chapter, or where no barriers divide the
//! run, the outline follows the [stages](super::stages). Stages at the borders of a chapter are its
//! own.

use super::stages::Stage;
use crate::first_pass::survey::Run;
use crate::hierarchy::chapters::{Chapter, chapters};
use crate::plan::Part;

/// A chapter is divided into stages if one of its sections is at least this part of the run.
const LARGE: f64 = 1.0 / 16.0;

/// A chapter has the label of a stage if one of its sections is at least this part of the run;
/// windows of stages are half as long.
const OF_A_STAGE: f64 = 1.0 / 64.0;

/// Stages that begin within this part of the run of a chapter's borders begin there: two windows of
/// the stages.
const BORDER: u64 = 64;

/// The parts of the outline, in order; `since_start` tells when a window begins.
pub(super) fn outline(run: &Run, stages: &[Stage], since_start: impl Fn(usize) -> u64) -> Vec<Part> {
    let part = |(number, (window, label)): (usize, &Stage)| {
        let start_ns = if number == 0 { 0 } else { since_start(*window) };
        Part { start_ns, label: *label, exact: false }
    };
    let stages: Vec<Part> = stages.iter().enumerate().map(part).collect();
    let chapters = chapters(run);
    if chapters.len() < 2 {
        return stages;
    }
    let mut parts: Vec<Part> = Vec::new();
    let mut next = stages.iter().map(|stage| stage.label + 1).max().unwrap_or_default();
    for (number, chapter) in chapters.iter().enumerate() {
        let before = parts.last().map(|part| part.label);
        let known = longest(&stages, chapter).filter(|label| Some(*label) != before);
        let label = known.filter(|_| chapter.main_part() >= OF_A_STAGE).unwrap_or_else(|| {
            next += 1;
            next - 1
        });
        parts.push(Part { start_ns: chapter.span_ns.start, label, exact: number > 0 });
        if chapter.main_part() >= LARGE {
            let border = run.duration_ns / BORDER;
            let inner = chapter.span_ns.start + border..chapter.span_ns.end.saturating_sub(border);
            parts.extend(stages.iter().filter(|stage| inner.contains(&stage.start_ns)));
        }
    }
    parts
}

/// The label of the stage that takes most of a chapter's time.
fn longest(stages: &[Part], chapter: &Chapter) -> Option<u32> {
    let ns = |at: usize| {
        let end = stages.get(at + 1).map_or(u64::MAX, |next| next.start_ns);
        end.min(chapter.span_ns.end).saturating_sub(stages[at].start_ns.max(chapter.span_ns.start))
    };
    (0..stages.len()).max_by_key(|at| ns(*at)).map(|at| stages[at].label)
}
