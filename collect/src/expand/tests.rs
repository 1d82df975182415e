//! Schedules executed on symbolic data: whatever the algorithm, each rank ends with what MPI
//! promises.
//!
//! Every byte of a rank's vector is the set of ranks whose contribution it holds. A round reads the
//! state of ranks before it. A wrong round, part or number of bytes therefore gives a wrong result.

use super::*;
use crate::ErrorKind;
use proptest::prelude::*;

/// Contributions to one byte, a bit a rank.
type Set = u32;

struct World<'a> {
    collective: Collective<'a>,
    /// Per rank and byte of the vector.
    vectors: Vec<Vec<Set>>,
    /// Per rank what it received last, for relays.
    received: Vec<Vec<Set>>,
    /// Blocks of an all-to-all at each rank, as (origin, destination).
    parcels: Vec<Vec<(u32, u32)>>,
    /// Per rank who it has heard of.
    heard: Vec<Set>,
}

/// All ranks.
fn everyone(ranks: u32) -> Set {
    Set::MAX >> (Set::BITS - ranks)
}

impl<'a> World<'a> {
    fn new(collective: Collective<'a>) -> Self {
        let total = collective.vector_bytes() as usize;
        let root = collective.root.unwrap();
        let vector = |rank: u32| match collective.operation {
            Operation::Bcast | Operation::Scatter | Operation::Scatterv => {
                vec![if rank == root { 1 << rank } else { 0 }; total]
            }
            Operation::Gather | Operation::Gatherv | Operation::Allgather | Operation::Allgatherv => {
                let mut vector = vec![0; total];
                vector[own(&collective, rank)].fill(1 << rank);
                vector
            }
            Operation::Reduce
            | Operation::Allreduce
            | Operation::ReduceScatter
            | Operation::ReduceScatterBlock
            | Operation::Scan
            | Operation::Exscan => vec![1 << rank; total],
            _ => Vec::new(),
        };
        let ranks = 0..collective.ranks;
        Self {
            collective,
            vectors: ranks.clone().map(vector).collect(),
            received: vec![Vec::new(); collective.ranks as usize],
            parcels: ranks.clone().map(|src| ranks.clone().map(|dst| (src, dst)).collect()).collect(),
            heard: ranks.map(|rank| 1 << rank).collect(),
        }
    }

    fn round(&mut self, transfers: &[Transfer]) {
        let before = (self.vectors.clone(), self.received.clone(), self.parcels.clone(), self.heard.clone());
        for transfer in transfers {
            let (src, dst) = (transfer.src as usize, transfer.dst as usize);
            self.heard[dst] |= before.3[src];
            match transfer.part {
                Part::Signal => assert_eq!(transfer.bytes, 0),
                Part::Copy { offset } => {
                    for byte in self.bytes(offset, transfer.bytes) {
                        self.vectors[dst][byte] = before.0[src][byte];
                    }
                }
                Part::Combine { offset } => {
                    let bytes = self.bytes(offset, transfer.bytes);
                    self.combine(dst, &before.0[src], bytes);
                }
                Part::Relay { offset } => {
                    let bytes = self.bytes(offset, transfer.bytes);
                    self.combine(dst, &before.1[src], bytes);
                }
                Part::Strided { first, step } => {
                    let blocks = (first..self.collective.ranks).step_by(step as usize);
                    let bytes: Vec<_> = blocks.flat_map(|block| own(&self.collective, block)).collect();
                    assert_eq!(bytes.len() as u64, transfer.bytes);
                    self.combine(dst, &before.0[src], bytes);
                }
                Part::Own => {
                    assert_eq!(transfer.bytes, self.collective.pair_bytes(transfer.src, transfer.dst));
                    self.hand_over(transfer, |parcel| *parcel == (transfer.src, transfer.dst));
                }
                Part::Transit { bit } => {
                    let ranks = self.collective.ranks;
                    let moved = self.hand_over(transfer, |(origin, destination)| {
                        let there = before.2[src].contains(&(*origin, *destination));
                        there && ((destination + ranks - origin) % ranks) & bit != 0
                    });
                    assert_eq!(transfer.bytes, moved * self.collective.pair_bytes(0, 0));
                }
            }
        }
    }

