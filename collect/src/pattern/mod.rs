//! Generators of well-known communication patterns: traces with known phases.
//!
//! A pattern is a *round* that is repeated. A round is a sequence of *steps*, in each of which a
//! rank sends at most one message: a [`Pattern`] is a function from (step, rank) to (receiver,
//! bytes), so no messages are stored, and they are generated in trace order. [`Run`] puts rounds
//! one after the other and writes the trace.
//!
//! | name | a round | `bytes` is | messages a round |
//! |---|---|---|---|
//! | `permutation` | everyone to its partner in one random derangement | each message | N |
//! | `shift` | i → i+1 mod N, a ring | each message | N |
//! | `alltoall` | everyone to everyone, pairwise exchange | each pair's message | N(N−1) |
//! | `allreduce` | recursive doubling below 10 000 bytes, else a ring | the vector | see below |
//! | `halo2d` | to the neighbours in the most square grid | each face | 2(2rc−r−c) |
//! | `halo3d` | to the neighbours in the most cubic grid | each face | 2(3abc−ab−bc−ca) |
//! | `transpose` | (i, j) → (j, i) of the most square grid | each message | N − fixed points |
//! | `incast` | everyone to rank 0 | each message | N−1 |
//! | `bisection` | i ↔ i+⌊N/2⌋; the last of an odd number is idle | each message | 2⌊N/2⌋ |
//! | `random` | everyone to a random other rank, drawn anew each round | each message | N |
//! | `sweep` | wavefronts from the four corners of the most square grid | each face | 4(2rc−r−c) |
//! | `broadcast` | rank 0 to everyone along a binomial tree | the vector | N−1 |
//! | `scatter` | rank 0 to everyone in turn | each message | N−1 |
//! | `rows` | all-to-all in each row of the most square grid | each pair's message | N(c−1) |
//! | `columns` | all-to-all in each column of the most square grid | each pair's message | N(r−1) |
//! | `contacts` | everyone with six others, 3 % new ones per round | each message | 12⌊N/2⌋ |
//! | `farm` | every worker, in random order, with the master, rank 0 | each message | 2(N−1) |
//! | `pair` | one random rank to one other | the message | 1 |
//! | `exchange` | to both neighbours in the ring, as IMB's Exchange | each message | 2N |
//! | `gather` | everyone to rank 0, `MPI_Gather` without a tree | each message | N−1 |
//!
//! Grids have open edges. An `allreduce` has p·log₂ p + 2(N−p) messages by recursive doubling, with
//! p = 2^⌊log₂ N⌋, and 2N(N−1) by the ring.
//!
//! A prime number of ranks has only the grid 1×N: `halo2d`, `halo3d` and `sweep` run along a line,
//! `rows` has one row; `transpose` and `columns` have no messages and are refused.

mod allreduce;
mod alltoall;
mod bisection;
mod broadcast;
mod chance;
mod clocks;
mod contacts;
mod disturbance;
mod every;
mod exchange;
mod family;
mod farm;
mod gather;
mod grid;
mod halo;
mod incast;
mod labelled;
mod lines;
mod lookup;
mod pair;
mod permutation;
mod program;
mod random;
mod run;
mod scatter;
mod shift;
mod side_by_side;
mod stream;
mod sweep;
mod tracker;
mod transpose;
mod walk;

pub use disturbance::{Disturbance, Irregular, ROUNDS_ALIKE};
pub use family::{FAMILIES, Family, PROGRAM_FAMILIES};
pub use labelled::LabelledRun;
pub use program::Program;
pub use run::Run;
pub use stream::{BYTES_PER_NS, OVERHEAD_NS};

use crate::choice::unknown_name;
use crate::trace::{MOST_RANKS, Operation};
use crate::{Error, Result};

/// One round of communication.
pub trait Pattern {
    /// Draws the random part of the next round.
    fn begin_round(&mut self) {}

    /// Number of steps of a round. A step starts when the one before it is over.
    fn steps(&self) -> u32;

    /// Receiver and bytes of the message of `src` in `step`.
    fn send(&self, step: u32, src: u32) -> Option<(u32, u64)>;

    /// The collective operation that a round is for `rank`, and the bytes that it contributes.
    fn collective(&self, _rank: u32) -> Option<(Operation, u64)> {
        None
    }
}

/// Names of the patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the module's table describes each")]
pub enum PatternName {
    Permutation,
    Shift,
    Alltoall,
    Allreduce,
    Halo2d,
    Halo3d,
    Transpose,
    Incast,
    Bisection,
    Random,
    Sweep,
    Broadcast,
    Scatter,
    Rows,
    Columns,
    Contacts,
    Farm,
    Pair,
    Exchange,
    Gather,
}

