//! The retransmission timeout (RFC 6298).

use super::super::round_trip::RoundTrip;
use crate::engine::Picoseconds;

/// Timeout before the first measurement: 1 s (RFC 6298, section 2.1).
const FIRST_TIMEOUT: Picoseconds = 1_000_000_000_000;
/// Longest timeout: 120 s, as in Linux (`TCP_RTO_MAX`); RFC 6298, section 2.5, asks for 60 s or
/// more.
pub(super) const LONGEST_TIMEOUT: Picoseconds = 120_000_000_000_000;

/// The timeout of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeout {
    round_trip: RoundTrip,
    /// The least allowed one.
    least: Picoseconds,
    /// The current one, doubled by each one that has passed.
    pub(super) current: Picoseconds,
}

impl Timeout {
    pub(super) fn new(least: Picoseconds) -> Self {
        Self { round_trip: RoundTrip::default(), least, current: FIRST_TIMEOUT.max(least) }
    }

    /// Adds a sample. The variation counts with its fourfold, at least with the least timeout, as
    /// in Linux: the timeout is the smoothed time plus that.
    pub(super) fn measure(&mut self, sample: Picoseconds) {
        let (smoothed, variation) = self.round_trip.measure(sample);
        let timeout = smoothed.saturating_add(variation.saturating_mul(4).max(self.least));
        self.current = timeout.clamp(self.least, LONGEST_TIMEOUT.max(self.least));
    }

    /// The timer ran down: the next timeout is twice as long (section 5.5).
    pub(super) fn back_off(&mut self) {
        self.current = self.current.saturating_mul(2).min(LONGEST_TIMEOUT.max(self.least));
    }

    /// The smoothed round-trip time; 0 if it is not known.
    pub(super) fn smoothed(&self) -> Picoseconds {
        self.round_trip.smoothed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Picoseconds = 1_000_000_000;

    #[test]
    fn a_steady_timeout_has_the_least_timeout_above_it() {
        let mut timeout = Timeout::new(200 * MS);
        assert_eq!(timeout.current, 1000 * MS);
        (0..200).for_each(|_| timeout.measure(10 * MS));
        assert_eq!(timeout.smoothed(), 10 * MS);
        assert_eq!(timeout.current, 210 * MS);
    }

    #[test]
    fn timeouts_double_up_to_two_minutes() {
        let mut timeout = Timeout::new(200 * MS);
        (0..200).for_each(|_| timeout.measure(10 * MS));
        for doublings in 1..20 {
            timeout.back_off();
            assert_eq!(timeout.current, ((210 * MS) << doublings).min(120_000 * MS));
        }
        // A sample ends the back-off (section 5.7 as RFC 7323's timestamps allow).
        timeout.measure(10 * MS);
        assert_eq!(timeout.current, 210 * MS);
    }

    #[test]
    fn variation_counts_four_times() {
        let mut timeout = Timeout::new(MS);
        timeout.measure(100 * MS);
        // The first sample R: SRTT = R, RTTVAR = R/2.
        assert_eq!(timeout.current, 300 * MS);
        timeout.measure(200 * MS);
        // RTTVAR = 3/4 · 50 + 1/4 · 100, SRTT = 7/8 · 100 + 1/8 · 200.
        assert_eq!((timeout.smoothed(), timeout.current), (112_500 * MS / 1000, 362_500 * MS / 1000));
    }
}
