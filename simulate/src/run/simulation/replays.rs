//! Jobs whose ranks are replayed: stages together with those of other jobs, and known results for
//! stages alone.

use phaseflow_collect::{Error, Result};

use super::{Event, JobModel, Simulation};
use crate::engine::Picoseconds;
use crate::link_bytes::LinkBytes;
use crate::replay::{Crossing, Operations, Options, Rendezvous, ReplayResult, Sampling};
use crate::result::RunStatistics;
use crate::routing::Routes;
use crate::run::job::{Job, PhaseOfJob};
use crate::run::network::{Network, RouteQuery};
use crate::run::phase_replays::Outcome;
use crate::run::program::Program;
use crate::run::replayers::{Replayers, place_of, without_route};
use crate::run::{Reroute, Setup};
use crate::statistics::seconds;
use crate::topology::{HostId, LinkId, Topology};

impl<'a> JobModel<'a> for Replayers<'a> {
    const REPLAYS: bool = true;

    fn check(setup: &Setup<'_>, programs: &[Program<'_>]) -> Result<()> {
        let Some(options) = setup.model.replay() else { return Ok(()) };
        let mut used = setup.jobs.iter().filter_map(|source| programs.get(source.workload));
        used.try_for_each(|program| program.can_be_replayed(setup.model.name(), options.sampling))?;
        if options.sampling == Sampling::Off && setup.reroute == Reroute::Phase {
            let problem = "routes cannot change with the phase where phases overlap: reroute `phase` needs sampling `on`";
            return Err(Error::usage(problem));
        }
        Ok(())
    }

    /// Jobs and their replays side by side.
    fn run(simulation: &mut Simulation<'a, Self>) -> Result<()> {
        loop {
            let own = simulation.events.next_time();
            let replays = simulation.model.shared.next(own.unwrap_or(simulation.end).min(simulation.end));
            // Events of jobs precede those of ranks at the same time.
            let own_first = own.is_some_and(|own| replays.is_none_or(|replays| own <= replays));
            let next = if own_first { own } else { replays };
            let Some(time) = next.filter(|time| *time <= simulation.end) else { break };
            if own_first && simulation.is_over() {
                // Links that fail after the last job.
                simulation.events.pop();
                continue;
            }
            simulation.check_clock(time)?;
            simulation.hold_until(time);
            if !own_first {
                simulation.advance_replays(time)?;
            } else if let Some((_, event)) = simulation.events.pop() {
                simulation.happen(event)?;
            }
        }
        simulation.replays_are_over()
    }

    fn begin_stage(simulation: &mut Simulation<'a, Self>, job: &mut Job, place: u32) -> Result<()> {
        simulation.begin_replay(job, place)
    }

    fn links_fail(simulation: &mut Simulation<'a, Self>, jobs: &mut [Box<Job>]) -> Result<()> {
        for job in &mut *jobs {
            simulation.reroute_replay(job)?;
        }
        // Messages of earlier phases and of jobs that have ended may be under way, too. The router
        // is asked for them in the name of any job; without one, nobody waits for them.
        let (now, topology) = (simulation.now, simulation.network.topology);
        let rest = simulation.model.cut_off(topology);
        if let Some(job) = jobs.first() {
            let phase = simulation.present_phase(job).unwrap_or(0);
            simulation.route_hosts(job, phase, &rest)?;
            simulation.model.fail(now, topology);
        } else {
            simulation.model.fail(now, topology);
            rest.iter().for_each(|(src, dst)| simulation.model.forget_route(*src, *dst));
        }
        Ok(())
    }

    fn phase_ends(_: &mut Network<'_>, _: &PhaseOfJob) {}

    fn takes_routes(&self) -> bool {
        Replayers::takes_routes(self)
    }

    fn reserve_routes(&mut self, pairs: usize, links: usize) {
        Replayers::reserve_routes(self, pairs, links);
    }

    fn route(&mut self, src: HostId, dst: HostId, links: &[LinkId]) {
        Replayers::route(self, src, dst, links);
    }

    fn initial_delay(&self) -> Option<i128> {
        self.options.interference.then_some(0)
    }

    fn job_ends(&mut self, job: u32) {
        self.shared.transport().forget_owner_traffic(job);
    }

    fn describe(&mut self, topology: &Topology, statistics: &mut RunStatistics) {
        Replayers::describe(self, topology, statistics);
    }
}

