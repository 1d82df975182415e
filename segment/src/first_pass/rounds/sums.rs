//! Sums of what windows hold, by pair and by size: the difference of two is what lies between them.

use crate::entropy::x_ln_x;
use crate::first_pass::window::sketch::scatter;

/// Bins of pairs.
pub(crate) const PAIRS: usize = 512;

/// The first pairs have a bin of their own: the 240 of 16 ranks, the 224 of a halo of 64 ranks.
/// Later pairs are scattered over the other bins. Over all bins, an exchange of all ranks would
/// look like one among 464 pairs.
const OWN: usize = 256;

/// Bins of sizes: octaves up to half a tebibyte; larger messages share the last one.
pub(crate) const SIZES: usize = 40;

/// Units in which a message is divided between its two bins of sizes.
const UNIT: u64 = 256;

/// Sums over all windows before a window.
#[derive(Clone, Debug)]
pub(crate) struct Sums {
    /// Messages by bin of pairs. It wraps, as do the next two: only differences count.
    pub(crate) pairs: [u32; PAIRS],
    /// Bytes by bin of pairs, with one more for each message.
    pub(crate) bytes: [u64; PAIRS],
    /// Messages by bin of sizes, in parts of 1/256: each is divided between two bins. A phase may
    /// have more than 2²⁴ messages.
    pub(crate) sizes: [u64; SIZES],
    /// Bytes of all messages, with one more for each.
    pub(crate) total: f64,
    /// Squares of the bytes of each message.
    pub(crate) squares: f64,
}

impl Default for Sums {
    fn default() -> Self {
        Self { pairs: [0; PAIRS], bytes: [0; PAIRS], sizes: [0; SIZES], total: 0.0, squares: 0.0 }
    }
}

impl Sums {
    /// Counts a message of the pair with this number.
    #[inline]
    pub(crate) fn add(&mut self, pair: u32, bytes: u64) {
        // An empty message is a message: each message counts as one byte more than it has.
        let size = bytes.saturating_add(1);
        let pair = pair as usize;
        let pair = if pair < OWN { pair } else { OWN + scatter(pair as u64) as usize % (PAIRS - OWN) };
        self.pairs[pair] = self.pairs[pair].wrapping_add(1);
        self.bytes[pair] = self.bytes[pair].wrapping_add(size);
        self.total += size as f64;
        self.squares += (size as f64).powi(2);
        let exponent = size.ilog2() as usize;
        let above = size.rotate_left(64 - exponent as u32) >> 56;
        let (low, high) = (exponent.min(SIZES - 1), (exponent + 1).min(SIZES - 1));
        self.sizes[low] = self.sizes[low].wrapping_add(UNIT - above);
        self.sizes[high] = self.sizes[high].wrapping_add(above);
    }

    /// What lies between an earlier sum and this one.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let mut own = self.clone();
        own.pairs.iter_mut().zip(&earlier.pairs).for_each(|(own, before)| *own = own.wrapping_sub(*before));
        own.bytes.iter_mut().zip(&earlier.bytes).for_each(|(own, before)| *own = own.wrapping_sub(*before));
        own.sizes.iter_mut().zip(&earlier.sizes).for_each(|(own, before)| *own = own.wrapping_sub(*before));
        own.total -= earlier.total;
        own.squares -= earlier.squares;
        own
    }

    /// The greatest log-likelihood of the messages since an earlier sum, as independent draws of
    /// their pair and of their size: −n·H, with the entropy H of n messages.
    pub(crate) fn log_likelihood(&self, earlier: &Self) -> f64 {
        let of = |counts: &mut dyn Iterator<Item = f64>| {
            let (logs, all) = counts.fold((0.0, 0.0), |(logs, all), own| (logs + x_ln_x(own), all + own));
            logs - x_ln_x(all)
        };
        let pairs = self.pairs.iter().zip(&earlier.pairs).map(|(own, before)| own.wrapping_sub(*before));
        let sizes = self.sizes.iter().zip(&earlier.sizes).map(|(own, before)| own.wrapping_sub(*before));
        of(&mut pairs.map(f64::from)) + of(&mut sizes.map(|parts| parts as f64 / UNIT as f64))
    }

    /// Adds another one's sums.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.pairs.iter_mut().zip(&other.pairs).for_each(|(sum, own)| *sum = sum.wrapping_add(*own));
        self.bytes.iter_mut().zip(&other.bytes).for_each(|(sum, own)| *sum = sum.wrapping_add(*own));
        self.sizes.iter_mut().zip(&other.sizes).for_each(|(sum, own)| *sum = sum.wrapping_add(*own));
        self.total += other.total;
        self.squares += other.squares;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_likelihood_by_hand() {
        let mut sums = Sums::default();
        let before = sums.clone();
        (0..3).for_each(|_| sums.add(0, 7));
        sums.add(1, 7);
        // Four messages of one size: 3 ln 3/4 + ln 1/4 for the pairs.
        let expected = 3.0 * 0.75f64.ln() + 0.25f64.ln();
        assert!((sums.log_likelihood(&before) - expected).abs() < 1e-9);
        assert!(sums.log_likelihood(&sums).abs() < 1e-12);
    }

    #[test]
    fn sizes_are_known_of_any_number_of_messages() {
        let mut sums = Sums::default();
        // 63 and 7 bytes: one more each is a power of two, which has a bin of its own.
        sums.add(0, 63);
        sums.add(0, 7);
        for _ in 0..25 {
            sums.merge(&sums.clone());
        }
        assert_eq!((sums.sizes[6], sums.sizes[3]), (UNIT << 25, UNIT << 25));
    }
}
