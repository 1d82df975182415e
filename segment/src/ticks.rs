//! When which message of a run was posted, roughly: a table of fixed size, however long the run.

/// Entries at most.
const MOST: usize = 1 << 16;

/// The time of every so manieth message, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticks {
    /// Since the start of the run; of message 0, `step`, 2 × `step`, …
    times_ns: Vec<u64>,
    step: u64,
    messages: u64,
}

impl Default for Ticks {
    fn default() -> Self {
        Self { times_ns: Vec::new(), step: 1, messages: 0 }
    }
}

impl Ticks {
    /// Adds messages that are posted at these times; `since_start` makes them nanoseconds since the start of the run.
    pub(crate) fn add(&mut self, times: &[i64], since_start: impl Fn(i64) -> u64) {
        let end = self.messages + times.len() as u64;
        loop {
            let next = self.times_ns.len() as u64 * self.step;
            if next >= end {
                break;
            }
            // At or after what was there before, and before the end.
            self.times_ns.push(since_start(times[(next - self.messages) as usize]));
            if self.times_ns.len() == MOST {
                let mut number = 0;
                self.times_ns.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                self.step *= 2;
            }
        }
        self.messages = end;
    }

    /// The times in the table after `from_ns` and before `to_ns`, and how many messages lie between two of them.
    pub(crate) fn between(&self, from_ns: u64, to_ns: u64) -> (&[u64], u64) {
        let first = self.times_ns.partition_point(|time| *time <= from_ns);
        let end = self.times_ns.partition_point(|time| *time < to_ns);
        (self.times_ns.get(first..end).unwrap_or_default(), self.step)
    }

    /// When a message was posted, at the latest that the table says: the time of the last one in it that is not after this one.
    pub(crate) fn time_ns(&self, message: u64) -> Option<u64> {
        self.times_ns.get((message / self.step) as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_thins_out_as_the_run_grows() {
        let mut ticks = Ticks::default();
        let times: Vec<i64> = (0..1_000_000).map(|message| 3 * message).collect();
        // In blocks whose lengths share nothing with its steps.
        times.chunks(777).for_each(|block| ticks.add(block, i64::unsigned_abs));
        assert!(ticks.times_ns.len() <= MOST && ticks.times_ns.len() > MOST / 4);
        for message in [0, 1, 15, 16, 17, 499_999, 999_999] {
            let found = ticks.time_ns(message).unwrap();
            assert!(found <= 3 * message && 3 * message - found <= 3 * 32, "{message}: {found}");
        }
        assert_eq!(Ticks::default().time_ns(0), None);
    }
}
