//! Links by the level at which a sweep stops at them.
//!
//! The first stops are sorted; new ones among the next are inserted, and a heap has the rest. A
//! link whose stop has moved has two entries; the one that agrees with its `stop` counts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Link;

/// Least number of new stops for which all stops are sorted again, if they are half of all. Half
/// and double change the time of the flow model by less than the noise, 10 % (`halo3d`, `alltoall`
/// and `random` on 128 ranks).
const MANY: usize = 32;
/// Number of lowest stops among which a new one is inserted in order. Half and double: as for
/// [`MANY`].
const NEAR: usize = 64;

/// The bits of a level, which are in its order, above the link: one comparison decides, ties by
/// link.
type Entry = u128;

#[derive(Clone, Debug, Default)]
pub(super) struct Stops {
    /// The lowest last.
    sorted: Vec<Entry>,
    heap: BinaryHeap<Reverse<Entry>>,
    /// Not yet in either.
    new: Vec<Entry>,
}

#[inline]
fn level(entry: Entry) -> f64 {
    f64::from_bits((entry >> 64) as u64)
}

impl Stops {
    /// Adds a stop at a link at this level.
    #[inline]
    pub(super) fn push(&mut self, level: f64, link: u32) {
        self.new.push(u128::from(level.to_bits()) << 64 | u128::from(link));
    }

    /// The lowest level, with its link.
    #[inline]
    pub(super) fn first(&mut self, links: &[Link]) -> Option<(f64, u32)> {
        self.place_new();
        loop {
            let sorted = self.sorted.last().copied();
            let heaped = self.heap.peek().map(|entry| entry.0);
            let is_sorted = heaped.is_none_or(|heaped| sorted.is_some_and(|sorted| sorted < heaped));
            let entry = if is_sorted { sorted } else { heaped }?;
            let (level, link) = (level(entry), entry as u32);
            if links[link as usize].stop.to_bits() == level.to_bits() {
                return Some((level, link));
            }
            if is_sorted {
                self.sorted.pop();
            } else {
                self.heap.pop();
            }
        }
    }

    #[inline]
    fn place_new(&mut self) {
        if self.new.is_empty() {
            return;
        }
        if self.new.len() >= MANY && self.new.len() >= self.sorted.len() + self.heap.len() {
            self.sort();
            return;
        }
        let Self { sorted, heap, new } = self;
        for entry in new.drain(..) {
            let near = sorted.len().saturating_sub(NEAR);
            if sorted.get(near).is_none_or(|far| entry < *far) || near == 0 {
                let later = sorted[near..].iter().rev().take_while(|kept| **kept < entry).count();
                sorted.insert(sorted.len() - later, entry);
            } else {
                heap.push(Reverse(entry));
            }
        }
    }

    #[cold]
    fn sort(&mut self) {
        let Self { sorted, heap, new } = self;
        sorted.append(new);
        sorted.extend(heap.drain().map(|entry| entry.0));
        sorted.sort_unstable_by_key(|entry| Reverse(*entry));
    }

    pub(super) fn clear(&mut self) {
        self.sorted.clear();
        self.heap.clear();
        self.new.clear();
    }
}
