//! Jobs chosen by a program of the user's: `exec:PROGRAM`, asked whenever a job is submitted or
//! finished and jobs wait, until it starts no more.

use phaseflow_collect::Result;
use serde::{Deserialize, Serialize};

use super::{Occasion, QueueView, Scheduler};
use crate::plugin::{Plugin, Role};
use crate::units::S_PER_PS;

/// The role of external schedulers.
const ROLE: Role = Role { axis: "scheduler", answer: r#"{"start": job} or {"start": null}"# };

/// The scheduler `exec`.
#[derive(Debug)]
pub(super) struct Exec {
    plugin: Plugin,
}

#[derive(Serialize)]
struct Question {
    now_s: f64,
    occasion: &'static str,
    free_slots: u64,
    /// Oldest first.
    queue: Vec<Queued>,
    running: Vec<Running>,
}

#[derive(Serialize)]
struct Queued {
    job: u32,
    processes: u32,
    slots: u64,
    estimate_s: f64,
}

#[derive(Serialize)]
struct Running {
    job: u32,
    slots: u64,
    remaining_s: f64,
}

#[derive(Deserialize)]
struct Answer {
    start: Option<u32>,
}

impl Exec {
    /// Starts the program.
    pub(super) fn new(program: &str, seed: u64) -> Result<Self> {
        Ok(Self { plugin: Plugin::start(program, ROLE, seed)? })
    }
}

impl Scheduler for Exec {
    fn next(&mut self, view: &QueueView<'_>) -> Result<Option<usize>> {
        let question = Question {
            now_s: view.now as f64 * S_PER_PS,
            occasion: match view.occasion {
                Occasion::Submitted => "submitted",
                Occasion::Finished => "finished",
            },
            free_slots: view.free_slots,
            queue: view
                .queue
                .iter()
                .map(|job| Queued {
                    job: job.job,
                    processes: job.processes,
                    slots: job.slots,
                    estimate_s: job.estimate as f64 * S_PER_PS,
                })
                .collect(),
            running: view
                .running
                .iter()
                .map(|job| Running {
                    job: job.job,
                    slots: job.slots,
                    remaining_s: job.remaining as f64 * S_PER_PS,
                })
                .collect(),
        };
        let answer: Answer = self.plugin.ask(view.topology, &question)?;
        let Some(start) = answer.start else { return Ok(None) };
        let Some(index) = view.queue.iter().position(|job| job.job == start) else {
            return Err(self.plugin.lie(&format!("job {start} does not wait, expected a job of the queue")));
        };
        let processes = view.queue[index].processes;
        if !view.fits(&view.queue[index]) {
            let free = view.free_slots;
            let problem =
                format!("job {start} has {processes} processes, expected one that fits {free} free slots");
            return Err(self.plugin.lie(&problem));
        }
        Ok(Some(index))
    }
}
