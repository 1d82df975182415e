//! Where rounds end: windows of whole rounds, in one pass, without a clock.
//!
//! Parallel programs repeat themselves. A rank begins its next round when the tokens of its first
//! messages in the window come again, so ranks may be out of step. A window ends when its messages
//! come from ranks in their next round. A phase ends when tokens come that were in neither of the
//! last two windows, or when rounds become much longer or shorter. A phase of one round between
//! the rounds of another ends when its ranks begin the other's next round. Before anything comes
//! again, a phase ends when tokens come that twice came in other windows than those before. So what
//! recurs is cut alike. All rules but that of lengths are cumulative sums (CUSUM, Page, Continuous
//! inspection schemes, Biometrika 41, 1954). In these, single messages raise no alarm. The window
//! ends where the sum last began to grow.

use super::tokens::{Last, Tokens};

/// A message against a change takes this from a cumulative sum; a message for it adds 1. Page's
/// reference value: more than three of five messages have to be for the change.
pub(super) const DECAY: f32 = 1.5;

/// The sum of repeats raises an alarm at the larger of two values: a number of messages, and a part
/// of the round's messages.
const REPEATS: (f32, f32) = (4.0, 0.1);

/// The sums of new tokens and of returns raise an alarm at the larger of two values: a number of
/// messages, and a part of the window's messages.
pub(super) const NEW: (f32, f32) = (6.0, 0.03);

/// A round is known by the tokens of its first quarter.
const BEGINNING: f32 = 0.25;

/// A long round is whole if this part of its messages has tokens of their own. Two of five have
/// with random partners, when the tokens of the first quarter are most of those that come.
const OWN: f32 = 0.55;

/// Parts after which a round that has not ended counts as endless.
const PARTS: u64 = 64;

/// A round is of another phase if it is more than this many times longer or shorter than the one
/// before it.
const UNLIKE: u64 = 2;

/// At least this part of a window's tokens came together before, less those that did not, where
/// tokens of another window end it. With .5 and .9, the score of generated runs is lower by .01.
const TOGETHER: f32 = 0.7;

/// Windows, at least, in which a token came before it may tell that, and rounds in a row that came
/// again before ranks may return to them. One may be an accident. With one window, recorded
/// programs have .794 instead of .861; with one round, generated runs have .887 instead of .892.
const TWICE: u32 = 2;

/// A cumulative sum that never falls below 0.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    value: f32,
    /// The message at which it last left 0.
    since: u64,
}

impl Sum {
    #[inline]
    fn add(&mut self, speaks: bool, message: u64) {
        if speaks {
            if self.value == 0.0 {
                self.since = message;
            }
            self.value += 1.0;
        } else {
            self.value = (self.value - DECAY).max(0.0);
        }
    }
}

/// The window in which most tokens came before: the majority vote of Boyer and Moore (MJRTY: a fast
/// majority vote algorithm, Automated Reasoning, 1991).
#[derive(Clone, Copy, Debug, Default)]
struct Origin {
    window: u64,
    /// Tokens of that window, less those of others.
    votes: u32,
}

impl Origin {
    #[inline]
    fn vote(&mut self, window: u64) {
        match self.votes {
            0 => *self = Self { window, votes: 1 },
            _ if self.window == window => self.votes += 1,
            _ => self.votes -= 1,
        }
    }
}

/// The sends of a rank.
#[derive(Clone, Copy, Debug, Default)]
struct Source {
    /// The window that the other fields describe.
    window: u64,
    /// Messages that it sent in that window.
    sent: u32,
    /// The round that it has begun, if not all ranks are in it; 0 otherwise.
    rounds: u32,
    /// Messages that it sent in the window before.
    before: u32,
    /// It has sent new tokens in this window.
    is_new: bool,
    /// After them, it has begun what it did in the window before.
    returned: bool,
}

impl Source {
    /// The same rank at the begin of a later window.
    fn next(self, window: u64) -> Self {
        let before = if self.window + 1 == window { self.sent } else { 0 };
        Self { window, before, ..Self::default() }
    }
}

