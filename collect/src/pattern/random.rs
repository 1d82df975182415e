//! Every rank sends to one other rank, each with the same probability, drawn anew in each round:
//! uniform traffic.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Pattern;

pub(super) struct Random {
    random: Xoshiro256PlusPlus,
    partner: Vec<u32>,
    bytes: u64,
}

impl Random {
    pub(super) fn new(ranks: u32, bytes: u64, seed: u64) -> Self {
        Self { random: Xoshiro256PlusPlus::seed_from_u64(seed), partner: (0..ranks).collect(), bytes }
    }
}

impl Pattern for Random {
    fn begin_round(&mut self) {
        let others = self.partner.len() as u32 - 1;
        for (partner, rank) in self.partner.iter_mut().zip(0..) {
            let other = self.random.gen_range(0..others);
            *partner = if other < rank { other } else { other + 1 };
        }
    }

    fn steps(&self) -> u32 {
        1
    }

    fn send(&self, _: u32, src: u32) -> Option<(u32, u64)> {
        self.partner.get(src as usize).map(|partner| (*partner, self.bytes))
    }
}
