//! Stages of a job that has the network to itself, from estimates of its phases.

use std::rc::Rc;

use phaseflow_collect::{At, Result};

use super::{Event, Simulation};
use crate::run::job::Job;
use crate::run::replayers::Replayers;
use crate::run::window_replays::replay_windows;
use crate::run::{Model, Reroute};
use crate::sampling::Estimates;

impl<'a> Simulation<'a, Replayers<'a>> {
    /// Begins a stage of a job alone in the network from the estimates of its phases; false if
    /// there are none, or if links fail before its end.
    pub(super) fn begin_estimated(&mut self, job: &mut Job, place: u32) -> Result<bool> {
        let program = &self.programs[job.workload];
        // With routes that change, occurrences of a phase differ.
        let takes_samples = match &self.setup.model {
            Model::Traffic => false,
            Model::Flow(..) => true,
            // What hangs is told of phases.
            Model::Packet(model) => !model.is_chosen && !model.allow_hang,
        };
        let Some(sampled) = program.sampled().filter(|_| takes_samples && self.setup.reroute == Reroute::Job)
        else {
            return Ok(false);
        };
        if job.estimates.is_none() {
            let mut used: Vec<u32> = program.stages.iter().filter_map(|stage| stage.phase).collect();
            used.sort_unstable();
            used.dedup();
            for phase in &used {
                if self.needs_routes(job, *phase as usize) {
                    self.route(job, *phase as usize)?;
                }
            }
            let first = used.first().map_or(0, |phase| *phase as usize);
            for operations in sampled.replays() {
                self.route_rest(job, first, operations)?;
            }
            let place = || format!("job {} ({})", job.number, program.name);
            let replays =
                replay_windows(&mut self.model, job.number, sampled, &job.placement.hosts).at(place)?;
            let steps = self.model.options.path_steps as usize;
            job.estimates = Some(Rc::new(Estimates::new(&replays, &sampled.strata, steps)));
        }
        let phase = program.stages[job.stage].phase;
        let Some(estimate) = job.estimates.as_ref().and_then(|estimates| estimates.of(phase)) else {
            return Ok(false);
        };
        let length_ns = program.length_ns(job.stage);
        let share = estimate.share(length_ns);
        let passed_ns = &mut job.passed_ns[phase.map_or(program.phases.len(), |phase| phase as usize)];
        let time = estimate.until(*passed_ns + length_ns) - estimate.until(*passed_ns);
        let end = self.now.saturating_add(time);
        // Estimates are of whole stages: one in which links fail is replayed.
        if self.events.next_time().is_some_and(|next| next < end.min(self.end)) {
            return Ok(false);
        }
        *passed_ns += length_ns;
        let state = phase.and_then(|phase| job.phases[phase as usize].as_deref_mut());
        if let Some(state) = state {
            let is_first = state.replays.is_none();
            let steps = self.model.options.path_steps;
            state.replays.get_or_insert_default().add_share(estimate, share, is_first, steps);
            job.coming.add(estimate.carried.iter(), share);
            // Time and bytes are separate estimates: bytes beyond the capacity of links show an
            // error of the time.
            job.coming.cut(self.setup.topology, time);
        }
        self.events.push(end, Event::StageEnds { place });
        Ok(true)
    }
}
