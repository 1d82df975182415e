//! Windows that follow the rounds of the program, in one pass.
//!
//! Parallel programs repeat themselves, and a window that is a whole number of rounds looks like
//! the next one. A round is over when its tokens come again, all at once: a *repeat streak*. A
//! phase is over when tokens come that were in neither of the last two rounds: a *novelty streak*.
//! Both are cumulative sums (CUSUM, Page 1954) that noise does not start. The streak also tells
//! where the round that is repeated began; what lies before it and was not repeated is a window of
//! its own.
//!
//! Windows are cut where messages become rare, too, and where they come again
//! ([pace](super::pace)): what is between is stray, unless it turns out to come again, or to be
//! short.
//!
//! Nobody knows beforehand how many messages there are: windows begin as single rounds, and
//! whenever the table is full, neighbours are merged and the least number of messages of a window
//! doubles. Windows that begin with something new are the last to be merged with what is before
//! them.

mod look;

use std::collections::VecDeque;

use phaseflow_collect::trace::MessageBlock;

use super::batch::Batch;
use super::gaps::Gaps;
use super::pace::{Pace, Turn};
use super::rhythm::Rhythm;
use super::streak::Streak;
use super::tokens::Tokens;
use super::windows::Rounds;
use super::windows::{RoundWindow, Windows};
use crate::first_pass::tags::{Tags, Watch, is_tagged};

/// What comes before a repeated round is a window of its own if it has more than this part of that
/// round's messages.
const BEFORE: u64 = 3;

/// Stray messages over less than this part of the run are in a pause.
const LONG: u64 = 256;

/// Barriers at which windows begin, at most.
const MET: usize = 1024;
/// … and so many rounds come between two of them, at least.
const APART: u64 = 3;

/// Messages that are added at once: they are looked at while a cache still has them.
const AT_ONCE: usize = 1 << 13;

/// Messages of one time and source that are put in order at most.
const ORDERED: usize = 1 << 17;

/// Cuts a stream of messages into windows. Places are numbers of messages before them.
#[derive(Debug)]
pub(crate) struct Cutter {
    batch: Batch,
    /// The batch's first message.
    base: u64,
    /// The next message to look at.
    next: u64,
    tokens: Tokens,
    /// The first message of this round, and of the one before it.
    round: u64,
    previous: u64,
    /// Distinct tokens of this round.
    distinct: u32,
    /// The streaks' goal.
    goal: f32,
    /// Distinct tokens of the round before.
    known: f32,
    /// Rounds since something new began.
    rounds_here: u64,
    /// The longest silence of this round, and of the one before it with the pause after it.
    longest_ns: u64,
    before_ns: u64,
    pace: Pace,
    /// In a lull.
    straying: bool,
    /// The messages of the last lull, and how many of them came again.
    strays: std::ops::Range<u64>,
    returns: u64,
    rhythm: Rhythm,
    /// Pieces of the open window that are no whole round yet.
    pieces: usize,
    repeat: Streak,
    novel: Streak,
    foreign: Streak,
    /// The window that is not full yet, and the message after it.
    open: RoundWindow,
    folded: u64,
    windows: Windows,
    gaps: Gaps,
    /// When all ranks meet, and how many windows have begun there.
    meetings: VecDeque<i64>,
    met: usize,
    /// Rounds since the last of these.
    rounds_apart: u64,
    /// What kind of message a tag makes; while that is not known, tags are watched.
    tags: Option<Tags>,
    watch: Watch,
}

impl Default for Cutter {
    fn default() -> Self {
        Self {
            batch: Batch::default(),
            base: 0,
            next: 0,
            tokens: Tokens::new(),
            round: 0,
            previous: 0,
            distinct: 0,
            goal: 1.0,
            known: 0.0,
            rounds_here: 0,
            longest_ns: 0,
            before_ns: 0,
            pace: Pace::default(),
            straying: false,
            strays: 0..0,
            returns: 0,
            rhythm: Rhythm::default(),
            pieces: 0,
            repeat: Streak::default(),
            novel: Streak::default(),
            foreign: Streak::default(),
            open: RoundWindow::default(),
            folded: 0,
            windows: Windows::default(),
            gaps: Gaps::default(),
            meetings: VecDeque::new(),
            met: 0,
            rounds_apart: 0,
            tags: None,
            watch: Watch::default(),
        }
    }
}