impl<'a> Simulation<'a, Replayers<'a>> {
    /// Ranks do what they do until `time`.
    fn advance_replays(&mut self, time: Picoseconds) -> Result<()> {
        let mut ended = std::mem::take(&mut self.model.ended);
        self.model.shared.advance(time, &mut ended);
        let crossed: Vec<Crossing> = self.model.shared.take_crossed().collect();
        crossed.into_iter().for_each(|crossing| self.stretch_ends(crossing));
        for result in ended.drain(..) {
            self.replay_ends(result)?;
        }
        self.model.ended = ended;
        Ok(())
    }

    /// Nothing happens any more: all replays must have ended.
    fn replays_are_over(&mut self) -> Result<()> {
        if let Some(failure) = self.model.shared.failure() {
            return Err(failure);
        }
        if let Some((token, text)) = self.model.shared.deadlock().filter(|_| !self.model.allow_hang) {
            return Err(self.deadlock(token, text));
        }
        if self.population.running > 0 && self.end == Picoseconds::MAX && !self.model.allow_hang {
            return Err(self.endless());
        }
        if let Some(packets) = self.model.packets_together(self.now)? {
            self.record.packets_together(&packets, self.now);
        }
        Ok(())
    }

    /// The error of jobs that have neither ended nor anything to do.
    fn endless(&self) -> Error {
        let job = self.running.iter().flatten().min_by_key(|job| job.number);
        let place = job.map(|job| format!("job {} ({})", job.number, self.programs[job.workload].name));
        let now_s = seconds(self.now);
        Error::data(format!("has not ended, and nothing happens any more after {now_s} s"))
            .at(place.as_deref().unwrap_or("a job"))
    }

    /// The error of replays that cannot continue.
    fn deadlock(&self, token: u64, text: String) -> Error {
        let error = Error::data(text);
        let Some(job) = self.running.get(place_of(token) as usize).and_then(Option::as_deref) else {
            return error;
        };
        let program = &self.programs[job.workload];
        let phase = program.stages[job.stage].phase;
        let phase = phase.map_or("idle", |phase| program.phases[phase as usize].name);
        error.at(format!("job {} ({}): phase {phase}", job.number, program.name))
    }

    /// Chooses the routes of a job anew, after links have failed: those of its present phase, or
    /// without sampling of all phases.
    fn reroute_replay(&mut self, job: &mut Job) -> Result<()> {
        job.estimates = None;
        if self.model.options.sampling == Sampling::Off {
            for phase in 0..job.phases.len() {
                self.route(job, phase)?;
            }
        } else if let Some(phase) = self.present_phase(job) {
            self.route(job, phase)?;
        }
        Ok(())
    }

    /// Begins a stage of a job, or without sampling all its stages, as a replay.
    pub(super) fn begin_replay(&mut self, job: &mut Job, place: u32) -> Result<()> {
        let options = self.model.options;
        let is_alone = self.population.running == 1;
        self.see_rates();
        job.stage_began = self.now;
        self.tell_progress(job, options.sampling);
        if options.sampling == Sampling::Off {
            return self.begin_whole(job, place);
        }
        job.coming = LinkBytes::default();
        let stays_alone = is_alone && self.to_submit == 0;
        if stays_alone && self.begin_estimated(job, place)? {
            return Ok(());
        }
        match self.programs[job.workload].stages[job.stage].phase {
            Some(phase) => self.begin_phase(job, place, phase as usize, is_alone),
            None => {
                self.begin_idle(job, place, options);
                Ok(())
            }
        }
    }

    fn tell_progress(&self, job: &Job, sampling: Sampling) {
        let Some(progress) = self.setup.progress else { return };
        let program = &self.programs[job.workload];
        let phase = program.stages.get(job.stage).and_then(|stage| stage.phase);
        progress.begins(|| match phase {
            Some(phase) if sampling == Sampling::On => {
                format!("job {}, phase {}", job.number, program.phases[phase as usize].name)
            }
            _ => format!("job {}", job.number),
        });
    }

    /// Begins all stages of a job as one replay.
    fn begin_whole(&mut self, job: &mut Job, place: u32) -> Result<()> {
        let program = &self.programs[job.workload];
        for phase in 0..program.phases.len() {
            self.route(job, phase)?;
        }
        // Workloads without operations were refused before the run.
        let Some(operations) = program.stage_by_stage() else { return Ok(()) };
        self.route_rest(job, 0, operations)?;
        self.begin_shared(job, place, operations);
        Ok(())
    }

    /// Begins an idle stretch: ranks compute as long as in the trace.
    fn begin_idle(&mut self, job: &mut Job, place: u32, options: Options) {
        let time = options.compute_ps(self.programs[job.workload].length_ns(job.stage));
        job.will_carry(self.setup.topology, time, &LinkBytes::default(), &[]);
        self.events.push(self.now.saturating_add(time), Event::StageEnds { place });
    }

    /// Begins a stage that replays its phase.
    fn begin_phase(&mut self, job: &mut Job, place: u32, phase: usize, is_alone: bool) -> Result<()> {
        let program = &self.programs[job.workload];
        let needs_routes = self.needs_routes(job, phase);
        if needs_routes {
            self.route(job, phase)?;
        }
        let Some(operations) = program.operations(phase) else {
            let what = format!("phase {}", program.phases[phase].name);
            return Err(program.lacks_messages(self.setup.model.name(), &what));
        };
        if needs_routes {
            self.route_rest(job, phase, operations)?;
        }
        if let Some(state) = job.phases[phase].as_deref_mut() {
            state.replays.get_or_insert_default();
        }
        if is_alone {
            return self.begin_alone(job, place, phase, operations);
        }
        // Messages in flight between stages belong to no stage.
        self.model.take_owner_traffic(job.number);
        self.begin_shared(job, place, operations);
        Ok(())
    }

    /// Begins a replay together with those of other jobs.
    pub(super) fn begin_shared(&mut self, job: &Job, place: u32, operations: &'a Operations) {
        self.model.begin(self.now, place, operations, job.number, job.replay_hosts());
    }

    /// Ends a stretch of a job that is replayed as a whole: its last rank has left it.
    fn stretch_ends(&mut self, crossing: Crossing) {
        if self.model.options.sampling == Sampling::On {
            return;
        }
        let Some(job) = self.running[place_of(crossing.token) as usize].as_deref_mut() else { return };
        let carried = self.model.take_owner_traffic(job.number);
        job.carried(&self.programs[job.workload], crossing.boundary, carried);
    }

    /// Passes the present rates of links to the router.
    fn see_rates(&mut self) {
        let Some(network) = self.model.shared.transport().flows() else { return };
        let rates = self.network.rates.get_or_insert_default();
        rates.clear();
        rates.extend((0..self.setup.topology.link_count() as u32).map(|link| network.rate(LinkId(link))));
    }

    /// Chooses routes for pairs of hosts without a cell in any phase: messages of idle stretches.
    pub(super) fn route_rest(&mut self, job: &Job, phase: usize, operations: &Operations) -> Result<()> {
        if !self.model.takes_routes() {
            return Ok(());
        }
        let hosts = &job.placement.hosts;
        let has_replies = self.model.options.rendezvous != Rendezvous::Free;
        let pairs = without_route(operations, hosts, has_replies, |src, dst| self.model.has_route(src, dst));
        self.route_hosts(job, phase, &pairs)
    }

    /// Chooses routes for pairs of hosts, whatever the matrix of the phase.
    fn route_hosts(&mut self, job: &Job, phase: usize, pairs: &[(HostId, HostId)]) -> Result<()> {
        if pairs.is_empty() {
            return Ok(());
        }
        let program = &self.programs[job.workload];
        let query = RouteQuery {
            job: job.number,
            phase: program.phases[phase].name,
            placement: &job.placement,
            matrix: program.matrix(phase),
            hosts: &job.local_hosts,
            pairs: &[],
            divisor: 1.0,
        };
        let mut routes = Routes::default();
        self.network.route_hosts(&query, pairs, &mut routes)?;
        for ((src, dst), links) in pairs.iter().zip(routes.iter()) {
            self.model.route(*src, *dst, links);
        }
        Ok(())
    }

    /// Ends a replay among others: that of a stage, or without sampling that of a job.
    fn replay_ends(&mut self, result: ReplayResult) -> Result<()> {
        let place = place_of(result.token);
        let Some(mut job) = self.running[place as usize].take() else { return Ok(()) };
        let program = &self.programs[job.workload];
        if self.model.options.sampling == Sampling::Off {
            let operations = program.stage_by_stage();
            let bounds = operations
                .map(|operations| self.model.bounds(operations, &job.placement.hosts, &job.skew))
                .unwrap_or_default();
            job.spread(program, &result, &bounds, self.model.options.path_steps);
            let carried = self.model.take_owner_traffic(job.number);
            job.carried(program, result.stretches.len() - 1, carried);
            if let Some(operations) = operations.filter(|_| self.model.options.interference) {
                let alone = self.model.time_alone(job.number, operations, job.replay_hosts())?;
                job.was_delayed(result.makespan, alone);
            }
            self.record.ranks(job.number, None, &result.accounts, &job.placement);
            return self.job_ends(job, place);
        }
        let phase = program.stages[job.stage].phase;
        let operations = phase.and_then(|phase| program.operations(phase as usize));
        let mut baseline = None;
        if let Some(operations) = operations.filter(|_| self.model.options.interference) {
            // With changing routes, known results are not valid.
            let known =
                phase.filter(|_| self.setup.reroute == Reroute::Job).and_then(|phase| job.baseline(phase));
            baseline = if known.is_some() {
                known
            } else {
                self.model.time_alone(job.number, operations, job.replay_hosts())?
            };
            job.was_delayed(result.makespan, baseline);
        }
        if let Some(state) = phase.and_then(|phase| job.phases[phase as usize].as_deref_mut()) {
            let replays = state.replays.get_or_insert_default();
            let hosts = &job.placement.hosts;
            let none = vec![0; hosts.len()];
            let bounds =
                operations.map(|operations| self.model.bounds(operations, hosts, &none)).unwrap_or_default();
            state.carried.add(self.model.take_owner_traffic(job.number), 1.0);
            let outcome =
                Outcome { result, bounds, packets: None, carried: LinkBytes::default(), tail: Vec::new() };
            let began = job.stage_began - job.started;
            replays.occurred(&outcome, true, began, self.model.options.path_steps);
            replays.baseline = baseline;
            state.met_others = true;
            job.leave(&outcome.result);
        }
        self.running[place as usize] = Some(job);
        self.stage_ends(place)
    }
}
