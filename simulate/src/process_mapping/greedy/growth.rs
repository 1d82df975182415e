//! Growth of groups of ranks that exchange messages.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::graph::Graph;

/// Order: most bytes, then fewest open bytes, then lowest rank. Heap entries are not updated; a
/// newer entry is above an outdated one.
type Entry = (u64, Reverse<u64>, Reverse<u32>);

/// Ranks in the order of placement.
pub(super) struct Growth<'a> {
    graph: &'a Graph,
    placed: Vec<bool>,
    /// By rank: bytes exchanged with the current group.
    gain: Vec<u64>,
    /// By rank: bytes exchanged with all placed ranks.
    near: Vec<u64>,
    /// Ranks that exchange something with the current group.
    group: BinaryHeap<Entry>,
    /// Ranks that exchange something with any placed one.
    rim: BinaryHeap<Entry>,
    /// All ranks, by ascending bytes.
    rest: Vec<u32>,
}

impl<'a> Growth<'a> {
    pub(super) fn new(graph: &'a Graph) -> Self {
        let ranks = graph.total.len();
        let mut rest: Vec<u32> = (0..ranks as u32).collect();
        rest.sort_unstable_by_key(|rank| (graph.total[*rank as usize], Reverse(*rank)));
        Self {
            graph,
            placed: vec![false; ranks],
            gain: vec![0; ranks],
            near: vec![0; ranks],
            group: BinaryHeap::new(),
            rim: BinaryHeap::new(),
            rest,
        }
    }

    pub(super) fn start_group(&mut self) {
        for (_, _, Reverse(rank)) in self.group.drain() {
            self.gain[rank as usize] = 0;
        }
    }

    pub(super) fn next(&mut self) -> Option<u32> {
        let current = |entry: &Entry, bytes: &[u64], placed: &[bool]| {
            let rank = entry.2.0 as usize;
            !placed[rank] && bytes[rank] == entry.0
        };
        let pop = |heap: &mut BinaryHeap<Entry>, bytes: &[u64]| {
            while let Some(entry) = heap.pop() {
                if current(&entry, bytes, &self.placed) {
                    return Some(entry.2.0);
                }
            }
            None
        };
        let mut chosen = pop(&mut self.group, &self.gain);
        if chosen.is_none() {
            chosen = pop(&mut self.rim, &self.near);
        }
        while chosen.is_none() {
            chosen = Some(self.rest.pop()?).filter(|rank| !self.placed[*rank as usize]);
        }
        self.place(chosen?);
        chosen
    }

    fn place(&mut self, rank: u32) {
        self.placed[rank as usize] = true;
        self.gain[rank as usize] = 0;
        for (other, bytes) in self.graph.neighbours(rank) {
            let i = *other as usize;
            if self.placed[i] {
                continue;
            }
            self.gain[i] += bytes;
            self.near[i] += bytes;
            let open = Reverse(self.graph.total[i] - self.near[i]);
            self.group.push((self.gain[i], open, Reverse(*other)));
            self.rim.push((self.near[i], open, Reverse(*other)));
        }
    }
}
