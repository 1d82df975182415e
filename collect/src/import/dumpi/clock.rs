//! Wall clock of one rank: seconds of 16 bits since a bias, unrolled to nanoseconds.
//!
//! Seconds wrap around after 18.2 hours. Of two records the later one is taken to be less than half
//! of that after the earlier one, or before it (threads record in the order of their returns).

use super::record::{Span, Stamp};

/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;

/// Unrolls the times of a rank, record by record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Seconds of the last record's start since the bias.
    last_s: i64,
    /// Those seconds on the run's time line, nanoseconds: most records are in the second of the
    /// one before.
    last_ns: i64,
    /// Added to all times, nanoseconds.
    base_ns: i64,
}

impl Clock {
    /// With the bias of the file, and what is to be added to put it on the run's time line.
    pub(super) fn new(bias_s: i32, offset_ns: i64) -> Self {
        let base_ns = (i64::from(bias_s) * SECOND).saturating_add(offset_ns);
        Self { last_s: 0, last_ns: base_ns, base_ns }
    }

    /// Start and stop of a call.
    #[inline]
    pub(super) fn unroll(&mut self, span: &Span) -> (i64, i64) {
        if span.start.s != self.last_s as u16 {
            self.last_s = after(self.last_s, span.start.s);
            self.last_ns = self.second_ns(self.last_s);
        }
        let stop_ns = if span.stop.s == span.start.s {
            self.last_ns
        } else {
            self.second_ns(after(self.last_s, span.stop.s))
        };
        (nanoseconds(self.last_ns, span.start), nanoseconds(stop_ns, span.stop))
    }

    #[cold]
    fn second_ns(&self, seconds: i64) -> i64 {
        self.base_ns.saturating_add(seconds.saturating_mul(SECOND))
    }
}

fn nanoseconds(second_ns: i64, stamp: Stamp) -> i64 {
    second_ns.saturating_add(i64::from(stamp.ns))
}

/// The second nearest to `before` that is `s` modulo 2¹⁶.
fn after(before: i64, s: u16) -> i64 {
    // The lowest 16 bits of both, and their difference as a signed number.
    let step = s.wrapping_sub(before as u16).cast_signed();
    before + i64::from(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_wrap_around() {
        let stamp = |s, ns| Stamp { s, ns };
        let mut clock = Clock::new(1_000, 7);
        let mut at = |s, stop| clock.unroll(&Span { start: stamp(s, 1), stop: stamp(stop, 2) });
        let ns = |s: i64, ns: i64| (1_000 + s) * SECOND + 7 + ns;
        assert_eq!(at(0, 0), (ns(0, 1), ns(0, 2)));
        assert_eq!(at(30_000, 30_001), (ns(30_000, 1), ns(30_001, 2)));
        assert_eq!(at(60_000, 10), (ns(60_000, 1), ns(65_546, 2)));
        assert_eq!(at(9, 10), (ns(65_545, 1), ns(65_546, 2)));
        assert_eq!(at(65_535, 9), (ns(65_535, 1), ns(65_545, 2)));
    }
}
