//! Windows of whole rounds, in bounded memory.

use std::collections::VecDeque;
use std::sync::Arc;

use phaseflow_collect::trace::{MessageBlock, Operation};

use super::cutter::{Cutter, End, Kind};
use super::idle::is_idle;
use super::once::{Ends, Pair};
use super::ranks::Ranks;
use super::sums::Sums;
use super::token_set::TokenSet;
use super::tokens::Tokens;
use crate::first_pass::window::sketch::{Sketch, pair_hash};

/// Windows, at most; each takes about 13 KiB. If there are more, neighbours are merged and the
/// least number of messages of a window doubles.
const MOST: usize = 8192;

/// Messages of a window, at least, if nothing new begins. Fewer, as a round of a small run has, say
/// little.
const LEAST: u64 = 24;

/// A silence or a phase that is less than 1/256 of the run, about 0.4 %, is not noticed.
pub(crate) const NOTICED: u64 = 256;

/// Messages of a window, at most, if nothing comes again. Or it has 1/[`NOTICED`] of the run's, if
/// that is more.
const LARGEST: u64 = 256;

/// Or it is this number of messages a rank, if that is more. A halo exchange in three dimensions or
/// an allreduce fits in twice: it has to come again.
const PER_RANK: u64 = 8;

/// A window has at least 1/`FINEST` of the run's messages.
const FINEST: u64 = 4096;

/// A silence that ends a window is this many times as long as those of the last two windows.
const LONG: u64 = 5;

/// Messages that a window has at least where all ranks meet at a barrier: half of [`LEAST`].
/// Barriers often divide the phases of a program.
const LEAST_BEFORE_BARRIER: u64 = LEAST / 2;

/// Messages that wait until they may be counted.
const WAITING: usize = 1 << 13;

/// A stretch of messages.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// Time of its first message.
    pub(crate) first_ns: i64,
    /// Time of its last message.
    pub(crate) last_ns: i64,
    /// Messages.
    pub(crate) messages: u64,
    /// What its messages look like, for the second pass.
    pub(crate) sketch: Sketch,
    /// Whole rounds, at least 1.
    pub(crate) rounds: u64,
    /// The longest time from one of its messages to the next one, which may be in the next window.
    pub(crate) longest_ns: u64,
    /// The idle stretch before it; 0 if there is none. While windows are cut, any long silence
    /// counts.
    pub(crate) silence_ns: u64,
    /// Bytes of its messages, with one more for each.
    pub(crate) bytes: f64,
    /// What its messages look like, for the model; of a run that is read, what all messages up to
    /// its end do.
    pub(crate) sums: Sums,
    pub(crate) tokens: TokenSet,
    /// It may go on with the round of the window before.
    pub(crate) divides: bool,
}

impl Window {
    pub(crate) fn merge(&mut self, next: &Window) {
        self.last_ns = next.last_ns;
        self.messages += next.messages;
        self.rounds += next.rounds;
        self.longest_ns = self.longest_ns.max(next.longest_ns);
        self.sketch.merge(&next.sketch);
        self.sums.merge(&next.sums);
        self.tokens.merge(&next.tokens);
    }
}

/// For each window, whether the run is idle before it for at least `least_ns`.
fn idle_before(windows: &[Window], least_ns: u64) -> Vec<bool> {
    let longest = |window: &Window| window.longest_ns;
    (0..windows.len())
        .map(|at| {
            let silence_ns = windows[at].silence_ns;
            // This silence is also the longest one of the window before, so that one is left out.
            let (before, after) = (&windows[..at.saturating_sub(1)], &windows[at..]);
            silence_ns > least_ns
                && is_idle(silence_ns, before.iter().rev().map(longest), after.iter().map(longest))
        })
        .collect()
}