/// The end of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// The first message after it.
    pub(super) message: u64,
    /// Its rounds.
    pub(super) rounds: u32,
    /// What it is.
    pub(super) kind: Kind,
    /// What follows may be of the same round: it is known to come apart, but nothing has come again
    /// since the window began.
    pub(super) divides: bool,
    /// The window began with something new, or after a pause.
    pub(super) begins_new: bool,
}

/// What a window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A part of a round that may be longer.
    Part,
    /// Whole rounds, with all parts since the last window that was no part.
    Whole,
    /// Nothing of it came again in order, so its parts are windows.
    Last,
}

/// Cuts a stream of tokens into windows. Messages are numbered from 0.
#[derive(Debug)]
pub(super) struct Cutter {
    /// Number of the window, from 2, so that tokens that never came are new in the first one.
    pub(super) window: u64,
    start: u64,
    /// Where the last part of this window ended; its begin if there is none.
    part: u64,
    /// Rounds of the window so far, including the one under way, and where that one began.
    pub(super) rounds: u32,
    round_start: u64,
    /// Messages of the round before.
    round: u64,
    repeats: Sum,
    new: Sum,
    returns: Sum,
    /// Rounds in a row since something new began.
    row: u32,
    /// The window began with something new, after enough rounds in a row to return to.
    interrupts: bool,
    /// Rounds of the window before.
    rounds_before: u32,
    /// A whole round was seen since something new began.
    repeated: bool,
    /// The window began with something new, or after a pause.
    begins_new: bool,
    /// Messages of the window before.
    before: u64,
    /// Tokens that came in this window, and where they came before.
    tokens: u32,
    origin: Origin,
    /// Ranks returned to the rounds before: what comes next is a part of these.
    returned: bool,
    /// Rank and token of the messages of this window, the window in which the token came before,
    /// and whether it was new.
    recent: Vec<(u32, u32, u64, bool)>,
    /// By rank.
    sources: Vec<Source>,
}

impl Cutter {
    pub(super) fn new() -> Self {
        Self {
            window: 2,
            start: 0,
            part: 0,
            rounds: 1,
            round_start: 0,
            round: 0,
            repeats: Sum::default(),
            new: Sum::default(),
            returns: Sum::default(),
            row: 0,
            interrupts: false,
            rounds_before: 1,
            repeated: false,
            begins_new: true,
            before: 0,
            tokens: 0,
            origin: Origin::default(),
            returned: false,
            recent: Vec::new(),
            sources: Vec::new(),
        }
    }

    /// Adds a message. Returns the window that ends, which may end before this message. A window
    /// has at least `least` messages if nothing new begins. Parts of rounds that do not end have at
    /// least `most`.
    #[inline]
    pub(super) fn add(
        &mut self,
        message: u64,
        (src, token): (u32, u32),
        tokens: &mut Tokens,
        (least, most): (u64, u64),
    ) -> Option<End> {
        self.count(message, (src, token), tokens);
        let messages = message + 1 - self.start;
        let alarm = NEW.0.max(NEW.1 * self.before.max(messages) as f32);
        if self.new.value >= alarm && self.new.since > self.part {
            let divides = !self.repeated;
            let end = self.close(self.new.since, Kind::Whole, false, tokens);
            self.interrupts = self.row >= TWICE;
            self.row = 0;
            return Some(End { divides, ..end });
        }
        if self.returns.value >= alarm && self.returns.since > self.part {
            self.row = 0;
            let end = self.close(self.returns.since, Kind::Whole, false, tokens);
            self.returned = true;
            return Some(end);
        }
        if self.repeats.value >= REPEATS.0.max(REPEATS.1 * (message + 1 - self.round_start) as f32) {
            self.repeated = true;
            self.row += 1;
            let end = self.repeats.since;
            if end - self.start >= least && end > self.part {
                let whole = self.tokens as f32 >= OWN * (end - self.start) as f32;
                let kind = if whole || self.part == self.start { Kind::Whole } else { Kind::Last };
                return Some(self.close(end, kind, true, tokens));
            }
            // Where rounds become much longer or shorter, another phase begins, however few
            // messages the window has.
            let round = end - self.round_start;
            if self.rounds > 1
                && (round > UNLIKE * self.round || self.round > UNLIKE * round)
                && self.round_start > self.part
            {
                return Some(self.close(self.round_start, Kind::Whole, true, tokens));
            }
            self.round = round;
            self.rounds += 1;
            self.round_start = end;
            self.repeats.value = 0.0;
        }
        let part = message + 1 - self.part;
        if part < most {
            return None;
        }
        if messages >= PARTS * most || part >= 2 * most {
            // Random partners never come again in order.
            return Some(self.close(message + 1, Kind::Last, false, tokens));
        }
        let open = [&self.repeats, &self.new, &self.returns].iter().any(|sum| sum.value > 0.0);
        (!open).then(|| {
            self.part = message + 1;
            End {
                message: self.part,
                rounds: 1,
                kind: Kind::Part,
                divides: false,
                begins_new: self.begins_new,
            }
        })
    }

