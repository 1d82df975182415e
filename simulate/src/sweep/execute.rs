//! Running points in parallel, results in order.

use phaseflow_collect::{At, Result};
use rayon::prelude::*;

use super::{Axis, Point, Sweep};
use crate::result::RunResult;
use crate::run::{Algorithms, LinkStatistics, Model, Setup, Submission, run};
use crate::{host_selection, process_mapping, routing, scheduling};

/// Results in memory per thread: one that is written, one that is computed.
pub(super) const BATCH: usize = 2;

impl Sweep {
    /// Runs points, given by their numbers, on all threads and hands their results to `sink` in that order, a batch at a time.
    ///
    /// # Errors
    /// The first failure in the order of the points.
    pub fn execute(
        &self,
        mut runs: impl Iterator<Item = u32>,
        record_routes: bool,
        mut sink: impl FnMut(RunResult) -> Result<()>,
    ) -> Result<()> {
        let batch_size = BATCH * rayon::current_num_threads();
        loop {
            let batch: Vec<u32> = runs.by_ref().take(batch_size).collect();
            if batch.is_empty() {
                return Ok(());
            }
            let results: Vec<Result<RunResult>> =
                batch.par_iter().map(|run| self.run(&self.point(*run), record_routes)).collect();
            for (run, result) in batch.iter().zip(results) {
                sink(result.at(|| format!("run {run}"))?)?;
            }
        }
    }

    /// A point's model with all that belongs to it.
    pub(super) fn model(&self, point: &Point) -> Result<Model> {
        let choice = |axis| self.choice(point, axis);
        Model::new(choice(Axis::Model), choice(Axis::Transport), choice(Axis::Collective), point.seed)
    }

    /// Runs one point.
    fn run(&self, point: &Point, record_routes: bool) -> Result<RunResult> {
        let seed = point.seed;
        let algorithms = Algorithms {
            scheduler: scheduling::scheduler(self.choice(point, Axis::Scheduler))?,
            host_selector: host_selection::host_selector(self.choice(point, Axis::HostSelector), seed)?,
            process_mapper: process_mapping::process_mapper(self.choice(point, Axis::ProcessMapper), seed)?,
            router: routing::router(self.choice(point, Axis::Router), seed)?,
        };
        let endless = self.jobs.iter().any(|job| matches!(job.submission, Submission::Endless { .. }));
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
            link_statistics: if endless { LinkStatistics::Run } else { LinkStatistics::Jobs },
        };
        run(&setup, algorithms)
    }
}
