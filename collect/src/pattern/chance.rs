//! Random numbers of a run, with a sequence for each purpose, so that disturbances are independent.

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_distr::{Exp1, LogNormal, Pareto};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::disturbance::ROUNDS_ALIKE;
use super::{Disturbance, Irregular};

/// Number of the sequence by purpose; any distinct numbers would do.
const SKEW: u32 = 1;
/// As [`SKEW`].
const JITTER: u32 = 2;
/// As [`SKEW`].
const NOISE: u32 = 3;
/// As [`SKEW`].
const NUMBERS: u32 = 4;
/// As [`SKEW`].
const WORK: u32 = 5;
/// As [`SKEW`].
const SIZES: u32 = 6;

/// Least and largest factor on the size of a heavy message: one to three orders of magnitude, so
/// that 64 KiB become 4 to 64 MiB.
const HEAVY: (f64, f64) = (64.0, 1024.0);

/// Shape of the Pareto distribution of pauses: between 1, where the mean ends, and 2, where the
/// variance does.
const SHAPE: f64 = 1.5;

/// The random numbers of one seed.
pub(super) struct Chance {
    disturbance: Disturbance,
    jitter: Xoshiro256PlusPlus,
    work: Xoshiro256PlusPlus,
    sizes: Xoshiro256PlusPlus,
    pub(super) noise: Xoshiro256PlusPlus,
    /// Relative imbalance of each rank's pauses; empty without imbalance.
    shares: Vec<f64>,
}

impl Chance {
    pub(super) fn new(disturbance: Disturbance, ranks: u32, seed: u64) -> Self {
        let mut work = sequence(seed, WORK);
        let unequal = disturbance.imbalance > 0.0;
        let shares = (0..ranks).filter(|_| unequal).map(|_| work.gen_range(0.0..disturbance.imbalance));
        let shares = shares.collect();
        let [jitter, sizes, noise] = [JITTER, SIZES, NOISE].map(|purpose| sequence(seed, purpose));
        Self { disturbance, jitter, work, sizes, noise, shares }
    }

    /// Delay of a message that takes `ns`, or extension of a pause of `ns`.
    pub(super) fn late(&mut self, ns: u64) -> u64 {
        let jitter = self.disturbance.jitter;
        if jitter > 0.0 { (self.jitter.gen_range(0.0..jitter) * ns as f64) as u64 } else { 0 }
    }

    /// The length of a pause of `ns` on average.
    pub(super) fn irregular(&mut self, ns: u64) -> u64 {
        let Some(irregular) = self.disturbance.irregular else { return ns };
        let of_mean: f64 = match irregular {
            Irregular::Exponential => self.work.sample(Exp1),
            Irregular::Pareto => {
                Pareto::new((SHAPE - 1.0) / SHAPE, SHAPE).map_or(1.0, |pareto| self.work.sample(pareto))
            }
            Irregular::Lognormal(sigma) => {
                LogNormal::new(-sigma * sigma / 2.0, sigma).map_or(1.0, |normal| self.work.sample(normal))
            }
        };
        (of_mean * ns as f64) as u64
    }

    /// Extension of a rank's computation of `ns`.
    pub(super) fn more_work(&mut self, rank: u32, ns: u64) -> u64 {
        let Some(share) = self.shares.get_mut(rank as usize) else { return 0 };
        if self.work.gen_bool(1.0 / ROUNDS_ALIKE) {
            *share = self.work.gen_range(0.0..self.disturbance.imbalance);
        }
        (*share * ns as f64) as u64
    }

    /// The size of a message of nominally `bytes`.
    pub(super) fn size(&mut self, bytes: u64) -> u64 {
        let Disturbance { heavy, light, .. } = self.disturbance;
        if heavy > 0.0 && self.sizes.gen_bool(heavy) {
            (bytes as f64 * self.times()) as u64
        } else if light > 0.0 && self.sizes.gen_bool(light) {
            ((bytes as f64 / self.times()) as u64).max(bytes.min(1))
        } else {
            bytes
        }
    }

    /// By inversion of the bounded Pareto distribution of shape 1.
    fn times(&mut self) -> f64 {
        let (least, most) = HEAVY;
        least / (1.0 - self.sizes.gen_range(0.0..1.0) * (1.0 - least / most))
    }
}

/// Skew of each rank; empty without skew.
pub(super) fn skews(skew_ns: u64, ranks: u32, seed: u64) -> Vec<u64> {
    let mut random = sequence(seed, SKEW);
    (0..ranks).filter(|_| skew_ns > 0).map(|_| random.gen_range(0..=skew_ns)).collect()
}

/// The ranks in random order.
pub(super) fn numbers(ranks: u32, seed: u64) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..ranks).collect();
    numbers.shuffle(&mut sequence(seed, NUMBERS));
    numbers
}

/// Random numbers of one seed for one purpose, independent of those for others.
fn sequence(seed: u64, purpose: u32) -> Xoshiro256PlusPlus {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..purpose).for_each(|_| random.jump());
    random
}
