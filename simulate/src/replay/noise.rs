//! Noise of computation, and stragglers: hosts that are slower than others.
//!
//! - **Noise**: each stretch of computation takes a factor of its own, log-normal with mean 1 and
//!   the standard deviation that is asked for. The delays of operating systems have heavier tails
//!   (Hoefler, Schneider, Lumsdaine, *Characterizing the influence of system noise on large-scale
//!   applications by simulation*, SC 2010). The model shows how sensitive a program is to noise; it
//!   does not describe a given system.
//! - **Stragglers**: a random share of the hosts takes longer for all computation.
//!
//! Every factor is a hash of the seed and of its purpose, so it does not depend on the order of
//! computation.

use crate::engine::Picoseconds;
use crate::topology::HostId;

/// Variation of computation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// Standard deviation of the factor on a stretch of computation: `noise`, 0 by default.
    pub deviation: f64,
    /// Probability that a host is slow: `stragglers`, 0 by default.
    pub stragglers: f64,
    /// Computation time of a slow host over that of others: `slowdown`, 2 by default.
    pub slowdown: f64,
    /// Of the run.
    pub seed: u64,
}

/// The place of an operation, from which its noise is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperationPlace {
    /// Number of the replay.
    pub(super) replay: u64,
    pub(super) rank: u32,
    /// Position among the operations of the rank.
    pub(super) position: usize,
}

impl Noise {
    /// True if computation varies at all.
    pub fn is_any(&self) -> bool {
        self.deviation > 0.0 || self.stragglers > 0.0
    }

    /// The time that `time` of computation takes on a host, for the operation at `place`.
    pub(super) fn apply(&self, time: Picoseconds, host: HostId, place: OperationPlace) -> Picoseconds {
        if !self.is_any() {
            return time;
        }
        let mut factor = 1.0;
        if share(hash(self.seed ^ hash(u64::from(host.0)))) < self.stragglers {
            factor = self.slowdown;
        }
        if self.deviation > 0.0 {
            let OperationPlace { replay, rank, position } = place;
            let state = hash(hash(hash(self.seed ^ replay) ^ u64::from(rank)) ^ position as u64);
            let (a, b) = (share(hash(state)), share(hash(state ^ 1)));
            // Box and Muller, 1958.
            let normal = (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos();
            // The variance of a log-normal factor of mean 1 is exp(σ²) − 1.
            let variance = (1.0 + self.deviation * self.deviation).ln();
            factor *= (variance.sqrt() * normal - variance / 2.0).exp();
        }
        (time as f64 * factor).round() as Picoseconds // saturates
    }
}

/// The finalizer of splitmix64 (Steele, Lea, Flood, 2014).
fn hash(state: u64) -> u64 {
    let mut x = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A number from 0 to 1, without 1.
fn share(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(replay: u64, rank: u32, position: usize) -> OperationPlace {
        OperationPlace { replay, rank, position }
    }

    #[test]
    fn factors_have_the_mean_and_the_deviation_that_were_asked_for() {
        let noise = Noise { deviation: 0.2, seed: 7, ..Noise::default() };
        let count = 100_000;
        let factors = (0..count)
            .map(|position| noise.apply(1_000_000_000, HostId(3), place(1, 2, position)) as f64 / 1e9);
        let factors: Vec<f64> = factors.collect();
        let mean = factors.iter().sum::<f64>() / count as f64;
        let variance = factors.iter().map(|factor| (factor - mean).powi(2)).sum::<f64>() / count as f64;
        // Five standard errors: 0.2/√n, and about 0.2²·√(2/n) for the variance.
        assert!((mean - 1.0).abs() < 0.0032 && (variance - 0.04).abs() < 0.002, "{mean} {variance}");
    }

    #[test]
    fn a_share_of_the_hosts_is_slow_all_the_time() {
        let noise = Noise { stragglers: 0.1, slowdown: 3.0, seed: 1, ..Noise::default() };
        let slow = (0..10_000).filter(|host| noise.apply(100, HostId(*host), place(0, 0, 0)) == 300).count();
        assert!((850..1150).contains(&slow), "{slow}");
        assert!((0..100).all(|host| {
            let factor = |position| noise.apply(100, HostId(host), place(9, 9, position));
            factor(1) == factor(2) && (factor(1) == 100 || factor(1) == 300)
        }));
        assert_eq!(Noise::default().apply(123, HostId(1), place(2, 3, 4)), 123);
    }
}
