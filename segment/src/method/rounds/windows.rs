//! The table of windows: when it is full, neighbours are merged.

use super::gaps::Silence;
use super::pairs::Pairs;
use crate::first_pass::tags::Tags;
use crate::first_pass::window::sketch::{Sketch, pair_hash};

/// Windows, at most; each takes 3 KiB.
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
    /// Messages whose token is followed, and the number of these that have come before.
    /// `log_quarters` sums, over the latter, the binary logarithm of the messages since then, in
    /// quarters.
    pub(crate) watched: u64,
    pub(crate) returned: u64,
    pub(crate) log_quarters: u64,
    /// Something new begins with it: other tokens, or messages after a silence or a barrier.
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

/// Messages that are counted together.
const TOGETHER: usize = 256;

impl RoundWindow {
    /// Counts in its histograms messages given as columns of equal length.
    pub(super) fn add_columns(&mut self, src: &[u32], dst: &[u32], bytes: &[u64], kinds: &[u8]) {
        let mut hashes = [0; TOGETHER];
        for first in (0..src.len()).step_by(TOGETHER) {
            let rows = first..src.len().min(first + TOGETHER);
            let (src, dst) = (&src[rows.clone()], &dst[rows.clone()]);
            let hashes = &mut hashes[..rows.len()];
            let pairs = src.iter().zip(dst);
            hashes.iter_mut().zip(pairs).for_each(|(hash, (src, dst))| *hash = pair_hash(*src, *dst));
            self.sketch.add_columns((src, dst), hashes, &bytes[rows.clone()], &kinds[rows]);
            self.pairs.add_hashes(hashes);
        }
    }

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
}

/// Histograms out of use, whose memory the next window takes.
#[derive(Debug, Default)]
struct Spare {
    sketch: Option<Sketch>,
    pairs: Option<Pairs>,
}

impl Spare {
    /// An empty window.
    fn window(&mut self) -> RoundWindow {
        let mut sketch = self.sketch.take().unwrap_or_default();
        let mut pairs = self.pairs.take().unwrap_or_default();
        sketch.clear();
        pairs.clear();
        RoundWindow {
            first_ns: 0,
            last_ns: 0,
            messages: 0,
            rounds: 0,
            watched: 0,
            returned: 0,
            log_quarters: 0,
            fresh: false,
            part: false,
            stray: false,
            sketch,
            pairs,
        }
    }

    /// Shares the histograms of two windows that saw the same, as rounds of most programs do.
    fn share(&mut self, window: &mut RoundWindow, other: &RoundWindow) {
        self.sketch = window.sketch.share(&other.sketch).or(self.sketch.take());
        self.pairs = window.pairs.share(&other.pairs).or(self.pairs.take());
    }
}

/// Windows in order of time.
#[derive(Debug)]
pub(super) struct Windows {
    pub(super) list: Vec<RoundWindow>,
    spare: Spare,
    /// Least number of messages of a window.
    pub(super) least: u64,
}

impl Default for Windows {
    fn default() -> Self {
        Self { list: Vec::new(), spare: Spare::default(), least: 1 }
    }
}

impl Windows {
    /// Adds the open window and leaves an empty one; `messages` is the total of all windows.
    pub(super) fn close(&mut self, open: &mut RoundWindow, messages: u64) {
        if let Some(last) = self.list.last() {
            self.spare.share(open, last);
        }
        self.list.push(std::mem::replace(open, self.spare.window()));
        if self.list.len() >= MOST {
            self.halve(messages);
        }
    }

    /// Takes the last window out again and merges the open one into it.
    pub(super) fn reopen(&mut self, open: &mut RoundWindow) {
        let Some(mut last) = self.list.pop() else { return };
        (last.part, last.stray) = (false, false);
        if open.messages > 0 {
            last.merge(open);
        }
        *open = last;
    }

    /// Merges neighbours until half of the table is free; `messages` is the total of all windows.
    fn halve(&mut self, messages: u64) {
        // First merge windows that continue the one before them, then all.
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
                        Some(last) => last.merge(&window),
                        None => {
                            if let [.., before, last] = &mut kept[..] {
                                self.spare.share(last, before);
                            }
                            kept.push(window);
                        }
                    }
                }
                self.list = kept;
                // By now, all windows below the mean would have been merged.
                let full = self.least.saturating_mul(before as u64) > messages;
                if sparing && full && before - self.list.len() < MOST / 64 {
                    break;
                }
            }
        }
    }
}

/// What the first pass keeps.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    pub(crate) windows: Vec<RoundWindow>,
    pub(crate) silences: Vec<Silence>,
    /// The tags that tell messages apart.
    pub(crate) tags: Tags,
}
