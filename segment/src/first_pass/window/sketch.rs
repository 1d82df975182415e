//! What a set of messages looks like, in constant space.
//!
//! A sketch counts messages in six views: by distance between ranks, by pair, by size, by sender,
//! by receiver and by operation. All but size and operation are hashed, so that 16 ranks and 16 384
//! take the same space: the hashing is the random projection of the ranks × ranks matrix. Sizes go
//! to the two nearest powers of two in proportion, so that a slowly growing message does not jump
//! from one bin to the next.

use phaseflow_collect::trace::MessageBlock;

use super::counts::Counts;

/// First bin and number of bins of a view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    first: usize,
    pub(crate) bins: usize,
}

impl View {
    const fn after(before: View, bins: usize) -> View {
        View { first: before.first + before.bins, bins }
    }

    /// The view's bins among all of a sketch.
    pub(crate) fn of<T>(self, bins: &[T]) -> &[T] {
        &bins[self.first..self.first + self.bins]
    }

    /// The view's bins among all of a sketch, to write.
    pub(crate) fn of_mut<T>(self, bins: &mut [T]) -> &mut [T] {
        &mut bins[self.first..self.first + self.bins]
    }
}

const OFFSET: View = View { first: 0, bins: 64 };
const PAIR: View = View::after(OFFSET, 128);
const SIZE: View = View::after(PAIR, 64);
const SRC: View = View::after(SIZE, 32);
const DST: View = View::after(SRC, 32);
const OPERATION: View = View::after(DST, 64);

/// All views.
pub(crate) const VIEWS: [View; 6] = [OFFSET, PAIR, SIZE, SRC, DST, OPERATION];
/// Bins of all views together.
pub(crate) const BINS: usize = OPERATION.first + OPERATION.bins;

/// A message counts as this much, so that sizes can be shared between bins in whole numbers.
const UNIT: u64 = 256;

/// Counts of messages per bin, in 1/256.
pub(crate) type Sketch = Counts<BINS>;

impl Sketch {
    /// Counts the messages `rows` of a block.
    pub(crate) fn add_messages(&mut self, block: &MessageBlock, rows: std::ops::Range<usize>) {
        let counts = self.own();
        let columns = block.columns();
        let pairs = columns.src[rows.clone()].iter().zip(&columns.dst[rows.clone()]);
        for ((src, dst), bytes) in pairs.zip(&columns.bytes[rows.clone()]) {
            for (bin, share) in bins(*src, *dst, *bytes) {
                counts[bin] += share;
            }
        }
        match block.operations() {
            None => counts[OPERATION.first] += UNIT * rows.len() as u64,
            Some(codes) => codes[rows].iter().for_each(|code| counts[operation_bin(*code)] += UNIT),
        }
    }

    /// Counts messages given as columns of equal length; `pairs` are [hashes](pair_hash).
    pub(crate) fn add_columns(
        &mut self,
        (src, dst): (&[u32], &[u32]),
        pairs: &[u64],
        bytes: &[u64],
        operations: &[u8],
    ) {
        let counts = self.own();
        for ((src, dst), pair) in src.iter().zip(dst).zip(pairs) {
            partner_bins(*src, *dst, *pair).iter().for_each(|bin| counts[*bin] += UNIT);
        }
        // Neighbours are often of one size, and of one operation.
        for same in bytes.chunk_by(|one, next| one == next) {
            size_bins(same[0]).iter().for_each(|(bin, share)| counts[*bin] += share * same.len() as u64);
        }
        for same in operations.chunk_by(|one, next| one == next) {
            counts[operation_bin(i64::from(same[0]))] += UNIT * same.len() as u64;
        }
    }

    /// Number of messages.
    pub(crate) fn messages(&self) -> u64 {
        OPERATION.of(&self.0[..]).iter().sum::<u64>() / UNIT
    }

    /// The code of the operation that most messages belong to.
    pub(crate) fn operation(&self) -> usize {
        let counts = OPERATION.of(&self.0[..]).iter().enumerate();
        counts.max_by_key(|(_, count)| **count).map_or(0, |(code, _)| code)
    }

    /// Hellinger distance, mean over the views: 0 for equal distributions, 1 where no view has a
    /// bin in common.
    pub(crate) fn distance(&self, other: &Sketch) -> f64 {
        self.distance_in(&VIEWS, other)
    }

