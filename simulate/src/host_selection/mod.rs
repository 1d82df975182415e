//! Which free hosts a job gets. Hosts are never shared between jobs.

mod compact;
mod linear;
mod random;

use phaseflow_collect::choice::{Choice, unknown_name};
use phaseflow_collect::{Error, Result};

use crate::topology::{HostId, Topology};

pub use compact::Compact;
pub use linear::Linear;
pub use random::Random;

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

impl HostRequest<'_> {
    /// The free hosts in host order.
    pub fn free_hosts(&self) -> impl Iterator<Item = HostId> + '_ {
        self.free.iter().zip(0..).filter(|(free, _)| **free).map(|(_, host)| HostId(host))
    }
}

/// A host selection algorithm. One object serves one run on one topology.
pub trait HostSelector: Send {
    /// Free hosts, each once, with at least as many slots as processes, in the order in which process mappers fill them.
    ///
    /// The selectors here stop when they have enough: without the last one they took there would be too few slots.
    ///
    /// # Errors
    /// Only of external programs: one that dies, is late, or answers what is no selection.
    fn select(&mut self, request: &HostRequest<'_>) -> Result<Vec<HostId>>;
}

/// Hosts taken until they have a slot for each process.
struct Enough<'a> {
    slots: &'a [u32],
    missing: u64,
    hosts: Vec<HostId>,
}

impl<'a> Enough<'a> {
    fn new(request: &HostRequest<'a>) -> Self {
        Self { slots: request.topology.slots(), missing: u64::from(request.processes), hosts: Vec::new() }
    }

    fn take(&mut self, candidates: impl Iterator<Item = HostId>) {
        for host in candidates {
            if self.missing == 0 {
                break;
            }
            self.missing = self.missing.saturating_sub(u64::from(self.slots[host.0 as usize]));
            self.hosts.push(host);
        }
    }
}

/// The host selector of a choice: `linear`, `random` or `compact`.
///
/// # Errors
/// An unknown name or parameter, with the near matches; one that is not available yet.
pub fn host_selector(choice: &Choice, seed: u64) -> Result<Box<dyn HostSelector>> {
    let selector: Box<dyn HostSelector> = match choice.name() {
        "linear" => Box::new(Linear::default()),
        "random" => Box::new(Random::new(seed)),
        "compact" => Box::new(Compact::default()),
        "scattered" => return Err(Error::usage("host selector `scattered` is not available yet")),
        name => {
            let known = ["linear", "random", "compact", "scattered", "exec:PROGRAM"];
            return Err(unknown_name("host selector", name, &known));
        }
    };
    choice.only(&[]).map(|()| selector)
}
