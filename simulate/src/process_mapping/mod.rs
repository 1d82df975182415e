//! Which rank runs on which of a job's hosts.

mod aware;
mod bisection;
mod block;
mod cyclic;
pub mod exec;
mod file;
mod graph;
mod greedy;
mod random;
mod search;

use phaseflow_collect::choice::{Choice, unknown_name};
use phaseflow_collect::{Result, TrafficMatrix};

use crate::topology::{HostId, Topology};

pub use aware::Aware;
pub(crate) use aware::{ByDModK, best};
pub use bisection::Bisection;
pub use block::Block;
pub use cyclic::Cyclic;
pub use greedy::Greedy;
pub use random::Random;
pub(crate) use search::{MOST_CELLS, Search};

/// The host of each rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Placement {
    /// By rank.
    pub hosts: Vec<HostId>,
}

/// The question to a process mapper.
#[derive(Clone, Copy, Debug)]
pub struct MapRequest<'a> {
    /// The network.
    pub topology: &'a Topology,
    /// The job's hosts; they have enough slots together.
    pub hosts: &'a [HostId],
    /// Number of ranks.
    pub ranks: u32,
    /// Traffic matrix of the whole run, for application-aware mapping.
    pub matrix: &'a TrafficMatrix,
    /// How placements load the network, if the router can be asked beforehand.
    pub judge: Option<&'a dyn Judge>,
    /// The placement that the host selector had in mind, if it had one.
    pub proposed: Option<&'a Placement>,
}

/// The load that a placement would put on the network, with the router of the run and the jobs that
/// run now.
pub trait Judge {
    /// Judges a placement of the job.
    ///
    /// # Errors
    /// Those of the router.
    fn verdict(&self, placement: &Placement) -> Result<Verdict>;
}

impl std::fmt::Debug for dyn Judge + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Judge")
    }
}

/// Loads under a placement, each the highest of all phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Verdict {
    /// Highest load / capacity of a link between switches.
    pub between_switches: f64,
    /// Highest load / capacity of any link.
    pub highest: f64,
    /// Sum of load / capacity over all links.
    pub sum: f64,
}

impl Verdict {
    /// True if no link has to carry more than under `other` at its worst.
    pub fn is_no_worse(&self, other: &Self) -> bool {
        self.between_switches <= other.between_switches && self.highest <= other.highest
    }
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
    /// External programs only: an end or time-out of the program, or an answer that is no
    /// placement.
    fn map(&mut self, request: &MapRequest<'_>) -> Result<Placement>;
}

/// The process mappers: one name, one variant, one arm.
#[derive(Clone, Copy)]
enum Algorithm {
    Block,
    Cyclic,
    Random,
    Greedy,
    Bisection,
    Aware,
    File,
    Exec,
}

/// Algorithms by name, in the order of the documentation.
const ALGORITHMS: &[(&str, Algorithm)] = &[
    ("block", Algorithm::Block),
    ("cyclic", Algorithm::Cyclic),
    ("random", Algorithm::Random),
    ("greedy", Algorithm::Greedy),
    ("bisection", Algorithm::Bisection),
    ("aware", Algorithm::Aware),
    ("file", Algorithm::File),
    ("exec", Algorithm::Exec),
];

/// Names of the process mappers, in the order of the documentation.
pub fn names() -> Vec<&'static str> {
    ALGORITHMS.iter().map(|(name, _)| *name).collect()
}

/// The process mapper that the user chose; `seed` is that of the run.
///
/// # Errors
/// A name or parameter that does not exist, with the near matches; a program that cannot be
/// started.
pub fn process_mapper(choice: &Choice, seed: u64) -> Result<Box<dyn ProcessMapper>> {
    let name = choice.name();
    let Some((_, algorithm)) = ALGORITHMS.iter().find(|(known, _)| *known == name) else {
        return Err(unknown_name("process mapper", name, &names()));
    };
    choice.only(match algorithm {
        Algorithm::Exec => &["program"],
        Algorithm::File => &["file"],
        _ => &[],
    })?;
    Ok(match algorithm {
        Algorithm::Block => Box::new(Block),
        Algorithm::Cyclic => Box::new(Cyclic),
        Algorithm::Random => Box::new(Random::new(seed)),
        Algorithm::Greedy => Box::new(Greedy),
        Algorithm::Bisection => Box::new(Bisection),
        Algorithm::Aware => Box::new(Aware::new(seed)),
        Algorithm::File => Box::new(file::File::read(choice)?),
        Algorithm::Exec => Box::new(exec::Exec::new(&choice.required::<String>("program")?, seed)?),
    })
}

