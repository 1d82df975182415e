//! Windows that follow the rounds of the program, in one pass.
//!
//! Parallel programs repeat themselves, and a window of whole rounds looks like the next one. A
//! round is over when its tokens come again, all at once: a *repeat streak*. A phase is over when
//! tokens come that were in neither of the last two rounds: a *novelty streak*. Both are cumulative
//! sums (CUSUM, Page 1954) that noise does not start. The repeat streak also tells where the
//! repeated round began. Messages before it that were not repeated are a window of their own.
//!
//! Windows are also cut where messages become rare, and where they come again
//! ([pace](super::pace)). Messages in between are stray, unless they come again or the lull is
//! short.
//!
//! The number of messages is not known beforehand, so windows begin as single rounds. Whenever the
//! table is full, neighbours are merged and the least number of messages of a window doubles.
//! Windows that begin with something new are merged last with the window before them.

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

/// Messages before a repeated round are a window of their own if they exceed 1/`BEFORE` of that
/// round's messages.
const BEFORE: u64 = 3;

/// Stray messages over less than 1/`LONG` of the run are in a pause.
const LONG: u64 = 256;

/// Windows that begin at barriers, at most.
const MET: usize = 1024;
/// Rounds since the last barrier, at least, before a window begins at the next one.
const APART: u64 = 3;

/// Messages that are added together, while they are still in a cache.
const AT_ONCE: usize = 1 << 13;

/// Messages of one time and source, at most, that are put in order.
const ORDERED: usize = 1 << 17;

/// Cuts a stream of messages into windows. A place is the number of messages before it.
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
    /// The longest silence of this round, and of the round before, including the pause after it.
    longest_ns: u64,
    before_ns: u64,
    pace: Pace,
    /// A lull is under way.
    straying: bool,
    /// The messages of the last lull, and how many of them came again.
    strays: std::ops::Range<u64>,
    returns: u64,
    rhythm: Rhythm,
    /// Pieces of the open window that are not yet a whole round.
    pieces: usize,
    repeat: Streak,
    novel: Streak,
    foreign: Streak,
    /// The open window, and the first message after it.
    open: RoundWindow,
    folded: u64,
    windows: Windows,
    gaps: Gaps,
    /// Times at which all ranks meet, and the number of windows that began there.
    meetings: VecDeque<i64>,
    met: usize,
    /// Rounds since the last meeting.
    rounds_apart: u64,
    /// The kinds of messages that tags make; while these are unknown, tags are watched.
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
    /// A cutter that tells messages apart by these tags, which an earlier pass with the default
    /// found.
    pub(crate) fn with_tags(tags: Tags) -> Self {
        Self { tags: Some(tags), ..Self::default() }
    }

    /// Adds times at which the last rank enters a barrier that all ranks pass, in ascending order.
    /// Call it before the messages of those times are added.
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
            // Moving the waiting messages to the front pays if they are the smaller part.
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

    /// Ends a round where a repeat streak began.
    fn end_round(&mut self) {
        let at = self.repeat.start.max(self.folded);
        let from = self.repeat.from.clamp(self.round, at);
        let late = from >= self.folded
            && (from - self.round > (at - from) / BEFORE + 2 || self.is_slow_start(from, at));
        if late && self.rounds_here > 0 {
            // The last round of the old behaviour, and the first one of something new.
            self.join_parts(self.round);
            self.fold(from);
            self.begin_here(from);
        } else if late && self.rhythm.period() == 1 {
            self.fold(from);
            self.close_window(true);
            // Messages that are not repeated may well have been stray.
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

    /// Whether the messages before the very first round, which spans `from..at`, took longer than
    /// it: processes start one after the other.
    fn is_slow_start(&self, from: u64, at: u64) -> bool {
        let time = |place: u64| self.batch.times[(place - self.base) as usize];
        let [begin, from, at] = [0, from, at].map(|place| if self.folded == 0 { time(place) } else { 0 });
        from.wrapping_sub(begin) > at.wrapping_sub(from)
    }

    /// Reopens the parts from `start` on, now that their round is known.
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

    /// Ends a piece, which is a round or a part of one.
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

    /// Merges the windows of the last `pieces`, which turn out to be rounds of `period` pieces
    /// each.
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

    /// Begins something new where a novelty streak began.
    fn begin_anew(&mut self) {
        let at = self.novel.start.max(self.folded);
        self.join_parts(self.round);
        self.fold(at);
        self.begin_here(at);
        self.next_round(at);
    }

    /// Begins a window after a long silence, in the midst of a round too.
    fn begin_after_silence(&mut self, at: u64) {
        self.join_parts(self.round);
        self.fold(at);
        self.rhythm.forget();
        self.begin_here(at);
        self.next_round(at);
        self.before_ns = 0;
        self.pace.forget();
    }

    /// Begins a window at a barrier that all ranks pass, after rounds without one. It may be
    /// between two phases, and a window should not hold some of both. Barriers in each round, or
    /// very frequent ones, say nothing.
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
        // The barrier's own messages were new.
        self.fold(at);
        self.rhythm.forget();
        self.close_window(true);
        self.open.fresh = true;
        self.pieces = 0;
        self.next_round(at);
        self.before_ns = 0;
        self.pace.forget();
    }

    /// Begins a window where messages become rare, or where they come again after that.
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

    /// Clears the stray mark: messages that seemed stray come again, so a phase begins there.
    fn end_straying(&mut self) {
        if self.straying {
            self.straying = false;
            self.clear_strays();
        }
    }

    /// Clears stray marks of lulls that were long when the run was young, but are short beside all
    /// of it.
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

    /// Clears the stray mark of the last lull's windows.
    fn clear_strays(&mut self) {
        self.strays = 0..0;
        let windows = self.windows.list.iter_mut().rev().skip_while(|window| !window.stray);
        windows.take_while(|window| window.stray).for_each(|window| window.stray = false);
    }

    /// Ends a piece at `at`; the messages after it are not like it.
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

    /// Ends a rhythm: messages come that were not in the last two rounds of pieces.
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

    /// Ends a part of a round that has no end so far. If something new has begun that is short
    /// beside the round, the part ends there. It may be the first round of another phase, which
    /// only its repetition shows, and a part is not divided later.
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
        // All windows share one sketch.
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
        // Rounds of 64 · 63 messages, and shorter ones of another size. A part ends at 4 097
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
        // Three pieces: the first half of the ranks sends forth and back within a round.
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
