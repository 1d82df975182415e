//! Looks at each message: whether the round goes on, is over, or something else follows.
//!
//! In the steady state a message only adds to sums. Tokens of neighbouring messages are looked up
//! together beforehand, so that nothing waits for the table.

use super::super::tokens::Token;
use super::Cutter;
use crate::first_pass::tags::is_tagged;

/// A streak's sum counts from this value on, or from a quarter of the round's tokens if that is
/// less.
const STREAK: f32 = 8.0;

/// Messages of an unfinished round that wait, as (least, part, most): 1/part of all messages so
/// far, within the other two. Twice as many wait while a lull may begin. Longer rounds are cut in
/// parts, which are put together when the round is repeated.
const WAITING: (u64, u64, u64) = (1 << 12, 64, 1 << 17);

/// A silence longer than this many times any before it in a round ends a part of that round, if the
/// round is not repeated. If it is, the silence ends a window, and has to exceed those of the round
/// before in the same way.
const PAUSE: u64 = 16;

/// New tokens begin something new if they exceed 1/`MUCH` of a round's tokens; fewer are noise
/// between two rounds.
const MUCH: f32 = 4.0;

/// Tokens of a round from which on the goal is [`STREAK`].
const HIGHEST: u32 = 32;

/// Less than 1/`AGAIN` of stray messages come again.
const AGAIN: u64 = 4;

/// Messages whose tokens are looked up together.
const TOGETHER: usize = 256;

/// The streaks' goal in a round with this number of tokens.
#[inline]
pub(super) fn goal(distinct: u32) -> f32 {
    (distinct as f32 / 4.0).clamp(1.0, STREAK)
}

/// Binary logarithm in quarters.
#[inline]
fn log_quarters(number: u64) -> u64 {
    let exponent = number.ilog2();
    u64::from(4 * exponent) + (number.rotate_left(64 - exponent) >> 62)
}

impl Cutter {
    /// Looks at the rows of the batch before `end`.
    pub(super) fn look(&mut self, end: usize) {
        let mut row = (self.next - self.base) as usize;
        let mut tokens = [Token::default(); TOGETHER];
        while row < end {
            let rows = row..end.min(row + TOGETHER);
            row = rows.end;
            let batch = &self.batch;
            self.tokens.see_all(
                (&batch.src[rows.clone()], &batch.dst[rows.clone()]),
                (&batch.bytes[rows.clone()], &batch.kinds[rows.clone()]),
                self.next + 1,
                &mut tokens,
            );
            if let Some(tags) = batch.tags.get(rows.clone()) {
                for ((tag, kind), token) in tags.iter().zip(&batch.kinds[rows.clone()]).zip(&tokens) {
                    if is_tagged(*kind) {
                        self.watch.see(token.hash, *tag);
                    }
                }
            }
            rows.zip(&tokens).for_each(|(row, token)| self.look_at(row, *token));
        }
    }

    /// Looks at the next message, which is in `row` of the batch.
    #[inline]
    fn look_at(&mut self, row: usize, token: Token) {
        let place = self.next;
        self.next += 1;
        let time_ns = self.batch.times[row];
        let silence_ns = self.gaps.see(time_ns);
        if silence_ns > self.longest_ns {
            self.look_at_silence(silence_ns, place);
        }
        if self.meetings.front().is_some_and(|meeting| *meeting <= time_ns) {
            self.begin_after_meeting(place);
        }
        let seen = token.seen();
        if let Some(turn) = self.pace.see(silence_ns, place, seen.is_some_and(|seen| seen > self.previous)) {
            self.begin_at_turn(turn, row);
        }
        if let Some(seen) = seen {
            // Messages count from 1; 0 was never seen.
            self.open.watched += 1;
            if seen <= self.strays.end && seen > self.strays.start {
                self.returns += 1;
                if self.returns * AGAIN > self.strays.end - self.strays.start {
                    self.clear_strays();
                }
            }
            if seen > 0 {
                self.open.returned += 1;
                self.open.log_quarters += log_quarters(place + 1 - seen);
            }
            let repeats = seen > self.round;
            if !repeats {
                self.distinct += 1;
                if self.distinct <= HIGHEST {
                    self.goal = goal(self.distinct);
                }
            }
            self.rhythm.message(token.hash, seen);
            if self.rhythm.period() > 1 {
                self.foreign.step(seen <= self.rhythm.before(), place, place);
                if self.foreign.sum >= STREAK.max(self.known / MUCH) {
                    return self.leave_rhythm();
                }
            }
            self.repeat.step(repeats, place, seen.saturating_sub(1));
            if self.repeat.sum >= self.goal {
                return self.end_round();
            }
            if self.rounds_here > 0 {
                self.novel.step(seen <= self.previous, place, place);
                if self.novel.sum >= self.goal && self.novel.sum >= self.known / MUCH {
                    return self.begin_anew();
                }
            }
        }
        let (least, part, most) = WAITING;
        let waiting = self.next - self.folded;
        if waiting > least {
            let enough = (self.next / part).clamp(least, most);
            if waiting > enough && (waiting > 2 * enough || !self.pace.slows()) {
                self.end_part();
            }
        }
    }

    /// Notes a silence that is the longest of this round, before the message at `place`.
    fn look_at_silence(&mut self, silence_ns: u64, place: u64) {
        if self.rounds_here == 0
            && !self.straying
            && self.longest_ns > 0
            && silence_ns / PAUSE > self.longest_ns
        {
            // Nothing of this round has come again, so it may be over.
            self.fold(place);
            self.close_window(true);
            self.longest_ns = 0;
            self.pace.forget();
            return;
        }
        let usual_ns = self.longest_ns.max(self.before_ns);
        if self.rounds_here > 0 && usual_ns > 0 && silence_ns / PAUSE > usual_ns {
            self.begin_after_silence(place);
        } else {
            self.longest_ns = silence_ns;
        }
    }
}
