//! Demands between the hosts of a job, from its traffic matrix and placement.
//!
//! A router works on pairs of hosts, heaviest first. The pairs, their bytes and their order depend
//! on the partition of ranks among hosts, not on the hosts. Hosts are therefore numbered within the
//! job, in order of their first rank ([`LocalPlacement`]). All jobs of a workload with the same
//! partition share the list of a phase.

use std::cmp::Reverse;

use phaseflow_collect::TrafficMatrix;
use phaseflow_collect::trace::Rank;
use rayon::slice::ParallelSliceMut;

use crate::process_mapping::Placement;
use crate::topology::HostId;

/// The demand from one host of a job to another; hosts by their number within the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PairDemand {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) bytes: u64,
    /// Rank pairs.
    pub(crate) flows: u32,
}

/// A placement in two parts: the partition of the ranks, and the host of each part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LocalPlacement {
    /// By rank: number of its host within the job.
    pub(crate) of_rank: Vec<u32>,
    /// By number within the job: the host.
    pub(crate) hosts: Vec<HostId>,
}

/// Scratch memory of both steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aggregator {
    /// By host: number within the job.
    number: Vec<u32>,
    ranks: Vec<u32>,
    ends: Vec<usize>,
    /// By rank: its place in the order of decimal digits.
    places: Vec<u32>,
    /// By destination host: bytes from the present host, and the first rank pair.
    row: Vec<(u64, u32, Turn)>,
    touched: Vec<u32>,
    pairs: Vec<(PairDemand, Turn)>,
}

/// Position of a rank pair in the order: place of the source, destination.
pub(crate) type Turn = (u32, u32);

/// Pairs from which a list is sorted in parallel.
const MANY_PAIRS: usize = 1 << 16;

/// No host number.
const NO_NUMBER: u32 = u32::MAX;

impl Aggregator {
    /// Numbers the hosts of a placement.
    pub(crate) fn localize(&mut self, placement: &Placement, local: &mut LocalPlacement) {
        local.of_rank.clear();
        local.hosts.clear();
        for host in &placement.hosts {
            let index = host.0 as usize;
            if index >= self.number.len() {
                self.number.resize(index + 1, NO_NUMBER);
            }
            if self.number[index] == NO_NUMBER {
                self.number[index] = local.hosts.len() as u32;
                local.hosts.push(*host);
            }
            local.of_rank.push(self.number[index]);
        }
        for host in &local.hosts {
            self.number[host.0 as usize] = NO_NUMBER;
        }
    }

    /// The demands between hosts, heaviest first; ties in order of first appearance when going
    /// through the rank pairs by source, then destination. Pairs on one host are left out; those
    /// that only exchange empty messages are not.
    ///
    /// Sources have the order of their decimal digits (0, 1, 10, 100, 101, …, 11, …): PFSim reads
    /// the members of a PFProf archive in it. Greedy routing depends on this order: MILC on `milk`
    /// has many equal pairs, and numerical order gives a maximum 14 % above PFSim's.
    ///
    /// `of_rank` has all ranks of the matrix. Time and memory are those of the matrix and the
    /// ranks.
    pub(crate) fn demands(&mut self, matrix: &TrafficMatrix, of_rank: &[u32]) -> Vec<PairDemand> {
        let hosts = of_rank.iter().max().map_or(0, |host| *host as usize + 1);
        self.sort_ranks(of_rank, hosts);
        decimal_places(of_rank.len(), &mut self.places);
        self.row.clear();
        self.row.resize(hosts, (0, 0, (0, 0)));
        self.pairs.clear();
        let mut start = 0;
        for src in 0..hosts {
            for rank in &self.ranks[start..self.ends[src]] {
                let place = self.places[*rank as usize];
                for cell in matrix.row(Rank(*rank)) {
                    let dst = of_rank[cell.dst.0 as usize];
                    if dst as usize == src {
                        continue;
                    }
                    let (bytes, flows, first) = &mut self.row[dst as usize];
                    let turn = (place, cell.dst.0);
                    if *flows == 0 {
                        self.touched.push(dst);
                        *first = turn;
                    }
                    *first = turn.min(*first);
                    *bytes += cell.bytes;
                    *flows = flows.saturating_add(1);
                }
            }
            start = self.ends[src];
            for dst in self.touched.drain(..) {
                let (bytes, flows, first) = std::mem::take(&mut self.row[dst as usize]);
                self.pairs.push((PairDemand { src: src as u32, dst, bytes, flows }, first));
            }
        }
        let key = |(pair, first): &(PairDemand, Turn)| (Reverse(pair.bytes), *first);
        if self.pairs.len() < MANY_PAIRS {
            self.pairs.sort_unstable_by_key(key);
            return self.pairs.iter().map(|(pair, _)| *pair).collect();
        }
        // In place: a dense pattern has no room for a second list.
        let mut pairs = std::mem::take(&mut self.pairs);
        pairs.par_sort_unstable_by_key(key);
        pairs.into_iter().map(|(pair, _)| pair).collect()
    }

