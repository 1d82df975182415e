//! Breadth-first search by sets of switches: in a dense network a set of neighbours is a few machine words, and many are merged at once.

use super::paths::NONE;

/// Bits of a word.
const BITS: usize = u64::BITS as usize;

/// By switch: those that have a link to it, as bits.
#[derive(Clone, Debug)]
pub(super) struct Predecessors {
    /// Words of a set.
    words: usize,
    sets: Vec<u64>,
}

impl Predecessors {
    /// `links` are pairs of switches, from and to. Nothing where sets would be larger than lists.
    pub(super) fn new(
        switches: usize,
        links: impl Iterator<Item = (u32, u32)>,
        link_count: usize,
    ) -> Option<Self> {
        let words = switches.div_ceil(BITS);
        if words * switches > link_count {
            return None;
        }
        let mut sets = vec![0; words * switches];
        for (from, to) in links {
            sets[to as usize * words + from as usize / BITS] |= 1 << (from as usize % BITS);
        }
        Some(Self { words, sets })
    }

    /// Links from each switch to the nearest of `starts`, or `NONE`.
    pub(super) fn distances(&self, starts: &[u32]) -> Vec<u32> {
        let mut distances = vec![NONE; self.sets.len().checked_div(self.words).unwrap_or(0)];
        let mut front = vec![0_u64; self.words];
        for start in starts {
            front[*start as usize / BITS] |= 1 << (*start as usize % BITS);
        }
        let (mut reached, mut next) = (front.clone(), vec![0; self.words]);
        let mut distance = 0;
        while front.iter().any(|word| *word != 0) {
            next.fill(0);
            for (place, mut word) in front.iter().copied().enumerate() {
                while word != 0 {
                    let switch = place * BITS + word.trailing_zeros() as usize;
                    word &= word - 1;
                    distances[switch] = distance;
                    let set = &self.sets[switch * self.words..][..self.words];
                    next.iter_mut().zip(set).for_each(|(next, set)| *next |= set);
                }
            }
            for ((front, reached), next) in front.iter_mut().zip(&mut reached).zip(&next) {
                *front = next & !*reached;
                *reached |= next;
            }
            distance += 1;
        }
        distances
    }
}
