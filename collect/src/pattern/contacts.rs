//! Every rank exchanges with six others, and a few contacts change in each round: particles that
//! move through the domains of an irregular decomposition.
//!
//! A step is a matching: each rank has one partner, and the last of an odd number none.

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Pattern;

/// Contacts of a rank: the six faces of a cube in three dimensions.
const CONTACTS: usize = 6;

/// Share of contacts that change in a round: after 1/0.03 = 33 rounds, 1 − 1/e of them are new.
const CHANGE: f64 = 0.03;

pub(super) struct Contacts {
    random: Xoshiro256PlusPlus,
    /// The pairs of each step.
    steps: Vec<Matching>,
    bytes: u64,
}

struct Matching {
    /// Partners have the places 2i and 2i+1.
    order: Vec<u32>,
    place: Vec<u32>,
}

impl Matching {
    fn swap(&mut self, one: usize, other: usize) {
        self.order.swap(one, other);
        for place in [one, other] {
            self.place[self.order[place] as usize] = place as u32;
        }
    }
}

impl Contacts {
    pub(super) fn new(ranks: u32, bytes: u64, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let matching = |_| {
            let mut order: Vec<u32> = (0..ranks).collect();
            order.shuffle(&mut random);
            let mut place = vec![0; order.len()];
            order.iter().zip(0..).for_each(|(rank, at)| place[*rank as usize] = at);
            Matching { order, place }
        };
        let steps = (0..CONTACTS).map(matching).collect();
        Self { random, steps, bytes }
    }
}

impl Pattern for Contacts {
    fn begin_round(&mut self) {
        for matching in &mut self.steps {
            let ranks = matching.order.len();
            // A swap changes two pairs.
            let swaps = CHANGE * ranks as f64 / 4.0 + self.random.gen_range(0.0..1.0);
            for _ in 0..swaps as usize {
                let (one, other) = (self.random.gen_range(0..ranks), self.random.gen_range(0..ranks));
                matching.swap(one, other);
            }
        }
    }

    fn steps(&self) -> u32 {
        CONTACTS as u32
    }

    fn send(&self, step: u32, src: u32) -> Option<(u32, u64)> {
        let matching = self.steps.get(step as usize)?;
        let place = *matching.place.get(src as usize)?;
        matching.order.get((place ^ 1) as usize).map(|partner| (*partner, self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_per_cent_change_in_a_round() {
        let mut contacts = Contacts::new(100, 8, 1);
        let pairs = |contacts: &Contacts| -> Vec<_> {
            (0..6).flat_map(|step| (0..100).map(move |src| contacts.send(step, src).unwrap().0)).collect()
        };
        let (mut changed, mut before) = (0, pairs(&contacts));
        for _ in 0..100 {
            contacts.begin_round();
            let after = pairs(&contacts);
            changed += before.iter().zip(&after).filter(|(one, other)| one != other).count();
            before = after;
        }
        // 3 % of 600 contacts in each of 100 rounds, a few swapped within their pair.
        assert!((1600..1850).contains(&changed), "{changed}");
    }
}
