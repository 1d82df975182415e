//! Every rank sends to the next one, the last one to the first: a ring.

use super::Pattern;

pub(super) struct Shift {
    pub(super) ranks: u32,
    pub(super) bytes: u64,
}

impl Pattern for Shift {
    fn steps(&self) -> u32 {
        1
    }

    fn send(&self, _: u32, src: u32) -> Option<(u32, u64)> {
        Some(((src + 1) % self.ranks, self.bytes))
    }
}