    /// Ranks by host, ascending within each: a counting sort.
    fn sort_ranks(&mut self, of_rank: &[u32], hosts: usize) {
        self.ends.clear();
        self.ends.resize(hosts + 1, 0);
        for host in of_rank {
            self.ends[*host as usize + 1] += 1;
        }
        for host in 0..hosts {
            self.ends[host + 1] += self.ends[host];
        }
        self.ranks.clear();
        self.ranks.resize(of_rank.len(), 0);
        for (rank, host) in of_rank.iter().enumerate() {
            let next = &mut self.ends[*host as usize];
            self.ranks[*next] = rank as u32;
            *next += 1;
        }
        // Each start has become the end of its group.
    }
}

/// By rank: its place in the order of decimal digits.
pub(crate) fn decimal_places(ranks: usize, places: &mut Vec<u32>) {
    let mut order: Vec<u32> = (0..ranks as u32).collect();
    order.sort_unstable_by_key(|rank| decimal_place(*rank));
    places.clear();
    places.resize(ranks, 0);
    for (rank, place) in order.into_iter().zip(0..) {
        places[rank as usize] = place;
    }
}

/// Orders numbers as text: digits aligned to the left, the shorter one first where they are equal
/// (10 before 100).
fn decimal_place(number: u32) -> u64 {
    let digits = number.checked_ilog10().unwrap_or(0) + 1;
    (u64::from(number) * 10_u64.pow(10 - digits)) << 4 | u64::from(digits)
}

#[cfg(test)]
mod tests {
    use phaseflow_collect::Cell;
    use proptest::prelude::*;

    use super::*;

    /// The oracle visits the rank pairs in order and finds each host pair by linear search.
    fn oracle(matrix: &TrafficMatrix, of_rank: &[u32]) -> Vec<PairDemand> {
        let mut pairs: Vec<PairDemand> = Vec::new();
        let mut cells: Vec<Cell> = matrix.cells().collect();
        cells.sort_by_key(|cell| cell.src.0.to_string()); // stable
        for cell in cells {
            let (src, dst) = (of_rank[cell.src.0 as usize], of_rank[cell.dst.0 as usize]);
            if src == dst {
                continue;
            }
            match pairs.iter_mut().find(|pair| (pair.src, pair.dst) == (src, dst)) {
                Some(pair) => {
                    pair.bytes += cell.bytes;
                    pair.flows += 1;
                }
                None => pairs.push(PairDemand { src, dst, bytes: cell.bytes, flows: 1 }),
            }
        }
        pairs.sort_by_key(|pair| Reverse(pair.bytes)); // stable
        pairs
    }

    #[test]
    fn numbers_in_the_order_of_their_digits() {
        let mut numbers: Vec<u32> = (0..3000).chain([u32::MAX, u32::MAX - 1, 429_496_729]).collect();
        let mut texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
        numbers.sort_by_key(|number| decimal_place(*number));
        texts.sort();
        assert_eq!(numbers.iter().map(u32::to_string).collect::<Vec<_>>(), texts);
    }

    proptest! {
        #[test]
        fn demands_are_those_of_the_slow_way(
            hosts in prop::collection::vec(0_u32..6, 1..24),
            cells in prop::collection::vec((0_usize..24, 0_usize..24, 0_u64..5), 0..80),
        ) {
            let placement = Placement { hosts: hosts.iter().map(|host| HostId(*host * 7)).collect() };
            let ranks = hosts.len();
            let cell = |(src, dst, bytes): (usize, usize, u64)| Cell {
                src: Rank((src % ranks) as u32), dst: Rank((dst % ranks) as u32), messages: 1, bytes,
            };
            let matrix = TrafficMatrix::from_cells(cells.into_iter().map(cell)).unwrap();
            let (mut aggregator, mut local) = (Aggregator::default(), LocalPlacement::default());
            for _ in 0..2 { // what was there before must not show
                aggregator.localize(&placement, &mut local);
                let back = local.of_rank.iter().map(|number| local.hosts[*number as usize]);
                prop_assert_eq!(back.collect::<Vec<_>>(), &placement.hosts[..]);
                prop_assert_eq!(aggregator.demands(&matrix, &local.of_rank), oracle(&matrix, &local.of_rank));
            }
        }
    }
}
