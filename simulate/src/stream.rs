//! Random streams: every random quantity of a run has a generator of its own.
//!
//! *Common random numbers*: the jobs of a line depend on the run's seed and the line alone. All
//! points of a sweep therefore have the same jobs, and differences between points come from the
//! algorithms. Each axis has a stream of its own for the same reason: another host selector does
//! not change the numbers of the router.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The purpose of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Submissions and durations of a job line.
    Jobs(usize),
    /// The host selector's choices.
    HostSelector,
    /// The process mapper's choices.
    ProcessMapper,
}

impl Stream {
    /// The generator of this stream for a run's seed.
    ///
    /// xoshiro256++ seeds itself by splitmix64 (Blackman and Vigna, 2018, section 6.1), so
    /// neighbouring seeds give unrelated streams; the odd multiplier keeps `(seed, stream)` pairs
    /// with small numbers apart.
    pub(crate) fn generator(self, seed: u64) -> Xoshiro256PlusPlus {
        let number: u64 = match self {
            Stream::HostSelector => 1,
            Stream::ProcessMapper => 2,
            Stream::Jobs(line) => 1000 + line as u64,
        };
        Xoshiro256PlusPlus::seed_from_u64(seed ^ number.wrapping_mul(0xd134_2543_de82_ef95))
    }
}
