//! A worker: which packet it sends next, what an answer tells it, and what it takes for lost (paper
//! § 3.6, § 3.7).
//!
//! ```text
//!     answered        │  on their way, some answered   │  not sent
//!  ──────────────── expected ────────────────────────  next ───────── end
//!                     └─ gap ─┘ first that is answered
//! ```
//!
//! Paper: three parameter packets in a row that are not the expected one, and that is sent again.
//! Code: any gap is sent again, each packet once. Both after silence: everything from the expected
//! one to the first that is answered. The paper has no rule for that, and without one a loss among
//! the last packets would be waited for without end.

use std::collections::VecDeque;
use std::ops::Range;

use super::bits::Bits;
use super::window::Window;
use crate::engine::Picoseconds;
use crate::packet::aggregation::GIVE_UP_AFTER;

/// A worker of a job.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    pub(super) window: Window,
    /// The oldest packet that is not answered.
    pub(super) expected: u32,
    /// The next one that was never sent.
    pub(super) next: u32,
    /// There is nothing to be sent from here on.
    pub(super) end: u32,
    /// One bit for each packet from `expected` to `next`, modulo their number: it is answered.
    answered: Bits,
    /// How many are.
    ahead: u32,
    /// What is to be sent again, but for what is answered.
    again: Range<u32>,
    /// The step from one of these to the next.
    again_step: u32,
    /// Packets before this one were sent again in this gap (code).
    again_to: u32,
    /// Number of servers, which take packets in turn. A gap is one among the packets of the
    /// expected packet's server, as answers of another server do not show it. Ours: paper and code
    /// have one server.
    servers: u32,
    /// What is to be sent as floats.
    asked: VecDeque<u32>,
    /// One bit per packet, as in `answered`: the packet is sent as floats.
    raw: Bits,
    /// Consecutive answers to other packets than the expected one (paper).
    others: u32,
    /// First packet whose answers count for this: older packets precede the resend of the expected
    /// one. Ours.
    others_from: u32,
    /// Time of its last reception, or start of sending.
    pub(super) heard: Picoseconds,
    /// The same, or the last time-out.
    since: Picoseconds,
    /// Expiry of its timer.
    pub(super) timer: Picoseconds,
    /// True if it has received nothing since it began to send.
    is_fresh: bool,
    /// Silences in a row.
    silences: u32,
    /// Number of resends of the expected packet.
    repeats: u32,
    /// It waits no longer.
    pub(super) has_given_up: bool,
    /// Ends of its vectors, with their keys.
    pub(super) keys: VecDeque<(u32, u32)>,
    /// Aggregators by packet modulo their number (code).
    pub(super) indices: Vec<u32>,
    /// Packets sent more than once.
    pub(super) resends: u64,
}

/// A packet that may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) seq: u32,
    pub(super) is_resend: bool,
    pub(super) is_raw: bool,
}

/// Time-out of a worker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub(super) is_code: bool,
    pub(super) timeout: Picoseconds,
    pub(super) first_timeout: Picoseconds,
}

/// Parameter packets in a row (paper).
const OTHERS: u32 = 3;
/// Silence after which the code ends the program: 20 s.
const ABORT: Picoseconds = 20_000_000_000_000;

impl Worker {
    /// A worker without packets; `indices` has an aggregator for each packet modulo their number
    /// (code).
    pub(super) fn new(window: Window, indices: Vec<u32>, servers: u32, may_be_raw: bool) -> Self {
        Self {
            window,
            expected: 0,
            next: 0,
            end: 0,
            answered: Bits::new(window.limit),
            ahead: 0,
            again: 0..0,
            again_step: 1,
            again_to: 0,
            servers,
            asked: VecDeque::new(),
            raw: Bits::new(if may_be_raw { window.limit } else { 0 }),
            others: 0,
            others_from: 0,
            heard: 0,
            since: 0,
            timer: Picoseconds::MAX,
            is_fresh: true,
            silences: 0,
            repeats: 0,
            has_given_up: false,
            keys: VecDeque::new(),
            indices,
            resends: 0,
        }
    }

    /// It has packets to send up to `end`.
    pub(super) fn extend(&mut self, end: u32, now: Picoseconds) {
        if self.expected == self.end {
            self.hear(now);
            (self.is_fresh, self.repeats) = (true, 0);
        }
        self.end = end;
    }

    /// The packet that may leave now.
    #[inline]
    pub(super) fn offer(&mut self) -> Option<Next> {
        if self.has_given_up {
            return None;
        }
        while let Some(seq) = self.asked.front().copied() {
            if seq >= self.expected && !self.answered.has(seq) {
                return Some(Next { seq, is_resend: true, is_raw: true });
            }
            self.asked.pop_front();
        }
        if self.again.start < self.expected {
            self.again.start += (self.expected - self.again.start).next_multiple_of(self.again_step);
        }
        while self.again.start < self.again.end {
            let seq = self.again.start;
            if !self.answered.has(seq) {
                return Some(Next { seq, is_resend: true, is_raw: self.raw.has(seq) });
            }
            self.again.start += self.again_step;
        }
        let is_open = self.next < self.end && self.next - self.expected < self.window.size;
        is_open.then_some(Next { seq: self.next, is_resend: false, is_raw: false })
    }

