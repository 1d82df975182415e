//! Chains of a worker in two orders: those with packets to send, and those that wait for a result,
//! oldest first.
//!
//! All have the same time-out, so only the oldest one needs a timer.

use crate::engine::Picoseconds;
use crate::packet::arena::NONE;

/// A doubly linked list through the chains of a worker.
#[derive(Clone, Debug)]
pub(super) struct Line {
    first: u32,
    last: u32,
    /// By chain: its predecessor and successor; itself if it is not in the list.
    neighbours: Vec<[u32; 2]>,
}

impl Line {
    pub(super) fn new(chains: u32) -> Self {
        Self { first: NONE, last: NONE, neighbours: (0..chains).map(|chain| [chain, chain]).collect() }
    }

    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }

    #[inline]
    pub(super) fn has(&self, chain: u32) -> bool {
        self.neighbours[chain as usize][0] != chain
    }

    /// Appends a chain, unless it is in the list.
    #[inline]
    pub(super) fn push(&mut self, chain: u32) {
        if self.has(chain) {
            return;
        }
        self.neighbours[chain as usize] = [self.last, NONE];
        match self.last {
            NONE => self.first = chain,
            last => self.neighbours[last as usize][1] = chain,
        }
        self.last = chain;
    }

    /// Removes a chain, if it is in the list.
    #[inline]
    pub(super) fn remove(&mut self, chain: u32) {
        let [before, after] = std::mem::replace(&mut self.neighbours[chain as usize], [chain, chain]);
        if before == chain {
            return;
        }
        match before {
            NONE => self.first = after,
            before => self.neighbours[before as usize][1] = after,
        }
        match after {
            NONE => self.last = before,
            after => self.neighbours[after as usize][0] = before,
        }
    }
}

/// A chain: the packets of a worker at one place of its window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chain {
    /// First packet of the present or next message.
    pub(super) chunk: u32,
    /// It was sent.
    pub(super) is_sent: bool,
    /// Time of its last transmission.
    pub(super) sent_at: Picoseconds,
    /// Number of resends after all workers have added their vectors.
    pub(super) resends: u32,
    /// And before that.
    pub(super) early: u32,
    /// With RDMA: packets sent so far.
    pub(super) packets: u32,
    /// Packets whose results have been checked.
    pub(super) checked: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_line_is_a_list(steps in proptest::collection::vec((0_u32..8, proptest::bool::ANY), 0..100)) {
            let (mut line, mut list) = (Line::new(8), Vec::new());
            for (chain, joins) in steps {
                list.retain(|other| *other != chain || joins);
                if !joins {
                    line.remove(chain);
                } else if !list.contains(&chain) {
                    list.push(chain);
                    line.push(chain);
                } else {
                    line.push(chain);
                }
                proptest::prop_assert_eq!(line.first(), list.first().copied());
                proptest::prop_assert!((0..8).all(|chain| line.has(chain) == list.contains(&chain)));
            }
            while let Some(first) = line.first() {
                proptest::prop_assert_eq!(first, list.remove(0));
                line.remove(first);
            }
            proptest::prop_assert!(list.is_empty());
        }
    }
}