impl Cutter {
    /// A cutter that tells messages apart by these tags, which the default finds out.
    pub(crate) fn with_tags(tags: Tags) -> Self {
        Self { tags: Some(tags), ..Self::default() }
    }

    /// Tells when the last rank enters barriers that all ranks pass, in order of time, before the
    /// messages that come then are added.
    pub(crate) fn meet(&mut self, times_ns: &[i64]) {
        self.meetings.extend(times_ns);
    }

    /// Adds messages in trace order.
    pub(crate) fn add(&mut self, block: &MessageBlock) {
        for first in (0..block.len()).step_by(AT_ONCE) {
            let rows = first..block.len().min(first + AT_ONCE);
            let settled = self.batch.push(block, rows, self.tags.as_ref());
            self.look(settled.max(self.batch.len().saturating_sub(ORDERED)));
            let done = (self.folded - self.base) as usize;
            // What waits is moved to the front, which pays if it is the smaller part.
            if 2 * done >= self.batch.len() {
                self.batch.drain(done);
                self.base = self.folded;
            }
        }
    }

    /// The windows and the longest silences.
    pub(crate) fn finish(mut self) -> Rounds {
        self.batch.close();
        self.look(self.batch.len());
        if self.rounds_here > 0 {
            self.join_parts(self.round);
        }
        self.end_straying();
        self.fold(self.next);
        self.close_window(self.rounds_here == 0);
        self.clear_pauses();
        let all = self.windows.list.iter().map(|window| window.sketch.messages_of(is_tagged)).sum();
        let tags = self.tags.unwrap_or_else(|| self.watch.finish(all));
        Rounds { windows: self.windows.list, silences: self.gaps.finish(), tags }
    }

    /// A repeat streak: the round ends where the streak began.
    fn end_round(&mut self) {
        let at = self.repeat.start.max(self.folded);
        let from = self.repeat.from.clamp(self.round, at);
        let late = from >= self.folded
            && (from - self.round > (at - from) / BEFORE + 2 || self.is_slow_start(from, at));
        if late && self.rounds_here > 0 {
            // The last round of what was before, and the first one of something new.
            self.join_parts(self.round);
            self.fold(from);
            self.begin_here(from);
        } else if late && self.rhythm.period() == 1 {
            self.fold(from);
            self.close_window(true);
            // What is not repeated may well have been stray.
            self.straying = false;
            self.open.fresh = true;
        } else {
            self.join_parts(if late { from } else { self.round });
        }
        self.end_straying();
        self.fold(at);
        self.rounds_here += 1;
        self.rounds_apart += 1;
        self.pace.set_round(at - self.round);
        self.end_piece();
        self.next_round(at);
    }

    /// True if what is before the very first round, which is between `from` and `at`, took longer
    /// than it: processes start one after the other.
    fn is_slow_start(&self, from: u64, at: u64) -> bool {
        let time = |place: u64| self.batch.times[(place - self.base) as usize];
        let [begin, from, at] = [0, from, at].map(|place| if self.folded == 0 { time(place) } else { 0 });
        from.wrapping_sub(begin) > at.wrapping_sub(from)
    }

    /// Parts from `start` on are of the round that is now known to be one.
    fn join_parts(&mut self, start: u64) {
        let mut reached = self.folded - self.open.messages;
        while let Some(part) = self.windows.list.last().filter(|window| window.part) {
            reached -= part.messages;
            if reached < start {
                break;
            }
            self.windows.reopen(&mut self.open);
        }
    }

