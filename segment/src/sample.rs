//! Which stretches of a run are simulated for all of it.
//!
//! Each phase is divided into units: an occurrence with few messages is one, a longer one is cut into pieces of equal length, so that
//! ten thousand rounds in one occurrence are sampled as well as ten thousand occurrences. Of each phase a few units are *sampled*: the whole of it in
//! order of time is cut into as many strata of equal numbers of units, and one of each is drawn; so a behaviour that drifts is met at all
//! its stages, and one that is periodic not always at the same point (stratified sampling: Cochran, *Sampling Techniques*, 3rd edition,
//! 1977, chapter 5; of programs: Wunderlich, Wenisch, Falsafi and Hoe, *SMARTS: accelerating microarchitecture simulation via rigorous
//! statistical sampling*, ISCA 2003). Where a phase has no more units than that, all are taken, and nothing is left to chance.
//!
//! A unit is simulated in its surroundings, as messages of neighbouring stretches meet in the network and ranks do not leave a stretch
//! together: a *window* begins some messages before it and ends some after it (SMARTS: detailed warming). Windows that touch are one.
//!
//! Units follow the clock of the trace, not the rounds of the program, and one can hold a round more than another: what is made of
//! them has to look at their messages. It is the wrong choice for phases of a few rounds with very many messages each, of which a unit is a part.

use std::ops::Range;

use phaseflow_collect::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::archive::{Occurrence, Segmentation};
use crate::representative::Representatives;

/// Messages of a unit, a rank; smaller units where the run does not allow for these. A unit that holds more rounds has a smaller part of one too
/// many or too few.
const UNITS: [u64; 4] = [128, 64, 32, 16];
/// Messages before a unit in its window, a rank: enough rounds for most patterns to come into their rhythm. Half as many after it.
const BEFORE: u64 = 32;
/// Messages of these at least, all ranks together.
const LEAST_MESSAGES: u64 = 256;
/// Units of a phase that are sampled at most, and at least if there are as many.
const MOST: u64 = 24;
const LEAST: u64 = 8;
/// Windows have no more messages than this part of the run, …
const PART: u64 = 22;
/// … or than these, if [`LEAST`] units of each phase do not need more.
const MESSAGES: u64 = 1 << 14;
/// A run with no more messages is simulated whole, which takes no time worth saving.
const SMALL: u64 = 1 << 16;

/// A stretch of time; nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// When it begins.
    pub start_ns: u64,
    /// When it ends; not before it begins.
    pub end_ns: u64,
}

/// The units of a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Units {
    /// The phase; `None`: idle stretches.
    pub phase: Option<u32>,
    /// How many units its outermost occurrences are cut into.
    pub units: u64,
    /// Those that are sampled, in order of time.
    pub samples: Vec<Span>,
}

/// What is simulated for all of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Samples {
    /// Stretches that are simulated as one, in order of time; they do not touch.
    pub windows: Vec<Span>,
    /// By phase that has occurrences of depth 0; each sample lies in a window.
    pub of_phase: Vec<Units>,
}

/// An outermost occurrence, cut into units.
#[derive(Clone, Copy, Debug)]
struct Row {
    span: Span,
    messages: u64,
    pieces: u64,
}

impl Row {
    fn new(row: &Occurrence, unit: u64) -> Self {
        let span = Span { start_ns: row.start_ns, end_ns: row.end_ns };
        let pieces = (row.messages + unit / 2) / unit;
        let length = span.end_ns.saturating_sub(span.start_ns);
        Self {
            span,
            messages: row.messages,
            pieces: if row.phase.is_some() { pieces.clamp(1, length.max(1)) } else { 1 },
        }
    }

    /// Where a unit begins; the one after the last where it ends.
    fn edge_ns(&self, piece: u64) -> u64 {
        let length = u128::from(self.span.end_ns - self.span.start_ns);
        self.span.start_ns + (length * u128::from(piece) / u128::from(self.pieces)) as u64 // at most the length
    }

    /// Messages between two times in it, if they are spread evenly.
    fn messages_of(&self, length_ns: u64) -> u64 {
        let length = u128::from((self.span.end_ns - self.span.start_ns).max(1));
        (u128::from(self.messages) * u128::from(length_ns) / length) as u64 // at most all
    }

