//! How far simulations are, for whoever watches them from another thread.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Work done so far, by all runs that tell it.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    /// What is simulated now, of several runs at a time the one that began last.
    now: Mutex<String>,
}

impl Progress {
    /// Messages that have arrived in simulations; a run without messages counts as one when it has
    /// ended.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// The job and phase that began to be simulated last, for people; empty before the first.
    pub fn now(&self) -> String {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The progress of one run, whose number of messages is an estimate. No more messages than the
/// estimate are counted, and at its end those that did not come are added.
#[derive(Debug)]
pub struct RunProgress<'a> {
    whole: &'a Progress,
    left: Cell<u64>,
}

impl<'a> RunProgress<'a> {
    /// A run of which so much work is expected.
    pub fn new(whole: &'a Progress, expected: u64) -> Self {
        Self { whole, left: Cell::new(expected) }
    }

    /// Something begins to be simulated: a job and a phase.
    pub(super) fn begins(&self, what: impl FnOnce() -> String) {
        *self.whole.now.lock().unwrap_or_else(PoisonError::into_inner) = what();
    }

    /// Counts messages that have arrived.
    #[inline]
    pub(super) fn arrived(&self, messages: u64) {
        let known = messages.min(self.left.get());
        self.left.set(self.left.get() - known);
        self.whole.done.fetch_add(known, Ordering::Relaxed);
    }
}

impl Drop for RunProgress<'_> {
    fn drop(&mut self) {
        self.arrived(self.left.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_counts_for_what_was_expected_of_it() {
        let progress = Progress::default();
        let (long, short) = (RunProgress::new(&progress, 10), RunProgress::new(&progress, 5));
        assert_eq!(progress.now(), "");
        long.begins(|| "halo".into());
        short.begins(|| "ring".into());
        assert_eq!(progress.now(), "ring");
        long.arrived(7);
        assert_eq!(progress.done(), 7);
        long.arrived(7);
        assert_eq!(progress.done(), 10, "more than expected");
        short.arrived(1);
        drop(short);
        assert_eq!(progress.done(), 15, "fewer than expected");
        drop(long);
        assert_eq!(progress.done(), 15);
    }
}
