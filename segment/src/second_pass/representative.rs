//! Which occurrence stands for all of its phase, and how far each is from that one.
//!
//! A phase that comes again and again need not be simulated each time: one occurrence, weighted by
//! their number, stands for all. The best one is the *medoid*, that with the least sum of distances
//! to the others. Distance here is the dissimilarity of Bray and Curtis (*An ordination of the
//! upland forest communities of southern Wisconsin*, Ecological Monographs 27, 1957), Σ|aᵢ − bᵢ| /
//! Σ(aᵢ + bᵢ), where aᵢ and bᵢ are the bytes from sources to destinations that share a hash: 0 for
//! the same bytes between the same ranks, 1 for nothing in common. Comparing all occurrences with
//! each other would take quadratic time; the one nearest to their mean is taken, the earliest of
//! equals.
//!
//! It is a bad choice where a phase's occurrences fall into several kinds (every tenth step writes
//! a checkpoint): none is like all. The deviations tell.

use std::ops::Range;

use crate::first_pass::ticks::Ticks;
use crate::second_pass::repeats::Repeat;
use crate::segmentation::{Occurrence, Segmentation};

/// Bins of a stretch's bytes.
const BINS: usize = 64;
/// Bins where there are more stretches than [`MANY`].
const FEW_BINS: usize = 8;
const MANY: usize = 1 << 16;

/// Of a segmentation: the occurrence that stands for each phase, and how far all are from theirs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Representatives {
    /// Start of the run on the trace's clock.
    pub start_ns: i64,
    /// By phase: its row among the occurrences; `None` for loops, and if nothing is known of time.
    pub of_phase: Vec<Option<usize>>,
    /// By row: the dissimilarity to the representative of its phase, 0 to 1; `None` where the run
    /// is idle, and of loops.
    pub deviation: Vec<Option<f64>>,
    /// When messages were posted.
    pub ticks: Ticks,
    /// Where the same happened again and again.
    pub repeats: Vec<Repeat>,
}

impl Representatives {
    /// Chooses for each phase of `segmentation`, whose occurrences are those `stretches` each.
    pub(crate) fn choose(
        start_ns: i64,
        segmentation: &Segmentation,
        stretches: &[Range<usize>],
        volumes: &Volumes,
        (ticks, repeats): (Ticks, Vec<Repeat>),
    ) -> Self {
        let rows = &segmentation.occurrences;
        let sums = volumes.sums();
        let of = |row: usize| sums.of(&stretches[row]);
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); segmentation.phases.len()];
        for (row, occurrence) in rows.iter().enumerate() {
            if let Some(phase) = occurrence.phase {
                members[phase as usize].push(row);
            }
        }
        // Loops are not simulated as such: what they consist of is.
        let leaves = segmentation.leaf_phases().unwrap_or(members.len());
        let of_phase: Vec<Option<usize>> = members
            .iter()
            .enumerate()
            .map(|(phase, members)| nearest_to_mean(members, volumes.bins, of).filter(|_| phase < leaves))
            .collect();
        let deviation = |(row, occurrence): (usize, &Occurrence)| {
            let representative = of_phase[occurrence.phase? as usize]?;
            Some(dissimilarity(of(row), of(representative)))
        };
        let deviation = rows.iter().enumerate().map(deviation).collect();
        Self { start_ns, of_phase, deviation, ticks, repeats }
    }
}

/// The bytes of each stretch of a plan, by hash of source and destination. Memory: 512 bytes a
/// stretch up to 65 536 of them, 64 bytes beyond, and for a while as much again.
#[derive(Debug)]
pub(crate) struct Volumes {
    bins: usize,
    bytes: Vec<u64>,
}

impl Volumes {
    /// Nothing was sent in any of `stretches`.
    pub(crate) fn new(stretches: usize) -> Self {
        let bins = if stretches > MANY { FEW_BINS } else { BINS };
        Self { bins, bytes: vec![0; bins * stretches] }
    }

    /// That of one stretch.
    pub(crate) fn of(&mut self, stretch: usize) -> Volume<'_> {
        Volume(&mut self.bytes[stretch * self.bins..(stretch + 1) * self.bins])
    }

    /// Those of a stretch and the one after it.
    pub(crate) fn neighbours(&mut self, stretch: usize) -> [Volume<'_>; 2] {
        let both = &mut self.bytes[stretch * self.bins..(stretch + 2) * self.bins];
        let (one, other) = both.split_at_mut(self.bins);
        [Volume(one), Volume(other)]
    }

    /// What any number of neighbouring stretches sent.
    fn sums(&self) -> Sums<'_> {
        let mut before = vec![0_u64; self.bytes.len() + self.bins];
        for (place, bytes) in self.bytes.iter().enumerate() {
            before[place + self.bins] = before[place].wrapping_add(*bytes);
        }
        Sums { volumes: self, before }
    }
}

/// The bytes of one stretch.
pub(crate) struct Volume<'a>(&'a mut [u64]);