    /// The same without sizes: of who sends to whom, and for which operation.
    pub(crate) fn distance_of_partners(&self, other: &Sketch) -> f64 {
        self.distance_in(&[OFFSET, PAIR, SRC, DST, OPERATION], other)
    }

    /// The same of sizes alone.
    pub(crate) fn distance_of_sizes(&self, other: &Sketch) -> f64 {
        self.distance_in(&[SIZE], other)
    }

    fn distance_in(&self, views: &[View], other: &Sketch) -> f64 {
        let of_view = |view: &View| -> f64 {
            let (one, other) = (view.of(&self.0[..]), view.of(&other.0[..]));
            let sums = one.iter().sum::<u64>() as f64 * other.iter().sum::<u64>() as f64;
            let overlap: f64 = one.iter().zip(other).map(|(a, b)| (*a as f64 * *b as f64).sqrt()).sum();
            if sums > 0.0 { (1.0 - overlap / sums.sqrt()).max(0.0) } else { 1.0 }
        };
        (views.iter().map(of_view).sum::<f64>() / views.len() as f64).sqrt()
    }
}

/// Log-likelihood ratio of single messages under two sketches, views taken as independent (naive
/// Bayes).
pub(crate) struct Ratio {
    of_bins: [f32; BINS],
    common: f64,
}

impl Ratio {
    /// Positive for messages that are more likely in `one` than in `other`.
    pub(crate) fn new(one: &Sketch, other: &Sketch) -> Self {
        Self::with_sizes((one, other), (one, other))
    }

    /// The same, sizes as `sized` have them.
    pub(crate) fn with_sizes(of: (&Sketch, &Sketch), sized: (&Sketch, &Sketch)) -> Self {
        let mut of_bins = [0.0; BINS];
        let mut all_common = 0.0;
        for view in VIEWS {
            let (one, other) = if view.first == SIZE.first { sized } else { of };
            let log = |sketch: &Sketch| -> Vec<f64> {
                let counts = view.of(&sketch.0[..]);
                let sum: u64 = counts.iter().sum();
                // Half a message more in every bin (Krichevsky-Trofimov): what was never seen is
                // rare, not impossible.
                let half = UNIT as f64 / 2.0;
                let sum = sum as f64 + half * view.bins as f64;
                counts.iter().map(|count| ((*count as f64 + half) / sum).ln()).collect()
            };
            let ratios: Vec<f64> = log(one).iter().zip(log(other)).map(|(one, other)| one - other).collect();
            all_common += common(view.of(one.0.as_slice()), view.of(other.0.as_slice()), &ratios);
            let of_bins = view.of_mut(&mut of_bins).iter_mut();
            of_bins.zip(ratios).for_each(|(bin, ratio)| *bin = ratio as f32);
        }
        Self { of_bins, common: all_common }
    }

    /// By how much messages that both have are more likely in the first one, only because there is
    /// less else. A round with one more operation has still the same messages of the others.
    pub(crate) fn common(&self) -> f64 {
        self.common
    }

    /// The ratio of one message; `operation` is its archive code.
    pub(crate) fn of(&self, src: u32, dst: u32, bytes: u64, operation: i64) -> f64 {
        let views: f64 = bins(src, dst, bytes)
            .iter()
            .map(|(bin, share)| f64::from(self.of_bins[*bin]) * *share as f64 / UNIT as f64)
            .sum();
        views + f64::from(self.of_bins[operation_bin(operation)])
    }
}

/// A view has something in common of which this part is.
const COMMON: f64 = 0.05;

/// By how much what two distributions have in common is more likely in the first one: the median of
/// `ratios` over what is common, 0 if that is little.
fn common(one: &[u64], other: &[u64], ratios: &[f64]) -> f64 {
    let sum = |counts: &[u64]| counts.iter().sum::<u64>().max(1) as f64;
    let (first, second) = (sum(one), sum(other));
    let shares = one.iter().zip(other).map(|(one, other)| (*one as f64 / first).min(*other as f64 / second));
    let mut ratios: Vec<(f64, f64)> = ratios.iter().copied().zip(shares).collect();
    let all: f64 = ratios.iter().map(|ratio| ratio.1).sum();
    if all < COMMON {
        return 0.0;
    }
    ratios.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut sum = 0.0;
    let middle = ratios.iter().find(|(_, share)| {
        sum += share;
        2.0 * sum >= all
    });
    middle.map_or(0.0, |(ratio, _)| *ratio)
}

