//! Jobs that wait.

use crate::engine::Picoseconds;
use crate::scheduling::QueuedJob;

/// Data of a waiting job that the scheduler does not see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    /// Number within the run.
    pub(super) job: u32,
    pub(super) workload: usize,
    pub(super) length: Picoseconds,
    /// What the scheduler expects.
    pub(super) estimate: Picoseconds,
    /// True if the length is known; false if it is nominal, as the trace has no times.
    pub(super) timed: bool,
}

/// The queue, oldest first, as two parallel slices. Removing job i costs O(i): it is cheap at the
/// head of long queues.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    jobs: Vec<Waiting>,
    views: Vec<QueuedJob>,
    /// Everything before is gone.
    head: usize,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.jobs.len() - self.head
    }

    /// The view of schedulers.
    pub(super) fn views(&self) -> &[QueuedJob] {
        &self.views[self.head..]
    }

    pub(super) fn push(&mut self, job: Waiting, view: QueuedJob) {
        self.jobs.push(job);
        self.views.push(view);
    }

    pub(super) fn remove(&mut self, index: usize) -> Option<Waiting> {
        let position = self.head.checked_add(index)?;
        let job = *self.jobs.get(position)?;
        // The jobs before it move up by one.
        self.jobs.copy_within(self.head..position, self.head + 1);
        self.views.copy_within(self.head..position, self.head + 1);
        self.head += 1;
        if self.head * 2 > self.jobs.len() {
            self.jobs.drain(..self.head);
            self.views.drain(..self.head);
            self.head = 0;
        }
        Some(job)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn as_a_vector_would(steps in prop::collection::vec(prop::option::of(0_usize..8), 0..200)) {
            let (mut queue, mut oracle) = (Queue::default(), Vec::new());
            for (number, step) in steps.into_iter().enumerate() {
                let job = Waiting { job: number as u32, workload: 0, length: 0, estimate: 1, timed: true };
                match step {
                    None => {
                        queue.push(job, QueuedJob { job: job.job, processes: job.job, slots: 1, estimate: 1 });
                        oracle.push(job);
                    }
                    Some(index) => {
                        let expected = (index < oracle.len()).then(|| oracle.remove(index));
                        prop_assert_eq!(queue.remove(index), expected);
                    }
                }
                let seen: Vec<u32> = queue.views().iter().map(|view| view.processes).collect();
                prop_assert_eq!(seen, oracle.iter().map(|job| job.job).collect::<Vec<_>>());
                prop_assert_eq!(queue.len(), oracle.len());
            }
        }
    }
}
