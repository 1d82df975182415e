//! The chapters of a run: [sections](crate::first_pass::sections) between barriers, put together to
//! what a person would call a part of the program.
//!
//! A part of a program is more than the section that takes most of its time. It is prepared, it
//! ends with statistics, and barriers separate these from it. So:
//!
//! - a section belongs to the one before it if it brings nothing new. It belongs to the one after
//!   it if it does all that the latter does. Preparations do so: they run through everything once;
//! - a light section alone between two heavier ones ends the one before it: what begins a part
//!   comes with the part;
//! - several light sections in a row that are like nothing around them are a chapter of their own.
//!
//! All ranks also meet where communicators are made, but parts of a program make some at any time.
//! So these meetings only divide what is long.
//!
//! A bad choice for programs whose parts do the same with other data, or meet at no barriers: they
//! are one chapter.

use std::ops::Range;

use crate::agglomerate::agglomerate_neighbours;
use crate::first_pass::barriers::Meeting;
use crate::first_pass::sections::{ALIKE, Section};
use crate::first_pass::survey::Run;
use crate::hierarchy::level::READABLE;

/// A section brings nothing new to its neighbour if less than this part of its messages is of new
/// kinds.
const NEW: f64 = 0.25;
/// A kind is new if its share is this many times smaller in the neighbour.
const RARE: f64 = 16.0;
/// Preparations are this many times lighter than what they prepare.
const LIGHTER: f64 = 8.0;

/// A section is light below this part of the run: half by time, half by messages.
const LIGHT: f64 = 1.0 / 200.0;
/// A section lighter than this part of the run is small. It ends the one before it if it is also
/// lighter than both neighbours.
pub(crate) const SMALL: f64 = 1.0 / 64.0;
/// A section that repeats itself this many times is not light.
const TIMES: u32 = 3;

/// What has this part of the run is large. Between barriers, it is divided where communicators are
/// made.
pub(crate) const LARGE: f64 = 1.0 / 16.0;
/// Both sides of such a division are at least this part of the run.
const PIECE: f64 = 1.0 / 128.0;

/// Sections that belong together.
#[derive(Clone, Debug)]
pub(crate) struct Chapter {
    /// Nanoseconds since the start of the run.
    pub(crate) span_ns: Range<u64>,
    /// Where its heaviest section lies.
    main_ns: Range<u64>,
    /// Its part of the run, and that of its heaviest section.
    weight: f64,
    main: f64,
    /// It ends no other chapter: it is a row of light sections, or a piece that communicators
    /// divide.
    own: bool,
    /// It begins with a barrier, or with the run.
    barrier: bool,
    section: Section,
}

impl Chapter {
    /// Adds a part of the same section.
    fn append(&mut self, next: Chapter) {
        self.merge(next);
        (self.main, self.main_ns) = (self.weight, self.span_ns.clone());
    }

    fn merge(&mut self, next: Chapter) {
        self.span_ns.end = next.span_ns.end;
        if next.main > self.main {
            (self.main, self.main_ns) = (next.main, next.main_ns);
        }
        self.weight += next.weight;
        self.section.merge(&next.section);
        self.section.repeats = self.section.repeats.max(next.section.repeats);
    }

    fn is_light(&self) -> bool {
        self.weight < LIGHT && self.section.repeats < TIMES
    }

    /// Its heaviest section's part of the run.
    pub(crate) fn main_part(&self) -> f64 {
        self.main
    }
}

/// The chapters of a run in order, the first one from its start on, at most half of [`READABLE`];
/// none where no barriers divide it.
pub(crate) fn chapters(run: &Run) -> Vec<Chapter> {
    let starts = run.sections.iter().enumerate();
    let starts = starts.map(|(i, section)| if i == 0 { 0 } else { run.since_start(section.start_ns) });
    let ends: Vec<u64> = starts.chain([run.duration_ns]).collect();
    let all: u64 = run.sections.iter().map(|section| section.messages).sum();
    let single = |(span, section): (&[u64], &Section)| {
        let time = (span[1] - span[0]) as f64 / run.duration_ns as f64;
        let weight = 0.5 * (time + section.messages as f64 / all.max(1) as f64);
        let span_ns = span[0]..span[1];
        Chapter {
            main_ns: span_ns.clone(),
            span_ns,
            weight,
            main: weight,
            own: false,
            barrier: section.after != Some(Meeting::Communicator),
            section: section.clone(),
        }
    };
    let singles: Vec<Chapter> = ends.windows(2).zip(&run.sections).map(single).collect();
    let between_barriers = singles.chunk_by(|_, next| !next.barrier);
    let mut chapters: Vec<Chapter> = between_barriers.flat_map(|own| pieces(own.to_vec())).collect();
    alike(&mut chapters);
    preparations(&mut chapters);
    nothing_new(&mut chapters);
    series(&mut chapters);
    endings(&mut chapters);
    shorten(chapters, READABLE / 2)
}

