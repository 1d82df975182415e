//! Which stretches of a run are simulated for all of it.
//!
//! Each phase is divided into units: occurrences that come shortly after one another are one, a long one is cut into pieces of equal numbers of messages, so that
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

use std::cmp::Reverse;

use phaseflow_collect::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::archive::{Occurrence, Segmentation};
use crate::representative::Representatives;
use crate::ticks::Ticks;

/// Messages of a unit, and before it in its window, a rank; half as many come after it. A unit that holds more rounds has a smaller part of one too
/// many or too few, and what comes before it has to bring the ranks into their rhythm; smaller ones where the run does not allow for these.
const SIZES: [(u64, u64); 6] = [(256, 64), (128, 64), (128, 32), (64, 32), (32, 16), (16, 16)];
/// Messages of these at least, all ranks together.
const LEAST_MESSAGES: u64 = 256;
/// Units of a phase that are sampled at most, and at least if there are as many.
const MOST: u64 = 24;
const LEAST: u64 = 8;
/// One in so many of them is among the longest that stand for themselves, …
const LONGEST: u64 = 4;
/// … if it took so many times as long as the mean.
const LONG: u64 = 2;
/// Windows have no more messages than this part of the run, …
const PART: u64 = 22;
/// … or than these, if [`LEAST`] units of each phase do not need more.
const MESSAGES: u64 = 1 << 14;
/// A run with no more messages is simulated whole, which takes no time worth saving.
const SMALL: u64 = 1 << 17;

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
    /// How many units its outermost occurrences are cut into, without the longest.
    pub units: u64,
    /// Those of them that are sampled, in order of time; the stretches of each.
    pub samples: Vec<Vec<Span>>,
    /// Units that took much longer than others and stand for themselves alone, likewise.
    pub longest: Vec<Vec<Span>>,
}

impl Units {
    /// All stretches that are sampled.
    pub fn spans(&self) -> impl Iterator<Item = Span> {
        self.samples.iter().chain(&self.longest).flatten().copied()
    }
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
    /// Messages of the run before it, and its own.
    before: u64,
    messages: u64,
    pieces: u64,
}

/// The outermost occurrences of a run, by phase.
struct Run<'a> {
    rows: Vec<Row>,
    messages: u64,
    ticks: &'a Ticks,
    phases: Vec<Members>,
}

/// The rows of a phase.
#[derive(Default)]
struct Members {
    phase: Option<u32>,
    rows: Vec<usize>,
    /// Rows that are a unit together, or one that is cut into units: where they end among the rows.
    groups: Vec<usize>,
    /// Units up to the end of each group.
    ends: Vec<u64>,
}

