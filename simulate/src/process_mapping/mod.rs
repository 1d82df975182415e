//! Which rank runs on which of a job's hosts.

mod block;
mod cyclic;
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

/// The process mapper of a choice: `block`, `cyclic`, `random` or `greedy`.
///
/// # Errors
/// An unknown name or parameter, with the near matches; one that is not available yet.
pub fn process_mapper(choice: &Choice, seed: u64) -> Result<Box<dyn ProcessMapper>> {
    let mapper: Box<dyn ProcessMapper> = match choice.name() {
        "block" => Box::new(Block),
        "cyclic" => Box::new(Cyclic),
        "random" => Box::new(Random::new(seed)),
        "greedy" => Box::new(Greedy::default()),
        "bisection" => return Err(Error::usage("process mapper `bisection` is not available yet")),
        name => {
            let known = ["block", "cyclic", "random", "greedy", "bisection", "exec:PROGRAM"];
            return Err(unknown_name("process mapper", name, &known));
        }
    };
    choice.only(&[]).map(|()| mapper)
}