    /// A piece is over, which is a round or a part of one.
    fn end_piece(&mut self) {
        self.pieces += 1;
        let period = self.rhythm.end_piece(self.round);
        self.previous = self.round;
        if period > 1
            && let Some(pieces) = self.rhythm.noticed()
        {
            self.gather(pieces, period);
        }
        if self.pieces.is_multiple_of(period) {
            self.open.rounds += 1;
            self.pieces = 0;
            if self.open.messages >= self.windows.least {
                self.close_window(false);
            }
        }
    }

    /// The last `pieces` turn out to be rounds of `period` pieces each: as far as they are windows
    /// of their own, they become one.
    fn gather(&mut self, pieces: usize, period: usize) {
        let start = self.rhythm.start(pieces - 1);
        let mut reached = self.folded - self.open.messages;
        while let Some(last) = self.windows.list.last() {
            if reached - last.messages < start {
                break;
            }
            reached -= last.messages;
            self.windows.reopen(&mut self.open);
        }
        self.open.rounds = (pieces / period) as u64;
        self.pieces = pieces % period;
        self.foreign = Streak::default();
    }

    /// A novelty streak: something new begins where the streak began.
    fn begin_anew(&mut self) {
        let at = self.novel.start.max(self.folded);
        self.join_parts(self.round);
        self.fold(at);
        self.begin_here(at);
        self.next_round(at);
    }

    /// Whatever comes after a long silence begins a window, in the midst of a round too.
    fn begin_after_silence(&mut self, at: u64) {
        self.join_parts(self.round);
        self.fold(at);
        self.rhythm.forget();
        self.begin_here(at);
        self.next_round(at);
        self.before_ns = 0;
        self.pace.forget();
    }

    /// After rounds without a barrier that all ranks pass, one may well be between two phases: a
    /// window begins there, lest it hold some of both. Where ranks meet in each round, or very
    /// often, it says nothing.
    fn begin_after_meeting(&mut self, at: u64) {
        let now_ns = self.batch.times[(at - self.base) as usize];
        while self.meetings.front().is_some_and(|meeting| *meeting <= now_ns) {
            self.meetings.pop_front();
        }
        if std::mem::take(&mut self.rounds_apart) < APART || self.straying || self.met >= MET {
            return;
        }
        self.met += 1;
        if self.rounds_here > 0 {
            self.begin_after_silence(at);
            return;
        }
        // The barrier itself was new.
        self.fold(at);
        self.rhythm.forget();
        self.close_window(true);
        self.open.fresh = true;
        self.pieces = 0;
        self.next_round(at);
        self.before_ns = 0;
        self.pace.forget();
    }

    /// Messages become rare, or come again after that: a window begins there.
    fn begin_at_turn(&mut self, turn: Turn, row: usize) {
        let at = match turn {
            Turn::Slower(start) | Turn::Faster(start) => start.max(self.folded),
        };
        let first = (at - self.base) as usize;
        if matches!(turn, Turn::Slower(_)) {
            if !self.pace.enter(at, &self.batch.times[first..=row]) {
                return;
            }
        } else if !self.straying {
            return;
        }
        self.join_parts(if self.rounds_here > 0 { self.round } else { at });
        self.fold(at);
        self.rhythm.forget();
        if self.rounds_here > 0 {
            self.begin_here(at);
        } else {
            self.close_window(true);
            self.open.fresh = true;
        }
        self.next_round(at);
        self.before_ns = 0;
        self.straying = matches!(turn, Turn::Slower(_));
        self.strays = if self.straying { at..at } else { self.strays.start..at };
        self.returns = 0;
    }

    /// What seemed to be stray is the begin of a phase, as it comes again.
    fn end_straying(&mut self) {
        if self.straying {
            self.straying = false;
            self.clear_strays();
        }
    }