impl Samples {
    /// Chooses for a run with occurrences.
    #[must_use]
    pub fn choose(segmentation: &Segmentation, representatives: &Representatives) -> Self {
        let ranks = u64::from(segmentation.header.ranks);
        let mut sampled = Self::default();
        for (number, sizes) in SIZES.iter().enumerate() {
            let is_last = number + 1 == SIZES.len();
            let [unit, before] =
                [sizes.0, sizes.1].map(|size| size.saturating_mul(ranks).max(LEAST_MESSAGES));
            let run = Run::new(segmentation, &representatives.ticks, unit);
            let messages = run.messages;
            if messages <= SMALL {
                return run.samples(u64::MAX, before).0;
            }
            let budget = (messages / PART).max(MESSAGES);
            let mut most = MOST;
            loop {
                let volume;
                (sampled, volume) = run.samples(most, before);
                let fits = volume <= budget;
                if fits || (is_last && most <= LEAST) {
                    return sampled;
                }
                if most <= LEAST {
                    break;
                }
                most = (most * 3 / 4).max(LEAST);
            }
        }
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
            if units.units < units.samples.len() as u64 || (units.samples.is_empty() && units.units > 0) {
                let (found, all) = (units.samples.len(), units.units);
                return wrong(format!("has {found} samples of {all} units, expected 1 to {all}"));
            }
            for stretches in [&units.samples, &units.longest] {
                let mut reached_ns = 0;
                for Span { start_ns, end_ns } in stretches.iter().flatten().copied() {
                    let is_in_window = self.window_of(Span { start_ns, end_ns }).is_some();
                    if start_ns < reached_ns || end_ns < start_ns || !is_in_window {
                        return wrong(format!(
                            "has a sample from {start_ns} to {end_ns} ns that lies in no window, or not after the one before it"
                        ));
                    }
                    reached_ns = end_ns;
                }
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

impl<'a> Run<'a> {
    fn new(segmentation: &Segmentation, ticks: &'a Ticks, unit: u64) -> Self {
        let outermost = segmentation.occurrences.iter().filter(|row| row.depth == 0);
        let idle = segmentation.phases.len();
        let mut run = Self { rows: Vec::new(), messages: 0, ticks, phases: Vec::new() };
        run.phases.resize_with(idle + 1, Members::default);
        for occurrence in outermost {
            let Occurrence { phase, start_ns, end_ns, messages, .. } = *occurrence;
            let most = if phase.is_some() { end_ns - start_ns } else { 1 };
            let pieces = (messages / unit).clamp(1, most.max(1));
            let Some(members) = run.phases.get_mut(phase.map_or(idle, |phase| phase as usize)) else {
                continue;
            };
            members.phase = phase;
            members.rows.push(run.rows.len());
            run.rows.push(Row { span: Span { start_ns, end_ns }, before: run.messages, messages, pieces });
            run.messages = run.messages.saturating_add(messages);
        }
        run.phases.retain(|members| !members.rows.is_empty());
        let Self { rows, phases, .. } = &mut run;
        phases.iter_mut().for_each(|members| members.group(rows, unit));
        run
    }

    /// The messages of the run before a unit; before the one after the last of a row it is those before the next row.
    fn position(&self, row: usize, piece: u64) -> u64 {
        let row = &self.rows[row];
        row.before + (u128::from(row.messages) * u128::from(piece) / u128::from(row.pieces)) as u64 // at most all
    }

    /// When a unit begins; for the one after the last of a row, when the row ends.
    fn edge_ns(&self, row: usize, piece: u64) -> u64 {
        let Row { span, pieces, .. } = self.rows[row];
        match piece {
            0 => span.start_ns,
            piece if piece >= pieces => span.end_ns,
            piece => self.time_ns(self.position(row, piece)),
        }
    }

    /// When so many messages of the run are posted, within the row of the next one.
    fn time_ns(&self, position: u64) -> u64 {
        let row = self.rows.partition_point(|row| row.before + row.messages <= position);
        let Some(row) = self.rows.get(row) else { return self.rows.last().map_or(0, |row| row.span.end_ns) };
        let length = u128::from(row.span.end_ns - row.span.start_ns);
        let evenly = || (length * u128::from(position - row.before) / u128::from(row.messages.max(1))) as u64; // at most the length
        let time_ns = self.ticks.time_ns(position).unwrap_or_else(|| row.span.start_ns + evenly());
        time_ns.clamp(row.span.start_ns, row.span.end_ns)
    }

    /// At most so many units of each phase, the windows around them, and the messages in these.
    fn samples(&self, most: u64, before: u64) -> (Samples, u64) {
        let mut of_phase = Vec::new();
        let (mut windows, mut positions) = (Vec::new(), Vec::new());
        for members in &self.phases {
            let (longest, others) = self.chosen(members, most);
            let spans =
                |units: &[u64]| units.iter().map(|unit| self.spans(members, *unit)).collect::<Vec<_>>();
            for unit in longest.iter().chain(&others) {
                let (window, messages) = self.surroundings(members, *unit, before);
                windows.push(window);
                positions.push(messages);
            }
            let units = members.units() - longest.len() as u64;
            of_phase.push(Units {
                phase: members.phase,
                units,
                samples: spans(&others),
                longest: spans(&longest),
            });
        }
        let messages = joined(positions).iter().map(|span| span.end_ns - span.start_ns).sum();
        (Samples { windows: joined(windows), of_phase }, messages)
    }

    /// The stretches of a unit.
    fn spans(&self, members: &Members, unit: u64) -> Vec<Span> {
        let (rows, piece) = members.unit(unit);
        match rows {
            [row] => {
                vec![Span { start_ns: self.edge_ns(*row, piece), end_ns: self.edge_ns(*row, piece + 1) }]
            }
            rows => rows.iter().map(|row| self.rows[*row].span).collect(),
        }
    }

    /// The longest units of a phase, and one of each stratum of the others; all if there are no more than `most`.
    fn chosen(&self, members: &Members, most: u64) -> (Vec<u64>, Vec<u64>) {
        let units = members.units();
        if units <= most {
            return (Vec::new(), (0..units).collect());
        }
        let length =
            |unit: u64| self.spans(members, unit).iter().map(|span| span.end_ns - span.start_ns).sum::<u64>();
        let whole: u64 =
            members.rows.iter().map(|row| self.rows[*row].span).map(|span| span.end_ns - span.start_ns).sum();
        let long = (whole / units).saturating_mul(LONG);
        let mut longest: Vec<(u64, u64)> =
            (0..units).map(|unit| (length(unit), unit)).filter(|(length, _)| *length > long).collect();
        longest.sort_unstable_by_key(|(length, unit)| (Reverse(*length), *unit));
        longest.truncate((most / LONGEST) as usize);
        let mut longest: Vec<u64> = longest.into_iter().map(|(_, unit)| unit).collect();
        longest.sort_unstable();
        let others = units - longest.len() as u64;
        let strata = most - longest.len() as u64;
        let edge =
            |stratum: u64| (u128::from(others) * u128::from(stratum) / u128::from(strata.max(1))) as u64;
        let phase = members.phase.map_or(u64::MAX, u64::from);
        let drawn = (0..strata).map(|stratum| {
            let (start, end) = (edge(stratum), edge(stratum + 1));
            let unit = start + drawn(phase, stratum) % (end - start).max(1);
            // Past the longest ones, which are not among the others.
            longest.iter().fold(unit, |unit, long| unit + u64::from(*long <= unit))
        });
        let drawn = drawn.collect();
        (longest, drawn)
    }

    /// A unit with so many messages before it and half as many after it, as times and as positions of messages.
    fn surroundings(&self, members: &Members, unit: u64, messages: u64) -> (Span, Span) {
        let (rows, piece) = members.unit(unit);
        let (first, last) = (rows[0], rows[rows.len() - 1]);
        let (start, end) = (self.position(first, piece), self.position(last, piece + 1));
        let [own_start_ns, own_end_ns] = [self.edge_ns(first, piece), self.edge_ns(last, piece + 1)];
        let first = start.saturating_sub(messages);
        let last = end.saturating_add(messages / 2).min(self.messages);
        let start_ns = if first == 0 { 0 } else { self.time_ns(first).min(own_start_ns) };
        let end_ns = self.time_ns(last).max(own_end_ns);
        (Span { start_ns, end_ns }, Span { start_ns: first, end_ns: last })
    }
}

impl Members {
    fn units(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Puts rows together that lie within the messages of a unit.
    fn group(&mut self, rows: &[Row], unit: u64) {
        let mut start = None;
        for (number, row) in self.rows.iter().enumerate() {
            let row = &rows[*row];
            let end = row.before + row.messages;
            let fits = row.pieces == 1 && start.is_some_and(|start| end - start <= unit);
            if !fits {
                start = (row.pieces == 1).then_some(row.before);
                self.groups.push(number);
                self.ends.push(self.units());
            }
            if let (Some(group), Some(units)) = (self.groups.last_mut(), self.ends.last_mut()) {
                *group = number + 1;
                *units += if fits { 0 } else { row.pieces };
            }
        }
    }

    /// The rows of a unit, and which piece of them it is where they are one.
    fn unit(&self, unit: u64) -> (&[usize], u64) {
        let at = self.ends.partition_point(|end| *end <= unit).min(self.groups.len() - 1);
        let before = |of: u64| at.checked_sub(1).map_or(of, |before| self.ends[before]);
        let first = at.checked_sub(1).map_or(0, |before| self.groups[before]);
        (&self.rows[first..self.groups[at]], unit - before(0))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{FORMAT, Header, Phase, VERSION};
    use phaseflow_collect::TrafficMatrix;
    use proptest::prelude::*;

    /// A run of occurrences of so many messages, 10 ns each; every third one is idle and has none.
    fn run(ranks: u32, messages: &[u64]) -> Segmentation {
        let mut occurrences = Vec::new();
        let mut start_ns = 0;
        for (number, messages) in messages.iter().enumerate() {
            let phase = [Some(0), Some(1), None][number % 3];
            let messages = if phase.is_some() { *messages } else { 0 };
            let end_ns = start_ns + 10 * messages.max(1);
            occurrences.push(Occurrence { phase, depth: 0, start_ns, end_ns, messages, bytes: 0 });
            start_ns = end_ns;
        }
        let phase = |name: &str| Phase {
            name: name.into(),
            occurrences: 0,
            duration_ns: None,
            matrix: TrafficMatrix::default(),
        };
        let header = Header {
            format: FORMAT.into(),
            version: VERSION,
            source: String::new(),
            method: String::new(),
            ranks,
            duration_ns: Some(start_ns),
            unmatched_receives: Default::default(),
        };
        Segmentation { header, phases: vec![phase("0"), phase("1")], occurrences }
    }

    fn chosen(segmentation: &Segmentation) -> Samples {
        Samples::choose(segmentation, &Representatives::default())
    }

    fn lengths(spans: &[Span]) -> u64 {
        spans.iter().map(|span| span.end_ns - span.start_ns).sum()
    }

    #[test]
    fn a_short_run_is_one_window_and_all_of_its_units_are_taken() {
        let segmentation = run(4, &[1000, 10, 0, 5000, 3]);
        let samples = chosen(&segmentation);
        let end_ns = segmentation.header.duration_ns.unwrap();
        assert_eq!(samples.windows, [Span { start_ns: 0, end_ns }]);
        let units = |phase| samples.of_phase.iter().find(|units| units.phase == phase).unwrap();
        // 1 024 messages a unit, and what is left goes to them.
        assert_eq!((units(Some(0)).units, units(Some(1)).units, units(None).units), (1 + 4, 2, 1));
        assert!(samples.of_phase.iter().all(|units| units.units == units.samples.len() as u64));
        assert_eq!(lengths(&samples.of_phase.iter().flat_map(Units::spans).collect::<Vec<_>>()), end_ns);
    }

    #[test]
    fn ten_thousand_repetitions_are_sampled_in_a_small_part() {
        // As many occurrences, or as many rounds in one of them.
        for messages in [&[256].repeat(10_000)[..], &[2_000_000, 600_000]] {
            let segmentation = run(16, messages);
            let samples = chosen(&segmentation);
            let (all, part) = (segmentation.header.duration_ns.unwrap(), lengths(&samples.windows));
            assert!(part * 20 <= all, "{part} of {all}");
            for units in samples.of_phase.iter().filter(|units| units.phase.is_some()) {
                assert!((LEAST..=MOST).contains(&(units.samples.len() as u64)), "{units:?}");
            }
        }
    }

    #[test]
    fn what_took_much_longer_stands_for_itself() {
        let mut segmentation = run(16, &[512].repeat(3000));
        // The pause after it belongs to it now.
        let long = 999;
        assert_eq!(segmentation.occurrences[long].phase, Some(0));
        for row in &mut segmentation.occurrences[long + 1..] {
            row.start_ns += 1 << 20;
        }
        for row in &mut segmentation.occurrences[long..] {
            row.end_ns += 1 << 20;
        }
        let samples = chosen(&segmentation);
        let Occurrence { start_ns, end_ns, .. } = segmentation.occurrences[long];
        assert_eq!(samples.of_phase[0].longest, [vec![Span { start_ns, end_ns }]]);
        assert!(!samples.of_phase[0].samples.concat().contains(&Span { start_ns, end_ns }));
        assert_eq!(samples.of_phase[0].units, 999);
        assert!(samples.of_phase[1].longest.is_empty());
    }

    #[test]
    fn contradictions_are_refused() {
        let segmentation = run(4, &[1000, 10, 0, 5000, 3]);
        let broken = |breakage: &dyn Fn(&mut Samples)| {
            let mut samples = chosen(&segmentation);
            breakage(&mut samples);
            samples.check(2).unwrap_err().to_string()
        };
        assert!(chosen(&segmentation).check(2).is_ok());
        assert_eq!(
            chosen(&segmentation).check(1).unwrap_err().to_string(),
            "has samples of phase 1, the archive has 1"
        );
        assert_eq!(broken(&|s| s.of_phase[1].units = 1), "has 2 samples of 1 units, expected 1 to 1");
        assert!(broken(&|s| s.windows[0].end_ns = 50).contains("lies in no window"));
        assert!(
            broken(&|s| s.windows.push(Span { start_ns: 0, end_ns: 5 })).starts_with("window 1 is not after")
        );
    }

    proptest! {
        /// Whatever the run: samples lie in windows and in order, none twice, and no phase is without one.
        #[test]
        fn samples_are_sound(
            ranks in 1_u32..64,
            messages in prop::collection::vec(prop_oneof![1_u64..100, 100_u64..100_000, 1_000_000_u64..9_000_000], 1..60),
        ) {
            let segmentation = run(ranks, &messages);
            let samples = chosen(&segmentation);
            samples.check(2).unwrap();
            let mut spans: Vec<Span> = samples.of_phase.iter().flat_map(Units::spans).collect();
            let count = spans.len();
            spans.sort_unstable();
            spans.dedup();
            prop_assert_eq!(spans.len(), count);
            prop_assert!(spans.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns));
            for units in &samples.of_phase {
                prop_assert!(units.units == 0 || !units.samples.is_empty());
            }
            prop_assert_eq!(&chosen(&segmentation), &samples);
        }
    }
}
