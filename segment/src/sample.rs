//! Which stretches of a run are simulated for all of it.
//!
//! The run is cut into [blocks](crate::blocks), each of some rounds of whatever comes in turn; a phase in the blocks of a kind is so many *units*. Of each kind a few blocks are
//! *sampled*: all of them in order of time are cut into strata of equal numbers, and one of each is drawn; so a behaviour that drifts is met at all
//! its stages, and one that is periodic not always at the same point (stratified samples of clusters: Cochran, *Sampling Techniques*, 3rd edition,
//! 1977, chapters 5 and 9A; of programs: Wunderlich, Wenisch, Falsafi and Hoe, *SMARTS: accelerating microarchitecture simulation via rigorous
//! statistical sampling*, ISCA 2003). Where there are no more blocks than that, all are taken, and nothing is left to chance.
//!
//! - Blocks that are the same to the nanosecond, with what surrounds them ([`repeats`](crate::repeats)), are represented by one of them.
//! - A block whose share of the time or of the bytes is so large that a sample drawn in proportion to it would always hold it stands for
//!   itself and for no other (Särndal, Swensson and Wretman, *Model assisted survey sampling*, 1992, section 3.6). So does the block of the
//!   occurrence that represents a phase, and those of the ones nearest to it and farthest from it, unless others as near or far are sampled.
//!
//! A unit is simulated in its surroundings, as messages of neighbouring stretches meet in the network and ranks do not leave a stretch
//! together: a *window* begins some messages before it and ends some after it (SMARTS: detailed warming). Windows that touch are one.
//!
//! Pieces of long occurrences follow the clock of the trace, not the rounds of the program, and one can hold a round more than another: what is made of
//! them has to look at their messages. It is the wrong choice for phases of a few rounds with very many messages each, of which a unit is a part.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use phaseflow_collect::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::archive::Segmentation;
use crate::blocks::{Blocks, Kind};
use crate::critical::Critical;
use crate::representative::Representatives;

/// Messages of a unit, and before it in its window, a rank; half as many come after it. A unit that holds more rounds has a smaller part of one too
/// many or too few, and what comes before it has to bring the ranks into their rhythm: the largest ones that the run allows for.
const SIZES: [(u64, u64); 11] = [
    (512, 64),
    (384, 64),
    (256, 64),
    (192, 48),
    (160, 48),
    (128, 32),
    (96, 32),
    (64, 32),
    (48, 16),
    (32, 8),
    (16, 8),
];
/// Messages of these at least, all ranks together.
const LEAST_MESSAGES: u64 = 256;
/// Blocks of a kind that are sampled at most, and at least if there are as many.
const MOST: usize = 32;
const LEAST: usize = 8;
/// Windows, and those that are played again, have this part of the messages of a long run at most, less [`REST`].
const PART: u64 = 21;
/// Messages whose simulation takes as long as all the rest of the process: measured with `benches/sampling.sh`.
const REST: u64 = 2 << 10;
/// Messages that windows may always have, however short the run is: as many as a run has that is simulated whole. [`LEAST`] blocks of each kind
/// may need more.
const MESSAGES: u64 = SMALL;
/// Blocks that are the same, so many at least, stand for each other.
const CLASS: usize = 4;
/// So many sorts of them of a kind, at most.
const CLASSES: usize = 16;
/// A run with no more messages is simulated whole, which takes no time worth saving.
const SMALL: u64 = 1 << 17;
/// Of a run with more messages it is not looked for how long ranks compute and wait for each other: it can be sampled enough without.
const LARGE: u64 = 1 << 22;

/// A stretch of time; nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// When it begins.
    pub start_ns: u64,
    /// When it ends; not before it begins.
    pub end_ns: u64,
}

/// What is known of a stretch of the trace, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Traits {
    /// How long it took when it was recorded.
    pub duration_ns: u64,
    /// Messages posted in it.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How long ranks compute in it and wait for each other where messages take no time, the mean of all of them; 0 if that is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub critical_ns: u64,
}