    /// The time that holds so many of its messages.
    fn time_of(&self, messages: u64) -> u64 {
        let length = u128::from(self.span.end_ns - self.span.start_ns);
        (length * u128::from(messages) / u128::from(self.messages.max(1))).min(length) as u64
    }
}

/// The outermost occurrences of a run, by phase.
struct Run {
    rows: Vec<Row>,
    phases: Vec<Members>,
}

/// The rows of a phase.
#[derive(Default)]
struct Members {
    phase: Option<u32>,
    rows: Vec<usize>,
    /// Units up to the end of each.
    ends: Vec<u64>,
}

impl Samples {
    /// Chooses for a run with occurrences.
    #[must_use]
    pub fn choose(segmentation: &Segmentation, representatives: &Representatives) -> Self {
        let ranks = u64::from(segmentation.header.ranks);
        let mut sampled = Self::default();
        for (unit, is_last) in UNITS.iter().zip([false, false, false, true]) {
            let run = Run::new(segmentation, unit.saturating_mul(ranks).max(LEAST_MESSAGES));
            let messages: u64 = run.rows.iter().fold(0, |sum, row| sum.saturating_add(row.messages));
            if messages <= SMALL {
                return run.samples(u64::MAX, ranks);
            }
            let budget = (messages / PART).max(MESSAGES);
            let mut most = MOST;
            loop {
                sampled = run.samples(most, ranks);
                let fits = run.volume(&sampled.windows) <= budget;
                if fits || (is_last && most <= LEAST) {
                    return sampled;
                }
                if most <= LEAST {
                    break;
                }
                most = (most * 3 / 4).max(LEAST);
            }
        }
        let _ = representatives;
        sampled
    }
}

impl Samples {
    /// Whether they fit an archive of so many phases.
    pub(crate) fn check(&self, phases: usize) -> Result<()> {
        let wrong = |what: String| Err(Error::data(what));
        let mut reached_ns = None;
        for (number, window) in self.windows.iter().enumerate() {
            if window.end_ns < window.start_ns || reached_ns.is_some_and(|end_ns| window.start_ns <= end_ns) {
                return wrong(format!(
                    "window {number} is not after the one before it, or ends before it starts"
                ));
            }
            reached_ns = Some(window.end_ns);
        }
        for units in &self.of_phase {
            if let Some(phase) = units.phase.filter(|phase| *phase as usize >= phases) {
                return wrong(format!("has samples of phase {phase}, the archive has {phases}"));
            }
            if units.units < units.samples.len() as u64 || units.samples.is_empty() {
                let (found, all) = (units.samples.len(), units.units);
                return wrong(format!("has {found} samples of {all} units, expected 1 to {all}"));
            }
            let mut reached_ns = 0;
            for sample in &units.samples {
                if sample.start_ns < reached_ns
                    || sample.end_ns < sample.start_ns
                    || self.window_of(*sample).is_none()
                {
                    let Span { start_ns, end_ns } = sample;
                    return wrong(format!(
                        "has a sample from {start_ns} to {end_ns} ns that lies in no window, or not after the one before it"
                    ));
                }
                reached_ns = sample.end_ns;
            }
        }
        Ok(())
    }

    /// The window that a stretch lies in.
    #[must_use]
    pub fn window_of(&self, span: Span) -> Option<usize> {
        let after = self.windows.partition_point(|window| window.start_ns <= span.start_ns);
        let window = after.checked_sub(1)?;
        self.windows.get(window).filter(|window| span.end_ns <= window.end_ns).map(|_| window)
    }
}

impl Run {
    fn new(segmentation: &Segmentation, unit: u64) -> Self {
        let outermost = segmentation.occurrences.iter().filter(|row| row.depth == 0);
        let idle = segmentation.phases.len();
        let mut run = Self { rows: Vec::new(), phases: Vec::new() };
        run.phases.resize_with(idle + 1, Members::default);
        for occurrence in outermost {
            let row = Row::new(occurrence, unit);
            let place = occurrence.phase.map_or(idle, |phase| phase as usize);
            let Some(members) = run.phases.get_mut(place) else { continue };
            members.phase = occurrence.phase;
            members.rows.push(run.rows.len());
            members.ends.push(members.ends.last().copied().unwrap_or(0) + row.pieces);
            run.rows.push(row);
        }
        run.phases.retain(|members| !members.rows.is_empty());
        run
    }