/// Gives a few messages between two idle stretches to the nearer phase: the shorter of the two is
/// no longer idle.
fn join_strays(windows: &[Window], idle: &mut [bool], least: u64) {
    loop {
        let starts: Vec<usize> = (1..windows.len()).filter(|at| idle[*at]).collect();
        let end = |at: usize| starts.get(at).copied().unwrap_or(windows.len());
        let few = (0..=starts.len()).find(|at| {
            let start = at.checked_sub(1).map_or(0, end);
            windows[start..end(*at)].iter().map(|window| window.messages).sum::<u64>() < least
        });
        let beside = |at: usize| at.checked_sub(1).into_iter().chain([at]).filter_map(|at| starts.get(at));
        let shorter = few.and_then(|at| beside(at).min_by_key(|window| windows[**window].silence_ns));
        match shorter {
            Some(window) => idle[*window] = false,
            None => return,
        }
    }
}

/// What the first pass keeps for the model.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    pub(crate) windows: Vec<Window>,
    /// The tokens of the windows' sets.
    pub(crate) tokens: Tokens,
    /// The numbers of ranks in the windows' sketches.
    pub(crate) ranks: Arc<Ranks>,
}

/// A message, with the numbers of ranks that the trace has.
#[derive(Clone, Copy, Debug)]
struct Message {
    src: u32,
    dst: u32,
    bytes: u64,
    operation: u8,
}

/// Messages that are not counted yet.
#[derive(Debug, Default)]
struct Waiting {
    /// Who sends, by the number in [`Ranks`].
    src: Vec<u32>,
    /// Who receives, likewise.
    dst: Vec<u32>,
    bytes: Vec<u64>,
    operations: Vec<u8>,
    times: Vec<i64>,
    tokens: Vec<u32>,
    pairs: Vec<u32>,
}

impl Waiting {
    fn drop_first(&mut self, count: usize) {
        self.src.drain(..count);
        self.dst.drain(..count);
        self.bytes.drain(..count);
        self.operations.drain(..count);
        self.times.drain(..count);
        self.tokens.drain(..count);
        self.pairs.drain(..count);
    }
}

/// Makes windows of a stream of messages.
#[derive(Debug)]
pub(crate) struct FirstPass {
    tokens: Tokens,
    ranks: Ranks,
    rounds: Cutter,
    found: Rounds,
    /// Messages of a window, at least and at most.
    sizes: (u64, u64),
    open: Window,
    /// The messages of this time so far.
    instant: Vec<Message>,
    instant_ns: i64,
    waiting: Waiting,
    /// The first one that waits.
    first: u64,
    /// The next message.
    next: u64,
    start_ns: i64,
    /// Of the whole run; the largest number if it is not known.
    duration_ns: u64,
    last_ns: i64,
    /// The longest silences of the open window and of the window before.
    silences_ns: [u64; 2],
    /// Windows before the round under way.
    parts: usize,
    /// Ends of windows that may still be divided.
    ends: Ends,
    /// The first window has not ended.
    is_first: bool,
    /// Rounds of the window that is being closed.
    open_rounds: u64,
    /// When the last rank enters each of the next barriers of all ranks.
    barriers_ns: VecDeque<i64>,
}

impl Default for FirstPass {
    fn default() -> Self {
        Self::new(0, 0, u64::MAX)
    }
}

impl FirstPass {
    /// Prepares windows for a run of this many messages and ranks, and this duration: `u64::MAX` if
    /// it is not known.
    pub(crate) fn new(messages: u64, ranks: u32, duration_ns: u64) -> Self {
        let least = LEAST.max(messages / FINEST);
        let most = LARGEST.max(messages / NOTICED).max(PER_RANK * u64::from(ranks)).max(2 * least);
        Self {
            tokens: Tokens::default(),
            ranks: Ranks::default(),
            rounds: Cutter::new(),
            found: Rounds::default(),
            sizes: (least, most),
            open: Window::default(),
            instant: Vec::new(),
            instant_ns: 0,
            waiting: Waiting::default(),
            first: 0,
            next: 0,
            start_ns: 0,
            duration_ns,
            last_ns: 0,
            silences_ns: [0; 2],
            parts: 0,
            ends: Ends::default(),
            is_first: true,
            open_rounds: 1,
            barriers_ns: VecDeque::new(),
        }
    }

    /// Adds the times at which the last rank enters barriers of all ranks, before the messages
    /// around them.
    pub(crate) fn meet(&mut self, barriers_ns: &[i64]) {
        self.barriers_ns.extend(barriers_ns);
    }

