//! Messages in a row that belong to something, give or take noise: a cumulative sum (CUSUM, Page
//! 1954).

/// What a streak loses when a message does not belong to it; one that belongs adds 1.
const SINK: f32 = 1.5;

/// A cumulative sum, and where it rose from 0.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Streak {
    pub(super) sum: f32,
    /// Number of messages before it.
    pub(super) start: u64,
    /// Number of messages before the first message that it repeats.
    pub(super) from: u64,
}

impl Streak {
    /// Adds a message with `before` messages before it; its token last came with `last` messages
    /// before it.
    #[inline]
    pub(super) fn step(&mut self, belongs: bool, before: u64, last: u64) {
        if belongs {
            if self.sum <= 0.0 {
                *self = Streak { sum: 0.0, start: before, from: last };
            }
            self.from = self.from.min(last);
            self.sum += 1.0;
        } else if self.sum > 0.0 {
            self.sum = (self.sum - SINK).max(0.0);
        }
    }
}
