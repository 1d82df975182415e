//! Each rank of the lower half exchanges with its like in the upper half: all traffic crosses the
//! middle. The last of an odd number of ranks is idle.

use super::Pattern;

pub(super) struct Bisection {
    /// Ranks in each half.
    pub(super) half: u32,
    pub(super) bytes: u64,
}

impl Pattern for Bisection {
    fn steps(&self) -> u32 {
        1
    }

    fn send(&self, _: u32, src: u32) -> Option<(u32, u64)> {
        let partner = if src < self.half { src + self.half } else { src - self.half };
        (src < 2 * self.half).then_some((partner, self.bytes))
    }
}
