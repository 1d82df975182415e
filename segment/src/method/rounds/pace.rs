//! Where messages become rare without ceasing, and where they come again.
//!
//! Stray messages in an idle stretch leave no silence, but they are many times rarer than the
//! messages of the phase before. Each message accounts for a few usual intervals. The time that is
//! left over adds up in a cumulative sum (CUSUM, Page 1954). The pauses of a round raise the sum
//! too, each by as much. A *lull* is where the sum rises much higher, over messages most of which
//! do not occur in the last rounds. It ends where a second sum rises: of messages that the lull's
//! own rate does not explain.

/// Usual intervals that each message accounts for: ln 8 / (1 − 1/8). With exponential intervals,
/// this best tells a rate from an eighth of it.
const ALLOWED: f64 = 2.377;
/// In a lull, the sum is this many times as high as any other recent sum.
const HIGHER: f64 = 4.0;
/// A lull has at least this number of messages.
const MESSAGES: u64 = 16;
/// A lull lasts for at least 1/`PART` of the run so far.
const PART: f64 = 128.0;
/// Of messages at random times, less than 1/`TOGETHER` come at the time of the one before.
const TOGETHER: usize = 4;
/// Below 1/`SOON` of the goal, the sum has hardly begun to rise, and late ranks still send messages
/// of the phase before.
const SOON: f64 = 4.0;
/// Messages, at least, over which the usual rate is measured; a round of more messages is measured
/// whole.
const LEAST: u64 = 1 << 12;
/// Messages of a round, at most, over which the usual rate is measured.
const MOST: u64 = 1 << 17;
/// A lull ends when this number of messages come beyond those that its rate explains. At random
/// times, that happens in one of e¹⁸ places.
const BEYOND: f64 = 12.0;

/// Messages and their time.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    messages: u64,
    ns: f64,
    /// The highest sum in it.
    highest_ns: f64,
}

/// A change of pace, at a number of messages before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Slower(u64),
    Faster(u64),
}

/// At which pace messages come.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Time so far.
    elapsed_ns: f64,
    /// Messages of a round.
    round: u64,
    /// The last whole span, and the one that is not over.
    usual: Span,
    now: Span,
    /// Time that a message accounts for; 0 if it is not known.
    allowed_ns: f64,
    /// How high the sum has to be; 0 if the usual sums are not known.
    goal_ns: f64,
    /// Time that is left over, and its highest value since it was last 0.
    sum_ns: f64,
    highest_ns: f64,
    /// Messages since the sum was last 0, and how many of them occurred in the last rounds.
    /// `start`: messages before the first one that surely is not of the phase before.
    slow: u64,
    known: u64,
    start: u64,
    lull: Option<Lull>,
}

/// A lull that is not over.
#[derive(Clone, Copy, Debug, Default)]
struct Lull {
    /// Messages that the lull's rate explains in a nanosecond.
    explained: f64,
    sum: f64,
    start: u64,
    goal: f64,
}

impl Lull {
    #[inline]
    fn see(&mut self, interval_ns: u64, place: u64) {
        self.sum -= self.explained * interval_ns as f64;
        if self.sum <= 0.0 {
            (self.sum, self.start) = (0.0, place);
        }
        self.sum += 1.0;
    }
}

impl Pace {
    /// Sets the number of messages of a round.
    pub(super) fn set_round(&mut self, messages: u64) {
        self.round = messages;
        if self.lull.is_some() {
            self.forget();
        }
    }

    /// Forgets the pace: nothing is known of the messages that come.
    pub(super) fn forget(&mut self) {
        *self = Self { round: self.round, elapsed_ns: self.elapsed_ns, ..Self::default() };
    }

    /// Notes a message `interval_ns` after the one before, with `place` messages before it.
    /// `known`: it occurred in the last rounds. Returns where the pace has changed, if that is
    /// clear by now. After [`Turn::Slower`], call [`enter`](Self::enter).
    #[inline(always)]
    pub(super) fn see(&mut self, interval_ns: u64, place: u64, known: bool) -> Option<Turn> {
        // A run is never longer than a signed number holds.
        let ns = interval_ns.cast_signed() as f64;
        self.elapsed_ns += ns;
        if self.lull.is_some() {
            return self.see_in_lull(interval_ns, place);
        }
        self.now.messages += 1;
        self.now.ns += ns;
        self.sum_ns += ns - self.allowed_ns;
        self.slow += 1;
        self.known += u64::from(known);
        if self.sum_ns <= 0.0 {
            if self.highest_ns > self.now.highest_ns {
                self.set_highest();
            }
            self.begin_at(place + 1);
        } else {
            if known && (self.goal_ns <= 0.0 || self.sum_ns * SOON <= self.goal_ns) {
                self.start = place + 1;
            }
            if self.sum_ns > self.highest_ns {
                self.highest_ns = self.sum_ns;
                if self.goal_ns < self.sum_ns
                    && self.goal_ns > 0.0
                    && self.slow >= MESSAGES
                    && 2 * self.known < self.slow
                {
                    return Some(Turn::Slower(self.start));
                }
            }
        }
        if self.now.messages >= LEAST && self.now.messages >= self.round.min(MOST) {
            self.end_span(place);
        }
        None
    }

    /// Notes a message in a lull.
    fn see_in_lull(&mut self, interval_ns: u64, place: u64) -> Option<Turn> {
        let lull = self.lull.as_mut()?;
        lull.see(interval_ns, place);
        if lull.sum < lull.goal {
            return None;
        }
        let start = lull.start;
        self.forget();
        Some(Turn::Faster(start))
    }

