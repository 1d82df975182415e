//! Jobs whose ranks are replayed: stages as replays that meet each other, and the answers that are known for those that are alone.

use std::rc::Rc;

use phaseflow_collect::{At, Error, Result};

use super::{Event, Simulation};
use crate::link_bytes::LinkBytes;
use crate::phase_packets::PhasePackets;
use crate::replay::{Crossing, JobHosts, Operations, ReplayResult, Sampling};
use crate::result::RunResult;
use crate::routing::Routes;
use crate::run::fidelity;
use crate::run::job::Job;
use crate::run::network::RouteQuery;
use crate::run::phase_replays::Outcome;
use crate::run::replayers::{place_of, without_route};
use crate::run::solo::SoloNetwork;
use crate::run::window_replays::replay_windows;
use crate::run::{Model, Reroute};
use crate::sampling::Estimates;
use crate::topology::LinkId;

impl Simulation<'_> {
    /// Jobs and their replays side by side, in order of time.
    pub(super) fn run_flow(mut self) -> Result<RunResult> {
        while let Some(replayers) = self.replayers.as_deref_mut() {
            let own = self.events.next_time();
            let replays = replayers.shared.next(own.unwrap_or(self.end).min(self.end));
            // What jobs do goes before what ranks do at the same time.
            let own_first = own.is_some_and(|own| replays.is_none_or(|replays| own <= replays));
            let Some(time) = (if own_first { own } else { replays }).filter(|time| *time <= self.end) else {
                break;
            };
            self.check_clock(time)?;
            self.hold_until(time);
            if own_first {
                if let Some((_, event)) = self.events.pop() {
                    self.happen(event)?;
                }
                continue;
            }
            if let Some(replayers) = self.replayers.as_deref_mut() {
                let mut ended = std::mem::take(&mut replayers.ended);
                replayers.shared.advance(time, &mut ended);
                let crossed: Vec<Crossing> = replayers.shared.take_crossed().collect();
                crossed.into_iter().for_each(|crossing| self.stretch_ends(crossing));
                for result in ended.drain(..) {
                    self.replay_ends(result)?;
                }
                if let Some(replayers) = self.replayers.as_deref_mut() {
                    replayers.ended = ended;
                }
            }
        }
        if let Some(replayers) = &mut self.replayers {
            if let Some(failure) = replayers.shared.failure() {
                return Err(failure);
            }
            if let Some((token, text)) = replayers.shared.deadlock().filter(|_| !replayers.allow_hang) {
                return Err(self.deadlock(token, text));
            }
            if let Some(packets) = replayers.packets_together(self.now)? {
                self.record.packets_together(&packets, self.now);
            }
        }
        Ok(self.finish())
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

    /// A stage of a job, or without sampling all of them, as a replay.
    pub(super) fn begin_replay(&mut self, job: &mut Job, place: u32) -> Result<()> {
        let program = &self.programs[job.workload];
        let Some(options) = self.replayers.as_ref().map(|replayers| replayers.options) else { return Ok(()) };
        let is_alone = self.population.running == 1;
        self.see_rates();
        job.stage_began = self.now;
        if let Some(progress) = self.setup.progress {
            let phase = program.stages.get(job.stage).and_then(|stage| stage.phase);
            progress.begins(|| match phase {
                Some(phase) if options.sampling == Sampling::On => {
                    format!("job {}, phase {}", job.number, program.phases[phase as usize].name)
                }
                _ => format!("job {}", job.number),
            });
        }
        if options.sampling == Sampling::Off {
            let operations = if program.merged { program.operations(0) } else { program.whole_script() };
            for phase in 0..program.phases.len() {
                self.route(job, phase)?;
            }
            let Some(operations) = operations else { return Ok(()) };
            self.route_rest(job, 0, operations)?;
            if let Some(replayers) = &mut self.replayers {
                replayers.begin(self.now, place, operations, job.number, job.replay_hosts());
            }
            return Ok(());
        }
        job.coming = LinkBytes::default();
        // Nobody comes who could be met.
        let stays_alone = is_alone && self.events.next_time().is_none();
        if stays_alone && self.begin_alone(job, place)? {
            return Ok(());
        }
        let Some(phase) = program.stages[job.stage].phase else {
            let time = options.compute_ps(program.length_ns(job.stage));
            job.will_carry(self.setup.topology, time, &LinkBytes::default(), &[]);
            self.events.push(self.now.saturating_add(time), Event::StageEnds { place });
            return Ok(());
        };
        let number = phase as usize;
        let is_first = job.phases[number].is_none();
        if is_first || self.setup.reroute == Reroute::Phase {
            self.route(job, number)?;
        }
        let Some(operations) = program.operations(number) else { return Ok(()) };
        if is_first || self.setup.reroute == Reroute::Phase {
            self.route_rest(job, number, operations)?;
        }
        let (ranks, servers) = job.placement.hosts.split_at(job.placement.hosts.len() - job.servers);
        let hosts = JobHosts { ranks, servers };
        let Some(state) = job.phases[number].as_deref_mut() else { return Ok(()) };
        let replays = state.replays.get_or_insert_default();
        let Some(replayers) = self.replayers.as_deref_mut() else { return Ok(()) };
        if !is_alone {
            // What is on its way between stages is in none of them.
            replayers.take_carried(job.number);
            replayers.begin(self.now, place, operations, job.number, job.replay_hosts());
            return Ok(());
        }
        if replayers.chooses() && state.chosen.is_none() {
            let load_summary = state.load_summary.filter(|_| program.has_durations());
            let peak = load_summary.map(|load_summary| load_summary.contended());
            let fits = options.compute_ps(1000) == 1_000_000 && self.setup.model.collective().is_none();
            state.chosen = Some(replayers.choose(operations, hosts.ranks, peak, fits));
        }
        if state.chosen.as_ref().is_some_and(|chosen| chosen.model == fidelity::TRAFFIC) {
            let end = self.now.saturating_add(options.compute_ps(program.length_ns(job.stage)));
            if self.events.next_time().is_some_and(|next| next < end.min(self.end)) {
                replayers.begin(self.now, place, operations, job.number, job.replay_hosts());
                return Ok(());
            }
            job.skew.fill(0);
            self.events.push(end, Event::StageEnds { place });
            return Ok(());
        }
        let is_fluid = state.chosen.as_ref().is_some_and(|chosen| chosen.model == fidelity::FLOW);
        let on = if is_fluid { SoloNetwork::Flows } else { SoloNetwork::Model };
        // Where routes change, what is known does not hold.
        let known = if self.setup.reroute == Reroute::Job { replays.known(&job.skew) } else { None };
        let is_new = known.is_none();
        let outcome = match known {
            Some(outcome) => outcome,
            None => {
                let place = || {
                    format!("job {} ({}): phase {}", job.number, program.name, program.phases[number].name)
                };
                let played = replayers.alone(job.number, operations, hosts, &job.skew, on).at(place)?;
                let packets = played.packets.map(|parts| {
                    let mut packets = PhasePackets::default();
                    parts.iter().for_each(|part| packets.add(part));
                    packets
                });
                let mut carried = LinkBytes::default();
                played.carried.into_iter().for_each(|part| carried.add(part, 1.0));
                let Some(result) = played.result else {
                    // What hangs has no end; what became of packets until then is known.
                    if let Some(packets) = packets {
                        state.packets.get_or_insert_default().add(&packets);
                    }
                    return Ok(());
                };
                let bounds = replayers.bounds(operations, hosts.ranks, &job.skew);
                let outcome = Rc::new(Outcome { result, bounds, packets, carried, tail: played.tail });
                replays.learn(&job.skew, &outcome);
                outcome
            }
        };
        // All that is to come while only this job runs is submissions: if one comes before the end, both meet.
        let end = self.now.saturating_add(outcome.result.makespan);
        if self.events.next_time().is_some_and(|next| next < end.min(self.end)) {
            replayers.begin(self.now, place, operations, job.number, job.replay_hosts());
            return Ok(());
        }
        replays.occurred(&outcome, is_new, self.now - job.started, options.path_steps);
        if let Some(packets) = &outcome.packets {
            state.packets.get_or_insert_default().add(packets);
        }
        job.leave(&outcome.result);
        job.will_carry(self.setup.topology, outcome.result.makespan, &outcome.carried, &outcome.tail);
        self.events.push(end, Event::StageEnds { place });
        Ok(())
    }

    /// A stage of a job that has the network to itself and whose phases are known from samples; false if they are not.
    fn begin_alone(&mut self, job: &mut Job, place: u32) -> Result<bool> {
        let program = &self.programs[job.workload];
        // Where routes change with the phase, there is no one answer for all its occurrences.
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
                if job.phases[*phase as usize].is_none() {
                    self.route(job, *phase as usize)?;
                }
            }
            let first = used.first().map_or(0, |phase| *phase as usize);
            for operations in sampled.replays() {
                self.route_rest(job, first, operations)?;
            }
            let Some(replayers) = self.replayers.as_deref_mut() else { return Ok(false) };
            let place = || format!("job {} ({})", job.number, program.name);
            let replays = replay_windows(replayers, job.number, sampled, &job.placement.hosts).at(place)?;
            let steps = replayers.options.path_steps as usize;
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
        *passed_ns += length_ns;
        let state = phase.and_then(|phase| job.phases[phase as usize].as_deref_mut());
        if let Some(state) = state {
            let is_first = state.replays.is_none();
            let steps = self.setup.model.replay().map_or(0, |options| options.path_steps);
            state.replays.get_or_insert_default().add_share(estimate, share, is_first, steps);
            job.coming.add(estimate.carried.iter(), share);
            // Time and bytes are estimates each: what links cannot carry in the time is an error of the time.
            job.coming.cut(self.setup.topology, time);
        }
        self.events.push(self.now.saturating_add(time), Event::StageEnds { place });
        Ok(true)
    }

    /// The last rank of a job that is replayed as a whole has left a stretch of it.
    fn stretch_ends(&mut self, crossing: Crossing) {
        let Some(replayers) =
            self.replayers.as_deref_mut().filter(|replayers| replayers.options.sampling == Sampling::Off)
        else {
            return;
        };
        let Some(job) = self.running[place_of(crossing.token) as usize].as_deref_mut() else { return };
        let carried = replayers.take_carried(job.number);
        job.carried(&self.programs[job.workload], crossing.boundary, carried);
    }

    /// Lets the router see what links carry now.
    fn see_rates(&mut self) {
        let Some(network) =
            self.replayers.as_mut().and_then(|replayers| replayers.shared.transport().flows())
        else {
            return;
        };
        let rates = self.network.rates.get_or_insert_default();
        rates.clear();
        rates.extend((0..self.setup.topology.link_count() as u32).map(|link| network.rate(LinkId(link))));
    }

    /// Routes of pairs of hosts that are in no matrix of a phase: messages of idle stretches.
    fn route_rest(&mut self, job: &Job, phase: usize, operations: &Operations) -> Result<()> {
        let Some(replayers) = &mut self.replayers else { return Ok(()) };
        let hosts = &job.placement.hosts;
        let pairs = without_route(operations, hosts, |src, dst| replayers.ideal.has_route(src, dst));
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
        self.network.route_hosts(&query, &pairs, &mut routes)?;
        for ((src, dst), links) in pairs.iter().zip(routes.iter()) {
            replayers.route(self.setup.topology, *src, *dst, links);
        }
        Ok(())
    }

    /// A replay among others has come to its end: that of a stage, or without sampling of its job.
    fn replay_ends(&mut self, result: ReplayResult) -> Result<()> {
        let place = place_of(result.token);
        let Some(mut job) = self.running[place as usize].take() else { return Ok(()) };
        let program = &self.programs[job.workload];
        let Some(replayers) = self.replayers.as_deref_mut() else { return Ok(()) };
        if replayers.options.sampling == Sampling::Off {
            let operations = if program.merged { program.operations(0) } else { program.whole_script() };
            let bounds = operations
                .map(|operations| replayers.bounds(operations, &job.placement.hosts, &job.skew))
                .unwrap_or_default();
            job.spread(program, &result, &bounds, replayers.options.path_steps);
            let carried = replayers.take_carried(job.number);
            job.carried(program, result.stretches.len() - 1, carried);
            if let Some(operations) = operations.filter(|_| replayers.options.interference) {
                let alone = replayers.time_alone(job.number, operations, job.replay_hosts())?;
                job.was_delayed(result.makespan, alone);
            }
            self.record.ranks(job.number, None, &result.accounts, &job.placement);
            return self.job_ends(job, place);
        }
        let phase = program.stages[job.stage].phase;
        let operations = phase.and_then(|phase| program.operations(phase as usize));
        let mut baseline = None;
        if let Some(operations) = operations.filter(|_| replayers.options.interference) {
            // Where routes change, what is known does not hold.
            let known =
                phase.filter(|_| self.setup.reroute == Reroute::Job).and_then(|phase| job.baseline(phase));
            baseline = if known.is_some() {
                known
            } else {
                replayers.time_alone(job.number, operations, job.replay_hosts())?
            };
            job.was_delayed(result.makespan, baseline);
        }
        if let Some(state) = phase.and_then(|phase| job.phases[phase as usize].as_deref_mut()) {
            let replays = state.replays.get_or_insert_default();
            let hosts = &job.placement.hosts;
            let none = vec![0; hosts.len()];
            let bounds =
                operations.map(|operations| replayers.bounds(operations, hosts, &none)).unwrap_or_default();
            state.carried.add(replayers.take_carried(job.number), 1.0);
            let outcome =
                Outcome { result, bounds, packets: None, carried: LinkBytes::default(), tail: Vec::new() };
            let began = job.stage_began - job.started;
            replays.occurred(&outcome, true, began, replayers.options.path_steps);
            replays.baseline = baseline;
            state.met_others = true;
            job.leave(&outcome.result);
        }
        self.running[place as usize] = Some(job);
        self.stage_ends(place)
    }
}
