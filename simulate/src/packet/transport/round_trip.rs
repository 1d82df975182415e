//! Smoothed round-trip times, measured with timestamps (RFC 7323).

use crate::engine::Picoseconds;

/// The smoothed round-trip time of a connection and its mean deviation: SRTT and RTTVAR of RFC
/// 6298.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundTrip {
    /// None before the first sample.
    known: Option<(Picoseconds, Picoseconds)>,
}

impl RoundTrip {
    /// Adds a sample (RFC 6298, sections 2.2 and 2.3: α = 1/8, β = 1/4). Returns both.
    pub(super) fn measure(&mut self, sample: Picoseconds) -> (Picoseconds, Picoseconds) {
        let (smoothed, variation) = match self.known {
            None => (sample, sample / 2),
            Some((smoothed, variation)) => {
                let variation = variation - variation / 4 + smoothed.abs_diff(sample) / 4;
                (smoothed - smoothed / 8 + sample / 8, variation)
            }
        };
        *self.known.insert((smoothed, variation))
    }

    /// The smoothed round-trip time; 0 if it is not known.
    pub(super) fn smoothed(&self) -> Picoseconds {
        self.known.map_or(0, |(smoothed, _)| smoothed)
    }
}
