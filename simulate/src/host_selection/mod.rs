//! Which free hosts a job gets. Hosts are never shared between jobs.

mod aware;
mod compact;
mod edges;
pub mod exec;
mod linear;
mod random;
mod scattered;

use phaseflow_collect::choice::{Choice, unknown_name};
use phaseflow_collect::{Result, TrafficMatrix};

use crate::process_mapping::{Judge, Placement};
use crate::topology::{HostId, Topology};

pub use aware::Aware;
pub use compact::Compact;
pub use linear::Linear;
pub use random::Random;
pub use scattered::Scattered;

/// The question to a host selector.
#[derive(Clone, Copy, Debug)]
pub struct HostRequest<'a> {
    /// The network.
    pub topology: &'a Topology,
    /// Whether a host is free, by host; the free ones have enough slots together.
    pub free: &'a [bool],
    /// Number of processes to place.
    pub processes: u32,
    /// Traffic matrix of the job's whole run, for application-aware selection.
    pub matrix: &'a TrafficMatrix,
    /// How placements load the network, if the router can be asked beforehand.
    pub judge: Option<&'a dyn Judge>,
}

impl HostRequest<'_> {
    /// The free hosts in host order.
    pub fn free_hosts(&self) -> impl Iterator<Item = HostId> + '_ {
        self.free.iter().zip(0..).filter(|(free, _)| **free).map(|(_, host)| HostId(host))
    }
}

/// A host selection algorithm. One object serves one run on one topology.
pub trait HostSelector: Send {
    /// Free hosts, each once, with at least as many slots as processes, in the order in which
    /// process mappers fill them.
    ///
    /// The selectors here stop when they have enough slots: without their last host there are too
    /// few.
    ///
    /// # Errors
    /// External programs only: an end or time-out of the program, or an answer that is no
    /// selection.
    fn select(&mut self, request: &HostRequest<'_>) -> Result<Vec<HostId>>;

    /// The placement that the hosts selected last are meant for, if there is one.
    fn proposal(&mut self) -> Option<Placement> {
        None
    }
}

/// Hosts taken until they have a slot for each process.
struct Enough<'a> {
    slots: &'a [u32],
    missing: u64,
    hosts: Vec<HostId>,
}

impl<'a> Enough<'a> {
    fn new(request: &HostRequest<'a>) -> Self {
        let slots = request.topology.slots();
        // Number of hosts, if all have as many slots as the first.
        let count = slots.first().map_or(0, |slots| request.processes.div_ceil((*slots).max(1)) as usize);
        let hosts = Vec::with_capacity(count.min(slots.len()));
        Self { slots, missing: u64::from(request.processes), hosts }
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
    Scattered,
    Aware,
    Exec,
}

/// Algorithms by name, in the order of the documentation.
const ALGORITHMS: &[(&str, Algorithm)] = &[
    ("linear", Algorithm::Linear),
    ("random", Algorithm::Random),
    ("compact", Algorithm::Compact),
    ("scattered", Algorithm::Scattered),
    ("aware", Algorithm::Aware),
    ("exec", Algorithm::Exec),
];

/// Names of the host selectors, in the order of the documentation.
pub fn names() -> Vec<&'static str> {
    ALGORITHMS.iter().map(|(name, _)| *name).collect()
}

