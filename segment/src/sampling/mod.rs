//! Which stretches of a run are simulated for all of it.
//!
//! The run is cut into [blocks], each of some rounds of whatever comes in turn; a phase has one
//! *unit* in each block of a kind in which it occurs. Of each kind a few blocks are *sampled*: all
//! of them in order of time are cut into strata of equal numbers, and one of each is drawn; so a
//! behaviour that drifts is met at all its stages, and one that is periodic not always at the same
//! point (stratified samples of clusters: Cochran, *Sampling Techniques*, 3rd edition, 1977,
//! chapters 5 and 9A; of programs: Wunderlich, Wenisch, Falsafi and Hoe, *SMARTS: accelerating
//! microarchitecture simulation via rigorous statistical sampling*, ISCA 2003). Where there are no
//! more blocks than that, all are taken, and nothing is left to chance.
//!
//! - Blocks that are the same to the nanosecond, with what surrounds them
//!   ([`repeats`](crate::second_pass::repeats)), are represented by one of them.
//! - A block whose share of the time or of the bytes is so large that a sample drawn in proportion
//!   to it would always hold it stands for itself and for no other (Särndal, Swensson and Wretman,
//!   *Model assisted survey sampling*, 1992, section 3.6). So does the block of the occurrence that
//!   represents a phase, and those of the ones nearest to it and farthest from it, unless others as
//!   near or far are sampled.
//!
//! A unit is simulated in its surroundings, as messages of neighbouring stretches meet in the
//! network and ranks do not leave a stretch together: a *window* begins some messages before it and
//! ends some after it (SMARTS: detailed warming). Windows that touch are one.
//!
//! Pieces of long occurrences follow the clock of the trace, not the rounds of the program, and one
//! can hold a round more than another: what is made of them has to look at their messages. It is
//! the wrong choice for phases of a few rounds with very many messages each, of which a unit is a
//! part.

mod blocks;
mod critical;
mod drawing;

pub(crate) use critical::Critical;

use crate::samples::Samples;
use crate::second_pass::representative::Representatives;
use crate::segmentation::Segmentation;
use blocks::Blocks;
use drawing::Drawing;

/// Messages of a unit, and before it in its window, a rank; half as many come after it. A unit that
/// holds more rounds has a smaller part of one too many or too few, and what comes before it has to
/// bring the ranks into their rhythm: the largest ones that the run allows for.
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

/// The fewest messages of a unit, all ranks together.
const LEAST_MESSAGES: u64 = 256;

/// The messages of a long run are this many times those of its windows and of the windows that are
/// played again, less [`REST`].
const PART: u64 = 21;

/// Messages whose simulation takes as long as all the rest of the process: measured with
/// `benches/sampling.sh`.
const REST: u64 = 2 << 10;

/// Messages that windows may always have, however short the run is: as many as a run has that is
/// simulated whole. The fewest blocks of each kind may need more.
const MESSAGES: u64 = SMALL;

/// A run with no more messages is simulated whole, which takes no time worth saving.
const SMALL: u64 = 1 << 17;

/// The most messages of a run for which it is read how long ranks compute and wait for each other:
/// a longer one can be sampled enough without.
const LARGE: u64 = 1 << 22;

/// Whether it is worth a look how long ranks of a run compute and wait for each other: not where
/// most of it is the same again and again.
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
) -> Samples {
    let ranks = u64::from(segmentation.header.ranks);
    let mut sampled = Samples::default();
    for sizes in SIZES {
        let [unit, before] = [sizes.0, sizes.1].map(|size| size.saturating_mul(ranks).max(LEAST_MESSAGES));
        let run = Blocks::new(segmentation, representatives, critical, unit);
        let drawing = Drawing { run: &run, kinds: run.kinds(), notable: run.notable(segmentation), before };
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

#[cfg(test)]
mod tests {
    use super::drawing::{LEAST, MOST};
    use super::*;
    use crate::samples::{Span, Units};
    use crate::segmentation::{FORMAT, Header, Occurrence, Phase, VERSION};
    use phaseflow_collect::TrafficMatrix;
    use proptest::prelude::*;

    /// A run of occurrences with these numbers of messages, 10 ns each; every third one is idle and
    /// has none.
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
            title: String::new(),
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
        choose(segmentation, &Representatives::default(), None)
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
        // 2 048 messages a unit: the first three rows are one, the fourth is its first piece and
        // its last, and the last one is of the kind of the first.
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
        // Phase 0 has one that is nearest and one that is farthest; the occurrences of phase 1 are
        // all as far.
        let deviation = |row: usize| [Some(0.5), Some(0.25), None][row % 3];
        representatives.deviation = (0..9000).map(deviation).collect();
        representatives.deviation[3003] = Some(0.0);
        representatives.deviation[3004] = Some(0.0);
        representatives.deviation[6006] = Some(0.125);
        representatives.deviation[8001] = Some(1.0);
        let samples = choose(&segmentation, &representatives, None);
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
        /// Whatever the run: samples lie in windows and in order, none twice, and no phase is
        /// without one.
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
