//! Recursive bisection of the communication graph onto the network.

use std::collections::BinaryHeap;

use phaseflow_collect::{Result, TrafficMatrix};

use super::graph::Graph;
use super::greedy::nearest_next;
use super::{Block, MapRequest, Placement, ProcessMapper};
use crate::topology::{HostId, Topology};

/// Dual recursive bisection (Pellegrini, *Static mapping by dual recursive bipartitioning of
/// process and architecture graphs*, 1994): the hosts are divided where the network is, the ranks
/// into parts of those sizes between which few bytes go, and so on until each part is a host.
///
/// Hosts are in the order of `nearest_next` and are divided between the two neighbours that are
/// farthest apart. Ranks are divided by Fiduccia and Mattheyses's moves, one to each side in turn
/// (*A linear-time heuristic for improving network partitions*, 1982), once from the ranks' own
/// order and once from a grown part. The better one is taken. Block mapping takes the place of the
/// result where that has fewer bytes × links.
///
/// Good for graphs with structure, as grids and trees. It counts bytes, not the load of links: the
/// most loaded link may get worse, which [`Aware`](super::Aware) looks at. Time: O(c log n) per
/// level and pass for c communicating pairs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bisection;

/// Passes of moves over a division; most of the gain is in the first two.
const PASSES: usize = 4;

impl ProcessMapper for Bisection {
    fn map(&mut self, request: &MapRequest<'_>) -> Result<Placement> {
        let graph = Graph::new(request.ranks as usize, request.matrix);
        let hosts: Vec<HostId> = nearest_next(request.topology, request.hosts).collect();
        let mut division = Division {
            request,
            graph: &graph,
            part: vec![0; request.ranks as usize],
            parts: 0,
            placement: vec![HostId(0); request.ranks as usize],
        };
        division.place(&hosts, &(0..request.ranks).collect::<Vec<u32>>());
        let found = Placement { hosts: division.placement };
        let block = Block.map(request)?;
        let cost = |placement: &Placement| byte_links(request.topology, request.matrix, placement);
        Ok(if cost(&found) < cost(&block) { found } else { block })
    }
}

/// Bytes times the links that they pass.
pub(super) fn byte_links(topology: &Topology, matrix: &TrafficMatrix, placement: &Placement) -> u128 {
    let host = |rank: u32| placement.hosts[rank as usize];
    let mut known = std::collections::HashMap::new();
    let mut far = |src: HostId, dst: HostId| {
        let found = known.entry((src, dst));
        *found.or_insert_with(|| topology.distances_to(dst).from(topology.host(src)).unwrap_or(0))
    };
    let cost = |cell: phaseflow_collect::Cell| {
        let links = far(host(cell.src.0), host(cell.dst.0));
        u128::from(cell.bytes) * u128::from(links)
    };
    matrix.cells().map(cost).sum()
}

struct Division<'a> {
    request: &'a MapRequest<'a>,
    graph: &'a Graph,
    /// By rank: the part that it is in.
    part: Vec<u32>,
    parts: u32,
    placement: Vec<HostId>,
}

/// A side of a division by rank of a part, by its place in the part.
type Sides = Vec<bool>;

