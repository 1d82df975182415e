//! The life of jobs, event by event.

mod alone;
mod changes;
mod estimated;
mod replays;
mod routes;
mod traffic;

use std::cell::RefCell;
use std::rc::Rc;

use phaseflow_collect::{Error, Result};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::job::{Job, Machine, PhaseOfJob, check_slots};
use super::job_demands::JobDemands;
use super::network::Network;
use super::placement_judge::PlacementJudge;
use super::program::Program;
use super::queue::{Queue, Waiting};
use super::record::Record;
use super::route_digests::RouteDigests;
use super::time_series::Population;
use super::{Algorithms, MOST_JOBS, Setup, Submission, clock_time, picoseconds};
use crate::demand::{Aggregator, LocalPlacement};
use crate::distribution::Distribution;
use crate::engine::{EventQueue, Picoseconds, beyond_clock};
use crate::host_selection::{HostRequest, HostSelector};
use crate::link_bytes::LinkBytes;
use crate::process_mapping::{Judge, MapRequest, Placement, ProcessMapper};
use crate::result::{RunResult, RunStatistics};
use crate::routing::{Routes, SharedRouter};
use crate::scheduling::{Occasion, QueueView, QueuedJob, RunningJob, Scheduler};
use crate::statistics::seconds;
use crate::stream::Stream;
use crate::topology::{HostId, LinkId, Topology};
use crate::traffic::Quantum;

pub(super) use traffic::Traffic;

/// What happens.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A job of this line is submitted.
    Submit { line: u32 },
    /// The stage of the job at this place ends.
    StageEnds { place: u32 },
    /// Links fail.
    Change { number: usize },
}

pub(super) struct Simulation<'a, M> {
    setup: &'a Setup<'a>,
    /// By workload.
    programs: &'a [Program<'a>],
    scheduler: Box<dyn Scheduler>,
    host_selector: Box<dyn HostSelector>,
    process_mapper: Box<dyn ProcessMapper>,
    network: Network<'a>,
    /// True if loads are bytes per second, false if they are bytes.
    are_rates: bool,

    events: EventQueue<Event>,
    now: Picoseconds,
    /// Nothing after this happens.
    end: Picoseconds,
    /// By line: the random numbers of an endless one.
    streams: Vec<Xoshiro256PlusPlus>,

    queue: Queue,
    running: Vec<Option<Box<Job>>>,
    /// Places of `running` that are free.
    places: Vec<u32>,
    running_views: Vec<RunningJob>,
    machine: Machine,
    population: Population,

    aggregator: Aggregator,
    local: LocalPlacement,
    routes: Routes,
    /// By workload: the latest.
    job_demands: Vec<Option<Rc<JobDemands>>>,
    record: Record<'a>,
    /// Changes of the network so far.
    changes: u32,
    /// Lines that are still to be submitted.
    to_submit: usize,
    model: M,
}