/// The stretch between two barriers; if it is long, divided where communicators are made.
fn pieces(sections: Vec<Chapter>) -> Vec<Chapter> {
    let whole: f64 = sections.iter().map(|section| section.weight).sum();
    let mut left = whole;
    let mut pieces: Vec<Chapter> = Vec::new();
    for section in sections {
        let weight = section.weight;
        match pieces.last_mut() {
            Some(last) if whole >= LARGE && last.weight >= PIECE && left >= PIECE => {
                last.own = true;
                pieces.push(Chapter { own: true, ..section });
            }
            Some(last) => last.append(section),
            None => pieces.push(section),
        }
        left -= weight;
    }
    pieces
}

/// Joins neighbours that are alike, as in a loop.
fn alike(chapters: &mut Vec<Chapter>) {
    let mut number = 1;
    while number < chapters.len() {
        let (before, own) = (&chapters[number - 1], &chapters[number]);
        if !own.own && before.section.overlap(&own.section) >= ALIKE {
            let repeats = before.section.repeats.saturating_add(own.section.repeats);
            join(chapters, number - 1);
            chapters[number - 1].section.repeats = repeats;
        } else {
            number += 1;
        }
    }
}

/// Joins each section to the next one if that does the same and is much heavier.
fn preparations(chapters: &mut Vec<Chapter>) {
    for number in (1..chapters.len()).rev() {
        let (own, next) = (&chapters[number - 1], &chapters[number]);
        let is_single = next.weight <= next.main;
        let lighter = own.weight * LIGHTER < next.weight;
        if is_single && lighter && own.section.is_new_in(&next.section, RARE) <= NEW {
            join(chapters, number - 1);
        }
    }
}

/// Joins sections that bring nothing new to the one before them.
fn nothing_new(chapters: &mut Vec<Chapter>) {
    let mut number = 1;
    while number < chapters.len() {
        let (before, own) = (&chapters[number - 1], &chapters[number]);
        if own.weight < before.weight && before.section.is_new_in(&own.section, RARE) <= NEW {
            join(chapters, number - 1);
        } else {
            number += 1;
        }
    }
}

/// Puts light sections in a row together.
fn series(chapters: &mut Vec<Chapter>) {
    let mut number = 1;
    while number < chapters.len() {
        let (before, own) = (&chapters[number - 1], &chapters[number]);
        if own.is_light() && (before.is_light() || before.own) {
            join(chapters, number - 1);
            chapters[number - 1].own = true;
        } else {
            number += 1;
        }
    }
}

/// Joins sections that are lighter than their neighbours to the one before them, the lightest
/// first.
fn endings(chapters: &mut Vec<Chapter>) {
    loop {
        let ends = |number: &usize| {
            let own = &chapters[*number];
            let is_heavier = |other: &Chapter| other.weight > own.weight && !other.own;
            let small = own.weight < SMALL && own.section.repeats < TIMES && !own.own;
            // The program's first part is a part, however light it is.
            let after = *number == 1 || is_heavier(&chapters[number - 1]);
            small && after && chapters.get(number + 1).is_none_or(is_heavier)
        };
        let weight = |number: &usize| chapters[*number].weight;
        let lightest = (1..chapters.len()).filter(ends).min_by(|a, b| weight(a).total_cmp(&weight(b)));
        let Some(number) = lightest else { return };
        join(chapters, number - 1);
    }
}

/// Joins neighbours, those with the least loss first, until at most `most` are left.
fn shorten(chapters: Vec<Chapter>, most: usize) -> Vec<Chapter> {
    let loss = |one: &Chapter, other: &Chapter| {
        let weight = one.weight * other.weight / (one.weight + other.weight).max(f64::MIN_POSITIVE);
        Some((1.0 - one.section.overlap(&other.section)).max(0.0) * weight)
    };
    let merged = agglomerate_neighbours(chapters, loss, Chapter::merge, |_, left| left > most);
    merged.into_iter().map(|(chapter, _)| chapter).collect()
}

