//! Which rank runs on which of a job's hosts.

pub mod exec;

use phaseflow_collect::{Result, TrafficMatrix};

use crate::topology::{HostId, Topology};

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

/// A process mapping algorithm.
pub trait ProcessMapper: Send {
    /// A host for each rank, none above its slots.
    ///
    /// # Errors
    /// Only of external programs: one that dies, is late, or answers what is no placement.
    fn map(&mut self, request: &MapRequest<'_>) -> Result<Placement>;
}
