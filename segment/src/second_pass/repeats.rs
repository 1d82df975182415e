//! Stretches of a run in which the same happens again and again, to the nanosecond.
//!
//! Each message has a fingerprint: who sends how much to whom, so long after the message before it,
//! and the calls that were entered in between. Where as many fingerprints as [`ALIKE`] are those of
//! an earlier place, the distance to it is a period, and the repeat goes on as long as each
//! fingerprint is the one of a period before. Earlier places are found as in compression (Ziv and
//! Lempel, *A universal algorithm for sequential data compression*, IEEE Transactions on
//! Information Theory 23, 1977): by a table of the latest place of each short series, here of two
//! tables, one of which keeps few series for long.
//!
//! Fingerprints have 32 bits, so one message in 2³² that differs is taken for the same; series of
//! thousands are sure. Recorded runs have no repeats; their messages, of which more is known than
//! when they were sent, are read in full only after what was sent came again.

use std::collections::VecDeque;
use std::ops::Range;

use phaseflow_collect::trace::{Call, MessageBlock};

/// Longest period, in messages.
const LONGEST: usize = 1 << 17;
/// Messages that are looked at together; with them, those of the longest period that is found are
/// still remembered.
const CHUNK: usize = 1 << 12;
/// Fingerprints that are the same before it is a repeat; of short periods these are several of
/// them.
const ALIKE: usize = 64;
/// Shorter repeats are forgotten.
const SHORTEST: u64 = 4096;
/// Series in each table; a series is of eight messages.
const SERIES: usize = 1 << 12;
/// What stands for times that are not known.
static UNKNOWN: [i64; CHUNK] = [0; CHUNK];
/// One series in this number is in the table that keeps them for long.
const FEW: u64 = 64;

/// A stretch in which each message is like the one a period before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// Its messages, counted from the start of the run; from the first period on.
    pub messages: Range<u64>,
    /// Messages of a period.
    pub period: u64,
    /// When the first one is posted, on the trace's clock.
    pub start_ns: i64,
    /// How long a period takes.
    pub period_ns: u64,
}

/// Finds repeats while messages pass. Memory: 1.7 MB, and 48 bytes a repeat.
#[derive(Debug)]
pub(crate) struct Repeats {
    found: Vec<Repeat>,
    /// The latest fingerprints, by message modulo [`LONGEST`].
    prints: Vec<u32>,
    /// When those messages are posted.
    times_ns: Vec<i64>,
    /// The last eight messages.
    series: u64,
    /// By hash of a series: its latest message, and the series.
    latest: [Vec<(u64, u64)>; 2],
    /// The repeat that goes on; its end is not known yet.
    current: Option<Repeat>,
    messages: u64,
    /// The first message whose fingerprint has in it what those after it have.
    valid: u64,
    /// True if fingerprints have all in them that is known.
    is_sure: bool,
    /// Messages of the latest block that were in repeats.
    repeated: u64,
    last_ns: i64,
    /// When calls are entered, and their fingerprints.
    calls: VecDeque<(i64, u64)>,
}

impl Default for Repeats {
    fn default() -> Self {
        Self {
            found: Vec::new(),
            prints: vec![0; LONGEST],
            times_ns: vec![0; LONGEST],
            series: 0,
            latest: [vec![(u64::MAX, 0); SERIES], vec![(u64::MAX, 0); SERIES]],
            current: None,
            messages: 0,
            valid: 0,
            is_sure: false,
            repeated: 0,
            last_ns: 0,
            calls: VecDeque::new(),
        }
    }
}

impl Repeats {
    /// Adds calls, which stand before the messages that are posted later.
    pub(crate) fn add_calls(&mut self, calls: &[Call]) {
        for call in calls {
            let duration =
                call.leave_ns.map_or(u64::MAX, |leave| leave.wrapping_sub(call.enter_ns).cast_unsigned());
            let who = u64::from(call.rank.0) << 8 | call.operation as u64;
            self.calls.push_back((call.enter_ns, mixed(duration, who, call.bytes.unwrap_or(u64::MAX))));
        }
    }

    /// True if it cannot tell more without all that is known of messages.
    pub(crate) fn wants_times(&self) -> bool {
        self.current.is_some() || self.repeated > 0
    }

    /// Adds messages.
    pub(crate) fn add(&mut self, block: &MessageBlock) {
        let is_sure = !block.lacks_times();
        if is_sure != self.is_sure {
            self.end();
            (self.is_sure, self.valid) = (is_sure, self.messages);
        }
        let before = self.messages;
        self.repeated = 0;
        let mut row = 0;
        while row < block.len() {
            let place = self.messages as usize % LONGEST;
            let end = block.len().min(row + CHUNK - place % CHUNK);
            self.keep(block, row..end, place);
            let after = self.messages + (end - row) as u64;
            while self.messages < after {
                self.go_on(after);
            }
            row = end;
        }
        if let Some(repeat) = &self.current {
            self.repeated += self.messages - repeat.messages.start.max(before);
        }
    }

