//! All ranks send to rank 0 at the same time, the worst case for the last link. The round lasts
//! until one message has left its sender, so rates are the offered ones, not those that a link can
//! carry.

use super::Pattern;

pub(super) struct Incast {
    pub(super) bytes: u64,
}

impl Pattern for Incast {
    fn steps(&self) -> u32 {
        1
    }

    fn send(&self, _: u32, src: u32) -> Option<(u32, u64)> {
        (src != 0).then_some((0, self.bytes))
    }
}
