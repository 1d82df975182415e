//! Progress of simulations, for display by another thread.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Work done so far, by all runs that share the progress.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    /// The present job and phase; of concurrent runs, those of the one that began last.
    now: Mutex<String>,
}

impl Progress {
    /// Messages that have arrived in simulations; a run without messages counts as one when it has
    /// ended.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// The job and phase whose simulation began last, as text; empty before the first.
    pub fn now(&self) -> String {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The progress of one run. Its number of messages is an estimate: messages beyond it are not
/// counted, and missing ones are added at the end.
#[derive(Debug)]
pub struct RunProgress<'a> {
    whole: &'a Progress,
    left: Cell<u64>,
}

impl<'a> RunProgress<'a> {
    /// A run with this expected work.
    pub fn new(whole: &'a Progress, expected: u64) -> Self {
        Self { whole, left: Cell::new(expected) }
    }

    /// The simulation of a phase of a job begins.
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