    /// What was long when the run was young, may have been a pause.
    fn clear_pauses(&mut self) {
        let since_ns = |from: i64, to: i64| to.wrapping_sub(from).cast_unsigned();
        let ends = self.windows.list.first().zip(self.windows.list.last());
        let least_ns = ends.map_or(0, |(first, last)| since_ns(first.first_ns, last.last_ns) / LONG);
        let lulls = self.windows.list.chunk_by_mut(|one, other| one.stray == other.stray);
        for lull in lulls {
            let ends = lull.first().zip(lull.last());
            if ends.is_some_and(|(first, last)| since_ns(first.first_ns, last.last_ns) < least_ns) {
                lull.iter_mut().for_each(|window| window.stray = false);
            }
        }
    }

    /// The last lull was none.
    fn clear_strays(&mut self) {
        self.strays = 0..0;
        let windows = self.windows.list.iter_mut().rev().skip_while(|window| !window.stray);
        windows.take_while(|window| window.stray).for_each(|window| window.stray = false);
    }

    /// A piece ends at `at`, and what comes is not like it.
    fn begin_here(&mut self, at: u64) {
        self.end_piece();
        if self.rhythm.period() == 1 {
            self.close_window(false);
            self.open.fresh = true;
            self.pieces = 0;
        }
        self.rounds_here = 0;
        self.round = at;
    }

    /// Messages come that were not in the last two rounds of pieces.
    fn leave_rhythm(&mut self) {
        let at = self.foreign.start.max(self.folded);
        self.fold(at);
        self.close_window(false);
        self.open.fresh = true;
        self.pieces = 0;
        self.rounds_here = 0;
        self.rhythm.forget();
        self.next_round(at);
        self.previous = at;
        self.foreign = Streak::default();
    }

    fn next_round(&mut self, at: u64) {
        self.before_ns = self.longest_ns;
        self.longest_ns = 0;
        self.known = self.distinct as f32;
        self.round = at;
        self.distinct = u32::try_from(self.next - at).unwrap_or(u32::MAX);
        self.goal = look::goal(self.distinct);
        self.repeat = Streak::default();
        self.novel = Streak::default();
    }

    /// A round without an end so far. If something new has begun that is short beside the round,
    /// the part ends there: it may be the first round of another phase, which is known only when it
    /// is repeated, and what a part holds is not divided any more.
    fn end_part(&mut self) {
        let begun = self.novel.sum >= self.goal && self.novel.start > self.folded;
        self.fold(if begun { self.novel.start } else { self.next });
        self.close_window(true);
    }

    /// Adds the messages before `end` to the open window.
    fn fold(&mut self, end: u64) {
        let (from, to) = ((self.folded - self.base) as usize, (end.max(self.folded) - self.base) as usize);
        if from == to {
            return;
        }
        if self.open.messages == 0 {
            self.open.first_ns = self.batch.times[from];
        }
        self.open.last_ns = self.batch.times[to - 1];
        self.open.messages += (to - from) as u64;
        let batch = &self.batch;
        let (src, dst) = (&batch.src[from..to], &batch.dst[from..to]);
        self.open.add_columns(src, dst, &batch.bytes[from..to], &batch.kinds[from..to]);
        self.folded = end;
    }

    fn close_window(&mut self, part: bool) {
        if self.open.messages == 0 {
            return;
        }
        self.open.part = part;
        self.open.stray = self.straying;
        self.windows.close(&mut self.open, self.folded);
    }
}

#[cfg(test)]
mod tests {
    use super::super::windows::MOST;
    use super::*;
    use phaseflow_collect::trace::{Message, Rank};

    /// Windows of messages (source, destination, bytes), a nanosecond apart.
    fn windows(messages: impl IntoIterator<Item = (u32, u32, u64)>) -> Vec<RoundWindow> {
        let mut cutter = Cutter::default();
        let mut block = MessageBlock::default();
        for (send_post_ns, (src, dst, bytes)) in (0..).zip(messages) {
            block.push(&Message {
                send_post_ns,
                src: Rank(src),
                dst: Rank(dst),
                bytes,
                ..Message::default()
            });
            if block.len() == 1000 {
                cutter.add(&block);
                block.clear();
            }
        }
        cutter.add(&block);
        cutter.finish().windows
    }