    /// Adds messages in trace order.
    pub(crate) fn add(&mut self, block: &MessageBlock) {
        let columns = block.columns();
        let operations = block.operations();
        let times = &columns.send_post_ns;
        for (row, time_ns) in times.iter().enumerate() {
            if *time_ns != self.instant_ns {
                self.end_instant();
                self.instant_ns = *time_ns;
            }
            let message = Message {
                src: columns.src[row],
                dst: columns.dst[row],
                bytes: columns.bytes[row],
                operation: operations.map_or(0, |codes| (codes[row] & 63) as u8),
            };
            if self.instant.is_empty() && times.get(row + 1).is_some_and(|next| next != time_ns) {
                self.next_message(message);
            } else {
                self.instant.push(message);
            }
        }
    }

    /// Adds the messages of one time, whose order in the trace means nothing. They are sorted by
    /// the order in which their ranks came first.
    fn end_instant(&mut self) {
        let mut instant = std::mem::take(&mut self.instant);
        let number = |rank: u32| self.ranks.known(rank);
        instant.sort_unstable_by_key(|own| {
            (number(own.src), number(own.dst), own.bytes, own.operation, own.src, own.dst)
        });
        // Who sends comes before who receives.
        instant.iter().for_each(|own| {
            self.ranks.add(own.src);
        });
        instant.drain(..).for_each(|message| self.next_message(message));
        self.instant = instant;
    }

    #[inline]
    fn next_message(&mut self, own: Message) {
        let now_ns = self.instant_ns;
        self.see(now_ns);
        let token = self.tokens.number(own.src, own.dst, own.bytes, own.operation);
        let waiting = &mut self.waiting;
        waiting.src.push(self.ranks.add(own.src));
        waiting.dst.push(self.ranks.add(own.dst));
        waiting.bytes.push(own.bytes);
        waiting.operations.push(own.operation);
        waiting.times.push(now_ns);
        waiting.tokens.push(token);
        waiting.pairs.push(self.tokens.list[token as usize].pair);
        let message = self.next;
        self.next += 1;
        if let Some(end) = self.rounds.add(message, (own.src, token), &mut self.tokens, self.sizes) {
            self.cut(end);
        }
        if self.waiting.src.len() >= WAITING {
            self.end_all();
            let settled = self.rounds.settled(self.next);
            self.count(settled);
            if self.tokens.is_full() {
                self.forget();
            }
        }
    }

    /// Notes the time of the next message; a long silence or a barrier ends a window.
    fn see(&mut self, now_ns: i64) {
        if self.next == 0 {
            (self.start_ns, self.last_ns) = (now_ns, now_ns);
        }
        let silence = now_ns.wrapping_sub(self.last_ns).cast_unsigned();
        self.last_ns = now_ns;
        let elapsed = now_ns.wrapping_sub(self.start_ns).cast_unsigned();
        let usual = self.silences_ns[0].max(self.silences_ns[1]);
        // Before it is known how long the rounds are, only those that may be reported count.
        let run_ns = if self.is_first { self.duration_ns } else { elapsed };
        let is_long = silence / LONG > usual && silence > run_ns / NOTICED;
        self.pass_barriers(now_ns);
        if is_long {
            self.interrupt(silence);
            self.silences_ns = [0, self.silences_ns[0].max(silence)];
        } else {
            self.silences_ns[0] = self.silences_ns[0].max(silence);
        }
    }

    /// Ends a window before the next message if all ranks have met.
    fn pass_barriers(&mut self, now_ns: i64) {
        let mut passed = 0;
        while self.barriers_ns.front().is_some_and(|entered_ns| *entered_ns <= now_ns) {
            self.barriers_ns.pop_front();
            passed += 1;
        }
        let begin = self.rounds.start();
        if passed > 0 && self.next > begin + LEAST_BEFORE_BARRIER {
            self.interrupt(0);
            self.silences_ns = [0, self.silences_ns[0]];
        }
    }

