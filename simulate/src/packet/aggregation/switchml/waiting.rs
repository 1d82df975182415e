//! Chains of a worker in two orders: those that have something to send, and those that wait for a
//! result, oldest first.
//!
//! As all wait equally long, the oldest one's deadline is the only one that needs a timer.

use crate::engine::Picoseconds;
use crate::packet::arena::NONE;

/// A line through the chains of a worker, from which any can step out.
#[derive(Clone, Debug)]
pub(super) struct Line {
    first: u32,
    last: u32,
    /// By chain: the one before and the one after it; itself if it is not in line.
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

    /// Puts a chain at the end, unless it is in line.
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

    /// Takes a chain out, if it is in line.
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

/// What a worker has on its way at one place of its window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chain {
    /// First packet of the message that is on its way, or will be next.
    pub(super) chunk: u32,
    /// It was sent.
    pub(super) is_sent: bool,
    /// When it was sent last.
    pub(super) sent_at: Picoseconds,
    /// How often it was sent again while all workers had added their vectors.
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
