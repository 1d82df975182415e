//! The traffic model: a phase loads links with its rates for as long as the trace says.

use phaseflow_collect::Result;

use super::{Event, JobModel, Simulation};
use crate::result::RunStatistics;
use crate::run::Setup;
use crate::run::job::{Job, PhaseOfJob};
use crate::run::network::Network;
use crate::run::program::Program;
use crate::topology::{HostId, LinkId, Topology};

/// Loads instead of messages; they are those of the network.
pub(in crate::run) struct Traffic;

impl<'a> JobModel<'a> for Traffic {
    const REPLAYS: bool = false;

    fn check(_: &Setup<'_>, _: &[Program<'_>]) -> Result<()> {
        Ok(())
    }

    fn run(simulation: &mut Simulation<'a, Self>) -> Result<()> {
        let end = simulation.end;
        while let Some((time, event)) = simulation.events.pop().filter(|(time, _)| *time <= end) {
            if matches!(event, Event::Change { .. }) && simulation.is_over() {
                continue;
            }
            simulation.check_clock(time)?;
            simulation.hold_until(time);
            simulation.happen(event)?;
        }
        Ok(())
    }

    fn begin_stage(simulation: &mut Simulation<'a, Self>, job: &mut Job, place: u32) -> Result<()> {
        let program = &simulation.programs[job.workload];
        job.stage_began = simulation.now;
        if let Some(phase) = program.stages[job.stage].phase {
            let phase = phase as usize;
            if simulation.needs_routes(job, phase) {
                simulation.route(job, phase)?;
            }
            if let Some(phase) = &job.phases[phase] {
                simulation.network.loads.add(&phase.shares);
            }
        }
        let end = job.started.saturating_add(program.end_of(job.stage, job.length));
        simulation.events.push(end, Event::StageEnds { place });
        Ok(())
    }

    fn links_fail(simulation: &mut Simulation<'a, Self>, jobs: &mut [Box<Job>]) -> Result<()> {
        // All loads come off before the first router sees them.
        for job in &*jobs {
            if let Some(state) = simulation.present_phase(job).and_then(|phase| job.phases[phase].as_ref()) {
                simulation.network.loads.remove(&state.shares);
            }
        }
        for job in jobs {
            let Some(phase) = simulation.present_phase(job) else { continue };
            simulation.route(job, phase)?;
            if let Some(state) = &job.phases[phase] {
                simulation.network.loads.add(&state.shares);
            }
        }
        Ok(())
    }

    fn phase_ends(network: &mut Network<'_>, phase: &PhaseOfJob) {
        network.loads.remove(&phase.shares);
    }

    fn takes_routes(&self) -> bool {
        false
    }

    fn reserve_routes(&mut self, _: usize, _: usize) {}

    fn route(&mut self, _: HostId, _: HostId, _: &[LinkId]) {}

    fn initial_delay(&self) -> Option<i128> {
        None
    }

    fn job_ends(&mut self, _: u32) {}

    fn describe(&mut self, _: &Topology, _: &mut RunStatistics) {}
}