    /// It has left.
    #[inline]
    pub(super) fn sent(&mut self, packet: Next) {
        self.resends += u64::from(packet.is_resend);
        if self.asked.front() == Some(&packet.seq) && packet.is_raw {
            self.asked.pop_front();
        } else if packet.is_resend {
            self.again.start = packet.seq + self.again_step;
            self.repeats += u32::from(packet.seq == self.expected);
        } else {
            self.next += 1;
        }
    }

    /// Receives the result of `seq`; false for a duplicate.
    #[inline]
    pub(super) fn take(&mut self, seq: u32, is_marked: bool, now: Picoseconds, patience: Patience) -> bool {
        self.hear(now);
        if seq < self.expected || seq >= self.next || self.answered.has(seq) {
            return false;
        }
        if is_marked {
            self.window.mark(seq, self.next);
        }
        if seq != self.expected {
            self.answered.set(seq, true);
            self.ahead += 1;
            if !(seq - self.expected).is_multiple_of(self.servers) {
                return true;
            }
            if patience.is_code {
                self.see_gap(if self.servers > 1 { seq } else { self.gap_end() });
            } else {
                self.see_other(seq);
            }
            return true;
        }
        self.pass();
        while self.ahead > 0 && self.answered.has(self.expected) {
            self.answered.set(self.expected, false);
            self.ahead -= 1;
            self.pass();
        }
        (self.others, self.others_from, self.repeats) = (0, 0, 0);
        if patience.is_code && self.ahead > 0 && self.servers == 1 {
            self.see_gap(self.gap_end());
        }
        true
    }

    /// A server has asked for floats.
    pub(super) fn ask(&mut self, seq: u32, now: Picoseconds) {
        self.hear(now);
        if seq >= self.expected && seq < self.next && !self.answered.has(seq) && !self.raw.has(seq) {
            self.raw.set(seq, true);
            self.asked.push_back(seq);
        }
    }

    fn hear(&mut self, now: Picoseconds) {
        (self.heard, self.since, self.is_fresh, self.silences) = (now, now, false, 0);
    }

    /// The expected packet is answered.
    #[inline]
    fn pass(&mut self) {
        self.raw.set(self.expected, false);
        self.expected += 1;
        self.window.answer();
    }

    /// Paper.
    fn see_other(&mut self, seq: u32) {
        if seq < self.others_from {
            return;
        }
        self.others += 1;
        if self.others == OTHERS {
            (self.others, self.others_from) = (0, self.next);
            (self.again, self.again_step) = (self.expected..self.expected + 1, 1);
            self.window.lose(self.expected, self.next);
        }
    }

    /// Code: packet `to` is behind the gap.
    fn see_gap(&mut self, to: u32) {
        // Gaps of other servers differ.
        let goes_on = (self.again_to.abs_diff(self.expected)).is_multiple_of(self.servers);
        let from = if goes_on { self.expected.max(self.again_to) } else { self.expected };
        if from >= to {
            return;
        }
        // Answered packets in between are skipped.
        let is_under_way = goes_on && self.again_step == self.servers && !self.again.is_empty();
        self.again = if is_under_way { self.again.start..to } else { from..to };
        (self.again_step, self.again_to) = (self.servers, to);
    }

    /// The first packet after the expected one that is answered, or the first that was not sent.
    fn gap_end(&self) -> u32 {
        if self.ahead == 0 { self.next } else { self.answered.first(self.expected, self.next) }
    }

    /// Time of its time-out; `None` if it waits for nothing.
    #[inline]
    pub(super) fn deadline(&self, patience: Patience) -> Option<Picoseconds> {
        let Patience { is_code, timeout, first_timeout } = patience;
        let wait = match (self.is_fresh, is_code) {
            (true, _) => first_timeout,
            (false, true) => timeout,
            // Ours: the time-out doubles after each silence, up to the first one.
            (false, false) => {
                timeout.saturating_mul(1 << self.silences.min(30)).min(first_timeout.max(timeout))
            }
        };
        let waits = self.expected < self.next && !self.has_given_up;
        waits.then(|| self.since.saturating_add(wait))
    }

    /// It has heard nothing for that long.
    pub(super) fn lose_patience(&mut self, now: Picoseconds, patience: Patience) {
        (self.since, self.silences) = (now, self.silences + 1);
        (self.again, self.again_step) = (self.expected..self.gap_end(), 1);
        self.again_to = self.again.end;
        (self.others, self.others_from) = (0, self.next);
        let aborts = patience.is_code && now.saturating_sub(self.heard) >= ABORT;
        self.has_given_up = aborts || self.repeats >= GIVE_UP_AFTER;
    }
}