    /// Notes where the cutter of rounds ended a window.
    fn cut(&mut self, end: End) {
        self.is_first = false;
        self.ends.push(end);
        if end.kind == Kind::Part {
            return;
        }
        self.silences_ns = [0, self.silences_ns[0]];
        while let Some((ends, next)) = self.ends.known(self.found.windows.is_empty()) {
            let end = ends.last().map_or(self.first, |end| end.message);
            // The beginning of a large window has been counted.
            let next = next.filter(|_| self.open.messages == 0);
            let divided = self.first + next.map_or(0, |next| self.once(end, next)) as u64;
            let (before, after): (Vec<End>, _) = ends.into_iter().partition(|end| end.message < divided);
            before.into_iter().for_each(|end| self.end(end));
            if divided > self.first {
                // Both are one round of a loop for windows of coarser levels.
                let kind = Kind::Whole;
                self.end(End { message: divided, rounds: 1, kind, divides: true, begins_new: true });
            }
            after.into_iter().filter(|end| end.message > divided).for_each(|end| self.end(end));
        }
    }

    /// Messages of the first window that waits, up to `end`, that are a phase of one round. The
    /// next window ends at `next`.
    fn once(&self, end: u64, next: u64) -> usize {
        let [end, next] = [end, next].map(|message| (message - self.first) as usize);
        let (operations, tokens) = (&self.waiting.operations[..end], &self.waiting.tokens);
        let is_first = self.found.windows.is_empty();
        Pair { operations, tokens: &tokens[..end], next: &tokens[end..next], is_first }.once()
    }

    /// Ends all windows that wait: what comes next is not known in time.
    fn end_all(&mut self) {
        self.ends.all().into_iter().for_each(|end| self.end(end));
    }

    /// Ends a window.
    fn end(&mut self, end: End) {
        self.open_rounds = u64::from(end.rounds);
        self.close(end.message, 0);
        self.open.divides = end.divides;
        if end.kind == Kind::Whole {
            let parts = self.found.windows.split_off((self.parts + 1).min(self.found.windows.len()));
            if let Some(whole) = self.found.windows.last_mut().filter(|_| !parts.is_empty()) {
                parts.iter().for_each(|part| whole.merge(part));
                whole.rounds = u64::from(end.rounds);
            }
        }
        if end.kind != Kind::Part {
            self.parts = self.found.windows.len();
        }
    }

    /// Ends the window under way before the next message, after this silence, whether or not its
    /// round is whole.
    fn interrupt(&mut self, silence_ns: u64) {
        self.end_all();
        // The first round may go on after a silence that turns out to be usual.
        let goes_on = self.is_first && silence_ns > 0;
        let ended = (!goes_on).then(|| self.rounds.close(self.next, Kind::Last, false, &mut self.tokens));
        self.is_first = false;
        self.open_rounds = ended.map_or(1, |end| u64::from(end.rounds));
        self.close(self.next, silence_ns);
        self.parts = self.found.windows.len();
    }

    /// Ends the open window before message `end`.
    fn close(&mut self, end: u64, silence_ns: u64) {
        self.count(end);
        if self.open.messages > 0 {
            self.open.rounds = self.open_rounds;
            let next_ns = self.waiting.times.first().copied().unwrap_or(self.last_ns);
            let silence = next_ns.wrapping_sub(self.open.last_ns).cast_unsigned();
            self.open.longest_ns = self.open.longest_ns.max(silence);
            self.found.windows.push(std::mem::take(&mut self.open));
        }
        self.open.silence_ns = silence_ns;
        if self.found.windows.len() >= MOST {
            self.halve();
        }
    }

