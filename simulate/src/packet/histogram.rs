//! Histograms of queue lengths at the arrival of packets.

use crate::engine::Picoseconds;

/// Counts by link and length on a logarithmic scale, two steps to the octave: a percentile is known
/// to a quarter of itself.
///
/// The unit is the serialization time of the queue: empty, up to 2¹⁴ ps (205 bytes at 100 Gbit/s),
/// and so on up to 2³⁵ ps (430 MB at 100 Gbit/s, 4.3 MB at 1 Gbit/s), and beyond.
///
/// Each count is probably not in a cache. Increments are therefore collected and applied some
/// hundred at a time, so that their memory latencies overlap.
#[derive(Clone, Debug)]
pub(super) struct Histograms {
    /// By link, then step.
    counts: Vec<u32>,
    /// Places in `counts` that are to be incremented.
    pending: Vec<u32>,
}

/// Steps of a histogram: empty, below [`LEAST`], and two for each of the octaves up to 2³⁵ ps.
const STEPS: usize = 2 + 2 * (35 - LEAST as usize);
/// Binary logarithm of the first step, picoseconds: 16 ns, a fraction of a packet at 100 Gbit/s.
const LEAST: u32 = 14;
/// Increments that are collected before they are applied: 2 KiB, well within a first-level cache.
const NOTES: usize = 512;

impl Histograms {
    /// Empty histograms of `links` links, fewer than 2²⁶.
    pub(super) fn new(links: usize) -> Self {
        Self { counts: vec![0; links * STEPS], pending: Vec::with_capacity(NOTES) }
    }

    /// Counts one packet.
    #[inline]
    pub(super) fn add(&mut self, link: u32, backlog: Picoseconds) {
        if self.pending.len() == NOTES {
            self.count();
        }
        self.pending.push(link * STEPS as u32 + step(backlog) as u32);
    }

    /// Resets all counts.
    pub(super) fn forget(&mut self) {
        self.pending.clear();
        self.counts.fill(0);
    }

    /// Applies the collected increments.
    pub(super) fn count(&mut self) {
        for place in self.pending.drain(..) {
            let count = &mut self.counts[place as usize];
            *count = count.saturating_add(1);
        }
    }

    /// The queue of a link that the given share of its packets did not exceed: the middle of its
    /// step; `None` without packets.
    pub(super) fn quantile(&mut self, link: u32, share: f64) -> Option<Picoseconds> {
        self.count();
        let counts = &self.counts[link as usize * STEPS..][..STEPS];
        let total: u64 = counts.iter().map(|count| u64::from(*count)).sum();
        let wanted = ((total as f64 * share).ceil() as u64).clamp(1, total.max(1));
        let mut below = 0;
        for (step, count) in counts.iter().enumerate() {
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
        fn quantiles_are_known_to_a_quarter(mut queues in prop::collection::vec(1_u64 << 14..1 << 35, 1..2000), share in 0.0_f64..=1.0) {
            let mut histograms = Histograms::new(2);
            queues.iter().for_each(|queue| histograms.add(1, *queue));
            queues.sort_unstable();
            let rank = ((queues.len() as f64 * share).ceil() as usize).clamp(1, queues.len());
            let (exact, told) = (queues[rank - 1] as f64, histograms.quantile(1, share).unwrap() as f64);
            prop_assert!((told - exact).abs() <= exact / 4.0 + 1.0, "{told} for {exact}");
            prop_assert_eq!(histograms.quantile(0, share), None);
        }
    }

    #[test]
    fn an_empty_queue_is_empty() {
        let mut histograms = Histograms::new(1);
        histograms.add(0, 0);
        assert_eq!(histograms.quantile(0, 0.99), Some(0));
        assert!((0..STEPS).all(|i| step(floor(i)) == i || i == 1));
    }
}