    /// Adds a message to the window and to the cumulative sums.
    #[inline]
    fn count(&mut self, message: u64, (src, token): (u32, u32), tokens: &mut Tokens) {
        let own = &mut tokens.list[token as usize].last;
        let last = *own;
        let count = if last.window == self.window { last.count } else { 0 };
        let rounds = self.rounds;
        if self.sources.len() <= src as usize {
            self.sources.resize(src as usize + 1, Source::default());
        }
        let source = &mut self.sources[src as usize];
        if source.window != self.window {
            *source = source.next(self.window);
        }
        let begins = last.first as f32 <= BEGINNING * source.sent as f32 / rounds as f32;
        if count > rounds || (count >= rounds && begins) {
            source.rounds = rounds + 1;
        }
        self.repeats.add(source.rounds > rounds, message);
        let is_new = last.window + 1 < self.window;
        // A token of the window before last may be of both phases. Neighbouring windows may be of
        // one phase.
        let is_apart = || {
            last.windows >= TWICE
                && last.window + 2 < self.window
                && last.window.abs_diff(self.origin.window) > 1
                && self.origin.votes as f32 >= TOGETHER * self.tokens as f32
                && !self.returned
        };
        self.new.add(is_new && (self.repeated || is_apart()), message);
        if self.interrupts {
            if is_new {
                (source.is_new, source.returned) = (true, false);
            } else if last.window + 1 == self.window {
                let beginning = BEGINNING * source.before as f32 / self.rounds_before as f32;
                source.returned |= source.is_new && last.first as f32 <= beginning;
            }
            // A rank without new tokens may still be in the rounds before.
            if source.is_new {
                self.returns.add(source.returned, message);
            }
        }
        let first = if count == 0 { source.sent } else { last.first };
        source.sent += 1;
        let windows = if last.window == self.window { last.windows } else { last.windows + 1 };
        *own = Last { window: self.window, windows, count: count + 1, first };
        if count == 0 {
            self.tokens += 1;
            if is_new && last.windows >= TWICE {
                self.origin.vote(last.window);
            }
        }
        self.recent.push((src, token, last.window, is_new));
    }

    /// Ends the window before message `end`.
    pub(super) fn close(&mut self, end: u64, kind: Kind, repeated: bool, tokens: &mut Tokens) -> End {
        let begins_new = self.begins_new;
        let closed = End { message: end, rounds: self.rounds, kind, divides: false, begins_new };
        self.begins_new = !repeated;
        let gone = ((end - self.start) as usize).min(self.recent.len());
        self.before = end - self.start;
        self.rounds_before = self.rounds;
        self.interrupts = false;
        self.window += 1;
        (self.start, self.part, self.round_start, self.rounds, self.repeated) = (end, end, end, 1, repeated);
        (self.repeats, self.new, self.returns) = Default::default();
        self.recent.drain(..gone);
        self.tokens = 0;
        (self.origin, self.returned) = (Origin::default(), false);
        for (src, token, before, is_new) in &self.recent {
            let source = &mut self.sources[*src as usize];
            if source.window != self.window {
                *source = source.next(self.window);
            }
            source.is_new |= is_new;
            let first = source.sent;
            source.sent += 1;
            let Some(token) = tokens.list.get_mut(*token as usize) else { continue };
            let own = &mut token.last;
            let again = own.window == self.window;
            if !again {
                self.tokens += 1;
                // The window that has ended counts, too.
                if *is_new && own.windows > TWICE {
                    self.origin.vote(*before);
                }
            }
            *own = Last {
                window: self.window,
                windows: own.windows,
                count: if again { own.count + 1 } else { 1 },
                first: if again { own.first } else { first },
            };
        }
        closed
    }