impl Traits {
    /// Adds another one.
    pub fn add(&mut self, other: &Self) {
        self.duration_ns = self.duration_ns.saturating_add(other.duration_ns);
        self.messages = self.messages.saturating_add(other.messages);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.critical_ns = self.critical_ns.saturating_add(other.critical_ns);
    }

    /// Takes away a part.
    pub fn without(&mut self, part: &Self) {
        self.duration_ns = self.duration_ns.saturating_sub(part.duration_ns);
        self.messages = self.messages.saturating_sub(part.messages);
        self.bytes = self.bytes.saturating_sub(part.bytes);
        self.critical_ns = self.critical_ns.saturating_sub(part.critical_ns);
    }
}

/// A phase in blocks of a kind: units.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Units {
    /// The phase; `None`: idle stretches.
    pub phase: Option<u32>,
    /// How many units there are, without those that stand for themselves.
    pub units: u64,
    /// What there is in all units, those that stand for themselves too.
    pub total: Traits,
    /// Those that are sampled, in order of time; the stretches of each.
    pub samples: Vec<Vec<Span>>,
    /// Units that stand for themselves alone, likewise.
    pub certain: Vec<Vec<Span>>,
    /// [`Traits::critical_ns`] of each of `samples`, then of each of `certain`; none if that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub critical_ns: Vec<u64>,
    /// True if all units are the same, with what surrounds them, so that one stands for all of them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub identical: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl Units {
    /// All stretches that are sampled.
    pub fn spans(&self) -> impl Iterator<Item = Span> {
        self.samples.iter().chain(&self.certain).flatten().copied()
    }
}

/// What is simulated for all of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Samples {
    /// Stretches that are simulated as one, in order of time; they do not touch.
    pub windows: Vec<Span>,
    /// By innermost phase; each sample lies in a window.
    pub of_phase: Vec<Units>,
}

impl Samples {
    /// Whether it is worth a look how long ranks of a run compute and wait for each other: not where most of it is the same again and again.
    pub(crate) fn wants_critical(segmentation: &Segmentation, representatives: &Representatives) -> bool {
        let messages = segmentation.leaves().fold(0_u64, |sum, (_, row)| sum.saturating_add(row.messages));
        let repeated: u64 =
            representatives.repeats.iter().map(|repeat| repeat.messages.end - repeat.messages.start).sum();
        (SMALL + 1..=LARGE).contains(&messages) && repeated < messages / 2
    }