    /// The bytes of a part; it may go round at the end.
    fn bytes(&self, offset: u64, bytes: u64) -> Vec<usize> {
        let total = self.collective.vector_bytes();
        assert!(bytes <= total);
        (offset..offset + bytes).map(|byte| (byte % total) as usize).collect()
    }

    fn combine(&mut self, dst: usize, sent: &[Set], bytes: Vec<usize>) {
        let mut received = vec![0; sent.len()];
        for byte in bytes {
            assert_eq!(self.vectors[dst][byte] & sent[byte], 0, "counted twice at rank {dst}, byte {byte}");
            self.vectors[dst][byte] |= sent[byte];
            received[byte] = sent[byte];
        }
        self.received[dst] = received;
    }

    fn hand_over(&mut self, transfer: &Transfer, goes: impl Fn(&(u32, u32)) -> bool) -> u64 {
        let parcels = &mut self.parcels[transfer.src as usize];
        let going: Vec<_> = parcels.extract_if(.., |parcel| goes(parcel)).collect();
        self.parcels[transfer.dst as usize].extend(&going);
        going.len() as u64
    }

    /// A guarantee of MPI.
    fn check(&self) {
        let Collective { operation, ranks, .. } = self.collective;
        let root = self.collective.root.unwrap();
        for rank in 0..ranks {
            let vector = &self.vectors[rank as usize];
            let all = |set: Set| vector.iter().all(|byte| *byte == set);
            let gathered =
                || (0..ranks).all(|of| vector[own(&self.collective, of)].iter().all(|byte| *byte == 1 << of));
            let mine = |set: Set| vector[own(&self.collective, rank)].iter().all(|byte| *byte == set);
            let kept = match operation {
                Operation::Barrier => self.heard[rank as usize] == everyone(ranks),
                Operation::Bcast => all(1 << root),
                Operation::Reduce => rank != root || all(everyone(ranks)),
                Operation::Allreduce => all(everyone(ranks)),
                Operation::ReduceScatter | Operation::ReduceScatterBlock => mine(everyone(ranks)),
                // An exscan's rank leaves its own contribution out of its result, not out of what
                // it passes on.
                Operation::Scan | Operation::Exscan => all(everyone(rank + 1)),
                Operation::Gather | Operation::Gatherv => rank != root || gathered(),
                Operation::Allgather | Operation::Allgatherv => gathered(),
                Operation::Scatter | Operation::Scatterv => mine(1 << root),
                Operation::Alltoall | Operation::Alltoallv | Operation::Alltoallw => {
                    (0..ranks).all(|origin| {
                        let parcel = (origin, rank);
                        self.collective.pair_bytes(origin, rank) == 0
                            || self.parcels[rank as usize].contains(&parcel)
                    })
                }
                _ => unreachable!("{operation:?}"),
            };
            assert!(kept, "rank {rank} ends with {vector:?}");
        }
    }
}

fn own(collective: &Collective, rank: u32) -> std::ops::Range<usize> {
    let blocks = collective.blocks();
    blocks.start(rank) as usize..blocks.start(rank + 1) as usize
}

/// Expands, executes and checks; returns the transfers and the number of rounds.
fn execute(collective: Collective, algorithm: Algorithm, rules: Rules) -> (Vec<Transfer>, u32) {
    let mut transfers = Vec::new();
    let rounds =
        expand_with(&collective, algorithm, rules, &mut |transfer| transfers.push(transfer)).unwrap();
    let mut world = World::new(collective);
    let mut next = 0;
    for round in transfers.chunk_by(|a, b| a.round == b.round) {
        assert_eq!(round[0].round, next, "rounds ascend without gaps");
        next += 1;
        assert!(round.iter().all(|transfer| transfer.src != transfer.dst && transfer.tag < 0));
        world.round(round);
    }
    assert_eq!(next, rounds);
    world.check();
    (transfers, rounds)
}

