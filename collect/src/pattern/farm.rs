//! A master and its workers: in each round every worker, in random order, sends its result to rank
//! 0 and gets its next task.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Pattern;

pub(super) struct Farm {
    random: Xoshiro256PlusPlus,
    /// Workers in the order in which they are served.
    order: Vec<u32>,
    bytes: u64,
}

impl Farm {
    pub(super) fn new(ranks: u32, bytes: u64, seed: u64) -> Self {
        Self { random: Xoshiro256PlusPlus::seed_from_u64(seed), order: (1..ranks).collect(), bytes }
    }
}

impl Pattern for Farm {
    fn begin_round(&mut self) {
        self.order.shuffle(&mut self.random);
    }

    fn steps(&self) -> u32 {
        self.order.len() as u32
    }

    fn send(&self, step: u32, src: u32) -> Option<(u32, u64)> {
        let worker = *self.order.get(step as usize)?;
        let dst = if src == 0 { worker } else { 0 };
        (src == 0 || src == worker).then_some((dst, self.bytes))
    }
}
