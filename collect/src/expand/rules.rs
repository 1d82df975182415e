//! Rules by which MPI libraries choose algorithms.

use super::algorithm::Algorithm;
use super::collective::Collective;
use super::tables::{self, Table};
use crate::trace::Operation;
use crate::{Error, Result};

/// A way of choosing algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Open MPI 4.1 with its defaults: component `tuned` with its fixed decisions, which depend on
    /// operation, communicator size, bytes and commutativity; component `basic` for what `tuned`
    /// leaves out (gatherv, scatterv, alltoallw, scan, exscan, neighbourhoods). Wrong for settings
    /// that change these (`coll_tuned_use_dynamic_rules`, hcoll, UCC) and for non-blocking
    /// collectives, which libnbc schedules.
    OpenMpi41,
    /// The textbook: linear up to 4 ranks, binomial trees beyond (as Open MPI's component `basic`
    /// with its `coll_basic_crossover` of 4), reductions to all as reduce and bcast, gathers to all
    /// as gather and bcast, the rest linear. For unknown libraries.
    Basic,
}

/// Largest communicator with linear algorithms in [`Rules::Basic`]: `coll_basic_crossover`.
const BASIC_CROSSOVER: u32 = 4;

impl Rules {
    /// The algorithm for a collective. If it does not apply, another one replaces it later, as in
    /// Open MPI.
    ///
    /// # Errors
    /// The operation is no collective.
    pub fn choose(self, collective: &Collective) -> Result<Algorithm> {
        let choices = Algorithm::of(collective.operation);
        let number = match self {
            _ if choices.len() == 1 => 1,
            Rules::OpenMpi41 => match open_mpi_41(collective) {
                Some(table) => look_up(table, collective.ranks, collective.decisive_bytes()),
                None => 1,
            },
            Rules::Basic => return basic(collective),
        };
        choices.get(usize::from(number).wrapping_sub(1)).copied().ok_or_else(|| no_collective(collective))
    }
}

fn no_collective(collective: &Collective) -> Error {
    let name = match collective.operation.name() {
        "" => "point-to-point",
        name => name,
    };
    Error::usage(format!("{name} is not a collective"))
}

/// The table of an operation; `None` for operations without a choice.
fn open_mpi_41(collective: &Collective) -> Option<Table> {
    let table = match (collective.operation, collective.commutative) {
        (Operation::Allgather, _) => tables::ALLGATHER,
        (Operation::Allgatherv, _) => tables::ALLGATHERV,
        (Operation::Allreduce, true) => tables::ALLREDUCE,
        (Operation::Allreduce, false) => tables::ALLREDUCE_ORDERED,
        (Operation::Alltoall, _) => tables::ALLTOALL,
        (Operation::Alltoallv, _) => tables::ALLTOALLV,
        (Operation::Barrier, _) => tables::BARRIER,
        (Operation::Bcast, _) => tables::BCAST,
        (Operation::Gather, _) => tables::GATHER,
        (Operation::Reduce, true) => tables::REDUCE,
        (Operation::Reduce, false) => tables::REDUCE_ORDERED,
        (Operation::ReduceScatter, true) => tables::REDUCE_SCATTER,
        (Operation::ReduceScatterBlock, true) => tables::REDUCE_SCATTER_BLOCK,
        (Operation::Scatter, _) => tables::SCATTER,
        // Reductions in order that are scattered: number 1, non-overlapping.
        _ => return None,
    };
    Some(table)
}

/// The last row that the communicator reaches, in it the last entry that the bytes reach. Tables
/// start at 2 ranks, rows at 0 bytes; a single rank does nothing in any algorithm.
fn look_up(table: Table, ranks: u32, bytes: u64) -> u8 {
    let row = table.iter().take_while(|(from, _)| *from <= ranks).last();
    row.and_then(|(_, entries)| entries.iter().take_while(|(from, _)| *from <= bytes).last())
        .map_or(1, |(_, number)| *number)
}

