//! Time windows: the points that are clustered.
//!
//! The run is cut into windows of equal width while it is read once. Nobody knows beforehand how
//! long it is, so the table begins with windows of 1 ns, and whenever a message falls beyond its
//! end, neighbours are merged and the width doubles: in the end between half and all of the table
//! is used. What a window holds is a [sketch] of its messages and how fast they return
//! ([recurrence]); the table's size depends on neither ranks nor messages.

pub(crate) mod counts;
pub(crate) mod points;
pub(crate) mod recurrence;
pub(crate) mod sketch;

use phaseflow_collect::trace::MessageBlock;

use recurrence::{Returns, Seen, Tokens};
use sketch::Sketch;

/// A slice of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    /// Messages posted in it.
    pub(crate) messages: u64,
    /// Time of its first message; without messages, meaningless.
    pub(crate) first_ns: i64,
    /// Time of its last message.
    pub(crate) last_ns: i64,
    /// What the messages look like.
    pub(crate) sketch: Sketch,
    /// When its messages come again.
    ahead: Returns,
    /// When its messages came last.
    behind: Returns,
}

impl Window {
    /// How long a round is here; `None` where messages do not return.
    pub(crate) fn round_ns(&self) -> Option<u64> {
        [self.ahead.round_ns(), self.behind.round_ns()].into_iter().flatten().min()
    }

    /// Adds the window after this one.
    fn merge(&mut self, next: &Window) {
        if next.messages == 0 {
            return;
        }
        if self.messages == 0 {
            self.first_ns = next.first_ns;
        }
        self.last_ns = next.last_ns;
        self.messages += next.messages;
        self.sketch.merge(&next.sketch);
        self.ahead.merge(&next.ahead);
        self.behind.merge(&next.behind);
    }
}

/// Windows of equal width from the first message on.
#[derive(Debug)]
pub(crate) struct Windows {
    windows: Vec<Window>,
    most: usize,
    /// A window is 2^shift ns wide.
    shift: u32,
    origin_ns: Option<i64>,
    tokens: Tokens,
}

impl Windows {
    /// An empty table of at most `most` windows, two or more.
    pub(crate) fn new(most: usize) -> Self {
        Self { windows: Vec::new(), most: most.max(2), shift: 0, origin_ns: None, tokens: Tokens::default() }
    }

    /// Adds messages in trace order.
    pub(crate) fn add(&mut self, block: &MessageBlock) {
        let columns = block.columns();
        let operations = block.operations();
        let times = &columns.send_post_ns;
        let mut row = 0;
        while let Some(time) = times.get(row) {
            let index = self.make_room(*time);
            // Times ascend, so a window's messages are neighbours.
            let count = times[row..].partition_point(|time| self.index(*time) == index as u64);
            let rows = row..row + count;
            let window = &mut self.windows[index];
            if window.messages == 0 {
                window.first_ns = *time;
            }
            window.last_ns = times[rows.end - 1];
            window.messages += rows.len() as u64;
            window.sketch.add_messages(block, rows.clone());
            for row in rows.clone() {
                let operation = operations.map_or(0, |codes| codes[row]);
                let message = (columns.src[row], columns.dst[row], columns.bytes[row], operation);
                self.follow(message, times[row], index);
            }
            row = rows.end;
        }
    }

    /// The windows; first and last hold messages, those between may be empty.
    pub(crate) fn all(&self) -> &[Window] {
        &self.windows
    }

    /// Width of a window.
    pub(crate) fn width_ns(&self) -> u64 {
        1 << self.shift
    }

    /// The index of `time`'s window, whether there is room for it or not.
    fn index(&self, time: i64) -> u64 {
        time.wrapping_sub(self.origin_ns.unwrap_or(time)).cast_unsigned() >> self.shift
    }

    /// The index of `time`'s window, which is there afterwards.
    fn make_room(&mut self, time: i64) -> usize {
        self.origin_ns.get_or_insert(time);
        while self.index(time) >= self.most as u64 {
            self.halve();
        }
        let index = self.index(time) as usize;
        if index >= self.windows.len() {
            self.windows.resize_with(index + 1, Window::default);
        }
        index
    }

    fn halve(&mut self) {
        self.shift += 1;
        for pair in 0..self.windows.len().div_ceil(2) {
            let mut window = std::mem::take(&mut self.windows[2 * pair]);
            if let Some(next) = self.windows.get(2 * pair + 1) {
                window.merge(next);
            }
            self.windows[pair] = window;
        }
        self.windows.truncate(self.windows.len().div_ceil(2));
    }

    #[inline]
    fn follow(&mut self, message: (u32, u32, u64, i64), time: i64, index: usize) {
        let origin = self.origin_ns.unwrap_or(time);
        let shift = self.shift;
        let window_of = |time: i64| (time.wrapping_sub(origin).cast_unsigned() >> shift) as usize;
        let windows = &mut self.windows;
        let seen = self.tokens.see(message, time, |last| windows[window_of(last)].ahead.forget());
        if seen == Seen::Unwatched {
            return;
        }
        windows[index].behind.watch();
        windows[index].ahead.watch();
        if let Seen::Again(last) = seen {
            let ns = time.wrapping_sub(last).cast_unsigned();
            windows[index].behind.add(ns);
            windows[window_of(last)].ahead.add(ns);
        }
    }
}