    /// Chooses for a run with occurrences.
    #[must_use]
    pub(crate) fn choose(
        segmentation: &Segmentation,
        representatives: &Representatives,
        critical: Option<&Critical>,
    ) -> Self {
        let ranks = u64::from(segmentation.header.ranks);
        let mut sampled = Self::default();
        for sizes in SIZES {
            let [unit, before] =
                [sizes.0, sizes.1].map(|size| size.saturating_mul(ranks).max(LEAST_MESSAGES));
            let run = Blocks::new(segmentation, representatives, critical, unit);
            let drawing =
                Drawing { run: &run, kinds: run.kinds(), notable: run.notable(segmentation), before };
            if run.messages <= SMALL {
                return drawing.samples(usize::MAX).0;
            }
            let budget = (run.messages / PART).saturating_sub(REST).max(MESSAGES);
            let volume;
            (sampled, volume) = drawing.within(budget);
            if volume <= budget {
                break;
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
            let all = units.samples.len() + units.certain.len();
            if !matches!(units.critical_ns.len(), found if found == 0 || found == all) {
                let found = units.critical_ns.len();
                return wrong(format!("has {found} critical times of {all} samples, expected none or all"));
            }
            for stretches in [&units.samples, &units.certain] {
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

/// Blocks, and those of them that are simulated.
struct Stratum {
    blocks: Vec<usize>,
    /// For themselves.
    certain: Vec<usize>,
    /// For all others.
    drawn: Vec<usize>,
    /// All are the same.
    identical: bool,
}

/// Blocks of which units are drawn.
struct Drawing<'a> {
    run: &'a Blocks<'a>,
    kinds: BTreeMap<Kind, Vec<usize>>,
    /// Blocks of which one each has to be simulated.
    notable: Vec<Vec<usize>>,
    /// Messages before a block in its window.
    before: u64,
}

impl Drawing<'_> {
    /// As many blocks of each kind as so many messages allow, [`LEAST`] to [`MOST`].
    fn within(&self, budget: u64) -> (Samples, u64) {
        let mut most = MOST;
        loop {
            let (samples, volume) = self.samples(most);
            if volume <= budget || most <= LEAST {
                return (samples, volume);
            }
            let part = (most as u128 * u128::from(budget) / u128::from(volume)) as usize; // less
            most = part.clamp(LEAST, most - 1);
        }
    }

    /// At most so many blocks of each kind, the windows around them, and the messages in these and in those that are played again, one of
    /// each kind.
    fn samples(&self, most: usize) -> (Samples, u64) {
        let mut of_phase = Vec::new();
        let (mut windows, mut positions, mut again) = (Vec::new(), Vec::new(), 0);
        for Stratum { blocks, certain, drawn, identical } in self.strata(most) {
            for block in certain.iter().chain(&drawn) {
                let (window, messages) = self.run.window(*block, self.before, self.before / 2);
                windows.push(window);
                positions.push(messages);
            }
            let last = positions.last().filter(|_| !drawn.is_empty());
            let length = last.map_or(0, |messages| messages.end_ns - messages.start_ns);
            again += length.saturating_sub(self.before / 2);
            of_phase.extend(self.units(&blocks, &certain, &drawn, identical));
        }
        let messages: u64 = joined(positions).iter().map(|span| span.end_ns - span.start_ns).sum();
        (Samples { windows: joined(windows), of_phase }, messages + again)
    }

    /// All blocks, and which of them are simulated.
    fn strata(&self, most: usize) -> Vec<Stratum> {
        let only: Vec<usize> = self.notable.iter().filter(|of| of.len() == 1).map(|of| of[0]).collect();
        let mut strata = Vec::new();
        for (number, blocks) in self.kinds.values().enumerate() {
            let (classes, blocks) = self.classes(blocks);
            strata.extend(classes.into_iter().map(|blocks| {
                let drawn = vec![blocks[blocks.len() / 2]];
                Stratum { blocks, certain: Vec::new(), drawn, identical: true }
            }));
            let (certain, drawn) = self.chosen(number as u64, &blocks, &only, most);
            strata.push(Stratum { blocks, certain, drawn, identical: false });
        }
        self.add_notable(&mut strata);
        strata
    }

    /// Adds what is notable and not simulated yet, to stand for itself.
    fn add_notable(&self, strata: &mut [Stratum]) {
        let mut simulated: BTreeSet<usize> = BTreeSet::new();
        for Stratum { blocks, certain, drawn, identical } in strata.iter() {
            // One that is the same as one that is simulated is as good.
            simulated.extend(if *identical { blocks } else { drawn });
            simulated.extend(certain);
        }
        for blocks in &self.notable {
            let Some(block) =
                blocks.first().filter(|_| !blocks.iter().any(|block| simulated.contains(block)))
            else {
                continue;
            };
            simulated.insert(*block);
            let own = strata.iter_mut().find(|stratum| stratum.blocks.binary_search(block).is_ok());
            if let Some(Stratum { certain, .. }) = own {
                certain.push(*block);
                certain.sort_unstable();
            }
        }
    }

    /// Blocks that are the same, four at least, and all others.
    fn classes(&self, blocks: &[usize]) -> (Vec<Vec<usize>>, Vec<usize>) {
        let mut classes: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for block in blocks {
            if let Some(content) = self.run.content(*block, self.before, self.before / 2) {
                classes.entry(content).or_default().push(*block);
            }
        }
        let mut classes: Vec<Vec<usize>> =
            classes.into_values().filter(|class| class.len() >= CLASS).collect();
        classes.sort_unstable_by_key(|class| (Reverse(class.len()), class[0]));
        classes.truncate(CLASSES);
        let mut taken: Vec<usize> = classes.concat();
        taken.sort_unstable();
        let others = blocks.iter().copied().filter(|block| taken.binary_search(block).is_err()).collect();
        (classes, others)
    }

    /// What of each phase is in some blocks, and in those that are simulated.
    fn units(&self, blocks: &[usize], certain: &[usize], drawn: &[usize], identical: bool) -> Vec<Units> {
        let mut of_phase: BTreeMap<Option<u32>, Traits> = BTreeMap::new();
        for block in blocks {
            for (phase, _, traits) in self.run.parts(*block) {
                of_phase.entry(phase).or_default().add(&traits);
            }
        }
        let units = |(phase, total)| {
            let spans = |blocks: &[usize]| -> Vec<Vec<Span>> {
                let own = |block: &usize| {
                    self.run.parts(*block).filter(|part| part.0 == phase).map(|part| part.1).collect()
                };
                blocks.iter().map(own).collect()
            };
            let critical_ns = |block: &usize| -> u64 {
                let own = self.run.parts(*block).filter(|part| part.0 == phase);
                own.map(|(_, _, traits)| traits.critical_ns).sum()
            };
            // What only blocks have that stand for themselves is not drawn from the others.
            let is_other = |block: &&usize| certain.binary_search(block).is_err();
            let is_drawn =
                blocks.iter().filter(is_other).any(|block| self.run.phases(*block).contains(&phase));
            let (drawn, units) = if is_drawn { (drawn, blocks.len() - certain.len()) } else { (&[][..], 0) };
            let simulated = drawn.iter().chain(certain).filter(|_| self.run.knows_critical());
            Units {
                phase,
                units: units as u64,
                total,
                samples: spans(drawn),
                certain: spans(certain),
                critical_ns: simulated.map(critical_ns).collect(),
                identical,
            }
        };
        of_phase.into_iter().map(units).collect()
    }

    /// Blocks that samples in proportion to size would always hold, half of `most` at the most. The size is the share of the time
    /// or of the bytes, whichever is larger: on a network of unknown speed either may decide how long a block takes.
    fn too_large(&self, blocks: &[usize], most: usize) -> Vec<usize> {
        let shares = |of: &dyn Fn(usize) -> u64| -> Vec<f64> {
            let all: f64 = blocks.iter().map(|block| of(*block) as f64).sum();
            blocks.iter().map(|block| of(*block) as f64 / all.max(1.0)).collect()
        };
        let time = shares(&|block| self.run.length_ns(block));
        let bytes = shares(&|block| self.run.bytes(block));
        let mut sizes: Vec<(f64, usize)> = time
            .iter()
            .zip(&bytes)
            .map(|(time, bytes)| time.max(*bytes))
            .zip(blocks.iter().copied())
            .collect();
        sizes.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut rest: f64 = sizes.iter().map(|(size, _)| size).sum();
        let mut large = Vec::new();
        for (size, block) in sizes.into_iter().take(most / 2) {
            if size * (most - large.len()) as f64 <= rest {
                break;
            }
            rest -= size;
            large.push(block);
        }
        large
    }

    /// Blocks that stand for themselves, and one of each stratum of the others; all if there are no more than `most`.
    fn chosen(&self, kind: u64, blocks: &[usize], only: &[usize], most: usize) -> (Vec<usize>, Vec<usize>) {
        if blocks.len() <= most {
            return (Vec::new(), blocks.to_vec());
        }
        let mut certain = self.too_large(blocks, most);
        certain.extend(only.iter().filter(|block| blocks.binary_search(block).is_ok()));
        loop {
            certain.sort_unstable();
            certain.dedup();
            let others: Vec<usize> =
                blocks.iter().copied().filter(|block| certain.binary_search(block).is_err()).collect();
            let drawn = drawn_of(kind, &others, (most - certain.len().min(most)).max(most / 2).max(1));
            // A phase that few of these blocks have, and none that was drawn, has them stand for themselves.
            let found: BTreeSet<Option<u32>> =
                drawn.iter().flat_map(|block| self.run.phases(*block)).collect();
            let is_missed = |block: &usize| {
                let phases = self.run.phases(*block);
                phases.iter().any(|phase| phase.is_some() && !found.contains(phase))
            };
            let missed: Vec<usize> = others.into_iter().filter(is_missed).take(most).collect();
            if missed.is_empty() || certain.len() > 2 * most {
                return (certain, drawn);
            }
            certain.extend(missed);
        }
    }
}

/// Cuts blocks into `strata` equal parts in order of time and draws one block of each.
fn drawn_of(kind: u64, blocks: &[usize], strata: usize) -> Vec<usize> {
    let edge = |stratum: usize| (blocks.len() as u128 * stratum as u128 / strata as u128) as usize;
    let one = |stratum: usize| {
        let (start, end) = (edge(stratum), edge(stratum + 1));
        blocks[start + (drawn(kind, stratum as u64) % (end - start).max(1) as u64) as usize]
    };
    (0..strata.min(blocks.len())).map(one).collect()
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
    use crate::archive::{FORMAT, Header, Occurrence, Phase, VERSION};
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
        Samples::choose(segmentation, &Representatives::default(), None)
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
        // 2 048 messages a unit: the first three rows are one, the fourth is its first piece and its last, and the last one is of the kind of the first.
        let units: Vec<_> = samples.of_phase.iter().map(|units| (units.phase, units.units)).collect();
        assert_eq!(units, [(None, 2), (Some(0), 2), (Some(1), 2), (Some(0), 1), (Some(0), 1)]);
        assert!(samples.of_phase.iter().all(|units| units.units == units.samples.len() as u64));
        assert_eq!(lengths(&samples.of_phase.iter().flat_map(Units::spans).collect::<Vec<_>>()), end_ns);
        let messages: Vec<_> = samples.of_phase.iter().map(|units| units.total.messages).collect();
        assert_eq!(messages, [0, 1000, 13, 2500, 2500]);
    }

    #[test]
    fn many_repetitions_are_sampled_in_a_small_part() {
        // As many occurrences, or as many rounds in one of them.
        for messages in [&[256].repeat(20_000)[..], &[4_000_000, 1_200_000]] {
            let segmentation = run(16, messages);
            let samples = chosen(&segmentation);
            let (all, part) = (segmentation.header.duration_ns.unwrap(), lengths(&samples.windows));
            assert!(part * 20 <= all, "{part} of {all}");
            // The first and the last piece of a long occurrence are apart, and one each.
            let many = |units: &&Units| units.phase.is_some() && units.units > 1;
            for units in samples.of_phase.iter().filter(many) {
                assert!((LEAST..=MOST).contains(&units.samples.len()), "{units:?}");
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
        let units = samples.of_phase.iter().find(|units| units.phase == Some(0)).unwrap();
        assert_eq!(units.certain.len(), 1);
        assert!(units.certain[0].contains(&Span { start_ns, end_ns }));
        assert!(!units.samples.concat().contains(&Span { start_ns, end_ns }));
    }

    #[test]
    fn what_stands_for_a_phase_and_what_is_nearest_and_farthest_is_simulated() {
        let segmentation = run(16, &[512].repeat(9000));
        let mut representatives =
            Representatives { of_phase: vec![Some(3003), Some(3004)], ..Representatives::default() };
        // Phase 0 has one that is nearest and one that is farthest; the occurrences of phase 1 are all as far.
        let deviation = |row: usize| [Some(0.5), Some(0.25), None][row % 3];
        representatives.deviation = (0..9000).map(deviation).collect();
        representatives.deviation[3003] = Some(0.0);
        representatives.deviation[3004] = Some(0.0);
        representatives.deviation[6006] = Some(0.125);
        representatives.deviation[8001] = Some(1.0);
        let samples = Samples::choose(&segmentation, &representatives, None);
        let certain: Vec<Span> =
            samples.of_phase.iter().flat_map(|units| units.certain.iter().flatten()).copied().collect();
        for row in [3003, 3004, 6006, 8001] {
            let Occurrence { start_ns, end_ns, .. } = segmentation.occurrences[row];
            assert!(certain.contains(&Span { start_ns, end_ns }), "{row}");
        }
        // Nothing else had to be: 3 003 and 3 004 lie in one block.
        assert!(samples.of_phase.iter().all(|units| units.certain.len() == 3), "{:?}", samples.of_phase);
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
        assert_eq!(broken(&|s| s.of_phase[0].units = 1), "has 2 samples of 1 units, expected 1 to 1");
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