/// Counts worth trying for an operation.
fn counts_for(operation: Operation, ranks: u32) -> Vec<Vec<u64>> {
    let p = u64::from(ranks);
    let irregular = |n: u64| (0..n).map(|i| (i * 7 + 3) % 5 * (i % 3)).collect::<Vec<_>>();
    match operation {
        Operation::Gatherv | Operation::Scatterv | Operation::Allgatherv | Operation::ReduceScatter => {
            vec![vec![2; ranks as usize], irregular(p), (0..p).map(|i| u64::from(i == p / 2)).collect()]
        }
        Operation::Alltoallv | Operation::Alltoallw => vec![irregular(p), irregular(p * p)],
        _ => [1, 2, 3, p - 1, p, p + 1, 2 * p + 3].into_iter().map(|count| vec![count]).collect(),
    }
}

fn as_counts(counts: &[u64], ranks: u32) -> Counts<'_> {
    match counts {
        [count] if ranks > 1 => Counts::Each(*count),
        _ if counts.len() == ranks as usize => Counts::Ranks(counts),
        _ => Counts::Pairs(counts),
    }
}

#[test]
fn every_algorithm_keeps_mpi_s_promise() {
    for operation in Operation::ALL {
        for algorithm in Algorithm::of(*operation) {
            for ranks in 2..=17 {
                if *algorithm == Algorithm::TwoProcs && ranks != 2 || operation.name().starts_with("neighbor")
                {
                    continue;
                }
                for counts in counts_for(*operation, ranks) {
                    for root in [0, 1, ranks / 2, ranks - 1] {
                        for (type_bytes, rules) in [(1, Rules::OpenMpi41), (3, Rules::Basic)] {
                            let collective = Collective {
                                root: Some(root),
                                type_bytes,
                                ..Collective::new(*operation, ranks, as_counts(&counts, ranks))
                            };
                            execute(collective, *algorithm, rules);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn every_choice_keeps_mpi_s_promise() {
    for operation in Operation::ALL {
        if Algorithm::of(*operation).is_empty() || operation.name().starts_with("neighbor") {
            continue;
        }
        for rules in [Rules::OpenMpi41, Rules::Basic] {
            for ranks in [2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 31, 32] {
                for commutative in [true, false] {
                    for type_bytes in [1, 50] {
                        for counts in counts_for(*operation, ranks) {
                            let collective = Collective {
                                type_bytes,
                                commutative,
                                ..Collective::new(*operation, ranks, as_counts(&counts, ranks))
                            };
                            execute(collective, rules.choose(&collective).unwrap(), rules);
                        }
                    }
                }
            }
        }
    }
}

/// Messages, bytes and rounds of a collective of `count` bytes.
fn cost(operation: Operation, algorithm: Algorithm, ranks: u32, count: u64) -> (u64, u64, u64) {
    let collective = Collective::new(operation, ranks, Counts::Each(count));
    let (transfers, rounds) = execute(collective, algorithm, Rules::OpenMpi41);
    (transfers.len() as u64, transfers.iter().map(|transfer| transfer.bytes).sum(), u64::from(rounds))
}

#[test]
fn costs_are_the_closed_forms() {
    use Algorithm as A;
    use Operation as O;
    for ranks in 2..=17u32 {
        let p = u64::from(ranks);
        let (up, down) = (u64::from(ranks.next_power_of_two().ilog2()), u64::from(ranks.ilog2()));
        let (survivors, surplus) = (1 << down, p - (1 << down));
        let m = 16 * p * survivors; // divides evenly in every algorithm
        let ring = (2 * p * (p - 1), 2 * (p - 1) * m, 2 * (p - 1));
        assert_eq!(cost(O::Allreduce, A::Ring, ranks, m), ring);
        assert_eq!(cost(O::Allreduce, A::SegmentedRing, ranks, m), ring);
        let messages = survivors * down + 2 * surplus;
        let rounds = down + if surplus > 0 { 2 } else { 0 };
        assert_eq!(
            cost(O::Allreduce, A::RecursiveDoubling, ranks, m),
            (messages, messages * m, rounds),
            "{ranks} ranks"
        );
        // Surplus ranks: one vector in two halves, half a vector back, the result.
        assert_eq!(
            cost(O::Allreduce, A::Rabenseifner, ranks, m),
            (
                2 * survivors * down + 4 * surplus,
                2 * (survivors - 1) * m + surplus * 5 * m / 2,
                2 * down + if surplus > 0 { 3 } else { 0 }
            )
        );
        assert_eq!(cost(O::Bcast, A::Linear, ranks, m), (p - 1, (p - 1) * m, 1));
        assert_eq!(cost(O::Bcast, A::Pipeline, ranks, m), (p - 1, (p - 1) * m, p - 1));
        // ⌈log₂ p⌉ counts the root's sends, too; the longest path is ⌊log₂ p⌋.
        assert_eq!(cost(O::Bcast, A::Binomial, ranks, m), (p - 1, (p - 1) * m, down));
        assert_eq!(cost(O::Reduce, A::Binomial, ranks, m).1, (p - 1) * m);
        assert_eq!(cost(O::Alltoall, A::Pairwise, ranks, m), (p * (p - 1), p * (p - 1) * m, p - 1));
        assert_eq!(cost(O::Alltoall, A::Linear, ranks, m), (p * (p - 1), p * (p - 1) * m, 1));
        let hops: u64 = (1..p).map(|way| u64::from(way.count_ones())).sum();
        assert_eq!(cost(O::Alltoall, A::Bruck, ranks, m), (p * up, p * hops * m, up));
        if ranks.is_power_of_two() {
            assert_eq!(hops, p / 2 * up);
        }
        assert_eq!(cost(O::Allgather, A::Ring, ranks, m), (p * (p - 1), p * (p - 1) * m, p - 1));
        assert_eq!(cost(O::Allgather, A::Bruck, ranks, m), (p * up, p * (p - 1) * m, up));
        if ranks.is_multiple_of(2) {
            let exchange = (p * p / 2, p * (p - 1) * m, p / 2);
            assert_eq!(cost(O::Allgather, A::NeighborExchange, ranks, m), exchange);
        }
        assert_eq!(
            cost(O::ReduceScatterBlock, A::RecursiveHalving, ranks, m),
            (
                survivors * down + 2 * surplus,
                // A whole vector from each surplus rank, halves, and the surplus ranks' blocks
                // back.
                surplus * p * m + (survivors - 1) * p * m + surplus * m,
                down + if surplus > 0 { 2 } else { 0 }
            )
        );
        assert_eq!(cost(O::Barrier, A::Bruck, ranks, 0), (p * up, 0, up));
        assert_eq!(cost(O::Scan, A::Linear, ranks, m), (p - 1, (p - 1) * m, p - 1));
    }
}

#[test]
fn neighbours_send_along_their_edges() {
    let edges = [(0, 1, 3), (1, 0, 0), (2, 2, 4)].map(|(src, dst, count)| Edge { src, dst, count });
    let collective = Collective {
        type_bytes: 8,
        ..Collective::new(Operation::NeighborAlltoallv, 3, Counts::Edges(&edges))
    };
    let mut seen = Vec::new();
    let rounds = expand(&collective, Rules::OpenMpi41, &mut |transfer| {
        seen.push((transfer.src, transfer.dst, transfer.bytes));
    });
    assert_eq!((rounds.unwrap(), seen), (1, vec![(0, 1, 24), (1, 0, 0), (2, 2, 32)]));
}

#[test]
fn what_is_spread_evenly_keeps_its_sum() {
    let totals = [7, 0, 12];
    let collective = Collective::new(Operation::Alltoallv, 3, Counts::Ranks(&totals));
    for src in 0..3 {
        let sum: u64 = (0..3).map(|dst| collective.pair_bytes(src, dst)).sum();
        assert_eq!(sum, totals[src as usize]);
    }
}

#[test]
fn requests_that_make_no_sense_say_why() {
    let problem = |collective: Collective, algorithm: Option<Algorithm>| {
        let sink = &mut |_: Transfer| panic!("nothing may be sent");
        let error = match algorithm {
            Some(algorithm) => expand_with(&collective, algorithm, Rules::OpenMpi41, sink),
            None => expand(&collective, Rules::OpenMpi41, sink),
        }
        .unwrap_err();
        error.to_string()
    };
    let bcast = Collective::new(Operation::Bcast, 4, Counts::Each(1));
    assert_eq!(
        problem(Collective { root: Some(4), ..bcast }, None),
        "root of bcast is 4, expected less than 4"
    );
    assert_eq!(problem(Collective { root: None, ..bcast }, None), "bcast without a root");
    assert_eq!(
        problem(Collective { ranks: 0, ..bcast }, None),
        "bcast over 0 ranks, expected 1 to 2147483647"
    );
    assert_eq!(
        problem(Collective { type_bytes: 1 << 62, ..bcast }, None),
        "bcast moves more than 2^63 - 1 bytes"
    );
    assert_eq!(
        problem(Collective { counts: Counts::Ranks(&[1; 4]), ..bcast }, None),
        "bcast with counts of another kind of collective"
    );
    assert_eq!(problem(bcast, Some(Algorithm::Bruck)), "bcast has no algorithm bruck");
    let send = Collective { operation: Operation::Send, ..bcast };
    assert_eq!(problem(send, None), "send is not a collective");
    let allgather = Collective { operation: Operation::Allgather, ..bcast };
    assert_eq!(problem(allgather, Some(Algorithm::TwoProcs)), "allgather by two-procs is for 2 ranks, not 4");
    let allgatherv = Collective::new(Operation::Allgatherv, 4, Counts::Ranks(&[1, 2]));
    assert_eq!(problem(allgatherv, None), "allgatherv with 2 counts, expected 4");
    let edges = [Edge { src: 0, dst: 9, count: 1 }];
    let neighbors = Collective::new(Operation::NeighborAllgather, 4, Counts::Edges(&edges));
    assert_eq!(problem(neighbors, None), "neighbor_allgather has neighbour 9, expected less than 4");
}

proptest! {
    #[test]
    fn nothing_panics(
        operation in 0..Operation::ALL.len(), ranks in 0u32..40, root in prop::option::of(0u32..40),
        counts in prop::collection::vec(prop_oneof![Just(0), Just(1), 0u64..100, any::<u64>()], 0..40),
        kind in 0..3, type_bytes in prop_oneof![Just(0), Just(1), Just(8), any::<u64>()], commutative: bool,
        rules in prop_oneof![Just(Rules::OpenMpi41), Just(Rules::Basic)],
    ) {
        let counts = match kind {
            0 => Counts::Each(counts.first().copied().unwrap_or(1)),
            1 => Counts::Ranks(&counts[..counts.len().min(ranks as usize)]),
            _ => Counts::Pairs(&counts),
        };
        let operation = Operation::ALL[operation];
        let collective = Collective { operation, ranks, root, counts, type_bytes, commutative };
        for algorithm in Algorithm::ALL {
            let result = expand_with(&collective, *algorithm, rules, &mut |transfer| {
                assert!(transfer.src < ranks && transfer.dst < ranks && transfer.bytes <= i64::MAX as u64);
            });
            if let Err(error) = result {
                prop_assert!(matches!(error.kind(), ErrorKind::Data | ErrorKind::Usage));
            }
        }
        let _ = expand(&collective, rules, &mut |_| {});
    }
}
