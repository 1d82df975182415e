//! When each message of a run was posted and how many bytes went before it, roughly: a table of
//! fixed size, however long the run.

use std::ops::Range;

/// Entries at most.
const MOST: usize = 1 << 16;

/// Time and bytes of every `step`-th message, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticks {
    /// Since the start of the run; of message 0, `step`, 2 × `step`, …
    times_ns: Vec<u64>,
    /// Bytes of all messages posted at an earlier time: the order of messages of one time does not
    /// matter.
    bytes: Vec<u64>,
    step: u64,
    messages: u64,
    /// Bytes of all messages so far.
    sum: u64,
    /// The time of the last message, and the bytes of those of an earlier time.
    last: Option<(i64, u64)>,
}

impl Default for Ticks {
    fn default() -> Self {
        Self { times_ns: Vec::new(), bytes: Vec::new(), step: 1, messages: 0, sum: 0, last: None }
    }
}

impl Ticks {
    /// Adds messages that are posted at these times and have these bytes; `since_start` makes times
    /// nanoseconds since the start of the run.
    pub(crate) fn add(&mut self, times: &[i64], bytes: &[u64], since_start: impl Fn(i64) -> u64) {
        let end = self.messages + times.len() as u64;
        let mut added = 0;
        loop {
            let next = self.times_ns.len() as u64 * self.step;
            if next >= end {
                break;
            }
            // At or after what was there before, and before the end.
            let place = (next - self.messages) as usize;
            self.times_ns.push(since_start(times[place]));
            self.sum_up(times, bytes, added..place + 1);
            added = place + 1;
            self.bytes.push(self.last.map_or(0, |(_, before)| before));
            if self.times_ns.len() == MOST {
                thin_out(&mut self.times_ns);
                thin_out(&mut self.bytes);
                self.step *= 2;
            }
        }
        self.sum_up(times, bytes, added..times.len());
        self.messages = end;
    }

    /// Adds the bytes of some messages.
    fn sum_up(&mut self, times: &[i64], bytes: &[u64], places: Range<usize>) {
        let Some(time) = times[places.clone()].last().copied() else { return };
        let first = places.start + times[places.clone()].partition_point(|other| *other < time);
        let sum = |sum: u64, bytes: &[u64]| bytes.iter().fold(sum, |sum, own| sum.saturating_add(*own));
        let before = sum(self.sum, &bytes[places.start..first]);
        self.sum = sum(before, &bytes[first..places.end]);
        if self.last.is_none_or(|(last, _)| last != time) {
            self.last = Some((time, before));
        }
    }

    /// When a message was posted, at the latest that the table says: the time of the last one in it
    /// that is not after this one.
    pub(crate) fn time_ns(&self, message: u64) -> Option<u64> {
        self.times_ns.get((message / self.step) as usize).copied()
    }

    /// Bytes of the messages in a range, and of some around it: those of the same entries of the
    /// table and those of the same times as its first and last message.
    pub(crate) fn bytes_around(&self, messages: &Range<u64>) -> u64 {
        let before = |entry: usize| self.bytes.get(entry).copied().unwrap_or(self.sum);
        let last = messages.end.div_ceil(self.step) as usize;
        let after = self
            .times_ns
            .get(last)
            .map_or(last, |last_ns| self.times_ns.partition_point(|time_ns| time_ns <= last_ns));
        before(after).saturating_sub(before((messages.start / self.step) as usize))
    }
}

/// Keeps every other entry, the first among them.
fn thin_out(table: &mut Vec<u64>) {
    let kept = table.len().div_ceil(2);
    (0..kept).for_each(|entry| table[entry] = table[2 * entry]);
    table.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_thins_out_as_the_run_grows() {
        let mut ticks = Ticks::default();
        let times: Vec<i64> = (0..1_000_000).map(|message| 3 * message).collect();
        // In blocks whose lengths share nothing with its steps.
        let bytes: Vec<u64> = (0..777).map(|number| if number == 5 { 1_000_000 } else { 2 }).collect();
        times.chunks(777).for_each(|block| ticks.add(block, &bytes[..block.len()], i64::unsigned_abs));
        assert!(ticks.times_ns.len() <= MOST && ticks.times_ns.len() > MOST / 4);
        for message in [0, 1, 15, 16, 17, 499_999, 999_999] {
            let found = ticks.time_ns(message).unwrap();
            assert!(found <= 3 * message && 3 * message - found <= 3 * 32, "{message}: {found}");
        }
        // A heavy message is in every range that it may be in; all of them are the whole.
        for (range, heavy) in [(0..700, 1), (5..6, 1), (700..782, 1), (700..783, 1), (0..7700, 10)] {
            let around = (range.end - range.start + 64) * 2;
            let found = ticks.bytes_around(&range);
            assert!(heavy * 999_998 <= found && found <= heavy * 999_998 + around, "{range:?}: {found}");
        }
        assert_eq!(ticks.bytes_around(&(0..1_000_000)), 2 * 1_000_000 + 1287 * 999_998);
        // Messages of one time are not told apart.
        let mut same = Ticks::default();
        same.add(&[0, 7, 7, 7, 9], &[1, 10, 100, 1000, 10_000], i64::unsigned_abs);
        assert_eq!(
            [0..1, 1..2, 2..3, 4..5].map(|range| same.bytes_around(&range)),
            [1111, 1110, 1110, 10_000]
        );
        assert_eq!(Ticks::default().time_ns(0), None);
        assert_eq!(Ticks::default().bytes_around(&(0..10)), 0);
    }
}
