//! Which rank runs on which of a job's hosts.

mod block;
mod cyclic;
pub mod exec;
mod greedy;
mod random;

use phaseflow_collect::choice::{Choice, unknown_name};
use phaseflow_collect::{Error, Result, TrafficMatrix};

use crate::topology::{HostId, Topology};

pub use block::Block;
pub use cyclic::Cyclic;
pub use greedy::Greedy;
pub use random::Random;

/// The host of each rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Placement {
    /// By rank.
    pub hosts: Vec<HostId>,
}

/// What a process mapper is told.
#[derive(Clone, Copy, Debug)]
pub struct MapRequest<'a> {
    /// The network.
    pub topology: &'a Topology,
    /// The job's hosts; they have enough slots together.
    pub hosts: &'a [HostId],
    /// Number of ranks.
    pub ranks: u32,
    /// What they send over the whole run: application-aware mapping.
    pub matrix: &'a TrafficMatrix,
}

impl MapRequest<'_> {
    /// The job's hosts, each with its slots.
    fn slots(&self) -> impl Iterator<Item = (HostId, usize)> + Clone + '_ {
        self.hosts.iter().map(|host| (*host, self.topology.slots()[host.0 as usize] as usize))
    }
}

/// A process mapping algorithm.
pub trait ProcessMapper: Send {
    /// A host for each rank, none above its slots.
    ///
    /// # Errors
    /// Only of external programs: one that dies, is late, or answers what is no placement.
    fn map(&mut self, request: &MapRequest<'_>) -> Result<Placement>;
}

/// The process mappers: one name, one variant, one arm.
#[derive(Clone, Copy)]
enum Algorithm {
    Block,
    Cyclic,
    Random,
    Greedy,
    Exec,
}

const ALGORITHMS: &[(&str, Algorithm)] = &[
    ("block", Algorithm::Block),
    ("cyclic", Algorithm::Cyclic),
    ("random", Algorithm::Random),
    ("greedy", Algorithm::Greedy),
    ("exec", Algorithm::Exec),
];
const LATER: &[&str] = &["bisection"];

/// The process mapper that the user chose; `seed` is that of the run.
///
/// # Errors
/// A name or parameter that does not exist, with the near matches; a program that cannot be started.
pub fn process_mapper(choice: &Choice, seed: u64) -> Result<Box<dyn ProcessMapper>> {
    let name = choice.name();
    if LATER.contains(&name) {
        return Err(Error::usage(format!("process mapper `{name}` is not available yet")));
    }
    let Some((_, algorithm)) = ALGORITHMS.iter().find(|(known, _)| *known == name) else {
        let names: Vec<&str> = ALGORITHMS.iter().map(|(name, _)| *name).collect();
        return Err(unknown_name("process mapper", name, &names));
    };
    choice.only(match algorithm {
        Algorithm::Exec => &["program"],
        _ => &[],
    })?;
    Ok(match algorithm {
        Algorithm::Block => Box::new(Block),
        Algorithm::Cyclic => Box::new(Cyclic),
        Algorithm::Random => Box::new(Random::new(seed)),
        Algorithm::Greedy => Box::new(Greedy),
        Algorithm::Exec => Box::new(exec::Exec::new(&choice.required::<String>("program")?, seed)?),
    })
}