    /// The first message of the open window.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// The first message that may still come into a later window.
    pub(super) fn settled(&self, next: u64) -> u64 {
        let of = |sum: &Sum| if sum.value > 0.0 { sum.since } else { next };
        of(&self.repeats).min(of(&self.new)).min(of(&self.returns)).max(self.part)
    }

    /// Gives tokens new numbers.
    pub(super) fn renumber(&mut self, becomes: &[u32]) {
        self.recent.iter_mut().for_each(|(_, token, ..)| *token = becomes[*token as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes of the windows of messages (src, dst).
    fn sizes(messages: impl IntoIterator<Item = (u32, u32)>, least: u64) -> Vec<u64> {
        let (mut tokens, mut cutter) = (Tokens::default(), Cutter::new());
        let (mut ends, mut count, mut whole) = (vec![0], 0, 1);
        for (src, dst) in messages {
            let token = tokens.number(src, dst, 8, 0);
            let end = cutter.add(count, (src, token), &mut tokens, (least, 256));
            if end.is_some_and(|end| end.kind == Kind::Whole) {
                ends.truncate(whole);
            }
            ends.extend(end.map(|end| end.message));
            if end.is_some_and(|end| end.kind != Kind::Part) {
                whole = ends.len();
            }
            count += 1;
        }
        ends.push(count);
        ends.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    fn ring(ranks: u32, step: u32) -> Vec<(u32, u32)> {
        (0..ranks).map(|rank| (rank, (rank + step) % ranks)).collect()
    }

    #[test]
    fn windows_are_whole_rounds() {
        assert_eq!(sizes(ring(100, 1).repeat(5), 24), [100; 5]);
        // Windows of three short rounds each.
        assert_eq!(sizes(ring(10, 1).repeat(9), 24), [30; 3]);
        // A round of many steps is one window.
        let steps: Vec<_> = (1..8).flat_map(|step| ring(32, step)).collect();
        assert_eq!(sizes(steps.repeat(4), 24), [7 * 32; 4]);
    }

    #[test]
    fn a_change_of_phase_begins_a_window() {
        let messages = [ring(100, 1).repeat(3), ring(100, 7).repeat(3), ring(30, 3).repeat(2)].concat();
        assert_eq!(sizes(messages, 24), [100, 100, 100, 100, 100, 100, 30, 30]);
    }

    #[test]
    fn one_round_between_the_rounds_of_another_phase_is_a_window() {
        let others = || ring(100, 1).repeat(5);
        let messages = [others(), ring(100, 7), others(), ring(100, 7), others()].concat();
        assert_eq!(sizes(messages, 24), [100; 17]);
        let few = [ring(100, 1).repeat(3), ring(100, 7)].concat();
        assert_eq!(sizes(few.repeat(4), 24), [100; 16]);
        // Two rounds and one are a step of three.
        let step = [ring(100, 1), ring(100, 1), ring(100, 7)].concat();
        assert_eq!(sizes(step.repeat(3), 24), [100, 100, 300, 300, 100]);
    }

    #[test]
    fn what_twice_came_apart_is_cut_apart() {
        let [own, one, other] = [1, 7, 9].map(|step| ring(100, step));
        let apart = [own.repeat(3), one.repeat(3), own.repeat(3), other.repeat(3)].concat();
        // One round of the one, and then the other.
        let together = [own.repeat(3), one, other.repeat(3)].concat();
        let twice = [apart.repeat(2), together.clone()].concat();
        assert_eq!(sizes(twice, 24), [100; 31]);
        // Once may be an accident: the one ends with messages of the other.
        let once = [apart, together].concat();
        assert!(sizes(once, 24)[15] > 100);
    }

    #[test]
    fn what_never_comes_again_is_cut_by_number() {
        assert_eq!(sizes((0..1000u32).map(|i| (i, i + 1)), 24), [256, 256, 256, 232]);
    }
}