    /// Remembers the fingerprints and times of some messages, from `place` on.
    fn keep(&mut self, block: &MessageBlock, rows: Range<usize>, place: usize) {
        let columns = block.columns();
        let (times, bytes) = (&columns.send_post_ns[rows.clone()], &columns.bytes[rows.clone()]);
        let pairs = columns.src[rows.clone()].iter().zip(&columns.dst[rows.clone()]);
        let places = place..place + rows.len();
        self.times_ns[places.clone()].copy_from_slice(times);
        let more = block.more_times().map(|times| times.get(rows.clone()).unwrap_or(&UNKNOWN[..rows.len()]));
        let more = more[0].iter().zip(more[1]).zip(more[2]);
        let known = pairs.zip(bytes).zip(more);
        let (is_sure, mut last_ns) = (self.is_sure, self.last_ns);
        let mut call_ns = self.calls.front().map_or(i64::MAX, |call| call.0);
        for ((kept, time_ns), (((src, dst), bytes), ((free, ready), there))) in
            self.prints[places].iter_mut().zip(times).zip(known)
        {
            let pair = u64::from(*src) << 32 | u64::from(*dst);
            let mut print = mixed(time_ns.wrapping_sub(last_ns).cast_unsigned(), pair, *bytes);
            if is_sure {
                print = mixed(print ^ free.cast_unsigned(), ready.cast_unsigned(), there.cast_unsigned());
            }
            if call_ns <= *time_ns {
                while let Some(&(enter_ns, call)) = self.calls.front()
                    && enter_ns <= *time_ns
                {
                    self.calls.pop_front();
                    print = mixed(print, call, enter_ns.wrapping_sub(last_ns).cast_unsigned());
                }
                call_ns = self.calls.front().map_or(i64::MAX, |call| call.0);
            }
            last_ns = *time_ns;
            *kept = (print >> 32) as u32;
        }
        self.last_ns = last_ns;
    }

    /// The next message, or all before `end` that go on with a repeat; they are of one chunk.
    fn go_on(&mut self, end: u64) {
        if let Some(Repeat { period, .. }) = self.current {
            let place = |message: u64| message as usize % LONGEST;
            let count = (end - self.messages) as usize;
            let own = &self.prints[place(self.messages)..][..count];
            let before = &self.prints[place(self.messages - period)..];
            let mut same = same(own, before);
            if same == before.len() {
                same += self::same(&own[same..], &self.prints);
            }
            self.messages += same as u64;
            if same == count {
                return;
            }
            self.end();
            self.series = 0;
        }
        self.search(self.prints[self.messages as usize % LONGEST]);
        self.messages += 1;
    }

    /// Looks for an earlier place where the same happened.
    fn search(&mut self, print: u32) {
        let at = self.messages;
        self.series = self.series << 8 ^ mixed(u64::from(print), 0, 0);
        let place = (self.series >> 40) as usize % SERIES;
        let is_kept = self.series.wrapping_mul(MIX[1]) >> 32 & (FEW - 1) == 0;
        for table in 0..1 + usize::from(is_kept) {
            let (earlier, series) = std::mem::replace(&mut self.latest[table][place], (at, self.series));
            if series != self.series || earlier >= at || self.current.is_some() {
                continue;
            }
            let period = at - earlier;
            if period <= LONGEST as u64 / 2 && self.alike(at, period) {
                let start = at + 1 - ALIKE as u64 - period;
                let time_ns = |message: u64| self.times_ns[message as usize % LONGEST];
                self.current = Some(Repeat {
                    messages: start..at,
                    period,
                    start_ns: time_ns(start),
                    period_ns: time_ns(start + period).wrapping_sub(time_ns(start)).cast_unsigned(),
                });
            }
        }
    }

    /// True if the messages up to `at` are those of a period before.
    fn alike(&self, at: u64, period: u64) -> bool {
        let print = |message: u64| self.prints[message as usize % LONGEST];
        at + 1 >= self.valid + period + ALIKE as u64
            && (0..ALIKE as u64).all(|back| print(at - back) == print(at - back - period))
    }

    /// The repeat that goes on is over.
    fn end(&mut self) {
        if let Some(mut repeat) = self.current.take() {
            repeat.messages.end = self.messages;
            self.repeated += ALIKE as u64;
            if self.is_sure && repeat.messages.end - repeat.messages.start >= SHORTEST.max(2 * repeat.period)
            {
                self.found.push(repeat);
            }
        }
    }

    /// All repeats, in order.
    pub(crate) fn finish(mut self) -> Vec<Repeat> {
        self.end();
        self.found
    }
}

/// How many of the first ones are the same.
fn same(own: &[u32], before: &[u32]) -> usize {
    let len = own.len().min(before.len());
    let (own, before) = (&own[..len], &before[..len]);
    let mut at = 0;
    // Without a way out among them they are compared as vectors.
    while at + ALIKE <= len && own[at..at + ALIKE] == before[at..at + ALIKE] {
        at += ALIKE;
    }
    at + own[at..].iter().zip(&before[at..]).take_while(|(own, before)| own == before).count()
}