/// What a network model does with the jobs of a run.
pub(super) trait JobModel<'a>: Sized {
    /// Ranks are replayed: their messages determine how long a stage takes.
    const REPLAYS: bool;

    /// Refuses what the model cannot simulate.
    fn check(setup: &Setup<'_>, programs: &[Program<'_>]) -> Result<()>;

    /// Everything that happens in the run, in the order of time.
    fn run(simulation: &mut Simulation<'a, Self>) -> Result<()>;

    /// Begins the present stage of a job, and schedules its end.
    fn begin_stage(simulation: &mut Simulation<'a, Self>, job: &mut Job, place: u32) -> Result<()>;

    /// Links have failed; `jobs` are under way and take other routes from now on.
    fn links_fail(simulation: &mut Simulation<'a, Self>, jobs: &mut [Box<Job>]) -> Result<()>;

    /// The phase of a stage ends.
    fn phase_ends(network: &mut Network<'_>, phase: &PhaseOfJob);

    /// True if the model needs the [route](Self::route) of each pair of hosts.
    fn takes_routes(&self) -> bool;

    /// Room for the [routes](Self::route) of `pairs` more pairs, with `links` links in all.
    fn reserve_routes(&mut self, pairs: usize, links: usize);

    /// Messages between two hosts take these links from now on.
    fn route(&mut self, src: HostId, dst: HostId, links: &[LinkId]);

    /// The delay of a job by other ones before it begins; `None` if it is not measured.
    fn initial_delay(&self) -> Option<i128>;

    /// A job has ended and sends no more messages.
    fn job_ends(&mut self, job: u32);

    /// Adds statistics that only the model knows.
    fn describe(&mut self, topology: &Topology, statistics: &mut RunStatistics);
}

impl<'a, M: JobModel<'a>> Simulation<'a, M> {
    /// `model` is asked for after the checks of the setup.
    pub(super) fn new(
        setup: &'a Setup<'a>,
        programs: &'a [Program<'a>],
        algorithms: Algorithms,
        model: impl FnOnce(&SharedRouter) -> Result<M>,
    ) -> Result<Self> {
        let topology = setup.topology;
        let machine = Machine::new(topology);
        for (line, source) in setup.jobs.iter().enumerate() {
            let program = programs.get(source.workload).ok_or_else(|| {
                Error::usage(format!("job {line} runs workload {}, which does not exist", source.workload))
            })?;
            check_slots(line, (program.name, program.ranks), (topology.label(), machine.free_slots))?;
        }
        M::check(setup, programs)?;
        let end = match setup.duration_s {
            Some(duration) => clock_time("the duration of the run", duration)?,
            None => Picoseconds::MAX,
        };
        check_jobs(setup)?;
        let are_rates = programs.iter().all(Program::has_durations);
        // Jobs do not share slots, so the slots bound the number of flows that add up.
        let heaviest = programs.iter().flat_map(|program| {
            let jobs = (machine.free_slots / u64::from(program.ranks)).max(1) as f64;
            let load =
                move |phase: usize| program.phases[phase].bytes as f64 / program.divisor(phase, are_rates);
            (0..program.phases.len()).map(move |phase| jobs * load(phase))
        });
        let largest = heaviest.fold(0.0, f64::max);
        let router: SharedRouter = Rc::new(RefCell::new(algorithms.router));
        let mut simulation = Self {
            setup,
            programs,
            scheduler: algorithms.scheduler,
            host_selector: algorithms.host_selector,
            process_mapper: algorithms.process_mapper,
            network: Network::new(topology, Rc::clone(&router), Quantum::for_sums_up_to(largest)),
            are_rates,
            events: EventQueue::default(),
            now: 0,
            end,
            streams: (0..setup.jobs.len())
                .map(|line| Stream::Jobs(line).generator(setup.labels.seed))
                .collect(),
            queue: Queue::default(),
            running: Vec::new(),
            places: Vec::new(),
            running_views: Vec::new(),
            machine,
            population: Population::default(),
            aggregator: Aggregator::default(),
            local: LocalPlacement::default(),
            routes: Routes::default(),
            job_demands: programs.iter().map(|_| None).collect(),
            record: Record::new(setup)?,
            changes: 0,
            to_submit: 0,
            model: model(&router)?,
        };
        simulation.submit_first()?;
        simulation.expect_changes();
        Ok(simulation)
    }

    fn submit_first(&mut self) -> Result<()> {
        for (line, source) in self.setup.jobs.iter().enumerate() {
            let time = match &source.submission {
                Submission::Fixed { at_s, .. } | Submission::Logged { at_s, .. } => {
                    clock_time(&format!("the submission of job {line}"), *at_s)?
                }
                Submission::Endless { .. } if self.setup.duration_s.is_none() => {
                    return Err(Error::usage(format!(
                        "job {line} is submitted without end, so the run needs a duration"
                    )));
                }
                Submission::Endless { submit, .. } => drawn(submit, &mut self.streams[line]),
            };
            self.events.push(time, Event::Submit { line: line as u32 });
            self.to_submit += 1;
        }
        Ok(())
    }

    pub(super) fn run(mut self) -> Result<RunResult> {
        M::run(&mut self)?;
        Ok(self.finish())
    }

    /// Refuses the last value of the clock, which represents all later times.
    fn check_clock(&self, time: Picoseconds) -> Result<()> {
        if time < Picoseconds::MAX {
            return Ok(());
        }
        let job = self.running.iter().flatten().min_by_key(|job| job.number);
        let place = job.map(|job| format!("job {} ({})", job.number, self.programs[job.workload].name));
        Err(beyond_clock().at(place.as_deref().unwrap_or("a job")))
    }

    fn happen(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Submit { line } => self.submit(line),
            Event::StageEnds { place } => self.stage_ends(place),
            Event::Change { number } => self.change(number),
        }
    }

    /// Nothing changes from now to `time`.
    fn hold_until(&mut self, time: Picoseconds) {
        if time > self.now {
            self.record.delay(self.now, time, &mut self.network.loads, self.population);
            self.now = time;
        }
    }

    fn submit(&mut self, line: u32) -> Result<()> {
        self.to_submit -= 1;
        let source = &self.setup.jobs[line as usize];
        let program = &self.programs[source.workload];
        let own = program.total_ns.saturating_mul(1000);
        let mut timed = true;
        let length = match &source.submission {
            Submission::Fixed { duration_s: Some(duration), .. } => {
                clock_time(&format!("the duration of job {line}"), *duration)?
            }
            Submission::Fixed { duration_s: None, .. } => {
                timed = program.timed;
                own
            }
            Submission::Logged { run_s, .. } => clock_time(&format!("the run time of job {line}"), *run_s)?,
            Submission::Endless { submit, duration } => {
                let stream = &mut self.streams[line as usize];
                timed = program.timed || duration.is_some();
                let length = duration.map_or(own, |duration| drawn(&duration, stream));
                let next = self.now.saturating_add(drawn(submit, stream));
                self.events.push(next, Event::Submit { line });
                self.to_submit += 1;
                length
            }
        };
        // The stages would not fit the clock. Replays determine their own time.
        if length == Picoseconds::MAX && !M::REPLAYS {
            return Err(beyond_clock().at(format!("job {line} ({})", program.name)));
        }
        let job = self.record.submitted(source.workload, self.now);
        if job >= MOST_JOBS {
            let now = seconds(self.now);
            return Err(Error::data(format!("job {line} is submitted too often: {job} jobs within {now} s")));
        }
        let slots = self.machine.occupied(program.ranks);
        let estimate = match &source.submission {
            Submission::Logged { estimate_s, .. } => {
                clock_time(&format!("the estimate of job {line}"), *estimate_s)?
            }
            _ => length,
        };
        let view = QueuedJob { job, processes: program.ranks, slots, estimate };
        self.queue.push(Waiting { job, workload: source.workload, length, estimate, timed }, view);
        self.population.waiting += 1;
        self.schedule(Occasion::Submitted)
    }

    /// Starts the jobs that the scheduler selects.
    fn schedule(&mut self, occasion: Occasion) -> Result<()> {
        let mut started = 0;
        while self.queue.len() > 0 {
            let now = self.now;
            self.running_views.clear();
            self.running_views.extend(self.running.iter().flatten().map(|job| RunningJob {
                job: job.number,
                slots: job.slots,
                remaining: job.end.saturating_sub(now),
            }));
            let view = QueueView {
                topology: self.setup.topology,
                now,
                occasion,
                started,
                free_slots: self.machine.free_slots,
                queue: self.queue.views(),
                running: &self.running_views,
            };
            let Some(next) = self.scheduler.next(&view)? else { break };
            let fits = view.queue.get(next).is_some_and(|job| view.fits(job));
            let Some(job) = self.queue.remove(next).filter(|_| fits) else {
                let problem = format!("the scheduler starts job {next} of the queue, which does not fit");
                return Err(Error::data(problem));
            };
            self.start(job)?;
            started += 1;
        }
        Ok(())
    }

    /// The hosts of a job that starts, and its ranks on them.
    fn place(&mut self, waiting: &Waiting) -> Result<(Vec<HostId>, Placement)> {
        let program = &self.programs[waiting.workload];
        let topology = self.network.topology;
        let (network, aggregator) = (&mut self.network, &mut self.aggregator);
        let judge = PlacementJudge::new(network, aggregator, program, waiting.job, self.are_rates);
        let judge = judge.as_ref().map(|judge| judge as &dyn Judge);
        let hosts = self.host_selector.select(&HostRequest {
            topology,
            free: &self.machine.free,
            processes: program.ranks,
            matrix: program.recorded(),
            judge,
        })?;
        let proposal = self.host_selector.proposal();
        let placement = self.process_mapper.map(&MapRequest {
            topology,
            hosts: &hosts,
            ranks: program.ranks,
            matrix: program.recorded(),
            judge,
            proposed: proposal.as_ref(),
        })?;
        Ok((hosts, placement))
    }

    fn start(&mut self, waiting: Waiting) -> Result<()> {
        let program = &self.programs[waiting.workload];
        let topology = self.network.topology;
        let end = self.now.saturating_add(waiting.estimate);
        let (hosts, mut placement) = self.place(&waiting)?;
        let slots = self.machine.take(&hosts, topology);
        let servers = self.machine.serve(program.servers, &hosts);
        placement.hosts.extend(&servers);
        self.aggregator.localize(&placement, &mut self.local);
        let latest = self.job_demands[waiting.workload].take();
        let job_demands = latest
            .filter(|job_demands| job_demands.is_of(&self.local.of_rank))
            .unwrap_or_else(|| Rc::new(JobDemands::new(&self.local.of_rank, program.phases.len())));
        self.job_demands[waiting.workload] = Some(Rc::clone(&job_demands));

        self.population.waiting -= 1;
        self.population.running += 1;
        let of_rank = placement.hosts.get(..program.ranks as usize).unwrap_or_default();
        self.record.started(waiting.job, &hosts, of_rank, self.now);
        let mut job = Box::new(Job {
            number: waiting.job,
            workload: waiting.workload,
            timed: waiting.timed || M::REPLAYS,
            started: self.now,
            length: waiting.length,
            end,
            hosts,
            slots,
            placement,
            servers: servers.len(),
            local_hosts: self.local.hosts.clone(),
            job_demands,
            routes: None,
            routed_after: self.changes,
            latest_routes: RouteDigests::default(),
            stage: 0,
            stage_began: self.now,
            phases: program.phases.iter().map(|_| None).collect(),
            skew: vec![0; if M::REPLAYS { program.ranks as usize } else { 0 }],
            estimates: None,
            coming: LinkBytes::default(),
            tail: LinkBytes::default(),
            delay: self.model.initial_delay(),
            passed_ns: vec![0; program.phases.len() + 1],
        });
        let place = self.places.pop().unwrap_or_else(|| {
            self.running.push(None);
            (self.running.len() - 1) as u32
        });
        M::begin_stage(self, &mut job, place)?;
        self.running[place as usize] = Some(job);
        Ok(())
    }

    fn stage_ends(&mut self, place: u32) -> Result<()> {
        let Some(mut job) = self.running[place as usize].take() else { return Ok(()) };
        let program = &self.programs[job.workload];
        if let Some(phase) =
            program.stages[job.stage].phase.and_then(|phase| job.phases[phase as usize].as_mut())
        {
            M::phase_ends(&mut self.network, phase);
            phase.carried.add(job.coming.iter(), 1.0);
            phase.time += self.now - job.stage_began;
        }
        job.stage += 1;
        if job.stage < program.stages.len() {
            M::begin_stage(self, &mut job, place)?;
            self.running[place as usize] = Some(job);
            return Ok(());
        }
        self.job_ends(job, place)
    }

    fn job_ends(&mut self, job: Box<Job>, place: u32) -> Result<()> {
        let program = &self.programs[job.workload];
        self.places.push(place);
        self.machine.give_back(&job.hosts, job.slots);
        self.machine.stop_serving(job.replay_hosts().servers);
        self.population.running -= 1;
        self.population.finished += 1;
        self.model.job_ends(job.number);
        self.record.ended(*job, program, self.are_rates, Some(self.now));
        self.schedule(Occasion::Finished)
    }

    fn finish(mut self) -> RunResult {
        let end = if self.setup.duration_s.is_some() { self.end } else { self.now };
        self.hold_until(end);
        for job in self.running.into_iter().flatten() {
            let program = &self.programs[job.workload];
            self.record.ended(*job, program, self.are_rates, None);
        }
        let mut result = self.record.into_result(end, self.network.loads, self.population, self.are_rates);
        self.model.describe(self.setup.topology, &mut result.statistics);
        result
    }
}

/// Refuses endless lines with more expected jobs than a run may have, before the first submission.
fn check_jobs(setup: &Setup<'_>) -> Result<()> {
    let Some(duration) = setup.duration_s else { return Ok(()) };
    let mut sum = 0.0;
    for (line, source) in setup.jobs.iter().enumerate() {
        let Submission::Endless { submit, .. } = &source.submission else { continue };
        sum += duration / submit.mean(&mut Stream::Jobs(line).generator(setup.labels.seed));
        if sum > f64::from(MOST_JOBS) {
            return Err(Error::usage(format!(
                "job {line}: about {sum:.0} jobs would be submitted within {duration} s, expected at most {MOST_JOBS}"
            )));
        }
    }
    Ok(())
}

/// Seconds from a distribution; the end of the clock for later times, which no run reaches.
fn drawn(distribution: &Distribution, stream: &mut Xoshiro256PlusPlus) -> Picoseconds {
    picoseconds(distribution.sample(stream)).unwrap_or(Picoseconds::MAX)
}
