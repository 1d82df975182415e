//! The end of slow start before packets are lost: HyStart++ (RFC 9406).
//!
//! A round is a window of packets. When the least round-trip time of a round exceeds that of the
//! round before by an eighth of it, at least 4 and at most 16 ms, a queue is growing. Growth is
//! then a quarter for up to five rounds; if the round-trip time falls again in these, full growth
//! resumes, else slow start is over.

use crate::engine::Picoseconds;

/// Least growth of the round-trip time that shows a queue: 4 ms (`MIN_RTT_THRESH`, section 4.3).
const LEAST_GROWTH: Picoseconds = 4_000_000_000;
/// Growth of the round-trip time that shows a queue whatever the time: 16 ms (`MAX_RTT_THRESH`).
const MOST_GROWTH: Picoseconds = 16_000_000_000;
/// The growth is this part of the round-trip time (section 4.3).
const GROWTH_DIVISOR: u64 = 8;
/// Samples that a round needs to be judged (section 4.3).
const LEAST_SAMPLES: u32 = 8;
/// Growth of the conservative slow start, as part of the full one (section 4.3).
const CONSERVATIVE_GROWTH: f64 = 0.25;
/// Rounds of the conservative slow start (section 4.3).
const CONSERVATIVE_ROUNDS: u32 = 5;

/// The rounds of a slow start.
#[derive(Clone, Copy, Debug)]
pub(super) struct HyStart {
    /// The current round ends with the acknowledgement of this packet.
    end: u32,
    /// Least round-trip times of the round before and of the current one.
    before: Picoseconds,
    least: Picoseconds,
    samples: u32,
    /// Round-trip time at the begin of the conservative slow start, and its rounds to come.
    conservative: Option<(Picoseconds, u32)>,
}

/// What a sample says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Growth {
    /// The window grows by this part of the acknowledged packets.
    By(f64),
    /// Slow start is over.
    Over,
}

impl HyStart {
    pub(super) fn new() -> Self {
        Self { end: 0, before: Picoseconds::MAX, least: Picoseconds::MAX, samples: 0, conservative: None }
    }

    /// An acknowledgement up to `ack`, when packets before `next` had been sent, took `sample`.
    pub(super) fn observe(&mut self, ack: u32, next: u32, sample: Picoseconds) -> Growth {
        if ack > self.end {
            (self.end, self.before, self.least, self.samples) = (next, self.least, Picoseconds::MAX, 0);
            if let Some((_, rounds)) = &mut self.conservative {
                *rounds = rounds.saturating_sub(1);
                if *rounds == 0 {
                    return Growth::Over;
                }
            }
        }
        self.least = self.least.min(sample);
        self.samples += 1;
        if self.samples >= LEAST_SAMPLES && self.before < Picoseconds::MAX {
            let growth = (self.before / GROWTH_DIVISOR).clamp(LEAST_GROWTH, MOST_GROWTH);
            match self.conservative {
                None if self.least >= self.before.saturating_add(growth) => {
                    self.conservative = Some((self.least, CONSERVATIVE_ROUNDS));
                }
                Some((begin, _)) if self.least < begin => self.conservative = None,
                _ => {}
            }
        }
        Growth::By(if self.conservative.is_some() { CONSERVATIVE_GROWTH } else { 1.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Picoseconds = 1_000_000_000;

    /// Rounds of 10 packets with the given round-trip times.
    fn growths(times: &[Picoseconds]) -> Vec<Growth> {
        let mut hystart = HyStart::new();
        let mut last = Vec::new();
        for (round, time) in (0..).zip(times) {
            let growths = (1..=10).map(|ack| hystart.observe(round * 10 + ack, round * 10 + 10, *time));
            last.push(growths.last().unwrap());
        }
        last
    }

    #[test]
    fn a_queue_that_grows_ends_slow_start_after_five_rounds() {
        let (full, slow) = (Growth::By(1.0), Growth::By(0.25));
        let times = [1, 2, 3, 8, 9, 10, 11, 12].map(|ms| ms * MS);
        assert_eq!(growths(&times), [full, full, full, slow, slow, slow, slow, slow]);
        let mut hystart = HyStart::new();
        // It stays over, whatever comes.
        let rounds = [1, 2, 3, 8, 9, 10, 11, 12, 13, 13, 14].map(|ms| ms * MS);
        let mut all = Vec::new();
        for (round, time) in (0..).zip(rounds) {
            all.extend((1..=10).map(|ack| hystart.observe(round * 10 + ack, round * 10 + 10, time)));
        }
        assert_eq!(all.iter().position(|growth| *growth == Growth::Over), Some(80));
    }

    #[test]
    fn a_peak_that_passes_does_not() {
        let (full, slow) = (Growth::By(1.0), Growth::By(0.25));
        assert_eq!(growths(&[1, 9, 1, 1].map(|ms| ms * MS)), [full, slow, full, full]);
        // Less than 4 ms is noise.
        assert_eq!(growths(&[1, 4, 4].map(|ms| ms * MS)), [full, full, full]);
    }
}
