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
        let (places, mut jobs): (Vec<usize>, Vec<Box<Job>>) =
            self.running.iter_mut().enumerate().filter_map(|(place, job)| Some((place, job.take()?))).unzip();
        M::links_fail(self, &mut jobs)?;
        for (place, job) in places.into_iter().zip(jobs) {
            self.running[place] = Some(job);
        }
        Ok(())
    }

    /// The phase that a job is in, none in idle stretches.
    pub(super) fn present_phase(&self, job: &Job) -> Option<usize> {
        self.programs[job.workload].stages[job.stage].phase.map(|phase| phase as usize)
    }
}
