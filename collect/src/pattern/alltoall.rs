//! Everyone sends to everyone else: `MPI_Alltoall` by pairwise exchange, in step s to the rank s
//! further on.

use super::Pattern;
use crate::trace::Operation;

pub(super) struct Alltoall {
    pub(super) ranks: u32,
    pub(super) bytes: u64,
}

impl Pattern for Alltoall {
    fn steps(&self) -> u32 {
        self.ranks - 1
    }

    fn send(&self, step: u32, src: u32) -> Option<(u32, u64)> {
        Some(((src + 1 + step) % self.ranks, self.bytes))
    }

    fn collective(&self, _: u32) -> Option<(Operation, u64)> {
        Some((Operation::Alltoall, self.bytes.saturating_mul(u64::from(self.ranks))))
    }
}
