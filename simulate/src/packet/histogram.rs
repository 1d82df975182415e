//! How long a queue was, as the packets that joined it saw it.

use crate::engine::Picoseconds;

/// Counts by length on a logarithmic scale, two steps to the octave: a percentile is known to a quarter of itself. Finer steps
/// would cost each hop another cache miss.
///
/// The unit is the time that the queue takes to be worked off: empty, up to 2¹⁴ ps (205 bytes at 100 Gbit/s), and so on up to
/// 2³⁵ ps (430 MB at 100 Gbit/s, 4.3 MB at 1 Gbit/s), and beyond.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    counts: [u32; STEPS],
}

const STEPS: usize = 2 + 2 * (35 - LEAST as usize);
/// Binary logarithm of the shortest queue that is told from shorter ones.
const LEAST: u32 = 14;

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: [0; STEPS] }
    }
}

impl Histogram {
    /// Counts one packet.
    #[inline]
    pub(super) fn add(&mut self, backlog: Picoseconds) {
        let count = &mut self.counts[step(backlog)];
        *count = count.saturating_add(1);
    }

    /// The queue that the given share of the packets did not exceed: the middle of its step; `None` without packets.
    pub(super) fn quantile(&self, share: f64) -> Option<Picoseconds> {
        let total: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        let wanted = ((total as f64 * share).ceil() as u64).clamp(1, total.max(1));
        let mut below = 0;
        for (step, count) in self.counts.iter().enumerate() {
            below += u64::from(*count);
            if below >= wanted {
                return Some((floor(step) + floor(step + 1)) / 2);
            }
        }
        None
    }
}

#[inline]
fn step(backlog: Picoseconds) -> usize {
    if backlog < 1 << LEAST {
        return usize::from(backlog > 0);
    }
    let octave = backlog.ilog2();
    let half = (backlog >> (octave - 1)) as usize & 1;
    (2 + 2 * (octave - LEAST) as usize + half).min(STEPS - 1)
}

/// The shortest queue of a step.
fn floor(step: usize) -> Picoseconds {
    match step {
        0 | 1 => 0,
        _ => {
            let (octave, half) = ((step - 2) / 2, (step - 2) % 2);
            (2 + half as u64) << (octave + LEAST as usize - 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn quantiles_are_known_to_a_quarter(mut queues in prop::collection::vec(1_u64 << 14..1 << 35, 1..200), share in 0.0_f64..=1.0) {
            let mut histogram = Histogram::default();
            queues.iter().for_each(|queue| histogram.add(*queue));
            queues.sort_unstable();
            let rank = ((queues.len() as f64 * share).ceil() as usize).clamp(1, queues.len());
            let (exact, told) = (queues[rank - 1] as f64, histogram.quantile(share).unwrap() as f64);
            prop_assert!((told - exact).abs() <= exact / 4.0 + 1.0, "{told} for {exact}");
        }
    }

    #[test]
    fn an_empty_queue_is_empty_and_no_packet_is_unknown() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        histogram.add(0);
        assert_eq!(histogram.quantile(0.99), Some(0));
        assert!((0..STEPS).all(|i| step(floor(i)) == i || i == 1));
    }
}