fn basic(collective: &Collective) -> Result<Algorithm> {
    let many = collective.ranks > BASIC_CROSSOVER;
    Ok(match collective.operation {
        Operation::Barrier if many => Algorithm::Tree,
        Operation::Bcast if many => Algorithm::Binomial,
        Operation::Reduce if many && collective.commutative => Algorithm::Binomial,
        Operation::Allreduce
        | Operation::Allgather
        | Operation::Allgatherv
        | Operation::ReduceScatter
        | Operation::ReduceScatterBlock => Algorithm::NonOverlapping,
        operation if Algorithm::of(operation).contains(&Algorithm::Linear) => Algorithm::Linear,
        _ => return Err(no_collective(collective)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand::{Counts, Edge};
    use std::collections::BTreeMap;

    /// The facts as extracted from Open MPI's source: key → [(ranks, [(bytes, number)])].
    type Facts = BTreeMap<String, Vec<(u32, Vec<(u64, usize)>)>>;

    fn facts() -> Option<Facts> {
        #[derive(serde::Deserialize)]
        struct File {
            rules: Facts,
        }
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/specs/open-mpi-4.1-coll-tuned.json");
        match std::fs::read(path) {
            Ok(bytes) => Some(serde_json::from_slice::<File>(&bytes).unwrap().rules),
            Err(_) => {
                println!("skipped: no {path}");
                None
            }
        }
    }

    #[test]
    fn open_mpi_s_choice_at_every_threshold() {
        for (key, rows) in facts().into_iter().flatten() {
            let (name, commutative) = match key.split_once('/') {
                Some((name, order)) => (name, order == "comm"),
                None => (key.as_str(), true),
            };
            let operation = Operation::from_name(name).unwrap();
            for (i, (from, entries)) in rows.iter().enumerate() {
                let up_to = rows.get(i + 1).map_or(from * 2, |next| next.0 - 1);
                for ranks in [*from, up_to] {
                    for (threshold, _) in entries {
                        for bytes in [threshold.saturating_sub(1), *threshold, threshold + 1] {
                            let expected = entries.iter().rfind(|entry| entry.0 <= bytes).unwrap().1;
                            let mut counts = vec![0; ranks as usize];
                            counts[0] = bytes; // reduce_scatter decides by the sum
                            let counts = match operation {
                                Operation::ReduceScatter => Counts::Ranks(&counts),
                                _ => Counts::Each(bytes),
                            };
                            let collective =
                                Collective { commutative, ..Collective::new(operation, ranks, counts) };
                            let found = Rules::OpenMpi41.choose(&collective).unwrap();
                            assert_eq!(
                                found,
                                Algorithm::of(operation)[expected - 1],
                                "{key} {ranks} ranks {bytes} bytes"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn allgatherv_decides_by_the_mean() {
        let of = |counts: &[u64]| {
            let collective = Collective::new(Operation::Allgatherv, 4, Counts::Ranks(counts));
            Rules::OpenMpi41.choose(&collective).unwrap()
        };
        assert_eq!(of(&[0, 0, 0, 1023]), Algorithm::NonOverlapping);
        assert_eq!(of(&[0, 0, 0, 1024]), Algorithm::NeighborExchange);
    }

    #[test]
    fn every_collective_has_a_choice_and_nothing_else_has() {
        let edges = [Edge { src: 0, dst: 1, count: 1 }];
        for operation in Operation::ALL {
            for rules in [Rules::OpenMpi41, Rules::Basic] {
                for (ranks, commutative) in [(1, true), (2, false), (5, true), (64, false), (5000, true)] {
                    let counts = Counts::Edges(&edges);
                    let collective = Collective { commutative, ..Collective::new(*operation, ranks, counts) };
                    match rules.choose(&collective) {
                        Ok(algorithm) => assert!(Algorithm::of(*operation).contains(&algorithm)),
                        Err(error) => {
                            assert!(Algorithm::of(*operation).is_empty(), "{operation:?}");
                            assert!(error.to_string().ends_with(" is not a collective"), "{error}");
                        }
                    }
                }
            }
        }
    }
}