impl Division<'_> {
    fn slots(&self, hosts: &[HostId]) -> usize {
        hosts.iter().map(|host| self.request.topology.slots()[host.0 as usize] as usize).sum()
    }

    /// Places ranks, ascending, on hosts that have slots for them.
    fn place(&mut self, hosts: &[HostId], ranks: &[u32]) {
        let [_, _, ..] = hosts else {
            if let Some(host) = hosts.first() {
                ranks.iter().for_each(|rank| self.placement[*rank as usize] = *host);
            }
            return;
        };
        let (left, right) = hosts.split_at(self.border(hosts));
        let (here, there) = (self.slots(left), self.slots(right));
        // Hosts are filled one after the other, as the host selector took no more than it had to.
        let count = ranks.len().min(here).max(ranks.len().saturating_sub(there));
        let sides = self.divide(ranks, count);
        let side = |of: bool| {
            let members = ranks.iter().zip(&sides).filter(move |(_, side)| **side == of);
            members.map(|(rank, _)| *rank).collect::<Vec<u32>>()
        };
        let (first, second) = (side(true), side(false));
        self.place(left, &first);
        self.place(right, &second);
    }

    /// Where to divide hosts: in the middle half, between the farthest neighbours, of equal ones
    /// those nearest to the middle.
    fn border(&self, hosts: &[HostId]) -> usize {
        let topology = self.request.topology;
        let half = hosts.len() / 2;
        let room = hosts.len() / 4;
        let far = |at: usize| {
            let distance = topology.distances_to(hosts[at]).from(topology.host(hosts[at - 1]));
            (distance.unwrap_or(0), usize::MAX - at.abs_diff(half))
        };
        let places = (half - room).max(1)..=(half + room).min(hosts.len() - 1);
        places.max_by_key(|at| far(*at)).unwrap_or(half)
    }

    /// The sides of a part: `count` ranks are true.
    fn divide(&mut self, ranks: &[u32], count: usize) -> Sides {
        if count == 0 || count == ranks.len() {
            return vec![count > 0; ranks.len()];
        }
        self.parts += 1;
        ranks.iter().for_each(|rank| self.part[*rank as usize] = self.parts);
        let in_order: Sides = (0..ranks.len()).map(|place| place < count).collect();
        let starts = [in_order, self.grown(ranks, count)];
        let improved = starts.into_iter().map(|mut sides| {
            let mut cut = self.cut(ranks, &sides);
            for _ in 0..PASSES {
                let gain = self.pass(ranks, &mut sides);
                if gain == 0 {
                    break;
                }
                cut -= gain;
            }
            (cut, sides)
        });
        improved.min_by_key(|(cut, _)| *cut).map(|(_, sides)| sides).unwrap_or_default()
    }

    /// The neighbours of a rank within its part, by their place in it.
    fn inside<'s>(&'s self, ranks: &'s [u32], rank: u32) -> impl Iterator<Item = (usize, i128)> + 's {
        let part = self.part[rank as usize];
        let near = self.graph.neighbours(rank).iter();
        let near = near.filter(move |(other, _)| self.part[*other as usize] == part);
        near.filter_map(|(other, bytes)| Some((ranks.binary_search(other).ok()?, i128::from(*bytes))))
    }

    fn cut(&self, ranks: &[u32], sides: &Sides) -> i128 {
        let across = |(place, rank): (usize, &u32)| -> i128 {
            let far = self.inside(ranks, *rank).filter(|(other, _)| sides[*other] != sides[place]);
            far.map(|(_, bytes)| bytes).sum()
        };
        ranks.iter().enumerate().map(across).sum::<i128>() / 2
    }

    /// A part that grows from its busiest rank, each time by the rank that exchanges most with it.
    fn grown(&self, ranks: &[u32], count: usize) -> Sides {
        let mut sides = vec![false; ranks.len()];
        let mut near = vec![0_i128; ranks.len()];
        let mut heap: BinaryHeap<(i128, usize)> = BinaryHeap::new();
        let mut rest: Vec<usize> = (0..ranks.len()).collect();
        rest.sort_by_key(|place| (self.graph.total[ranks[*place] as usize], usize::MAX - place));
        for _ in 0..count {
            let mut next = None;
            while next.is_none() {
                next = match heap.pop() {
                    Some((bytes, place)) => {
                        Some(place).filter(|place| !sides[*place] && near[*place] == bytes)
                    }
                    None => rest.pop().filter(|place| !sides[*place]),
                };
                if heap.is_empty() && rest.is_empty() && next.is_none() {
                    return sides;
                }
            }
            let Some(place) = next else { return sides };
            sides[place] = true;
            for (other, bytes) in self.inside(ranks, ranks[place]) {
                near[other] += bytes;
                if !sides[other] {
                    heap.push((near[other], other));
                }
            }
        }
        sides
    }

    /// Moves ranks in pairs, one to each side, the best ones first and each once; keeps the moves
    /// up to the least cut. Returns the gain.
    fn pass(&self, ranks: &[u32], sides: &mut Sides) -> i128 {
        let mut gain = vec![0_i128; ranks.len()];
        let mut heaps = [BinaryHeap::new(), BinaryHeap::new()];
        for (place, rank) in ranks.iter().enumerate() {
            for (other, bytes) in self.inside(ranks, *rank) {
                gain[place] += if sides[other] == sides[place] { -bytes } else { bytes };
            }
            heaps[usize::from(sides[place])].push((gain[place], ranks.len() - place));
        }
        let mut moved = vec![false; ranks.len()];
        let mut moves: Vec<usize> = Vec::new();
        let (mut sum, mut best) = (0, (0, 0));
        'pairs: loop {
            for side in [true, false] {
                let place = loop {
                    let Some((of, back)) = heaps[usize::from(side)].pop() else { break 'pairs };
                    let place = ranks.len() - back;
                    if !moved[place] && gain[place] == of {
                        break place;
                    }
                };
                moved[place] = true;
                sum += gain[place];
                sides[place] = !side;
                moves.push(place);
                for (other, bytes) in self.inside(ranks, ranks[place]) {
                    if !moved[other] {
                        gain[other] += if sides[other] == side { 2 * bytes } else { -2 * bytes };
                        heaps[usize::from(sides[other])].push((gain[other], ranks.len() - other));
                    }
                }
            }
            if sum > best.0 {
                best = (sum, moves.len());
            }
        }
        moves[best.1..].iter().for_each(|place| sides[*place] = !sides[*place]);
        best.0
    }
}

