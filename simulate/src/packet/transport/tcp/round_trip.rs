//! Smoothed round-trip times and the retransmission timeout (RFC 6298), measured with timestamps
//! (RFC 7323).

use crate::engine::Picoseconds;

/// Timeout before the first measurement: 1 s (RFC 6298, section 2.1).
const FIRST_TIMEOUT: Picoseconds = 1_000_000_000_000;
/// Longest timeout: 120 s, as in Linux (`TCP_RTO_MAX`); RFC 6298, section 2.5, asks for 60 s or
/// more.
pub(super) const LONGEST_TIMEOUT: Picoseconds = 120_000_000_000_000;

/// The estimate of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrip {
    /// Smoothed time and its variation; none before the first sample.
    known: Option<(Picoseconds, Picoseconds)>,
    /// The least allowed timeout.
    least: Picoseconds,
    /// The current timeout, doubled by each one that has passed.
    pub(super) timeout: Picoseconds,
}

impl RoundTrip {
    pub(super) fn new(least: Picoseconds) -> Self {
        Self { known: None, least, timeout: FIRST_TIMEOUT.max(least) }
    }

    /// Adds a sample (section 2.3, α = 1/8 and β = 1/4). The variation counts with its fourfold, at
    /// least with the least timeout, as in Linux: the timeout is the smoothed time plus that.
    pub(super) fn measure(&mut self, sample: Picoseconds) {
        let (smoothed, variation) = match self.known {
            None => (sample, sample / 2),
            Some((smoothed, variation)) => {
                let variation = variation - variation / 4 + smoothed.abs_diff(sample) / 4;
                (smoothed - smoothed / 8 + sample / 8, variation)
            }
        };
        self.known = Some((smoothed, variation));
        let timeout = smoothed.saturating_add(variation.saturating_mul(4).max(self.least));
        self.timeout = timeout.clamp(self.least, LONGEST_TIMEOUT.max(self.least));
    }

    /// The timer ran down: the next timeout is twice as long (section 5.5).
    pub(super) fn back_off(&mut self) {
        self.timeout = self.timeout.saturating_mul(2).min(LONGEST_TIMEOUT.max(self.least));
    }

    /// The smoothed round-trip time; 0 if it is not known.
    pub(super) fn smoothed(&self) -> Picoseconds {
        self.known.map_or(0, |(smoothed, _)| smoothed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Picoseconds = 1_000_000_000;

    #[test]
    fn a_steady_round_trip_has_the_least_timeout_above_it() {
        let mut round_trip = RoundTrip::new(200 * MS);
        assert_eq!(round_trip.timeout, 1000 * MS);
        (0..200).for_each(|_| round_trip.measure(10 * MS));
        assert_eq!(round_trip.smoothed(), 10 * MS);
        assert_eq!(round_trip.timeout, 210 * MS);
    }

    #[test]
    fn timeouts_double_up_to_two_minutes() {
        let mut round_trip = RoundTrip::new(200 * MS);
        (0..200).for_each(|_| round_trip.measure(10 * MS));
        for doublings in 1..20 {
            round_trip.back_off();
            assert_eq!(round_trip.timeout, ((210 * MS) << doublings).min(120_000 * MS));
        }
        // A sample ends the back-off (section 5.7 as RFC 7323's timestamps allow).
        round_trip.measure(10 * MS);
        assert_eq!(round_trip.timeout, 210 * MS);
    }

    #[test]
    fn variation_counts_four_times() {
        let mut round_trip = RoundTrip::new(MS);
        round_trip.measure(100 * MS);
        // The first sample R: SRTT = R, RTTVAR = R/2.
        assert_eq!(round_trip.timeout, 300 * MS);
        round_trip.measure(200 * MS);
        // RTTVAR = 3/4 · 50 + 1/4 · 100, SRTT = 7/8 · 100 + 1/8 · 200.
        assert_eq!((round_trip.smoothed(), round_trip.timeout), (112_500 * MS / 1000, 362_500 * MS / 1000));
    }
}
