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

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    /// The oracle goes from link to link.
    fn by_links(switches: usize, links: &[(u32, u32)], starts: &[u32]) -> Vec<u32> {
        let mut distances = vec![NONE; switches];
        let mut queue: VecDeque<u32> = starts.iter().copied().collect();
        starts.iter().for_each(|start| distances[*start as usize] = 0);
        while let Some(to) = queue.pop_front() {
            for (from, _) in links.iter().filter(|(_, at)| *at == to) {
                if distances[*from as usize] == NONE {
                    distances[*from as usize] = distances[to as usize] + 1;
                    queue.push_back(*from);
                }
            }
        }
        distances
    }

    proptest! {
        /// One-way links, several at once, islands, and sets of more than one word.
        #[test]
        fn distances_are_those_of_a_walk_along_links(
            switches in 1..150_u32,
            links in prop::collection::vec((0..1000_u32, 0..1000_u32), 0..600),
            starts in prop::collection::vec(0..1000_u32, 1..4),
        ) {
            let links: Vec<(u32, u32)> = links.iter().map(|(a, b)| (a % switches, b % switches)).collect();
            let starts: Vec<u32> = starts.iter().map(|start| start % switches).collect();
            let sets = Predecessors::new(switches as usize, links.iter().copied(), usize::MAX).unwrap();
            prop_assert_eq!(sets.distances(&starts), by_links(switches as usize, &links, &starts));
        }
    }

    #[test]
    fn sparse_networks_have_none() {
        // A ring of 129 needs three words a switch.
        let ring = (0..129).map(|switch| (switch, (switch + 1) % 129));
        assert!(Predecessors::new(129, ring.clone(), 129).is_none());
        assert!(Predecessors::new(129, ring, 3 * 129).is_some());
    }
}
