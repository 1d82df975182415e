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
    Exec,
}

/// Algorithms by name, in the order of the documentation.
const ALGORITHMS: &[(&str, Algorithm)] = &[
    ("block", Algorithm::Block),
    ("cyclic", Algorithm::Cyclic),
    ("random", Algorithm::Random),
    ("greedy", Algorithm::Greedy),
    ("exec", Algorithm::Exec),
];
/// Names of algorithms that do not exist yet.
const LATER: &[&str] = &["bisection"];

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
    if LATER.contains(&name) {
        return Err(Error::usage(format!("process mapper `{name}` is not available yet")));
    }
    let Some((_, algorithm)) = ALGORITHMS.iter().find(|(known, _)| *known == name) else {
        return Err(unknown_name("process mapper", name, &names()));
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
        let placement = mapper.map(&MapRequest { topology, hosts: &hosts, ranks, matrix }).unwrap();
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
    fn names_that_are_unknown_or_not_available_yet() {
        for (text, expected) in [
            ("bisection", "process mapper `bisection` is not available yet"),
            (
                "blok",
                "unknown process mapper `blok`; did you mean block? (known: block, cyclic, random, greedy, exec)",
            ),
        ] {
            let error = process_mapper(&Choice::parse(text).unwrap(), 1).err().unwrap();
            assert_eq!(error.to_string(), expected);
        }
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
            for mapper in ["block", "cyclic", "random", "greedy"] {
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