/// Where a message counts, and how much.
#[inline]
fn bins(src: u32, dst: u32, bytes: u64) -> [(usize, u64); 6] {
    let [offset, pair, src, dst] = partner_bins(src, dst, pair_hash(src, dst)).map(|bin| (bin, UNIT));
    let [size, larger] = size_bins(bytes);
    [offset, pair, src, dst, size, larger]
}

/// Where it counts for who sends to whom: by offset, pair, source and destination.
#[inline]
fn partner_bins(src: u32, dst: u32, pair: u64) -> [usize; 4] {
    [
        OFFSET.first + (scatter(u64::from(dst.wrapping_sub(src))) >> 58) as usize,
        PAIR.first + (pair >> 57) as usize,
        SRC.first + (src & 31) as usize,
        DST.first + (dst & 31) as usize,
    ]
}

/// Where it counts for its size, and how much.
#[inline]
fn size_bins(bytes: u64) -> [(usize, u64); 2] {
    // log2(bytes + 1) in 1/256: the exponent, and the eight bits after the leading one.
    let size = bytes.saturating_add(1);
    let exponent = size.ilog2();
    let above = size.rotate_left(64 - exponent) >> 56;
    let exponent = exponent as usize;
    [
        (SIZE.first + exponent.min(SIZE.bins - 1), UNIT - above),
        (SIZE.first + (exponent + 1).min(SIZE.bins - 1), above),
    ]
}

/// A source and a destination, scattered.
#[inline]
pub(crate) fn pair_hash(src: u32, dst: u32) -> u64 {
    scatter(u64::from(src) << 32 | u64::from(dst))
}

fn operation_bin(code: i64) -> usize {
    OPERATION.first + (code & 63) as usize
}

/// Spreads `value` over 64 bits, the high ones best: Fibonacci hashing (Knuth, The Art of Computer
/// Programming 6.4), with one shift so that ranks in the upper half of a pair reach all of the
/// result.
#[inline]
pub(crate) fn scatter(value: u64) -> u64 {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let product = value.wrapping_mul(GOLDEN);
    (product ^ (product >> 32)).wrapping_mul(GOLDEN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use phaseflow_collect::trace::{Message, Operation, Rank};

    fn message(src: u32, dst: u32, bytes: u64, operation: Operation) -> Message {
        Message { src: Rank(src), dst: Rank(dst), bytes, operation, ..Message::default() }
    }

    fn sketch(messages: &[Message]) -> Sketch {
        let mut block = MessageBlock::default();
        messages.iter().for_each(|message| block.push(message));
        let mut sketch = Sketch::default();
        sketch.add_messages(&block, 0..block.len());
        sketch
    }

    #[test]
    fn every_view_counts_every_message_once() {
        let sizes = [0, 1, 2, 3, 4096, 5000, (1 << 62) - 1, i64::MAX.cast_unsigned()];
        let messages = sizes.map(|bytes| message(3, 9, bytes, Operation::Alltoall));
        let sketch = sketch(&messages);
        for view in VIEWS {
            assert_eq!(view.of(&sketch.0[..]).iter().sum::<u64>(), UNIT * messages.len() as u64);
        }
    }

    #[test]
    fn sizes_are_shared_between_the_nearest_powers_of_two() {
        // 95 bytes and one: 64 plus half of the way to 128.
        let sketch = sketch(&[message(0, 1, 95, Operation::PointToPoint)]);
        assert_eq!(SIZE.of(&sketch.0[..])[5..9], [0, 128, 128, 0]);
    }

    #[test]
    fn distances_between_equal_and_disjoint_sketches() {
        let one = sketch(&[message(0, 1, 100, Operation::PointToPoint)]);
        let other = sketch(&[message(4, 7, 9, Operation::Reduce)]);
        assert!(one.distance(&one) < 1e-9);
        assert!((one.distance(&other) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_ratio_tells_whose_message_it_is() {
        let halo: Vec<_> = (0..8).map(|i| message(i, i + 1, 100, Operation::PointToPoint)).collect();
        let reduce: Vec<_> = (0..8).map(|i| message(i + 1, 0, 8, Operation::Reduce)).collect();
        let ratio = Ratio::new(&sketch(&halo), &sketch(&reduce));
        assert!(ratio.of(2, 3, 100, 0) > 1.0);
        assert!(ratio.of(4, 0, 8, Operation::Reduce as i64) < -1.0);
    }
}
