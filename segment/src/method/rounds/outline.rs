//! The outline of a run that has too many phases to read.
//!
//! Real programs do not repeat themselves exactly: now and then something else happens, some ranks
//! are late, and loops of phases are not found. A person sees that a stretch goes on as it began:
//! the mixture of what happens stays the same. So neighbours are merged again, the pair with the
//! least loss first. The loss is the difference of the two times their weight, n₁n₂/(n₁+n₂) (as in
//! Ward's method, 1963, and in the agglomerative information bottleneck, Slonim and Tishby 1999).
//! The weight of a stretch is its part of the run, half by time and half by messages: phases that
//! take long may send little, and the reverse. Short stretches vanish in their neighbours. A series
//! of short stretches becomes one mixture.

use std::ops::Range;

use super::chapters::Chapter;
use super::label;
use super::measure::Behaviour;
use super::merge::{LIMIT, LIMITS, Tolerance};
use super::segments::{Segment, Segments};
use crate::agglomerate::agglomerate_neighbours;
use crate::first_pass::survey::Run;
use crate::hierarchy::level::READABLE;
use crate::plan::Part;

/// Merges that lose less than this are made however few stretches are left. It is about the loss of
/// half a percent of the run, merged with a neighbour that differs completely in two of the six
/// views.
const LOSS: f64 = 0.003;
/// The same within a chapter, whose begin and end a person already sees.
const LOSS_WITHIN: f64 = 0.008;

/// Mixtures get one label if they differ by less than neighbours have to.
const ALIKE: Tolerance = Tolerance { least: LIMIT, ..LIMITS };

/// A chapter is divided if one of its sections is at least this part of the run.
const LARGE: f64 = 1.0 / 16.0;

/// The outline's parts, at most [`READABLE`].
///
/// Where [chapters](super::chapters) are known, each is a part. A large one is divided by what its
/// heaviest section does: preparations before it, and what ends it, need not be alike.
pub(super) fn outline(run: &Run, segments: &mut Segments<'_>, chapters: &[Chapter]) -> Vec<Part> {
    let stretches = (0..chapters.len().max(1)).flat_map(|number| stretches(run, segments, chapters, number));
    let groups = merge(stretches.collect(), chapters.len());
    let (numbers, groups): (Vec<usize>, Vec<Segment>) =
        groups.into_iter().map(|group| (group.chapter, group.segment)).unzip();
    let leaves = std::mem::replace(&mut segments.list, groups);
    let labels = label::labels(segments, &ALIKE);
    let groups = std::mem::replace(&mut segments.list, leaves);
    let mut next = labels.iter().max().map_or(0, |label| label + 1);
    let inner = groups.iter().zip(&numbers).zip(labels);
    let inner = inner.map(|((group, number), label)| {
        (*number, Part { start_ns: segments.start_ns(group), label, exact: false })
    });
    let mut inner = inner.peekable();
    let mut parts: Vec<Part> = Vec::new();
    for (number, chapter) in chapters.iter().enumerate() {
        let first = inner.next_if(|(own, _)| *own == number);
        // A chapter too short for a segment of its own is like no other.
        let label = first.map_or(next, |(_, part)| part.label);
        next += u32::from(label == next);
        parts.push(Part { start_ns: chapter.span_ns.start, label, exact: number > 0 });
        parts.extend(std::iter::from_fn(|| inner.next_if(|(own, _)| *own == number)).map(|(_, part)| part));
    }
    parts.extend(inner.map(|(_, part)| part));
    parts
}

/// A piece of a chapter.
struct Stretch {
    chapter: usize,
    segment: Segment,
    /// Its part of the run.
    weight: f64,
}

impl Stretch {
    fn merge(&mut self, next: &Stretch) {
        self.segment.units.end = next.segment.units.end;
        self.segment.behaviour.merge(&next.segment.behaviour);
        self.weight += next.weight;
    }
}

/// The segments by which a chapter is divided; all segments of the run if there are no chapters.
fn stretches(run: &Run, segments: &Segments<'_>, chapters: &[Chapter], number: usize) -> Vec<Stretch> {
    let stretch = |segment: &Segment| {
        let time = segments.end_ns(segment) - segments.start_ns(segment);
        let (time, messages) =
            (time as f64 / run.duration_ns as f64, segment.behaviour.messages / run.messages as f64);
        Stretch { chapter: number, segment: segment.clone(), weight: 0.5 * (time + messages) }
    };
    let among = |span_ns: &Range<u64>| -> Vec<Stretch> {
        let middle = |segment: &&Segment| u64::midpoint(segments.start_ns(segment), segments.end_ns(segment));
        segments.list.iter().filter(|segment| span_ns.contains(&middle(segment))).map(stretch).collect()
    };
    let Some(chapter) = chapters.get(number) else {
        return segments.list.iter().map(stretch).collect();
    };
    let main = if chapter.main_part() < LARGE { Vec::new() } else { among(&chapter.main_ns) };
    if !main.is_empty() {
        return main;
    }
    let whole = among(&chapter.span_ns).into_iter().reduce(|mut whole, next| {
        whole.merge(&next);
        whole
    });
    whole.into_iter().collect()
}

/// Merges neighbours of one chapter, the pair with the least loss first.
fn merge(stretches: Vec<Stretch>, chapters: usize) -> Vec<Stretch> {
    let loss = |left: &Stretch, right: &Stretch| {
        let (one, other) = (left.weight, right.weight);
        let weight = one * other / (one + other).max(f64::MIN_POSITIVE);
        let loss = weight * difference(&left.segment.behaviour, &right.segment.behaviour);
        (left.chapter == right.chapter).then_some(loss)
    };
    let empty = chapters - stretches.chunk_by(|one, next| one.chapter == next.chapter).count().min(chapters);
    let most = if chapters == 0 { LOSS } else { LOSS_WITHIN };
    let go_on = |loss: f64, left: usize| left + empty > READABLE || loss < most;
    let merged = agglomerate_neighbours(stretches, loss, |kept: &mut Stretch, gone| kept.merge(&gone), go_on);
    merged.into_iter().map(|(stretch, _)| stretch).collect()
}

fn difference(one: &Behaviour, other: &Behaviour) -> f64 {
    f64::from(one.difference(other).sure)
}
