//! Times of the ranks' next steps: one nominal time for all, or a clock for each.

use super::stream::{BYTES_PER_NS, step_ns};
use crate::{Error, Result};

/// The times at which ranks begin their next step.
pub(super) struct Clocks {
    /// True if each rank waits for its own messages only; otherwise all wait for the last message
    /// of a step.
    waits: bool,
    /// Nothing is posted earlier any more.
    front_ns: i64,
    ranks: Vec<i64>,
    /// Arrivals that each rank waits for in this step.
    until: Vec<i64>,
    /// The longest message of this step in nominal time.
    longest_ns: u64,
    /// Time at which the last rank began the previous round.
    begun_ns: i64,
    /// Latest arrival of messages that nominal time does not wait for.
    arrived_ns: i64,
}

impl Clocks {
    pub(super) fn new(ranks: u32, waits: bool) -> Self {
        let zeros = vec![0; ranks as usize];
        Self {
            waits,
            front_ns: 0,
            until: zeros.clone(),
            ranks: zeros,
            longest_ns: 0,
            begun_ns: 0,
            arrived_ns: 0,
        }
    }

    /// No later message is posted before this time.
    pub(super) fn front(&self) -> i64 {
        self.front_ns
    }

    pub(super) fn of(&self, rank: u32) -> i64 {
        self.ranks.get(rank as usize).copied().unwrap_or(self.front_ns)
    }

    /// Begins a round. No rank is more than a round ahead: buffers are finite, so ranks that only
    /// send have to wait.
    pub(super) fn round(&mut self) {
        if self.waits {
            self.ranks.iter_mut().for_each(|rank| *rank = self.begun_ns.max(*rank));
            self.begun_ns = self.last();
            self.advance();
        }
    }

    /// `src` posts a message of `bytes`, nominally `nominal` bytes, late by `late_ns`.
    pub(super) fn sent(
        &mut self,
        (src, dst): (u32, u32),
        late_ns: u64,
        nominal: u64,
        bytes: u64,
    ) -> Result<()> {
        self.longest_ns = self.longest_ns.max(step_ns(nominal));
        let post = later(self.of(src), late_ns)?;
        if self.waits {
            let (left, arrived) = (later(post, bytes / BYTES_PER_NS)?, later(post, step_ns(bytes))?);
            for (rank, time) in [(src, left), (dst, arrived)] {
                if let Some(until) = self.until.get_mut(rank as usize) {
                    *until = time.max(*until);
                }
            }
        } else if bytes > nominal {
            self.arrived_ns = self.arrived_ns.max(later(post, step_ns(bytes))?);
        }
        Ok(())
    }

    /// Ends the step; returns the advance of the front.
    pub(super) fn step(&mut self) -> Result<u64> {
        let longest_ns = std::mem::take(&mut self.longest_ns);
        if self.waits {
            self.ranks.iter_mut().zip(&self.until).for_each(|(rank, until)| *rank = (*until).max(*rank));
            return Ok(self.advance());
        }
        self.ranks.iter_mut().try_for_each(|rank| later(*rank, longest_ns).map(|time| *rank = time))?;
        self.front_ns = later(self.front_ns, longest_ns)?;
        Ok(longest_ns)
    }

    /// All ranks pause for `common`, each for `work(rank)` more; returns the advance of the front.
    /// In nominal time, additional work delays only the rank's next round, and a pause lasts until
    /// the last rank has ended the previous round.
    pub(super) fn pause(&mut self, common: u64, mut work: impl FnMut(u32) -> u64) -> Result<u64> {
        let front = self.front_ns;
        if !self.waits {
            self.front_ns = later(front, common)?.max(self.last());
            self.ranks.fill(self.front_ns);
        }
        for (clock, rank) in self.ranks.iter_mut().zip(0..) {
            let common = if self.waits { common } else { 0 };
            *clock = later(*clock, common.saturating_add(work(rank)))?;
        }
        if self.waits { Ok(self.advance()) } else { Ok(self.front_ns.abs_diff(front)) }
    }

    /// All wait for the last rank, and for messages that are still on their way.
    pub(super) fn synchronize(&mut self) {
        self.front_ns = self.last().max(self.arrived_ns);
        self.ranks.fill(self.front_ns);
    }

    fn last(&self) -> i64 {
        self.ranks.iter().copied().max().unwrap_or(self.front_ns)
    }

    fn advance(&mut self) -> u64 {
        let front = self.ranks.iter().copied().min().unwrap_or(self.front_ns);
        let ns = front.abs_diff(self.front_ns);
        self.front_ns = front;
        ns
    }
}

/// A time `ns` later.
///
/// # Errors
/// A time beyond all times of a trace.
pub(super) fn later(time_ns: i64, ns: u64) -> Result<i64> {
    time_ns
        .checked_add_unsigned(ns)
        .ok_or_else(|| Error::usage("the run would last more than 2^63-1 ns (292 years)"))
}
