//! Numbers of workers: their values, the conversion of floats to integers, and the right sums.

use super::header::LANES;
use super::vectors::Block;
use crate::packet::aggregation::values::Vector;

/// The generation of vectors and the check of sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Numbers {
    /// Factor of floats: x is sent as the integer nearest to x · scale (paper § 3.8); `None` for
    /// vectors of integers.
    pub(super) scale: Option<f64>,
    pub(super) workers: u32,
}

/// Position of a packet's numbers in the vectors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// That of worker 0.
    pub(super) vector: Vector,
    pub(super) first: u64,
    pub(super) elements: usize,
}

impl Stretch {
    fn of(&self, worker: u32) -> Vector {
        Vector { worker, ..self.vector }
    }

    fn places(&self) -> impl Iterator<Item = u64> {
        self.first..self.first + self.elements as u64
    }
}

impl Numbers {
    /// Integers are small, so that no sum of them exceeds 32 bits.
    fn integer(self, vector: &Vector, element: u64) -> i32 {
        vector.integer(element) >> (self.workers.next_power_of_two().trailing_zeros() + 1).min(31)
    }

    /// A worker's part as integers.
    pub(super) fn integers(self, stretch: &Stretch, worker: u32) -> Block {
        let vector = stretch.of(worker);
        block(stretch, |element| match self.scale {
            None => self.integer(&vector, element),
            // Saturates, as the switch does.
            Some(scale) => (f64::from(vector.float(element)) * scale).round() as i32,
        })
    }

    /// A worker's part as the bits of floats.
    pub(super) fn floats(self, stretch: &Stretch, worker: u32) -> Block {
        let vector = stretch.of(worker);
        block(stretch, |element| vector.float(element).to_bits().cast_signed())
    }

    /// Number of wrong values in a sum. Integers have to be exact; floats up to half a step per
    /// worker (Σ|x − round(x·s)/s| ≤ n/2s), raw floats up to the rounding of sums in `f32`.
    pub(super) fn wrong(self, stretch: &Stretch, sum: &Block, is_raw: bool) -> u32 {
        let workers = f64::from(self.workers);
        let is_wrong = |(lane, element): (&i32, u64)| {
            let all = (0..self.workers).map(|worker| stretch.of(worker));
            let Some(scale) = self.scale else {
                let right = all.map(|vector| i64::from(self.integer(&vector, element))).sum::<i64>();
                return i64::from(*lane) != right;
            };
            let right: f64 = all.map(|vector| f64::from(vector.float(element))).sum();
            if is_raw {
                // Each of n − 1 additions rounds by half an ulp of a number below n.
                let sum = f64::from(f32::from_bits(lane.cast_unsigned()));
                return (sum - right).abs() > workers * workers * f64::from(f32::EPSILON);
            }
            (f64::from(*lane) / scale - right).abs() > workers * (0.5 / scale + f64::EPSILON)
        };
        sum.iter().zip(stretch.places()).filter(|lane| is_wrong(*lane)).count() as u32
    }
}

fn block(stretch: &Stretch, mut lane: impl FnMut(u64) -> i32) -> Block {
    let mut block = [0; LANES];
    block.iter_mut().zip(stretch.places()).for_each(|(place, element)| *place = lane(element));
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::aggregation::atp::vectors::{add_floats, add_integers};

    const STRETCH: Stretch =
        Stretch { vector: Vector { seed: 5, group: 1, reduction: 2, worker: 0 }, first: 620, elements: 50 };

    fn sum(numbers: Numbers, is_raw: bool) -> Block {
        let part = |worker| {
            if is_raw { numbers.floats(&STRETCH, worker) } else { numbers.integers(&STRETCH, worker) }
        };
        let add = if is_raw { add_floats } else { add_integers };
        (1..numbers.workers).map(part).fold(part(0), |mut sum, part| {
            sum.iter_mut().zip(part).for_each(|(sum, part)| *sum = add(*sum, part));
            sum
        })
    }

    #[test]
    fn right_sums_are_right_and_others_are_not() {
        for workers in [1, 2, 3, 8, 31, 1024] {
            for (scale, is_raw) in [(None, false), (Some(1e6), false), (Some(1e6), true)] {
                let numbers = Numbers { scale, workers };
                let right = sum(numbers, is_raw);
                assert_eq!(numbers.wrong(&STRETCH, &right, is_raw), 0, "{workers} {scale:?}");
                // One contribution too few.
                let (mut less, part) = (right, numbers.integers(&STRETCH, 0));
                less.iter_mut().zip(part).for_each(|(sum, part)| *sum = sum.wrapping_sub(part));
                let wrong = numbers.wrong(&STRETCH, &less, is_raw);
                // With 1024 workers a missing part may be within the tolerance of f32.
                assert!(wrong > 30, "{workers} {scale:?} {wrong}");
                // What lies behind the end of the vector does not count.
                let mut behind = right;
                behind[50..].fill(7);
                assert_eq!(numbers.wrong(&STRETCH, &behind, is_raw), 0);
            }
        }
    }

    /// V20: 10⁸ saturates at sums of 21.47.
    #[test]
    fn the_scale_says_which_sums_overflow() {
        let step = |x: f64| (x * 1e8).round() as i32;
        assert_eq!(step(21.47), 2_147_000_000);
        assert_eq!(add_integers(step(21.4), step(0.08)), i32::MAX);
        assert!(add_integers(step(21.4), step(0.07)) < i32::MAX);
    }
}
