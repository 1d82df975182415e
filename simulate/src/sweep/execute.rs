//! Running points in parallel, results in order.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use phaseflow_collect::{At, Result};
use rayon::prelude::*;

use super::{Point, Sweep};
use crate::result::RunResult;
use crate::run::{
    Algorithms, JobSource, LinkStatistics, Model, Progress, RunProgress, Setup, Submission, check_slots, run,
    run_flows,
};
use crate::scenario::Axis;
use crate::{host_selection, process_mapping, scheduling};

/// Results in memory per thread: one that is written, one that is computed.
pub(super) const BATCH: usize = 2;

impl Sweep {
    /// Runs points, given by their numbers, on all threads. Passes their results to `sink` in that
    /// order, each as soon as the earlier ones are complete. `progress` ends at the sum of the
    /// points' [work](Self::work).
    ///
    /// # Errors
    /// The first failure in the order of the points; the results before it were handed on.
    pub fn execute(
        &self,
        mut runs: impl Iterator<Item = u32>,
        record_routes: bool,
        progress: &Progress,
        mut sink: impl FnMut(RunResult) -> Result<()> + Send,
    ) -> Result<()> {
        let batch_size = BATCH * rayon::current_num_threads();
        loop {
            let batch: Vec<u32> = runs.by_ref().take(batch_size).collect();
            if batch.is_empty() {
                return Ok(());
            }
            let results = Mutex::new(InOrder::new(batch.len(), &mut sink));
            // Points begin in order for any division of a batch among threads, so results wait for
            // few others.
            let begun = AtomicUsize::new(0);
            (0..batch.len()).into_par_iter().for_each(|_| {
                let position = begun.fetch_add(1, Ordering::Relaxed);
                if locked(&results).outcome.is_ok() {
                    let run = batch[position];
                    let result = self.run(&self.point(run), record_routes, progress);
                    let result = result.at(|| format!("run {run}"));
                    locked(&results).put(position, result);
                }
            });
            results.into_inner().unwrap_or_else(PoisonError::into_inner).outcome?;
        }
    }

    /// A point's model with its parameters.
    pub(super) fn model(&self, point: &Point) -> Result<Model> {
        let choice = |axis| self.choice(point, axis);
        Model::new(choice(Axis::Model), choice(Axis::Transport), choice(Axis::Collective), point.seed)
    }

    /// Refuses a point whose choices do not go together: a job with more processes than the network
    /// has slots, a model that the network does not suit. Other points of the product may well do.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self, point: &Point) -> Result<()> {
        let topology = &self.topologies[point.topology];
        let slots = topology.slots().iter().map(|slots| u64::from(*slots)).sum();
        for (line, source) in self.jobs.iter().enumerate() {
            let workload = &self.workloads[source.workload];
            let job = (&*workload.name, workload.segmentation.header.ranks);
            check_slots(line, job, (topology.label(), slots))?;
        }
        self.model(point)?.check(topology)
    }

    /// Runs one point.
    fn run(&self, point: &Point, record_routes: bool, progress: &Progress) -> Result<RunResult> {
        let seed = point.seed;
        if let Some(list) = &self.flows {
            let router = self.routers.router(point.topology, self.choice(point, Axis::Router), seed)?;
            let topology = &self.topologies[point.topology];
            return run_flows(
                topology,
                point.topology,
                list,
                &self.model(point)?,
                router,
                self.labels(point),
            );
        }
        let progress = RunProgress::new(progress, self.work(point));
        let algorithms = Algorithms {
            scheduler: scheduling::scheduler(self.choice(point, Axis::Scheduler), seed)?,
            host_selector: host_selection::host_selector(self.choice(point, Axis::HostSelector), seed)?,
            process_mapper: process_mapping::process_mapper(self.choice(point, Axis::ProcessMapper), seed)?,
            router: self.routers.router(point.topology, self.choice(point, Axis::Router), seed)?,
        };
        // Rows by job are for lists that somebody wrote.
        let is_listed = |job: &JobSource| matches!(job.submission, Submission::Fixed { .. });
        let is_listed = self.jobs.iter().all(is_listed);
        let setup = Setup {
            labels: self.labels(point),
            topology: &self.topologies[point.topology],
            topology_index: point.topology,
            workloads: &self.workloads,
            jobs: &self.jobs,
            duration_s: self.settings.duration_s,
            merged: self.choice(point, Axis::Phases).name() == "merged",
            reroute: self.settings.reroute,
            snapshots_s: &self.settings.snapshots_s,
            record_routes,
            model: self.model(point)?,
            progress: Some(&progress),
            known_replays: (self.points > 1).then_some(&self.known_replays),
            link_statistics: if is_listed { LinkStatistics::Jobs } else { LinkStatistics::Run },
        };
        run(&setup, algorithms)
    }
}

/// Passes results on in the order of points.
struct InOrder<T, S> {
    /// Results still to pass on, the next one first; those that are computed out of order wait
    /// here.
    waiting: VecDeque<Option<Result<T>>>,
    /// Position of the next one.
    next: usize,
    sink: S,
    /// The first failure, of a run or of the sink; no result is passed on after it.
    outcome: Result<()>,
}

impl<T, S: FnMut(T) -> Result<()>> InOrder<T, S> {
    fn new(length: usize, sink: S) -> Self {
        let waiting = std::iter::repeat_with(|| None).take(length).collect();
        Self { waiting, next: 0, sink, outcome: Ok(()) }
    }

    fn put(&mut self, position: usize, result: Result<T>) {
        self.waiting[position - self.next] = Some(result);
        while self.outcome.is_ok()
            && let Some(result) = self.waiting.front_mut().and_then(Option::take)
        {
            self.waiting.pop_front();
            self.next += 1;
            self.outcome = result.and_then(&mut self.sink);
        }
    }
}

/// A panic of a thread ends the process, so a poisoned lock is not seen.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use phaseflow_collect::Error;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn results_leave_in_order_until_the_first_failure(
            order in Just((0..20_usize).collect::<Vec<_>>()).prop_shuffle(),
            failing in prop::collection::btree_set(0..20_usize, 0..3),
        ) {
            let mut seen = Vec::new();
            let mut results = InOrder::new(order.len(), |position| {
                seen.push(position);
                Ok(())
            });
            for position in order {
                let is_failing = failing.contains(&position);
                let result = if is_failing { Err(Error::data(position.to_string())) } else { Ok(position) };
                results.put(position, result);
            }
            let first = failing.first().copied();
            prop_assert_eq!(results.outcome.err().map(|error| error.to_string()), first.map(|first| first.to_string()));
            prop_assert_eq!(seen, (0..first.unwrap_or(20)).collect::<Vec<_>>());
        }
    }
}
