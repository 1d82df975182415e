//! Schedulers on a log of jobs, against implementations that are slow and obvious: they look at
//! every second.
#![allow(clippy::unwrap_used, reason = "helpers of tests stop where something is wrong")]

use std::path::Path;

use phaseflow_simulate::run::Progress;
use phaseflow_simulate::scenario::Scenario;
use phaseflow_simulate::sweep::{Plan, Sweep};

/// Processors of the machine.
const MACHINE: u64 = 16;
/// Seconds after the end of everything.
const HORIZON: u64 = 50_000;

#[derive(Clone, Copy)]
struct Job {
    at: u64,
    run: u64,
    estimate: u64,
    processors: u64,
}

fn log() -> Vec<Job> {
    let text = include_str!("log.swf");
    let lines = text.lines().filter(|line| !line.starts_with(';'));
    let job = |line: &str| {
        let field: Vec<i64> = line.split_whitespace().map(|field| field.parse().unwrap()).collect();
        let positive = |number: usize| u64::try_from(field[number - 1]).unwrap();
        Job { at: positive(2), run: positive(4), estimate: positive(9), processors: positive(8) }
    };
    let mut jobs: Vec<Job> = lines.map(job).collect();
    // The simulation begins with the first submission.
    let first = jobs[0].at;
    jobs.iter_mut().for_each(|job| job.at -= first);
    jobs
}

/// A machine at one moment.
struct Machine<'a> {
    jobs: &'a [Job],
    now: u64,
    queue: Vec<usize>,
    /// Job and start.
    running: Vec<(usize, u64)>,
    starts: Vec<Option<u64>>,
    reservations: Vec<Option<u64>>,
}

impl Machine<'_> {
    /// Processors that nobody uses at a later time, by the estimates.
    fn free_at(&self, time: u64) -> u64 {
        let busy = self
            .running
            .iter()
            .filter(|(job, start)| time == self.now || start + self.jobs[*job].estimate > time);
        MACHINE - busy.map(|(job, _)| self.jobs[*job].processors).sum::<u64>()
    }

    fn start(&mut self, job: usize) {
        self.queue.retain(|other| *other != job);
        self.running.push((job, self.now));
        self.starts[job] = Some(self.now);
    }

    fn easy(&mut self) {
        while let Some(head) = self.queue.first().copied() {
            let needs = |job: usize| self.jobs[job].processors;
            if needs(head) <= self.free_at(self.now) {
                self.start(head);
                continue;
            }
            let shadow = (self.now..HORIZON).find(|time| self.free_at(*time) >= needs(head)).unwrap();
            let harmless = |job: &usize| {
                let fits = needs(*job) <= self.free_at(self.now);
                let in_time = self.now + self.jobs[*job].estimate <= shadow;
                fits && (in_time || needs(*job) + needs(head) <= self.free_at(shadow))
            };
            match self.queue[1..].iter().copied().find(harmless) {
                Some(job) => self.start(job),
                None => return,
            }
        }
    }

    /// The first time at which a job fits beside the running ones and all other reservations.
    fn first_fit(&self, job: usize) -> u64 {
        let Job { estimate, processors, .. } = self.jobs[job];
        let taken = |time: u64| -> u64 {
            let others = self.queue.iter().filter(|other| **other != job);
            let there = others.filter(|other| {
                self.reservations[**other]
                    .is_some_and(|start| start <= time && time < start + self.jobs[**other].estimate)
            });
            there.map(|other| self.jobs[*other].processors).sum()
        };
        // By the estimates, jobs that run have left at their ends.
        let free = |time: u64| {
            let busy = self.running.iter().filter(|(other, start)| start + self.jobs[*other].estimate > time);
            MACHINE - busy.map(|(other, _)| self.jobs[*other].processors).sum::<u64>()
        };
        let fits = |time: u64| taken(time) + processors <= free(time);
        let mut start = self.now;
        while let Some(full) = (start..start + estimate).rev().find(|time| !fits(*time)) {
            start = full + 1;
        }
        start
    }

    fn conservative(&mut self, has_finished: bool) {
        for job in self.queue.clone() {
            if has_finished || self.reservations[job].is_none() {
                self.reservations[job] = Some(self.first_fit(job));
            }
        }
        let due = |machine: &Self, job: &usize| {
            machine.reservations[*job].unwrap() <= machine.now
                && machine.jobs[*job].processors <= machine.free_at(machine.now)
        };
        while let Some(job) = self.queue.iter().copied().find(|job| due(self, job)) {
            self.start(job);
        }
    }
}

/// Starts of the jobs, second by second; submissions of a second come before its ends.
fn oracle(jobs: &[Job], is_easy: bool) -> Vec<u64> {
    let mut machine = Machine {
        jobs,
        now: 0,
        queue: Vec::new(),
        running: Vec::new(),
        starts: vec![None; jobs.len()],
        reservations: vec![None; jobs.len()],
    };
    let schedule = |machine: &mut Machine<'_>, has_finished| {
        if is_easy { machine.easy() } else { machine.conservative(has_finished) }
    };
    while machine.starts.contains(&None) {
        let now = machine.now;
        for job in (0..jobs.len()).filter(|job| jobs[*job].at == now) {
            machine.queue.push(job);
            schedule(&mut machine, false);
        }
        while let Some(ended) =
            machine.running.iter().position(|(job, start)| start + jobs[*job].run == machine.now)
        {
            machine.running.remove(ended);
            schedule(&mut machine, true);
        }
        machine.now += 1;
    }
    machine.starts.into_iter().map(Option::unwrap).collect()
}

/// Starts of the jobs in the simulation.
fn simulated(scheduler: &str) -> Vec<u64> {
    let text = format!(
        "topology: 'star[hosts={MACHINE}]'\nscheduler: {scheduler}\njobs: {{log: log.swf, pattern: shift}}\n"
    );
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let plan = Plan::new(Scenario::parse(&text, &folder).unwrap()).unwrap();
    let sweep = Sweep::load(plan, Vec::new(), tempfile::tempfile).unwrap();
    let mut starts = Vec::new();
    let sink = |result: phaseflow_simulate::result::RunResult| {
        starts = result.jobs.iter().map(|job| job.started_s.unwrap().round() as u64).collect();
        Ok(())
    };
    sweep.execute(0..1, false, &Progress::default(), sink).unwrap();
    starts
}

#[test]
fn easy_and_conservative_start_jobs_when_the_obvious_ones_do() {
    let jobs = log();
    let fcfs = simulated("fcfs");
    for (name, is_easy) in [("easy", true), ("conservative", false)] {
        let starts = simulated(name);
        assert_eq!(starts, oracle(&jobs, is_easy), "{name}");
        assert_ne!(starts, fcfs, "{name}");
    }
    assert_ne!(simulated("easy"), simulated("conservative"));
}
