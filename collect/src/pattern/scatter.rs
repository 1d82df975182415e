//! Rank 0 sends to all others in turn, as it distributes input.

use super::Pattern;
use crate::trace::Operation;

pub(super) struct Scatter {
    pub(super) ranks: u32,
    pub(super) bytes: u64,
}

impl Pattern for Scatter {
    fn steps(&self) -> u32 {
        self.ranks - 1
    }

    fn send(&self, step: u32, src: u32) -> Option<(u32, u64)> {
        (src == 0).then_some((step + 1, self.bytes))
    }

    fn collective(&self, rank: u32) -> Option<(Operation, u64)> {
        Some((
            Operation::Scatter,
            if rank == 0 { self.bytes.saturating_mul(u64::from(self.ranks)) } else { 0 },
        ))
    }
}