    /// Stores the sum's highest value, which is higher than any before in this span.
    fn set_highest(&mut self) {
        self.now.highest_ns = self.highest_ns;
        if self.goal_ns > 0.0 {
            self.set_goal();
        }
    }

    /// Ends a span with message `place`.
    fn end_span(&mut self, place: u64) {
        // Before the usual interval is known, the sum means nothing.
        if self.allowed_ns > 0.0 {
            self.usual = std::mem::take(&mut self.now);
            self.set_goal();
        } else {
            self.begin_at(place + 1);
            self.usual = std::mem::take(&mut self.now);
        }
        self.allowed_ns = ALLOWED * self.usual.ns / self.usual.messages as f64;
    }

    /// Starts the sum again at 0, before message `place`.
    fn begin_at(&mut self, place: u64) {
        (self.sum_ns, self.highest_ns) = (0.0, 0.0);
        (self.slow, self.known, self.start) = (0, 0, place);
    }

    fn set_goal(&mut self) {
        let highest_ns = self.usual.highest_ns.max(self.now.highest_ns);
        self.goal_ns = (HIGHER * highest_ns).max(self.elapsed_ns / PART);
    }

    /// True if a lull may have begun.
    pub(super) fn slows(&self) -> bool {
        self.goal_ns > 0.0 && self.sum_ns * SOON > self.goal_ns
    }

    /// Starts a lull with message `place`; `times_ns` are the times of its messages so far. Returns
    /// false if it is none: too little of its time is left, or its messages come together. Stray
    /// messages come at random times.
    pub(super) fn enter(&mut self, place: u64, times_ns: &[i64]) -> bool {
        let (Some(first), Some(last)) = (times_ns.first(), times_ns.last()) else { return false };
        let since_ns = |from: i64, to: i64| to.wrapping_sub(from).cast_unsigned();
        let ns = since_ns(*first, *last).max(1);
        let explained = ALLOWED * times_ns.len() as f64 / ns as f64;
        let mut lull = Lull { explained, start: place, ..Lull::default() };
        // Late ranks may still send messages of the phase before.
        let half = times_ns.partition_point(|time| since_ns(*first, *time) < ns / 2);
        let (mut highest, mut together) = (0.0f64, 0);
        for (pair, at) in times_ns.windows(2).zip(place + 1..).skip(half) {
            let interval_ns = since_ns(pair[0], pair[1]);
            lull.see(interval_ns, at);
            highest = highest.max(lull.sum);
            together += usize::from(interval_ns == 0);
        }
        let steady = highest < BEYOND && TOGETHER * together < times_ns.len() - half;
        let is_lull = steady && 2.0 * ns as f64 > self.sum_ns;
        self.forget();
        lull.goal = BEYOND.max(HIGHER * highest);
        self.lull = is_lull.then_some(lull);
        is_lull
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the pace changes among messages with these intervals, if every lull is entered.
    /// `known` says which messages occurred in the last rounds.
    fn turns(intervals_ns: &[u64], known: impl Fn(usize) -> bool) -> Vec<Turn> {
        let mut pace = Pace::default();
        let mut times_ns = Vec::new();
        let mut now_ns = 0;
        let mut turns = Vec::new();
        for (place, interval_ns) in intervals_ns.iter().enumerate() {
            now_ns += interval_ns.cast_signed();
            times_ns.push(now_ns);
            match pace.see(*interval_ns, place as u64, known(place)) {
                Some(Turn::Slower(start)) if !pace.enter(start, &times_ns[start as usize..]) => {}
                turn => turns.extend(turn),
            }
        }
        turns
    }

    /// Intervals of `count` messages at random times, `mean_ns` apart in the mean (a linear
    /// congruential generator: Knuth, MMIX).
    fn random(count: usize, mean_ns: f64) -> Vec<u64> {
        let mut state = 1u64;
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let uniform = ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
            (-uniform.ln() * mean_ns) as u64
        };
        (0..count).map(next).collect()
    }

    /// Rounds of 100 messages 10 ns apart and a pause of 3 µs.
    fn rounds(count: usize) -> Vec<u64> {
        [vec![3000], vec![10; 99]].concat().repeat(count)
    }

    #[test]
    fn a_lull_is_found_to_the_message() {
        // 200 stray messages, a twentieth of the usual rate of one in 40 ns, between rounds.
        let intervals = [rounds(200), random(200, 800.0), rounds(100)].concat();
        let found = turns(&intervals, |place| !(20_000..20_200).contains(&place));
        let [Turn::Slower(first), Turn::Faster(last)] = found[..] else { panic!("{found:?}") };
        assert!((20_000..20_008).contains(&first), "{found:?}");
        assert!(last.abs_diff(20_201) < 8, "{found:?}");
    }

    #[test]
    fn pauses_are_no_lulls_nor_are_messages_that_come_again_nor_bursts() {
        assert_eq!(turns(&rounds(500), |_| true), []);
        assert_eq!(turns(&rounds(500), |_| false), []);
        // The same, slower.
        let slower: Vec<u64> = rounds(200).iter().map(|ns| ns * 20).collect();
        assert_eq!(turns(&[rounds(200), slower.clone()].concat(), |_| true), []);
        // Others, slower, in bursts.
        assert_eq!(turns(&[rounds(200), slower].concat(), |place| place < 20_000), []);
        assert_eq!(turns(&random(50_000, 40.0), |_| false), []);
    }

    #[test]
    fn no_times_at_all() {
        assert_eq!(turns(&[0; 20_000], |_| false), []);
        assert!(!Pace::default().enter(0, &[]));
        assert_eq!(turns(&[u64::MAX >> 20; 20_000], |_| false), []);
    }
}