    /// Counts the messages before `end` that still wait.
    fn count(&mut self, end: u64) {
        let count = end.saturating_sub(self.first) as usize;
        let waiting = &mut self.waiting;
        if count == 0 {
            return;
        }
        let open = &mut self.open;
        if open.messages == 0 {
            (open.first_ns, open.last_ns) = (waiting.times[0], waiting.times[0]);
            open.rounds = 0;
        }
        for time in &waiting.times[..count] {
            open.longest_ns = open.longest_ns.max(time.wrapping_sub(open.last_ns).cast_unsigned());
            open.last_ns = *time;
        }
        open.messages += count as u64;
        // Messages of barriers synchronize only: they tell phases apart no more than the pause
        // between them. In the first window they tell that the program starts.
        let counts = |operation: u8| operation != Operation::Barrier as u8 || self.found.windows.is_empty();
        let rows = waiting.pairs[..count].iter().zip(&waiting.bytes).zip(&waiting.tokens);
        for (((pair, bytes), token), _) in
            rows.zip(&waiting.operations).filter(|(_, operation)| counts(**operation))
        {
            open.sums.add(*pair, *bytes);
            open.tokens.insert(*token);
        }
        let (src, dst) = (&waiting.src[..count], &waiting.dst[..count]);
        let hashes: Vec<u64> = src.iter().zip(dst).map(|(src, dst)| pair_hash(*src, *dst)).collect();
        let (bytes, operations) = (&waiting.bytes[..count], &waiting.operations[..count]);
        open.sketch.add_columns((src, dst), &hashes, bytes, operations);
        waiting.drop_first(count);
        self.first = end;
    }

    /// Merges neighbours in pairs, but not over a silence.
    fn halve(&mut self) {
        let (least, most) = &mut self.sizes;
        (*least, *most) = (*least * 2, (*most).max(*least * 4));
        let mut joined = false;
        self.found.windows.dedup_by(|window, last| {
            let joins = !joined && window.silence_ns == 0;
            if joins {
                last.merge(window);
            }
            joined = joins;
            joins
        });
        self.parts = self.found.windows.len();
    }

    fn forget(&mut self) {
        let becomes = self.tokens.forget(self.rounds.window);
        self.rounds.renumber(&becomes);
        let tokens = &mut self.waiting.tokens;
        tokens.iter_mut().for_each(|token| *token = becomes.get(*token as usize).copied().unwrap_or(*token));
    }

    /// The windows of all messages.
    pub(crate) fn finish(mut self) -> Rounds {
        self.end_instant();
        self.interrupt(0);
        self.join_at_silences();
        let windows = &mut self.found.windows;
        windows.iter_mut().for_each(|window| window.bytes = window.sums.total);
        for at in 1..windows.len() {
            let (before, own) = windows.split_at_mut(at);
            own[0].sums.merge(&before[at - 1].sums);
        }
        self.found.tokens = self.tokens;
        self.found.ranks = Arc::new(self.ranks);
        self.found
    }

    /// Removes silences that turn out to be usual; they divide nothing.
    fn join_at_silences(&mut self) {
        let mut idle = idle_before(&self.found.windows, self.last_ns.abs_diff(self.start_ns) / NOTICED);
        let least = self.sizes.0;
        join_strays(&self.found.windows, &mut idle, least);
        let mut idle = idle.into_iter().skip(1);
        // Whether the last window is the first one so far.
        let mut first = true;
        self.found.windows.dedup_by(|window, last| {
            let (cut, idle) = (window.silence_ns > 0, idle.next().unwrap_or_default());
            if !idle {
                window.silence_ns = 0;
            }
            // Silences end the first window before it is known how long its rounds are.
            let joins = cut && !idle && (first || last.messages.min(window.messages) < least);
            if joins {
                // Both are parts of one round.
                let rounds = last.rounds.max(window.rounds);
                last.merge(window);
                last.rounds = rounds;
            }
            first &= joins;
            joins
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_window_has_its_own_rounds() {
        // Ten rounds of a ring of ten ranks. A window of at least 24 messages has three of them.
        let mut pass = FirstPass::new(100, 10, 99_000);
        for at in 0..100u32 {
            pass.instant_ns = i64::from(at) * 1000;
            let (src, dst) = (at % 10, (at + 1) % 10);
            pass.next_message(Message { src, dst, bytes: 8, operation: 0 });
        }
        let windows = pass.finish().windows;
        let found: Vec<(u64, u64)> = windows.iter().map(|own| (own.messages, own.rounds)).collect();
        assert_eq!(found, [(30, 3), (30, 3), (30, 3), (10, 1)]);
    }
}
