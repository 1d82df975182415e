//! Which free hosts a job gets. Hosts are never shared between jobs.

mod compact;
pub mod exec;
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

/// The host selectors: one name, one variant, one arm.
#[derive(Clone, Copy)]
enum Algorithm {
    Linear,
    Random,
    Compact,
    Exec,
}

const ALGORITHMS: &[(&str, Algorithm)] = &[
    ("linear", Algorithm::Linear),
    ("random", Algorithm::Random),
    ("compact", Algorithm::Compact),
    ("exec", Algorithm::Exec),
];
const LATER: &[&str] = &["scattered"];

/// The host selector that the user chose; `seed` is that of the run.
///
/// # Errors
/// A name or parameter that does not exist, with the near matches; a program that cannot be started.
pub fn host_selector(choice: &Choice, seed: u64) -> Result<Box<dyn HostSelector>> {
    let name = choice.name();
    if LATER.contains(&name) {
        return Err(Error::usage(format!("host selector `{name}` is not available yet")));
    }
    let Some((_, algorithm)) = ALGORITHMS.iter().find(|(known, _)| *known == name) else {
        let names: Vec<&str> = ALGORITHMS.iter().map(|(name, _)| *name).collect();
        return Err(unknown_name("host selector", name, &names));
    };
    choice.only(match algorithm {
        Algorithm::Exec => &["program"],
        _ => &[],
    })?;
    Ok(match algorithm {
        Algorithm::Linear => Box::new(Linear::default()),
        Algorithm::Random => Box::new(Random::new(seed)),
        Algorithm::Compact => Box::new(Compact::default()),
        Algorithm::Exec => Box::new(exec::Exec::new(&choice.required::<String>("program")?, seed)?),
    })
}