/// The host selector that the user chose; `seed` is that of the run.
///
/// # Errors
/// A name or parameter that does not exist, with the near matches; a program that cannot be
/// started.
pub fn host_selector(choice: &Choice, seed: u64) -> Result<Box<dyn HostSelector>> {
    let name = choice.name();
    let Some((_, algorithm)) = ALGORITHMS.iter().find(|(known, _)| *known == name) else {
        return Err(unknown_name("host selector", name, &names()));
    };
    choice.only(match algorithm {
        Algorithm::Exec => &["program"],
        _ => &[],
    })?;
    Ok(match algorithm {
        Algorithm::Linear => Box::new(Linear::default()),
        Algorithm::Random => Box::new(Random::new(seed)),
        Algorithm::Compact => Box::new(Compact::default()),
        Algorithm::Scattered => Box::new(Scattered::default()),
        Algorithm::Aware => Box::new(Aware::new(seed)),
        Algorithm::Exec => Box::new(exec::Exec::new(&choice.required::<String>("program")?, seed)?),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::topology::test_tree::tree;

    fn choose(topology: &Topology, selector: &str, free: &[bool], processes: u32) -> Vec<u32> {
        let mut selector = host_selector(&Choice::parse(selector).unwrap(), 7).unwrap();
        let matrix = &TrafficMatrix::default();
        let hosts = selector.select(&HostRequest { topology, free, processes, matrix, judge: None }).unwrap();
        hosts.into_iter().map(|host| host.0).collect()
    }

    fn free(pattern: &str) -> Vec<bool> {
        pattern.bytes().filter(|c| *c != b' ').map(|c| c == b'.').collect()
    }

    #[test]
    fn linear_takes_the_shortest_run_that_fits_else_the_longest_runs_first() {
        let topology = tree(&[vec![2; 8], vec![2; 8]], 1, &[1.0]);
        let linear = |pattern: &str, processes| choose(&topology, "linear", &free(pattern), processes);
        assert_eq!(linear("........ ........", 5), [0, 1, 2]);
        assert_eq!(linear("...x.... x..xx..x", 4), [9, 10]);
        assert_eq!(linear("...x.... x..xx..x", 5), [0, 1, 2]);
        assert_eq!(linear("..x..x.. x...xxxx", 7), [9, 10, 11, 0]);
        assert_eq!(linear("..x..x.. x...xxxx", 18), [9, 10, 11, 0, 1, 3, 4, 6, 7]);
    }

    #[test]
    fn names_and_parameters_are_checked() {
        for (text, expected) in [
            (
                "compakt",
                "unknown host selector `compakt`; did you mean compact? (known: linear, random, compact, scattered, aware, exec)",
            ),
            ("linear[a=1]", "unknown parameter of `linear` `a` (there is none)"),
        ] {
            let error = host_selector(&Choice::parse(text).unwrap(), 1).err().unwrap();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn random_selection_is_uniform() {
        // Each of 10 hosts is among the 3 drawn with probability 0.3: 5 standard deviations of 20
        // 000 draws.
        let topology = tree(&[vec![1; 10]], 1, &[1.0]);
        let mut selector = Random::new(3);
        let mut counts = [0_u32; 10];
        for _ in 0..20_000 {
            let matrix = &TrafficMatrix::default();
            let free = &[true; 10];
            let request = HostRequest { topology: &topology, free, processes: 3, matrix, judge: None };
            selector.select(&request).unwrap().iter().for_each(|host| counts[host.0 as usize] += 1);
        }
        let tolerance = 5.0 * (20_000.0 * 0.3 * 0.7_f64).sqrt();
        assert!(counts.iter().all(|count| (f64::from(*count) - 6000.0).abs() < tolerance), "{counts:?}");
    }

    proptest! {
        // CORRECTNESS: free hosts, each once, enough of them, and none too many.
        #[test]
        fn selections_are_possible_and_frugal(
            edges in prop::collection::vec(prop::collection::vec(1_u32..5, 1..6), 1..5),
            taken in any::<u32>(),
            share in 0.0..1.0_f64,
        ) {
            let topology = tree(&edges, 2, &[1.0]);
            let free: Vec<bool> = (0..topology.host_count()).map(|host| taken >> host & 1 == 0).collect();
            let slots = |hosts: &[u32]| hosts.iter().map(|host| topology.slots()[*host as usize]).sum::<u32>();
            let all: Vec<u32> = (0..free.len() as u32).filter(|host| free[*host as usize]).collect();
            prop_assume!(!all.is_empty());
            let processes = ((f64::from(slots(&all)) * share) as u32).max(1);
            for selector in ["linear", "random", "compact", "scattered", "aware"] {
                let mut hosts = choose(&topology, selector, &free, processes);
                prop_assert!(hosts.iter().all(|host| free[*host as usize]), "{}", selector);
                let found = slots(&hosts);
                prop_assert!(found >= processes, "{}: {} of {}", selector, found, processes);
                prop_assert!(found < processes + hosts.iter().map(|host| slots(&[*host])).max().unwrap());
                hosts.sort_unstable();
                let count = hosts.len();
                hosts.dedup();
                prop_assert_eq!(hosts.len(), count, "{}", selector);
            }
        }
    }
}
