//! Times of a location on the clock of the trace.
//!
//! The clock of a location is corrected by its clock offsets, which were measured now and then: an
//! offset is interpolated between two measurements, and that line goes on before the first and
//! after the last (as the reference library does, so that times agree to the tick). Ticks become
//! nanoseconds since the global offset, rounded down.

use crate::{Error, Result};

/// The clock of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    ticks_per_second: u64,
    /// The time 0 of the trace in ticks.
    origin: u64,
}

impl Default for Clock {
    /// Nanoseconds, where a trace does not say.
    fn default() -> Self {
        Self { ticks_per_second: NANOSECONDS, origin: 0 }
    }
}

const NANOSECONDS: u64 = 1_000_000_000;

impl Clock {
    /// # Errors
    /// A resolution of 0.
    pub(super) fn new(ticks_per_second: u64, origin: u64) -> Result<Self> {
        if ticks_per_second == 0 {
            return Err(Error::data("has 0 ticks a second, expected more"));
        }
        Ok(Self { ticks_per_second, origin })
    }

    /// Nanoseconds since the origin.
    #[inline]
    pub(super) fn ns(&self, ticks: u64) -> i64 {
        if ticks >= self.origin {
            self.length(ticks - self.origin)
        } else {
            -self.length(self.origin - ticks)
        }
    }

    #[inline]
    fn length(&self, ticks: u64) -> i64 {
        if self.ticks_per_second == NANOSECONDS {
            return i64::try_from(ticks).unwrap_or(i64::MAX);
        }
        if let Some(scaled) = ticks.checked_mul(NANOSECONDS) {
            return (scaled / self.ticks_per_second).cast_signed();
        }
        let ns = u128::from(ticks) * u128::from(NANOSECONDS) / u128::from(self.ticks_per_second);
        i64::try_from(ns).unwrap_or(i64::MAX)
    }
}

/// A measured difference between a location's clock and the global one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ClockOffset {
    /// On the location's clock.
    pub(super) ticks: u64,
    /// To be added to times of the location.
    pub(super) offset: i64,
}

/// The correction of a location's times, which ascend.
#[derive(Clone, Debug, Default)]
pub(super) struct Correction {
    offsets: Vec<ClockOffset>,
    /// The interval in use begins at this measurement.
    at: usize,
}

impl Correction {
    /// Offsets in the order of their measurement.
    pub(super) fn new(offsets: Vec<ClockOffset>) -> Self {
        Self { offsets, at: 0 }
    }

    /// A time of the location on the global clock.
    #[inline]
    pub(super) fn apply(&mut self, ticks: u64) -> u64 {
        // A single measurement has no line: the reference library leaves such times alone.
        if self.offsets.len() < 2 { ticks } else { self.interpolate(ticks) }
    }

    fn interpolate(&mut self, ticks: u64) -> u64 {
        while self.at + 2 < self.offsets.len() && ticks > self.offsets[self.at + 1].ticks {
            self.at += 1;
        }
        let (first, second) = (self.offsets[self.at], self.offsets[self.at + 1]);
        let slope = (i128::from(second.offset) - i128::from(first.offset)) as f64
            / second.ticks.saturating_sub(first.ticks).max(1) as f64;
        let since =
            if ticks >= first.ticks { (ticks - first.ticks) as f64 } else { -((first.ticks - ticks) as f64) };
        let change = (slope * since).round_ties_even() as i64;
        ticks.saturating_add_signed(first.offset.saturating_add(change))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_interpolated_and_extrapolated() {
        let offset = |ticks, offset| ClockOffset { ticks, offset };
        let mut clock = Correction::new(vec![offset(100, -10), offset(200, 10), offset(300, 10)]);
        let corrected = [50, 100, 150, 200, 250, 900].map(|ticks| clock.apply(ticks));
        assert_eq!(corrected, [30, 90, 150, 210, 260, 910]);
        assert_eq!(Correction::new(vec![offset(0, 5)]).apply(7), 7);
    }

    #[test]
    fn ticks_become_nanoseconds() {
        let clock = Clock::new(2_000_000_000, 10).unwrap();
        assert_eq!([10, 11, 12, 9].map(|ticks| clock.ns(ticks)), [0, 0, 1, 0]);
        // More than fits into 64 bits on the way.
        assert_eq!(clock.ns(10 + (1 << 62)), 1 << 61);
        assert!(Clock::new(0, 0).is_err());
    }
}