#[cfg(test)]
mod tests {
    use phaseflow_collect::Cell;
    use phaseflow_collect::trace::Rank;
    use proptest::prelude::*;
    use rand::seq::SliceRandom;

    use super::*;
    use crate::stream::Stream;
    use crate::topology::{TopologyChoice, TopologyOptions, topology};

    fn matrix(pairs: impl IntoIterator<Item = (u32, u32, u64)>) -> TrafficMatrix {
        let cell = |(src, dst, bytes)| Cell { src: Rank(src), dst: Rank(dst), messages: 1, bytes };
        TrafficMatrix::from_cells(pairs.into_iter().map(cell)).unwrap()
    }

    fn map(net: &str, ranks: u32, matrix: &TrafficMatrix) -> (Topology, Placement) {
        let net = topology(&TopologyChoice::parse(net).unwrap(), &TopologyOptions::default()).unwrap();
        let hosts: Vec<HostId> = (0..net.host_count() as u32).map(HostId).collect();
        let request =
            MapRequest { topology: &net, hosts: &hosts, ranks, matrix, judge: None, proposed: None };
        let placement = Bisection.map(&request).unwrap();
        (net, placement)
    }

    #[test]
    fn shuffled_cliques_come_together_under_their_switches() {
        // Eight cliques of eight ranks on eight switches of eight hosts: at best no byte leaves a
        // switch, and each passes two links.
        let mut name: Vec<u32> = (0..64).collect();
        name.shuffle(&mut Stream::Jobs(0).generator(3));
        let pairs = (0..64_u32).flat_map(|a| (0..64_u32).map(move |b| (a, b)));
        let pairs = pairs.filter(|(a, b)| a != b && a / 8 == b / 8);
        let matrix = matrix(pairs.map(|(a, b)| (name[a as usize], name[b as usize], 10)));
        let (net, placement) = map("leaf-spine[leaves=8,spines=2,hosts=8]", 64, &matrix);
        assert_eq!(byte_links(&net, &matrix, &placement), u128::from(matrix.bytes()) * 2);
    }

    proptest! {
        // CORRECTNESS: never more bytes × links than block mapping.
        #[test]
        fn never_worse_than_block(
            cells in prop::collection::vec((0_u32..16, 0_u32..16, 1_u64..100), 1..60),
            kind in 0..3_usize,
        ) {
            let net = ["fat-tree[k=4]", "torus[dims=4x4]", "leaf-spine[leaves=2,spines=1,hosts=4,slots=3]"][kind];
            let matrix = matrix(cells);
            let (net, placement) = map(net, 16, &matrix);
            let slots = net.slots()[0];
            let block = Placement { hosts: (0..16).map(|rank| HostId(rank / slots)).collect() };
            prop_assert!(byte_links(&net, &matrix, &placement) <= byte_links(&net, &matrix, &block));
        }
    }
}