fn join(chapters: &mut Vec<Chapter>, number: usize) {
    let next = chapters.remove(number + 1);
    chapters[number].merge(next);
}

#[cfg(test)]
mod tests {
    use super::*;
    use phaseflow_collect::trace::{Call, Message, MessageBlock, Operation, Rank};

    use crate::first_pass::sections::Sections;

    /// Nanoseconds, messages of a round, number of rounds.
    type Part<'a> = (i64, &'a [(Operation, u64)], i64);

    /// Where the chapters of a run begin, as numbers of `parts`; a barrier separates the parts.
    fn begins(parts: &[Part<'_>]) -> Vec<usize> {
        let (mut sections, mut starts, mut now) = (Sections::default(), Vec::new(), 0i64);
        let mut messages = 0;
        for (length_ns, round, rounds) in parts {
            starts.push(now.cast_unsigned());
            let enter = |rank| Call {
                enter_ns: now,
                leave_ns: Some(now + 1),
                rank: Rank(rank),
                operation: Operation::Barrier,
                ..Call::default()
            };
            sections.add_calls(&[enter(0), enter(1)]);
            let mut block = MessageBlock::default();
            let count = rounds * i64::try_from(round.len()).unwrap();
            for (i, (operation, bytes)) in (0..).zip((0..*rounds).flat_map(|_| round.iter())) {
                let send_post_ns = now + 2 + (length_ns - 2) * i / count;
                let (operation, bytes) = (*operation, *bytes);
                block.push(&Message { send_post_ns, dst: Rank(1), bytes, operation, ..Message::default() });
            }
            sections.add(&block);
            messages += block.len() as u64;
            now += length_ns;
        }
        let duration_ns = now.cast_unsigned();
        let (sections, barriers_ns) = sections.finish();
        let run = Run {
            start_ns: 0,
            duration_ns,
            messages,
            windows: crate::first_pass::window::Windows::new(0),
            rounds: crate::first_pass::rounds::windows::Rounds::default(),
            sections,
            barriers_ns,
            changes: Vec::new(),
        };
        let begins = chapters(&run).into_iter().map(|chapter| chapter.span_ns.start);
        begins.map(|start| starts.iter().position(|own| *own == start).unwrap()).collect()
    }

    const STEP: &[(Operation, u64)] = &[(Operation::PointToPoint, 4096), (Operation::Sendrecv, 8)];
    const SETUP: &[(Operation, u64)] =
        &[(Operation::Bcast, 4), (Operation::PointToPoint, 2048), (Operation::Sendrecv, 8)];
    const STATISTICS: &[(Operation, u64)] = &[(Operation::Allreduce, 8)];
    const OTHER: &[(Operation, u64)] = &[(Operation::Alltoall, 65536)];

    #[test]
    fn a_stage_is_prepared_and_ended() {
        let (setup, statistics) = ((1_000, SETUP, 20), (900, STATISTICS, 100));
        let stages = [
            setup,
            (100_000, STEP, 5_000),
            statistics,
            (100_000, OTHER, 5_000),
            statistics,
            setup,
            (90_000, STEP, 5_000),
        ];
        assert_eq!(begins(&stages), [0, 3, 5]);
    }

    #[test]
    fn short_sections_in_a_row_are_a_chapter_and_a_short_loop_is_one() {
        let single = |bytes| (500, bytes, 10);
        let short =
            [single(STATISTICS), single(&[(Operation::Bcast, 4)]), single(&[(Operation::Gather, 64)])];
        let long = (100_000, STEP, 5_000);
        assert_eq!(begins(&[long, short[0], short[1], short[2], (100_000, OTHER, 5_000)]), [0, 1, 4]);
        // A section in each round of a loop.
        let mut run = vec![long];
        run.extend([single(OTHER); 6]);
        run.push((100_000, STEP, 5_000));
        assert_eq!(begins(&run), [0, 1, 7]);
    }

    #[test]
    fn a_run_without_barriers_has_no_chapters() {
        assert_eq!(begins(&[]), [0; 0]);
        assert_eq!(begins(&[(1_000, STEP, 100)]), [0; 0]);
    }
}
