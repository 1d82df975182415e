//! Which occurrence stands for all of its phase, and how far each is from that one.
//!
//! A phase that comes again and again need not be simulated each time: one occurrence, weighted by their number, stands for all. The
//! best one is the *medoid*, that with the least sum of distances to the others. Distance here is the dissimilarity of
//! Bray and Curtis (*An ordination of the upland forest communities of southern Wisconsin*, Ecological Monographs 27, 1957),
//! Σ|aᵢ − bᵢ| / Σ(aᵢ + bᵢ), where aᵢ and bᵢ are the bytes from sources to destinations that share a hash: 0 for the same bytes between the same ranks, 1 for nothing
//! in common. Comparing all occurrences with each other would take quadratic time; the one nearest to their mean is taken, the
//! earliest of equals.
//!
//! It is a bad choice where a phase's occurrences fall into several kinds (every tenth step writes a checkpoint): none is like all.
//! The deviations tell.

use phaseflow_collect::Result;
use phaseflow_collect::trace::{Block, TraceReader};

use crate::archive::{Occurrence, Segmentation};
use crate::replay::Replay;

/// Bins of an occurrence's bytes.
const BINS: usize = 64;
/// Bins where there are more occurrences than [`MANY`].
const FEW_BINS: usize = 8;
const MANY: usize = 1 << 16;

/// Of a segmentation: the occurrence that stands for each phase, and how far all are from theirs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Representatives {
    /// Start of the run on the trace's clock.
    pub start_ns: i64,
    /// By phase: its row among the occurrences; `None` if nothing is known of time.
    pub of_phase: Vec<Option<usize>>,
    /// By row: the dissimilarity to the representative of its phase, 0 to 1; `None` where the run is idle.
    pub deviation: Vec<Option<f64>>,
}

impl Representatives {
    /// Reads `trace`, which is the one that was segmented and started at `start_ns`, once more. Memory: 512 bytes an occurrence
    /// up to 65 536 of them, 64 bytes beyond.
    ///
    /// # Errors
    /// A damaged trace.
    pub fn choose(trace: &mut dyn Replay, start_ns: i64, segmentation: &Segmentation) -> Result<Self> {
        let rows = &segmentation.occurrences;
        let bins = if rows.len() > MANY { FEW_BINS } else { BINS };
        let mut bytes = vec![0_u64; rows.len() * bins];
        let mut places = Places::new(segmentation);
        let mut reader = TraceReader::open(trace.replay()?)?.without_details();
        while let Some(block) = reader.next_block()? {
            let Block::Messages(block) = block else { continue };
            let columns = block.columns();
            let pairs = columns.src.iter().zip(&columns.dst);
            for ((time, (src, dst)), size) in columns.send_post_ns.iter().zip(pairs).zip(&columns.bytes) {
                let bin = bin(*src, *dst, bins);
                for row in places.at(time.wrapping_sub(start_ns)) {
                    let sum = &mut bytes[row * bins + bin];
                    *sum = sum.saturating_add(*size);
                }
            }
        }
        let of = |row: usize| &bytes[row * bins..(row + 1) * bins];
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); segmentation.phases.len()];
        for (row, occurrence) in rows.iter().enumerate() {
            if let Some(phase) = occurrence.phase {
                members[phase as usize].push(row);
            }
        }
        let of_phase: Vec<Option<usize>> =
            members.iter().map(|members| nearest_to_mean(members, of)).collect();
        let deviation = |(row, occurrence): (usize, &Occurrence)| {
            let representative = of_phase[occurrence.phase? as usize]?;
            let values = |row| of(row).iter().map(|bytes| *bytes as f64);
            Some(dissimilarity(values(row), values(representative)))
        };
        let deviation = rows.iter().enumerate().map(deviation).collect();
        Ok(Self { start_ns, of_phase, deviation })
    }
}

/// Spreads pairs over bins (Fibonacci hashing, Knuth, The Art of Computer Programming 3, section 6.4).
fn bin(src: u32, dst: u32, bins: usize) -> usize {
    let pair = u64::from(src) << 32 | u64::from(dst);
    (pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % bins
}

fn nearest_to_mean<'a>(members: &[usize], of: impl Fn(usize) -> &'a [u64]) -> Option<usize> {
    let mut mean = vec![0.0; of(*members.first()?).len()];
    for member in members {
        mean.iter_mut().zip(of(*member)).for_each(|(sum, bytes)| *sum += *bytes as f64);
    }
    let count = members.len() as f64;
    mean.iter_mut().for_each(|sum| *sum /= count);
    let distance =
        |row: usize| dissimilarity(of(row).iter().map(|bytes| *bytes as f64), mean.iter().copied());
    let distances = members.iter().map(|row| (distance(*row), *row));
    distances.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map(|(_, row)| row)
}

/// Bray and Curtis; 0 of nothing and nothing.
fn dissimilarity(a: impl Iterator<Item = f64>, b: impl Iterator<Item = f64>) -> f64 {
    let (apart, all) = a.zip(b).fold((0.0, 0.0), |(apart, all), (a, b)| (apart + (a - b).abs(), all + a + b));
    if all > 0.0 { apart / all } else { 0.0 }
}

/// The occurrences at a moment that only moves on, one at each depth.
pub(crate) struct Places<'a> {
    rows: &'a [Occurrence],
    /// Rows of each depth, in order.
    depths: Vec<Vec<usize>>,
    /// The row that is looked at, of each depth.
    at: Vec<usize>,
    /// The very end of the run belongs to what comes before it.
    last_ns: u64,
}

impl<'a> Places<'a> {
    pub(crate) fn new(segmentation: &'a Segmentation) -> Self {
        let rows = &segmentation.occurrences[..];
        let mut depths: Vec<Vec<usize>> = Vec::new();
        for (row, occurrence) in rows.iter().enumerate() {
            let depth = occurrence.depth as usize;
            if depths.len() <= depth {
                depths.resize(depth + 1, Vec::new());
            }
            depths[depth].push(row);
        }
        let last_ns = segmentation.header.duration_ns.unwrap_or(0).saturating_sub(1);
        Self { rows, at: vec![0; depths.len()], depths, last_ns }
    }

    /// The rows in which `since_ns`, nanoseconds since the start of the run, lies; not earlier than the last time.
    pub(crate) fn at(&mut self, since_ns: i64) -> impl Iterator<Item = usize> {
        let since_ns = since_ns.max(0).cast_unsigned().min(self.last_ns);
        let rows = self.rows;
        self.depths.iter().zip(&mut self.at).filter_map(move |(depth, at)| {
            while depth.get(*at).is_some_and(|row| rows[*row].end_ns <= since_ns) {
                *at += 1;
            }
            depth.get(*at).copied().filter(|row| rows[*row].start_ns <= since_ns)
        })
    }
}

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
        let start_ns = outcome.start_ns.unwrap();
        let representatives = Representatives::choose(&mut trace, start_ns, &outcome.segmentation).unwrap();
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
