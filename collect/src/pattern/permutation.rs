//! Everyone sends to its partner in one random derangement, the same in all rounds.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Pattern;

pub(super) struct Permutation {
    partner: Vec<u32>,
    bytes: u64,
}

impl Permutation {
    /// Shuffles until no rank is its own partner, which takes e ≈ 2.7 tries on average (de Montmort
    /// 1713) and leaves all derangements equally likely.
    pub(super) fn new(ranks: u32, bytes: u64, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut partner: Vec<u32> = (0..ranks).collect();
        while partner.iter().zip(0..).any(|(partner, rank)| *partner == rank) {
            partner.shuffle(&mut random);
        }
        Self { partner, bytes }
    }
}

impl Pattern for Permutation {
    fn steps(&self) -> u32 {
        1
    }

    fn send(&self, _: u32, src: u32) -> Option<(u32, u64)> {
        self.partner.get(src as usize).map(|partner| (*partner, self.bytes))
    }
}