    fn ring(ranks: u32, step: u32) -> Vec<(u32, u32, u64)> {
        (0..ranks).map(|rank| (rank, (rank + step) % ranks, 64)).collect()
    }

    fn sizes(windows: &[RoundWindow]) -> Vec<u64> {
        windows.iter().map(|window| window.messages).collect()
    }

    #[test]
    fn windows_are_rounds() {
        assert_eq!(sizes(&windows(ring(100, 1).repeat(7))), [100; 7]);
        // A round of many steps, as an alltoall, is one window too.
        let alltoall: Vec<_> = (1..32).flat_map(|step| ring(32, step)).collect();
        let found = windows(alltoall.repeat(5));
        assert_eq!(sizes(&found), [31 * 32; 5]);
        // All hold the same, once.
        assert!(found.iter().all(|window| window.sketch.is_shared_with(&found[0].sketch)));
    }

    #[test]
    fn a_change_of_phase_is_the_begin_of_a_window() {
        let messages = [ring(100, 1).repeat(4), ring(100, 7).repeat(3), ring(10, 3).repeat(5)].concat();
        let found = windows(messages);
        assert_eq!(sizes(&found), [100, 100, 100, 100, 100, 100, 100, 10, 10, 10, 10, 10]);
        let fresh: Vec<bool> = found.iter().map(|window| window.fresh).collect();
        assert_eq!(fresh.iter().filter(|fresh| **fresh).count(), 2);
        assert!(fresh[4] && fresh[7]);
    }

    #[test]
    fn a_short_round_after_a_long_one_begins_a_window_though_a_part_ends_in_it() {
        // Rounds of 64 · 63 messages, and shorter ones of another size: a part ends at 4 097
        // messages that wait.
        let long: Vec<_> = (1..64).flat_map(|step| ring(64, step)).collect();
        for steps in [1, 4] {
            let short: Vec<_> = (1..=steps).flat_map(|step| ring(64, step)).collect();
            let short: Vec<_> = short.into_iter().map(|(src, dst, _)| (src, dst, 8192)).collect();
            let found = windows([long.repeat(3), short.repeat(6)].concat().repeat(2));
            let length = short.len() as u64;
            let expected = [[4032; 3].as_slice(), &[length; 6]].concat().repeat(2);
            assert_eq!(sizes(&found), expected);
            let fresh: Vec<usize> = (0..found.len()).filter(|at| found[*at].fresh).collect();
            assert_eq!(fresh, [3, 9, 12]);
        }
    }

    #[test]
    fn pieces_of_a_round_are_put_together() {
        // There and back again over the first half of the ranks within a round: three pieces.
        let round = [ring(40, 1), ring(20, 2), ring(40, 1), ring(20, 2), ring(40, 5)].concat();
        let found = sizes(&windows(round.repeat(40)));
        assert!(found.len() > 10 && found.iter().all(|size| size % round.len() as u64 == 0), "{found:?}");
    }

    #[test]
    fn many_messages_make_a_bounded_number_of_windows_that_hold_all_of_them() {
        for round in [1u32, 2, 10, 300] {
            let total = 600_000;
            let found = windows((0..total).map(|i| (i % round, round + i % round, 8)));
            assert!(found.len() <= MOST, "{} windows", found.len());
            assert_eq!(sizes(&found).iter().sum::<u64>(), u64::from(total));
            for window in &found {
                assert_eq!(window.sketch.messages(), window.messages);
            }
        }
    }

    #[test]
    fn nothing_ever_comes_again() {
        let found = windows((0..100_000u32).map(|i| (i / 300, 1000 + i % 300, 8)));
        assert!(found.iter().all(|window| window.part && window.rounds == 0));
        assert_eq!(sizes(&found).iter().sum::<u64>(), 100_000);
    }
}
