//! Which queued job starts next.

use std::time::Duration;

/// A job that waits, in order of submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedJob {
    /// Process slots it will occupy: those of whole hosts.
    pub slots: u32,
    /// How long it will run, as far as the scheduler knows.
    pub estimate: Duration,
}

/// A job that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunningJob {
    /// Process slots it occupies: those of whole hosts.
    pub slots: u32,
    /// When it will end, as far as the scheduler knows, from now on.
    pub remaining: Duration,
}

/// What a scheduler sees.
#[derive(Clone, Copy, Debug)]
pub struct QueueView<'a> {
    /// Process slots of the free hosts.
    pub free_slots: u32,
    /// The queue, oldest first.
    pub queue: &'a [QueuedJob],
    /// The running jobs in any order.
    pub running: &'a [RunningJob],
}

/// A scheduling algorithm.
pub trait Scheduler: Send {
    /// Index in the queue of a job to start now; asked again, with the new view, until it says `None`.
    fn next(&mut self, view: &QueueView<'_>) -> Option<usize>;
}