/// Odd numbers without pattern (the golden ratio; Steele, Lea and Flood, *Fast splittable
/// pseudorandom number generators*, OOPSLA 2014).
const MIX: [u64; 3] = [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb];

/// A fingerprint of three numbers; the upper half is the better one.
#[inline]
fn mixed(a: u64, b: u64, c: u64) -> u64 {
    let sum = a.wrapping_mul(MIX[0])
        ^ b.wrapping_mul(MIX[1]).rotate_left(21)
        ^ c.wrapping_mul(MIX[2]).rotate_left(42);
    (sum ^ sum >> 32).wrapping_mul(MIX[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use phaseflow_collect::trace::{Message, Operation, Rank};
    use proptest::prelude::*;

    /// Repeats of messages that come at these intervals, read in blocks of `block` messages.
    fn found(messages: &[(u64, u32)], calls: &[i64], block: usize) -> Vec<Repeat> {
        let mut repeats = Repeats::default();
        let call = |enter_ns: &i64| Call {
            enter_ns: *enter_ns,
            leave_ns: Some(enter_ns + 5),
            operation: Operation::Barrier,
            ..Call::default()
        };
        repeats.add_calls(&calls.iter().map(call).collect::<Vec<_>>());
        let mut time_ns = 1000;
        for chunk in messages.chunks(block) {
            let mut columns = MessageBlock::default();
            for (interval, dst) in chunk {
                time_ns += interval.cast_signed();
                columns.push(&Message { send_post_ns: time_ns, dst: Rank(*dst), ..Message::default() });
            }
            repeats.add(&columns);
        }
        repeats.finish()
    }

    fn numbers(seed: u64, below: u64) -> impl Iterator<Item = u64> {
        (1..).map(move |number| mixed(seed, number, number * seed) % below)
    }

    /// A period of messages with pauses that no two have in common.
    fn period(length: usize) -> Vec<(u64, u32)> {
        numbers(7, 1 << 40).zip(numbers(8, 64)).take(length).map(|(pause, dst)| (pause, dst as u32)).collect()
    }

    #[test]
    fn a_loop_is_found_and_what_interrupts_it() {
        let mut run: Vec<(u64, u32)> = period(10_050)[50..].to_vec();
        let own = period(50);
        run.extend(own.repeat(400));
        run.push((3, 3));
        run.extend(own.repeat(400));
        let time_ns =
            |message: usize| 1000 + run[..=message].iter().map(|(pause, _)| pause.cast_signed()).sum::<i64>();
        for block in [100_000, 777] {
            let found = found(&run, &[], block);
            let of: Vec<_> = found.iter().map(|repeat| (repeat.messages.clone(), repeat.period)).collect();
            assert_eq!(of, [(10_000..30_000, 50), (30_001..50_001, 50)]);
            let length: u64 = own.iter().map(|(pause, _)| *pause).sum();
            for repeat in &found {
                let first = repeat.messages.start as usize;
                assert_eq!((repeat.start_ns, repeat.period_ns), (time_ns(first), length));
            }
        }
    }

    #[test]
    fn a_long_loop_is_found_wherever_the_table_of_fingerprints_begins_anew() {
        // One message of the last period differs, long after the table was full for the first time.
        let mut run = period(40_000).repeat(6);
        run[230_000] = (3, 3);
        for block in [60_000, 777] {
            let found = found(&run, &[], block);
            let [repeat] = &found[..] else { panic!("{found:?}") };
            assert_eq!((repeat.period, repeat.messages.end), (40_000, 230_000));
            assert!(repeat.messages.start < 4096, "{repeat:?}");
        }
    }

    #[test]
    fn calls_and_times_of_receives_have_to_be_the_same_too() {
        let run = period(50).repeat(400);
        assert_eq!(found(&run, &[], 1000).len(), 1);
        // A call in each of the first 200 periods, each time a bit later.
        let length: i64 = period(50).iter().map(|(pause, _)| pause.cast_signed()).sum();
        let calls: Vec<i64> = (0..200).map(|number| 1000 + number * length + number).collect();
        let of_calls = found(&run, &calls, 1000);
        assert!(of_calls.iter().all(|repeat| repeat.messages.start >= 200 * 50 - 100), "{of_calls:?}");
        assert_eq!(of_calls.len(), 1);
    }

    proptest! {
        /// Whatever is found is the same a period later.
        #[test]
        fn what_is_found_is_so(
            lengths in prop::collection::vec((1_usize..300, 1_usize..6000), 1..6),
            below in 2_u64..10,
        ) {
            let mut run = Vec::new();
            for (number, (length, count)) in (0..).zip(lengths) {
                let own: Vec<(u64, u32)> =
                    numbers(number, below).zip(numbers(number + 9, below)).take(length).map(|(pause, dst)| (pause, dst as u32)).collect();
                run.extend(own.iter().cycle().take(count));
            }
            for Repeat { messages, period, .. } in found(&run, &[], 1000) {
                // The time before the first message of a period is no part of it.
                let (start, end, period) = (messages.start as usize, messages.end as usize, period as usize);
                for message in start..end - period {
                    prop_assert_eq!(run[message], run[message + period]);
                }
            }
        }
    }
}