#[cfg(test)]
mod tests {
    use phaseflow_collect::Cell;
    use phaseflow_collect::trace::Rank;
    use proptest::prelude::*;

    use super::*;
    use crate::topology::test_tree::tree;

    fn map(topology: &Topology, mapper: &str, hosts: &[u32], ranks: u32, matrix: &TrafficMatrix) -> Vec<u32> {
        let hosts: Vec<HostId> = hosts.iter().copied().map(HostId).collect();
        let mut mapper = process_mapper(&Choice::parse(mapper).unwrap(), 7).unwrap();
        let placement = mapper
            .map(&MapRequest { topology, hosts: &hosts, ranks, matrix, judge: None, proposed: None })
            .unwrap();
        placement.hosts.into_iter().map(|host| host.0).collect()
    }

    #[test]
    fn block_fills_and_cyclic_deals() {
        let topology = tree(&[vec![3, 1, 2], vec![2]], 1, &[1.0]);
        let nothing = TrafficMatrix::default();
        assert_eq!(map(&topology, "block", &[2, 0, 1, 3], 7, &nothing), [2, 2, 0, 0, 0, 1, 3]);
        assert_eq!(map(&topology, "cyclic", &[2, 0, 1, 3], 7, &nothing), [2, 0, 1, 3, 2, 0, 3]);
        assert_eq!(map(&topology, "cyclic", &[2, 0, 1, 3], 8, &nothing), [2, 0, 1, 3, 2, 0, 3, 0]);
    }

    #[test]
    fn cyclic_deals_hosts_of_one_slot_over_switches() {
        let topology = tree(&[vec![1; 3], vec![1; 2], vec![1; 1]], 1, &[1.0]);
        let nothing = TrafficMatrix::default();
        assert_eq!(map(&topology, "cyclic", &[0, 1, 2, 3, 4, 5], 6, &nothing), [0, 3, 5, 1, 4, 2]);
        assert_eq!(map(&topology, "cyclic", &[4, 0, 1], 3, &nothing), [4, 0, 1]);
    }

    #[test]
    fn names_and_parameters_are_checked() {
        let error = process_mapper(&Choice::parse("blok").unwrap(), 1).err().unwrap();
        assert_eq!(
            error.to_string(),
            "unknown process mapper `blok`; did you mean block? (known: block, cyclic, random, greedy, bisection, aware, file, exec)"
        );
    }

    proptest! {
        // CORRECTNESS: each rank has a host of the job, no host more ranks than slots.
        #[test]
        fn placements_are_possible(
            slots in prop::collection::vec(1_u32..5, 1..8),
            share in 0.0..1.0_f64,
            cells in prop::collection::vec((any::<u32>(), any::<u32>(), 0_u64..9), 0..60),
        ) {
            let ranks = ((f64::from(slots.iter().sum::<u32>()) * share) as u32).max(1);
            let topology = tree(std::slice::from_ref(&slots), 1, &[1.0]);
            let cell = |(src, dst, bytes): (u32, u32, u64)| Cell {
                src: Rank(src % ranks), dst: Rank(dst % ranks), messages: 1, bytes,
            };
            let matrix = TrafficMatrix::from_cells(cells.into_iter().map(cell)).unwrap();
            let hosts: Vec<u32> = (0..slots.len() as u32).rev().collect();
            for mapper in ["block", "cyclic", "random", "greedy", "bisection", "aware"] {
                let placement = map(&topology, mapper, &hosts, ranks, &matrix);
                prop_assert_eq!(placement.len(), ranks as usize, "{}", mapper);
                for host in &hosts {
                    let count = placement.iter().filter(|other| *other == host).count();
                    prop_assert!(count <= slots[*host as usize] as usize, "{}", mapper);
                }
                prop_assert_eq!(&placement, &map(&topology, mapper, &hosts, ranks, &matrix));
            }
        }
    }
}
