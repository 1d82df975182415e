//! The choice of the next job in the queue.
//!
//! Hosts are whole and never shared: a job fits if the free hosts have a slot for each of its
//! processes, and then takes all slots of the hosts it gets. Where all hosts have s slots, a job of
//! p processes takes ⌈p / s⌉ · s; where hosts are unlike, what it takes depends on the host
//! selector and is known before it starts only as a bound ([`QueuedJob::slots`]).

mod conservative;
mod easy;
mod exec;
mod fcfs;

use phaseflow_collect::Result;
use phaseflow_collect::choice::{Choice, unknown_name};

use crate::engine::Picoseconds;
use crate::topology::Topology;

pub use conservative::Conservative;
pub use easy::Easy;
pub use fcfs::Fcfs;

/// A job that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedJob {
    /// Number of the job within the run.
    pub job: u32,
    /// Processes to place: it fits if the free hosts have that many slots.
    pub processes: u32,
    /// Most process slots that it can occupy: those of whole hosts, from a host selector that stops
    /// when it has enough.
    pub slots: u64,
    /// Estimated run time.
    pub estimate: Picoseconds,
}

/// A job that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunningJob {
    /// Number of the job within the run.
    pub job: u32,
    /// Process slots it occupies: those of whole hosts.
    pub slots: u64,
    /// Estimated time until its end.
    pub remaining: Picoseconds,
}

/// Why a scheduler is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// A job was submitted; it is the last of the queue.
    Submitted,
    /// A job finished.
    Finished,
}

/// The view of a scheduler.
#[derive(Clone, Copy, Debug)]
pub struct QueueView<'a> {
    /// The network.
    pub topology: &'a Topology,
    /// Time since the start of the run.
    pub now: Picoseconds,
    /// Why it is asked.
    pub occasion: Occasion,
    /// Number of jobs started on this occasion.
    pub started: u32,
    /// Process slots of the free hosts.
    pub free_slots: u64,
    /// The queue, oldest first.
    pub queue: &'a [QueuedJob],
    /// The running jobs in any order.
    pub running: &'a [RunningJob],
}

impl QueueView<'_> {
    /// True if there is a slot for each of the job's processes.
    pub fn fits(&self, job: &QueuedJob) -> bool {
        u64::from(job.processes) <= self.free_slots
    }
}

/// A scheduling algorithm.
pub trait Scheduler: Send {
    /// Index in the queue of a job that [fits](QueueView::fits) and starts now. The call is
    /// repeated with the new view until it returns `None`.
    ///
    /// # Errors
    /// External programs only: an end or time-out of the program, or an answer that names no job
    /// that fits.
    fn next(&mut self, view: &QueueView<'_>) -> Result<Option<usize>>;
}

/// The schedulers: one name, one variant, one arm.
#[derive(Clone, Copy)]
enum Algorithm {
    Fcfs,
    Easy,
    Conservative,
    Exec,
}

/// Algorithms by name, in the order of the documentation.
const ALGORITHMS: &[(&str, Algorithm)] = &[
    ("fcfs", Algorithm::Fcfs),
    ("easy", Algorithm::Easy),
    ("conservative", Algorithm::Conservative),
    ("exec", Algorithm::Exec),
];

/// Names of the schedulers, in the order of the documentation.
pub fn names() -> Vec<&'static str> {
    ALGORITHMS.iter().map(|(name, _)| *name).collect()
}

/// The scheduler that the user chose; `seed` is that of the run.
///
/// # Errors
/// A name or parameter that does not exist, with the near matches; a program that cannot be
/// started.
pub fn scheduler(choice: &Choice, seed: u64) -> Result<Box<dyn Scheduler>> {
    let name = choice.name();
    let Some((_, algorithm)) = ALGORITHMS.iter().find(|(known, _)| *known == name) else {
        return Err(unknown_name("scheduler", name, &names()));
    };
    choice.only(match algorithm {
        Algorithm::Fcfs => &["variant"],
        Algorithm::Exec => &["program"],
        _ => &[],
    })?;
    Ok(match algorithm {
        Algorithm::Fcfs => Box::new(Fcfs::new(choice)?),
        Algorithm::Easy => Box::new(Easy::default()),
        Algorithm::Conservative => Box::new(Conservative::default()),
        Algorithm::Exec => Box::new(exec::Exec::new(&choice.required::<String>("program")?, seed)?),
    })
}

#[cfg(test)]
mod tests {
    pub(super) mod machine;

    use super::*;

    #[test]
    fn names_and_parameters_are_checked() {
        for (text, expected) in [
            ("fcsf", "unknown scheduler `fcsf`; did you mean fcfs? (known: fcfs, easy, conservative, exec)"),
            ("fcfs[variant=pfsin]", "unknown variant of `fcfs` `pfsin`; did you mean pfsim? (known: pfsim)"),
            ("easy[depth=1]", "unknown parameter of `easy` `depth` (there is none)"),
        ] {
            let error = scheduler(&Choice::parse(text).unwrap(), 1).err().unwrap();
            assert_eq!(error.to_string(), expected);
        }
    }
}
