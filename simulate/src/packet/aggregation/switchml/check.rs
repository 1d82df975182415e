//! Verification of results: the values of workers and their right sums.
//!
//! Floats are sent as integers (the repository's exponent quantiser): with 2^e above every worker's
//! largest magnitude in the packet, a number x of n workers is sent as round(x · (2³¹ − 1) / (n ·
//! 2^e)), so that no sum overflows, and the sum is off by at most n / 2 on that scale. The largest
//! exponent of all workers has to be known before a packet is scaled; the switch computes it in the
//! packet one window earlier. A vector of the check is the numbers of a packet and its exponent.

use super::settings::{Numbers, Settings};
use crate::packet::aggregation::values::Vector;
use crate::packet::aggregation::vectors::Vectors;

/// The exponent of nothing.
const NO_EXPONENT: i32 = i32::MIN;
/// The exponent of numbers that are all 0: that of the smallest positive number.
const LEAST_EXPONENT: i32 = -126;

/// What is checked of a group.
#[derive(Clone, Debug)]
pub(super) struct Check {
    /// Run and group; the other fields are filled in later.
    origin: Vector,
    workers: u32,
    elements: u32,
    numbers: Numbers,
    pub(super) vectors: Vectors,
    pub(super) checked: u64,
    pub(super) wrong: u64,
}

/// A packet of a reduction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// Number of the reduction.
    pub(super) reduction: u32,
    /// The worker's number in the group.
    pub(super) worker: u32,
    /// Number of the packet in the reduction.
    pub(super) position: u32,
    /// Packets that come before the first one with numbers.
    pub(super) lead: u32,
    /// Elements of the reduction.
    pub(super) elements: u64,
}

/// e with 2^e > |x|, as close as the bits of a float tell: one more than its exponent.
fn exponent(largest: f32) -> i32 {
    let biased = (largest.to_bits() >> 23 & 0xff).cast_signed();
    (biased - 126).max(LEAST_EXPONENT)
}

/// Factor on floats.
pub(super) fn scale(workers: u32, exponent: i32) -> f64 {
    f64::from(i32::MAX) / (f64::from(workers) * 2_f64.powi(exponent))
}

impl Check {
    pub(super) fn new(settings: &Settings, seed: u64, group: u32, workers: u32) -> Self {
        let elements = settings.elements;
        Self {
            origin: Vector { seed, group, reduction: 0, worker: 0 },
            workers,
            elements,
            numbers: settings.numbers,
            vectors: Vectors::new(Self::width(settings)),
            checked: 0,
            wrong: 0,
        }
    }

    /// Numbers of a vector.
    pub(super) fn width(settings: &Settings) -> usize {
        settings.elements as usize + 1
    }

    fn vector(&self, piece: Piece) -> Vector {
        Vector { reduction: piece.reduction, worker: piece.worker, ..self.origin }
    }

    /// Elements of the `number`-th packet with numbers.
    fn range(&self, piece: Piece, number: u32) -> std::ops::Range<u64> {
        let most = u64::from(self.elements);
        let start = (u64::from(number) * most).min(piece.elements);
        start..(start + most).min(piece.elements)
    }

    /// The values of a worker in a packet; `exponents` are those that it knows.
    pub(super) fn contribution(&mut self, piece: Piece, exponents: &[i32]) -> u32 {
        let place = self.vectors.insert(1);
        let vector = self.vector(piece);
        let ahead = self.range(piece, piece.position);
        let sent = piece.position.checked_sub(piece.lead).map(|number| (number, self.range(piece, number)));
        let [numbers @ .., last] = self.vectors.at_mut(place) else { return place };
        *last = NO_EXPONENT;
        if self.numbers == Numbers::Float && !ahead.is_empty() {
            *last = exponent(ahead.map(|element| vector.float(element).abs()).fold(0.0, f32::max));
        }
        let Some((number, range)) = sent else { return place };
        match self.numbers {
            Numbers::Int => {
                numbers.iter_mut().zip(range).for_each(|(to, element)| *to = vector.integer(element));
            }
            Numbers::Float => {
                let scale = scale(self.workers, exponents[number as usize]);
                for (to, element) in numbers.iter_mut().zip(range) {
                    *to = (f64::from(vector.float(element)) * scale).round() as i32;
                }
            }
        }
        place
    }

    /// Compares a result with the right sum, and stores its exponent.
    pub(super) fn result(&mut self, piece: Piece, place: u32, exponents: &mut [i32]) {
        let vector = self.vector(piece);
        let [numbers @ .., last] = self.vectors.at(place) else { return };
        if let Some(exponent) = exponents.get_mut(piece.position as usize) {
            *exponent = *last;
        }
        let Some(number) = piece.position.checked_sub(piece.lead) else { return };
        for (found, element) in numbers.iter().zip(self.range(piece, number)) {
            let is_right = match self.numbers {
                Numbers::Int => *found == vector.sum(self.workers, element),
                Numbers::Float => {
                    let scale = scale(self.workers, exponents[number as usize]);
                    let terms =
                        (0..self.workers).map(|worker| f64::from(Vector { worker, ..vector }.float(element)));
                    let most = f64::from(self.workers) / 2.0;
                    // Rounding of doubles is far below the rounding to integers.
                    (f64::from(*found) - terms.sum::<f64>() * scale).abs() <= most + 1e-3
                }
            };
            self.checked += 1;
            self.wrong += u64::from(!is_right);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_scale() {
        // Eight workers, nothing above 0.9: e = 0, scale 2²⁸ and an error of 1.5e-8 at most.
        let (e, scale) = (exponent(0.9), scale(8, exponent(0.9)));
        assert_eq!((e, scale.round()), (0, 268_435_456.0));
        assert!((8.0 / 2.0 / scale - 1.5e-8).abs() < 1e-10);
        // The largest numbers there are do not overflow, the smallest have a scale.
        assert_eq!([exponent(1.0), exponent(0.999_999), exponent(0.5), exponent(0.499_999)], [1, 0, 0, -1]);
        assert_eq!((exponent(0.0), exponent(f32::MIN_POSITIVE / 2.0)), (-126, -126));
        assert_eq!(exponent(f32::MAX), 128);
    }

    proptest::proptest! {
        #[test]
        fn no_sum_overflows(workers in 1_u32..64, xs in proptest::collection::vec(-1e30_f32..1e30, 1..20)) {
            let largest = xs.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
            let scale = scale(workers, exponent(largest));
            // All workers have the largest one.
            let sum = (f64::from(largest) * scale).round() * f64::from(workers);
            proptest::prop_assert!(sum <= f64::from(i32::MAX));
            proptest::prop_assert!(f64::from(largest) < 2_f64.powi(exponent(largest)));
        }
    }
}
