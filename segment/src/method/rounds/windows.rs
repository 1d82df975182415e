//! The table of windows: as many as fit, then neighbours become one.

use super::pairs::Pairs;
use crate::window::sketch::Sketch;

/// Most windows; they take 3 KiB each.
pub(super) const MOST: usize = 8192;

/// A stretch of messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundWindow {
    /// Time of its first message.
    pub(crate) first_ns: i64,
    /// Time of its last message.
    pub(crate) last_ns: i64,
    /// Messages.
    pub(crate) messages: u64,
    /// Whole rounds; 0 if it was not repeated.
    pub(crate) rounds: u64,
    /// Messages whose token is followed, those of them whose token was there before, and of these the sum of the binary logarithms, in quarters, of the numbers of messages since then.
    pub(crate) watched: u64,
    pub(crate) returned: u64,
    pub(crate) log_quarters: u64,
    /// It begins with tokens that were not there before.
    pub(crate) fresh: bool,
    /// It is a part of a longer round.
    pub(crate) part: bool,
    /// It holds stray messages of a [lull](super::pace).
    pub(crate) stray: bool,
    /// What its messages look like.
    pub(crate) sketch: Sketch,
    /// Who talks to whom.
    pub(crate) pairs: Pairs,
}

impl RoundWindow {
    pub(super) fn merge(&mut self, next: &RoundWindow) {
        self.last_ns = next.last_ns;
        self.messages += next.messages;
        self.rounds += next.rounds;
        self.watched += next.watched;
        self.returned += next.returned;
        self.log_quarters += next.log_quarters;
        self.part &= next.part;
        self.stray &= next.stray;
        self.sketch.merge(&next.sketch);
        self.pairs.merge(&next.pairs);
    }

    /// Keeps what this window has seen but once if another one saw the same, as rounds of most programs do.
    fn share(&mut self, other: &RoundWindow) {
        self.sketch.share(&other.sketch);
        self.pairs.share(&other.pairs);
    }

    /// Forgets all, keeps the memory if nobody shares it.
    fn clear(&mut self) {
        let Self { first_ns, last_ns, messages, rounds, watched, returned, log_quarters, .. } = self;
        (*first_ns, *last_ns, *messages, *rounds) = Default::default();
        (*watched, *returned, *log_quarters) = Default::default();
        (self.fresh, self.part, self.stray) = Default::default();
        self.sketch.clear();
        self.pairs.clear();
    }
}

/// Windows in order of time.
#[derive(Debug)]
pub(super) struct Windows {
    pub(super) list: Vec<RoundWindow>,
    /// Those that were merged into others; their memory is used again.
    spare: Vec<RoundWindow>,
    /// Messages of a window, at least.
    pub(super) least: u64,
}

impl Default for Windows {
    fn default() -> Self {
        Self { list: Vec::new(), spare: Vec::new(), least: 1 }
    }
}

impl Windows {
    /// Adds a window, takes its place an empty one; `messages` are those of all windows.
    pub(super) fn close(&mut self, open: &mut RoundWindow, messages: u64) {
        if let Some(last) = self.list.last() {
            open.share(last);
        }
        let next = self.spare.pop().map(|mut window| {
            window.clear();
            window
        });
        self.list.push(std::mem::replace(open, next.unwrap_or_default()));
        if self.list.len() >= MOST {
            self.halve(messages);
        }
    }

    /// Takes the last window out again, with what is open after it.
    pub(super) fn reopen(&mut self, open: &mut RoundWindow) {
        let Some(mut last) = self.list.pop() else { return };
        (last.part, last.stray) = (false, false);
        if open.messages > 0 {
            last.merge(open);
        }
        self.spare.push(std::mem::replace(open, last));
    }

    /// Merges neighbours until half of the table is free; `messages` are those of all windows.
    fn halve(&mut self, messages: u64) {
        // First windows that go on with what is before them, then all.
        for sparing in [true, false] {
            while self.list.len() > MOST / 2 {
                self.least = self.least.saturating_mul(2);
                let before = self.list.len();
                let least = self.least;
                let joins = |last: &RoundWindow, window: &RoundWindow| {
                    last.messages + window.messages <= least.saturating_mul(2)
                        && !(sparing && (window.fresh || last.part != window.part))
                };
                let mut kept: Vec<RoundWindow> = Vec::with_capacity(MOST);
                for window in self.list.drain(..) {
                    match kept.last_mut().filter(|last| joins(last, &window)) {
                        Some(last) => {
                            last.merge(&window);
                            self.spare.push(window);
                        }
                        None => {
                            if let [.., before, last] = &mut kept[..] {
                                last.share(before);
                            }
                            kept.push(window);
                        }
                    }
                }
                self.list = kept;
                // Windows of less than the mean would have been merged by now.
                let full = self.least.saturating_mul(before as u64) > messages;
                if sparing && full && before - self.list.len() < MOST / 64 {
                    break;
                }
            }
        }
    }
}