    /// At most so many units of each phase, and the windows around them.
    fn samples(&self, most: u64, ranks: u64) -> Samples {
        let mut of_phase = Vec::new();
        let mut windows: Vec<Span> = Vec::new();
        let before = BEFORE.saturating_mul(ranks).max(LEAST_MESSAGES);
        for members in &self.phases {
            let mut chosen: Vec<(usize, u64)> =
                members.strata(most).map(|unit| members.piece(unit)).collect();
            chosen.sort_unstable();
            chosen.dedup();
            let span = |(row, piece): &(usize, u64)| {
                let row = &self.rows[*row];
                Span { start_ns: row.edge_ns(*piece), end_ns: row.edge_ns(piece + 1) }
            };
            let samples: Vec<Span> = chosen.iter().map(span).collect();
            windows.extend(
                chosen.iter().zip(&samples).map(|((row, _), span)| self.surroundings(*row, *span, before)),
            );
            let units = members.ends.last().copied().unwrap_or(0);
            of_phase.push(Units { phase: members.phase, units, samples });
        }
        Samples { windows: joined(windows), of_phase }
    }

    /// A stretch of a row with so many messages before it and half as many after it.
    fn surroundings(&self, row: usize, span: Span, messages: u64) -> Span {
        let mut around = span;
        let mut missing = messages;
        for (number, before) in self.rows[..=row].iter().enumerate().rev() {
            let end_ns = if number == row { span.start_ns } else { before.span.end_ns };
            let there = before.messages_of(end_ns - before.span.start_ns);
            if there >= missing {
                around.start_ns = end_ns - before.time_of(missing).min(end_ns - before.span.start_ns);
                break;
            }
            around.start_ns = before.span.start_ns;
            missing -= there;
        }
        let mut missing = messages / 2;
        for (number, after) in self.rows.iter().enumerate().skip(row) {
            let start_ns = if number == row { span.end_ns } else { after.span.start_ns };
            let there = after.messages_of(after.span.end_ns - start_ns);
            if there >= missing {
                around.end_ns = start_ns + after.time_of(missing).min(after.span.end_ns - start_ns);
                break;
            }
            around.end_ns = after.span.end_ns;
            missing -= there;
        }
        around
    }

    /// Messages in some windows.
    fn volume(&self, windows: &[Span]) -> u64 {
        let mut sum = 0_u64;
        for window in windows {
            let first = self.rows.partition_point(|row| row.span.end_ns <= window.start_ns);
            for row in self.rows[first..].iter().take_while(|row| row.span.start_ns < window.end_ns) {
                let (start, end) =
                    (row.span.start_ns.max(window.start_ns), row.span.end_ns.min(window.end_ns));
                sum = sum.saturating_add(row.messages_of(end - start));
            }
        }
        sum
    }
}

impl Members {
    /// One unit of each stratum; all if there are no more than `most`.
    fn strata(&self, most: u64) -> impl Iterator<Item = u64> {
        let units = self.ends.last().copied().unwrap_or(0);
        let strata = most.min(units);
        let edge =
            move |stratum: u64| (u128::from(units) * u128::from(stratum) / u128::from(strata.max(1))) as u64;
        let phase = self.phase.map_or(u64::MAX, u64::from);
        (0..strata).map(move |stratum| {
            let Range { start, end } = edge(stratum)..edge(stratum + 1);
            start + drawn(phase, stratum) % (end - start).max(1)
        })
    }

    /// The row of a unit, and which of its pieces.
    fn piece(&self, unit: u64) -> (usize, u64) {
        let at = self.ends.partition_point(|end| *end <= unit).min(self.rows.len() - 1);
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        (self.rows[at], unit - start)
    }
}

/// A number that is as good as drawn at random, the same each time (SplitMix64: Steele, Lea and Flood, *Fast splittable pseudorandom number
/// generators*, OOPSLA 2014).
fn drawn(phase: u64, stratum: u64) -> u64 {
    let seed = phase
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(stratum.wrapping_add(1).wrapping_mul(0xd1b5_4a32_d192_ed03));
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// What these cover, in order.
fn joined(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut joined: Vec<Span> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.start_ns <= last.end_ns => last.end_ns = last.end_ns.max(span.end_ns),
            _ => joined.push(span),
        }
    }
    joined
}
