//! Reduction of the number of ranks to a power of two.
//!
//! Butterfly patterns need p' = 2^⌊log₂ p⌋ ranks. Each of the r = p − p' surplus ranks sends its
//! share to a neighbour among the first 2r ranks and waits for the result; the survivors are
//! renumbered 0 to p' − 1.

/// The survivors of a communicator.
#[derive(Clone, Copy)]
pub(super) struct Survivors {
    /// How many, a power of two.
    pub(super) count: u32,
    /// Pairs that merged: ranks 2i and 2i + 1 for i below this.
    pub(super) merged: u32,
    odd: bool,
}

impl Survivors {
    /// Of each merged pair the odd rank goes on.
    pub(super) fn odd(ranks: u32) -> Self {
        let count = 1 << ranks.ilog2();
        Self { count, merged: ranks - count, odd: true }
    }

    /// Of each merged pair the even rank goes on.
    pub(super) fn even(ranks: u32) -> Self {
        Self { odd: false, ..Self::odd(ranks) }
    }

    /// Rank of a survivor.
    pub(super) fn rank(&self, survivor: u32) -> u32 {
        if survivor < self.merged { 2 * survivor + u32::from(self.odd) } else { survivor + self.merged }
    }

    /// First rank whose data a survivor stands for: its own and, if merged, its neighbour's.
    pub(super) fn first(&self, survivor: u32) -> u32 {
        survivor + survivor.min(self.merged)
    }

    /// The merged pairs as (even, odd) ranks.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        (0..self.merged).map(|pair| (2 * pair, 2 * pair + 1))
    }

    /// Distances 1, 2, 4, … below the number of survivors.
    pub(super) fn distances(&self) -> impl DoubleEndedIterator<Item = u32> + use<> {
        (0..self.count.ilog2()).map(|bit| 1 << bit)
    }
}
