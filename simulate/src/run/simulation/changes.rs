//! Failures in the course of a run: the routes of running jobs are chosen anew.

use phaseflow_collect::Result;

use super::{Event, JobModel, Simulation};
use crate::run::Reroute;
use crate::run::job::Job;

impl<'a, M: JobModel<'a>> Simulation<'a, M> {
    /// Schedules what fails in the run.
    pub(super) fn expect_changes(&mut self) {
        for (number, change) in self.setup.topology.changes().iter().enumerate() {
            self.events.push(change.at_ps, Event::Change { number });
        }
    }

    /// True if no job is there or will come.
    pub(super) fn is_over(&self) -> bool {
        self.population.running == 0 && self.population.waiting == 0 && self.to_submit == 0
    }

    /// True if the routes of a phase have to be chosen before it begins.
    pub(super) fn needs_routes(&self, job: &Job, phase: usize) -> bool {
        let is_current = |routed_after: u32| routed_after == self.changes;
        let changes = self.setup.reroute == Reroute::Phase && !self.network.router_repeats();
        changes || job.phases[phase].as_ref().is_none_or(|state| !is_current(state.routed_after))
    }

    /// Links fail: what runs takes other routes from now on.
    pub(super) fn change(&mut self, number: usize) -> Result<()> {
        self.network.topology = &self.setup.topology.changes()[number].topology;
        self.changes += 1;
        let mut under_way: Vec<(usize, Box<Job>)> = self
            .running
            .iter_mut()
            .enumerate()
            .filter_map(|(place, job)| Some((place, job.take()?)))
            .collect();
        // All loads come off before the first router sees them.
        for (_, job) in &under_way {
            if let Some(state) = self.present_phase(job).and_then(|phase| job.phases[phase].as_ref()) {
                self.network.loads.remove(&state.shares);
            }
        }
        for (place, mut job) in under_way.drain(..) {
            if let Some(phase) = self.present_phase(&job) {
                self.forget_old_routes(&mut job);
                self.route(&mut job, phase)?;
                if let Some(state) = &job.phases[phase] {
                    self.network.loads.add(&state.shares);
                }
            }
            self.running[place] = Some(job);
        }
        Ok(())
    }

    /// Drops routes of the whole job that were chosen before the latest change.
    pub(super) fn forget_old_routes(&self, job: &mut Job) {
        if job.routed_after != self.changes {
            job.routes = None;
            job.routed_after = self.changes;
        }
    }

    /// The phase that a job is in, none in idle stretches.
    fn present_phase(&self, job: &Job) -> Option<usize> {
        self.programs[job.workload].stages[job.stage].phase.map(|phase| phase as usize)
    }
}
