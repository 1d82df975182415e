//! Which free hosts a job gets. Hosts are never shared between jobs.

pub mod exec;

use phaseflow_collect::Result;

use crate::topology::{HostId, Topology};

/// What a host selector is told.
#[derive(Clone, Copy, Debug)]
pub struct HostRequest<'a> {
    /// The network.
    pub topology: &'a Topology,
    /// Whether a host is free, by host; the free ones have enough slots together.
    pub free: &'a [bool],
    /// Number of processes to place.
    pub processes: u32,
}

/// A host selection algorithm.
pub trait HostSelector: Send {
    /// Free hosts, each once, with at least as many slots as processes, in the order in which process mappers fill them.
    ///
    /// # Errors
    /// Only of external programs: one that dies, is late, or answers what is no selection.
    fn select(&mut self, request: &HostRequest<'_>) -> Result<Vec<HostId>>;
}