impl Volume<'_> {
    /// Adds messages given as columns of equal length.
    pub(crate) fn add(&mut self, src: &[u32], dst: &[u32], bytes: &[u64]) {
        for ((src, dst), bytes) in src.iter().zip(dst).zip(bytes) {
            let bin = bin(*src, *dst) & (self.0.len() - 1);
            self.0[bin] = self.0[bin].wrapping_add(*bytes);
        }
    }
}

/// The sums before each stretch, modulo 2⁶⁴ as no trace has more bytes.
struct Sums<'a> {
    volumes: &'a Volumes,
    before: Vec<u64>,
}

impl Sums<'_> {
    /// The bytes of these stretches together, by bin.
    fn of(&self, stretches: &Range<usize>) -> impl Iterator<Item = f64> {
        let bins = self.volumes.bins;
        let at = |stretch: usize| &self.before[stretch * bins..(stretch + 1) * bins];
        at(stretches.start).iter().zip(at(stretches.end)).map(|(from, to)| to.wrapping_sub(*from) as f64)
    }
}

/// Spreads pairs over bins (Fibonacci hashing, Knuth, The Art of Computer Programming 3, section
/// 6.4).
#[inline]
fn bin(src: u32, dst: u32) -> usize {
    let pair = u64::from(src) << 32 | u64::from(dst);
    (pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize
}

fn nearest_to_mean<I: Iterator<Item = f64>>(
    members: &[usize],
    bins: usize,
    of: impl Fn(usize) -> I,
) -> Option<usize> {
    let mut mean = vec![0.0; bins];
    for member in members {
        mean.iter_mut().zip(of(*member)).for_each(|(sum, bytes)| *sum += bytes);
    }
    let count = members.len() as f64;
    mean.iter_mut().for_each(|sum| *sum /= count);
    let distances = members.iter().map(|row| (dissimilarity(of(*row), mean.iter().copied()), *row));
    distances.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map(|(_, row)| row)
}

/// Bray and Curtis; 0 of nothing and nothing.
fn dissimilarity(a: impl Iterator<Item = f64>, b: impl Iterator<Item = f64>) -> f64 {
    let (apart, all) = a.zip(b).fold((0.0, 0.0), |(apart, all), (a, b)| (apart + (a - b).abs(), all + a + b));
    if all > 0.0 { apart / all } else { 0.0 }
}

#[allow(clippy::float_cmp, reason = "these numbers are exact")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Method, Options, Outcome, Rewind, segment};
    use phaseflow_collect::trace::{Mark, Message, Rank, RunFacts, TraceWriter};
    use std::io::Cursor;

    /// Rounds of a mark and two messages of `bytes`; every other round is of another phase.
    fn trace(rounds: &[u64]) -> Rewind<Cursor<Vec<u8>>> {
        let mut writer = TraceWriter::new(Vec::new(), false, "test").unwrap();
        for (round, bytes) in rounds.iter().enumerate() {
            let time_ns = 100 + 10 * i64::try_from(round).unwrap();
            writer.mark(&Mark { time_ns, rank: Rank(0), level: i32::from(round % 2 == 1) }).unwrap();
            for offset in [0, 5] {
                let (src, dst) = (Rank((round % 2) as u32), Rank(2));
                let message =
                    Message { send_post_ns: time_ns + offset, src, dst, bytes: *bytes, ..Message::default() };
                writer.message(&message).unwrap();
            }
        }
        Rewind(Cursor::new(writer.finish(&RunFacts::default()).unwrap().1))
    }

    fn chosen(rounds: &[u64]) -> (Outcome, Representatives) {
        let mut trace = trace(rounds);
        let options = Options { method: Method::Marks, ..Options::default() };
        let outcome = segment(&mut trace, &options).unwrap();
        let representatives = outcome.representatives.clone();
        (outcome, representatives)
    }

    #[test]
    fn the_one_nearest_to_the_mean_stands_for_its_phase() {
        // Phase 0: 10, 30, 20 bytes a message, mean 20; phase 1: 5 each, the earliest of equals.
        let (outcome, found) = chosen(&[10, 5, 30, 5, 20, 5]);
        assert_eq!(outcome.segmentation.occurrences.len(), 6);
        assert_eq!(found.of_phase, [Some(4), Some(1)]);
        // |20 − 40| / 60, |60 − 40| / 100: two messages each.
        let expected = [20.0 / 60.0, 0.0, 20.0 / 100.0, 0.0, 0.0, 0.0];
        let deviation: Vec<f64> = found.deviation.iter().map(|deviation| deviation.unwrap()).collect();
        assert_eq!(deviation, expected);
    }

    #[test]
    fn dissimilarity_is_0_of_the_same_and_1_of_nothing_in_common() {
        let of = |a: [f64; 2], b: [f64; 2]| dissimilarity(a.into_iter(), b.into_iter());
        assert_eq!(of([3.0, 4.0], [3.0, 4.0]), 0.0);
        assert_eq!(of([3.0, 0.0], [0.0, 4.0]), 1.0);
        assert_eq!(of([0.0, 0.0], [0.0, 0.0]), 0.0);
        assert_eq!(of([1.0, 2.0], [3.0, 2.0]), 0.25);
    }
}