impl PatternName {
    /// All patterns.
    pub const ALL: [PatternName; 20] = [
        PatternName::Permutation,
        PatternName::Shift,
        PatternName::Alltoall,
        PatternName::Allreduce,
        PatternName::Halo2d,
        PatternName::Halo3d,
        PatternName::Transpose,
        PatternName::Incast,
        PatternName::Bisection,
        PatternName::Random,
        PatternName::Sweep,
        PatternName::Broadcast,
        PatternName::Scatter,
        PatternName::Rows,
        PatternName::Columns,
        PatternName::Contacts,
        PatternName::Farm,
        PatternName::Pair,
        PatternName::Exchange,
        PatternName::Gather,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            PatternName::Permutation => "permutation",
            PatternName::Shift => "shift",
            PatternName::Alltoall => "alltoall",
            PatternName::Allreduce => "allreduce",
            PatternName::Halo2d => "halo2d",
            PatternName::Halo3d => "halo3d",
            PatternName::Transpose => "transpose",
            PatternName::Incast => "incast",
            PatternName::Bisection => "bisection",
            PatternName::Random => "random",
            PatternName::Sweep => "sweep",
            PatternName::Broadcast => "broadcast",
            PatternName::Scatter => "scatter",
            PatternName::Rows => "rows",
            PatternName::Columns => "columns",
            PatternName::Contacts => "contacts",
            PatternName::Farm => "farm",
            PatternName::Pair => "pair",
            PatternName::Exchange => "exchange",
            PatternName::Gather => "gather",
        }
    }

    /// The pattern of this name.
    ///
    /// # Errors
    /// A name that no pattern has.
    pub fn parse(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|pattern| pattern.name() == name);
        found.ok_or_else(|| unknown_name("pattern", name, &Self::ALL.map(Self::name)))
    }

    /// Parses a comma-separated list of names.
    ///
    /// # Errors
    /// A name that no pattern has.
    pub fn parse_list(text: &str) -> Result<Vec<Self>> {
        text.split(',').map(Self::parse).collect()
    }

    /// The pattern for `ranks` ranks; `seed` matters to random ones only.
    ///
    /// # Errors
    /// Fewer than 2 ranks, more than 2²⁴, or a number for which the pattern has no messages.
    pub fn build(self, ranks: u32, bytes: u64, seed: u64) -> Result<Box<dyn Pattern>> {
        if !(2..=MOST_RANKS).contains(&ranks) {
            return Err(Error::usage(format!("a pattern has 2 to {MOST_RANKS} ranks, not {ranks}")));
        }
        Ok(match self {
            PatternName::Permutation => Box::new(permutation::Permutation::new(ranks, bytes, seed)),
            PatternName::Shift => Box::new(shift::Shift { ranks, bytes }),
            PatternName::Alltoall => Box::new(alltoall::Alltoall { ranks, bytes }),
            PatternName::Allreduce => allreduce::build(ranks, bytes),
            PatternName::Halo2d => Box::new(halo::Halo::new(grid::most_square(ranks).to_vec(), bytes)),
            PatternName::Halo3d => Box::new(halo::Halo::new(grid::most_cubic(ranks).to_vec(), bytes)),
            PatternName::Transpose => Box::new(transpose::Transpose::new(ranks, bytes)?),
            PatternName::Incast => Box::new(incast::Incast { bytes }),
            PatternName::Bisection => Box::new(bisection::Bisection { half: ranks / 2, bytes }),
            PatternName::Random => Box::new(random::Random::new(ranks, bytes, seed)),
            PatternName::Sweep => Box::new(sweep::Sweep::new(ranks, bytes)),
            PatternName::Broadcast => Box::new(broadcast::Broadcast { ranks, bytes }),
            PatternName::Scatter => Box::new(scatter::Scatter { ranks, bytes }),
            PatternName::Rows => Box::new(lines::Lines::rows(ranks, bytes)),
            PatternName::Columns => Box::new(lines::Lines::columns(ranks, bytes)?),
            PatternName::Contacts => Box::new(contacts::Contacts::new(ranks, bytes, seed)),
            PatternName::Farm => Box::new(farm::Farm::new(ranks, bytes, seed)),
            PatternName::Pair => Box::new(pair::Pair::new(ranks, bytes, seed)),
            PatternName::Exchange => Box::new(exchange::Exchange { ranks, bytes }),
            PatternName::Gather => Box::new(gather::Gather { bytes }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// (src, dst, bytes) of one round.
    fn round(pattern: &mut dyn Pattern, ranks: u32) -> Vec<(u32, u32, u64)> {
        pattern.begin_round();
        let steps = (0..pattern.steps()).flat_map(|step| (0..ranks).map(move |src| (step, src)));
        steps
            .filter_map(|(step, src)| pattern.send(step, src).map(|(dst, bytes)| (src, dst, bytes)))
            .collect()
    }

    fn built(name: PatternName, ranks: u32) -> Vec<(u32, u32, u64)> {
        round(&mut *name.build(ranks, 1000, 1).unwrap(), ranks)
    }

    /// Messages of a round in closed form, for patterns that have one.
    fn messages(name: PatternName, n: u64) -> Option<u64> {
        let [r, c] = grid::most_square(n as u32).map(u64::from);
        let [x, y, z] = grid::most_cubic(n as u32).map(u64::from);
        Some(match name {
            PatternName::Permutation | PatternName::Shift | PatternName::Random => n,
            PatternName::Alltoall => n * (n - 1),
            PatternName::Halo2d => 2 * (2 * r * c - r - c),
            PatternName::Halo3d => 2 * (3 * x * y * z - x * y - y * z - z * x),
            PatternName::Incast | PatternName::Broadcast | PatternName::Scatter | PatternName::Gather => {
                n - 1
            }
            PatternName::Exchange => 2 * n,
            PatternName::Rows => n * (c - 1),
            PatternName::Contacts => 12 * (n / 2),
            PatternName::Farm => 2 * (n - 1),
            PatternName::Pair => 1,
            PatternName::Bisection => n / 2 * 2,
            PatternName::Sweep => 4 * (2 * r * c - r - c),
            PatternName::Columns if r == 1 => return None,
            PatternName::Columns => n * (r - 1),
            PatternName::Allreduce | PatternName::Transpose => return None,
        })
    }

    #[test]
    fn numbers_of_messages_are_the_closed_forms() {
        for name in PatternName::ALL {
            for ranks in 2..=70 {
                let Some(expected) = messages(name, u64::from(ranks)) else { continue };
                let found = built(name, ranks);
                assert_eq!(found.len() as u64, expected, "{} of {ranks} ranks", name.name());
                assert!(found.iter().all(|(_, _, bytes)| *bytes == 1000));
            }
        }
    }

    #[test]
    fn exchanges_are_symmetric() {
        for name in [
            PatternName::Alltoall,
            PatternName::Halo2d,
            PatternName::Halo3d,
            PatternName::Bisection,
            PatternName::Sweep,
            PatternName::Rows,
            PatternName::Contacts,
            PatternName::Farm,
            PatternName::Exchange,
        ] {
            for ranks in [2, 7, 12, 16, 60] {
                let mut there = built(name, ranks);
                let mut back: Vec<_> = there.iter().map(|(src, dst, bytes)| (*dst, *src, *bytes)).collect();
                there.sort_unstable();
                back.sort_unstable();
                assert_eq!(there, back, "{} of {ranks} ranks", name.name());
            }
        }
    }

    proptest! {
        #[test]
        fn nobody_talks_to_itself_or_to_ranks_that_are_not_there(ranks in 2u32..200, seed in any::<u64>()) {
            for name in PatternName::ALL {
                let Ok(mut pattern) = name.build(ranks, 7, seed) else { continue };
                for (src, dst, _) in round(&mut *pattern, ranks) {
                    prop_assert!(src != dst && dst < ranks, "{}: {src} -> {dst}", name.name());
                }
            }
        }

        #[test]
        fn permutations_reach_everyone_once(ranks in 2u32..200, seed in any::<u64>()) {
            for name in [PatternName::Permutation, PatternName::Shift] {
                let mut reached: Vec<u32> =
                    round(&mut *name.build(ranks, 7, seed).unwrap(), ranks).iter().map(|m| m.1).collect();
                reached.sort_unstable();
                prop_assert_eq!(reached, (0..ranks).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn only_the_random_ones_depend_on_the_seed() {
        for name in PatternName::ALL {
            let with = |seed| round(&mut *name.build(64, 10, seed).unwrap(), 64);
            let random = matches!(
                name,
                PatternName::Permutation
                    | PatternName::Random
                    | PatternName::Contacts
                    | PatternName::Farm
                    | PatternName::Pair
            );
            assert_eq!(with(1) != with(2), random, "{}", name.name());
            assert_eq!(with(1), with(1), "{}", name.name());
        }
        // A permutation stays for all rounds, random partners do not.
        for (name, stays) in [(PatternName::Permutation, true), (PatternName::Random, false)] {
            let mut pattern = name.build(64, 10, 1).unwrap();
            assert_eq!(round(&mut *pattern, 64) == round(&mut *pattern, 64), stays, "{}", name.name());
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let error = |name: PatternName, ranks| name.build(ranks, 1, 1).map(|_| ()).unwrap_err().to_string();
        assert_eq!(error(PatternName::Shift, 1), "a pattern has 2 to 16777216 ranks, not 1");
        assert_eq!(
            error(PatternName::Transpose, 7),
            "transpose needs a grid, but 7 ranks, a prime number, only have 1×7"
        );
        let error = PatternName::parse_list("halo2d,alltoal").unwrap_err().to_string();
        assert!(error.starts_with("unknown pattern `alltoal`; did you mean alltoall"), "{error}");
    }
}
