//! One rank sends to one other, both drawn at random: a single heavy pair beside other patterns.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Pattern;

pub(super) struct Pair {
    src: u32,
    dst: u32,
    bytes: u64,
}

impl Pair {
    pub(super) fn new(ranks: u32, bytes: u64, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (src, other) = (random.gen_range(0..ranks), random.gen_range(0..ranks - 1));
        Self { src, dst: if other < src { other } else { other + 1 }, bytes }
    }
}

impl Pattern for Pair {
    fn steps(&self) -> u32 {
        1
    }

    fn send(&self, _: u32, src: u32) -> Option<(u32, u64)> {
        (src == self.src).then_some((self.dst, self.bytes))
    }
}
