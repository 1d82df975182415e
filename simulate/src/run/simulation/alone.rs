//! Stages of a job that has the network to itself, replayed phase by phase.

use std::rc::Rc;

use phaseflow_collect::{At, Result};

use super::{Event, Simulation};
use crate::engine::Picoseconds;
use crate::link_bytes::LinkBytes;
use crate::phase_packets::PhasePackets;
use crate::replay::Operations;
use crate::run::Reroute;
use crate::run::fidelity;
use crate::run::job::{Job, split_hosts};
use crate::run::phase_replays::Outcome;
use crate::run::replayers::Replayers;
use crate::run::solo::{SoloNetwork, SoloReplay};
use crate::topology::LinkId;

/// The course of a stage if no other job begins before its end.
enum AloneStage {
    /// It takes as long as in the trace.
    Recorded,
    /// It follows this replay; `is_new` if the replay was simulated for this stage.
    Replayed { outcome: Rc<Outcome>, is_new: bool },
    /// It has no end.
    Endless,
}

impl<'a> Simulation<'a, Replayers<'a>> {
    /// Begins a stage of the only running job. If another job is submitted or links fail before the
    /// end of the stage, the stage goes through the run's own network.
    pub(super) fn begin_alone(
        &mut self,
        job: &mut Job,
        place: u32,
        phase: usize,
        operations: &'a Operations,
    ) -> Result<()> {
        let stage = self.replay_alone(job, phase, operations)?;
        let Some(time) = self.time_of(job, &stage) else { return Ok(()) };
        // All pending events are submissions and failures, as only this job runs.
        let end = self.now.saturating_add(time);
        if self.events.next_time().is_some_and(|next| next < end.min(self.end)) {
            self.begin_shared(job, place, operations);
            return Ok(());
        }
        match stage {
            AloneStage::Recorded => job.skew.fill(0),
            AloneStage::Replayed { outcome, is_new } => self.occurs(job, phase, &outcome, is_new),
            AloneStage::Endless => {}
        }
        self.events.push(end, Event::StageEnds { place });
        Ok(())
    }

    /// Time of a stage alone; `None` for a deadlock.
    fn time_of(&self, job: &Job, stage: &AloneStage) -> Option<Picoseconds> {
        match stage {
            AloneStage::Recorded => {
                let length_ns = self.programs[job.workload].length_ns(job.stage);
                Some(self.model.options.compute_ps(length_ns))
            }
            AloneStage::Replayed { outcome, .. } => Some(outcome.result.makespan),
            AloneStage::Endless => None,
        }
    }

    /// Simulates a stage without other jobs, unless its result is known.
    fn replay_alone(
        &mut self,
        job: &mut Job,
        phase: usize,
        operations: &'a Operations,
    ) -> Result<AloneStage> {
        let program = &self.programs[job.workload];
        self.choose_model(job, phase, operations);
        let Some(state) = job.phases[phase].as_deref_mut() else { return Ok(AloneStage::Endless) };
        let chosen = state.chosen.as_ref().map(|chosen| &chosen.model[..]);
        if chosen == Some(fidelity::TRAFFIC) {
            return Ok(AloneStage::Recorded);
        }
        let on = if chosen == Some(fidelity::FLOW) { SoloNetwork::Flows } else { SoloNetwork::Model };
        let replays = state.replays.get_or_insert_default();
        // With changing routes, known results are not valid.
        let known = if self.setup.reroute == Reroute::Job { replays.known(&job.skew) } else { None };
        if let Some(outcome) = known {
            return Ok(AloneStage::Replayed { outcome, is_new: false });
        }
        let place = || format!("job {} ({}): phase {}", job.number, program.name, program.phases[phase].name);
        let hosts = split_hosts(&job.placement, job.servers);
        let replay = self.model.alone(job.number, operations, hosts, &job.skew, on).at(place)?;
        let SoloReplay { result, packets, carried, tail } = replay;
        let packets = packets.map(|parts| sum_of_packets(&parts));
        let Some(result) = result else {
            // A deadlock has no end; the packets until then are known.
            if let Some(packets) = packets {
                state.packets.get_or_insert_default().add(&packets);
            }
            return Ok(AloneStage::Endless);
        };
        let bounds = self.model.bounds(operations, hosts.ranks, &job.skew);
        let carried = sum_of_bytes(carried);
        let outcome = Rc::new(Outcome { result, bounds, packets, carried, tail });
        replays.learn(&job.skew, &outcome);
        Ok(AloneStage::Replayed { outcome, is_new: true })
    }

    /// Chooses the model of a phase, with `auto` and at its first stage.
    fn choose_model(&self, job: &mut Job, phase: usize, operations: &Operations) {
        if !self.model.chooses() {
            return;
        }
        let program = &self.programs[job.workload];
        let hosts = split_hosts(&job.placement, job.servers).ranks;
        let Some(state) = job.phases[phase].as_deref_mut().filter(|state| state.chosen.is_none()) else {
            return;
        };
        let load = state.load_summary.filter(|_| program.has_durations());
        let peak = load.map(|load| load.contended());
        let keeps_time = self.model.options.compute_ps(1000) == 1_000_000;
        let fits = keeps_time && self.setup.model.collective().is_none();
        state.chosen = Some(self.model.choose(operations, hosts, peak, fits));
    }

    /// Adds the results of a stage that no other job meets.
    fn occurs(&self, job: &mut Job, phase: usize, outcome: &Outcome, is_new: bool) {
        let steps = self.model.options.path_steps;
        if let Some(state) = job.phases[phase].as_deref_mut() {
            let replays = state.replays.get_or_insert_default();
            replays.occurred(outcome, is_new, self.now - job.started, steps);
            if let Some(packets) = &outcome.packets {
                state.packets.get_or_insert_default().add(packets);
            }
        }
        job.leave(&outcome.result);
        job.will_carry(self.setup.topology, outcome.result.makespan, &outcome.carried, &outcome.tail);
    }
}

fn sum_of_packets(parts: &[PhasePackets]) -> PhasePackets {
    let mut packets = PhasePackets::default();
    parts.iter().for_each(|part| packets.add(part));
    packets
}

fn sum_of_bytes(parts: Vec<Vec<(LinkId, f64)>>) -> LinkBytes {
    let mut bytes = LinkBytes::default();
    parts.into_iter().for_each(|part| bytes.add(part, 1.0));
    bytes
}
