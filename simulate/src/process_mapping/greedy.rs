//! Ranks that talk to each other together.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use phaseflow_collect::{Result, TrafficMatrix};

use super::{MapRequest, Placement, ProcessMapper};
use crate::topology::{HostId, Topology};

/// Application-aware mapping by greedy growth: a host starts with one rank and takes, slot by slot, the unplaced rank that
/// exchanges most bytes with those it has; of equals the one that exchanges least with the ranks still unplaced, which
/// keeps the groups compact and leaves no islands behind. When it is full, the nearest host of the job goes on, with the
/// rank that exchanges most with all that are placed: so groups that talk to each other come to lie near each other. (The
/// growth step of Karypis and Kumar's *A fast and high quality multilevel scheme for partitioning irregular graphs*, 1998,
/// section 3.2, GGGP, applied host by host.)
///
/// O(c log c) for c pairs of ranks that speak, plus the square of the number of hosts. It never takes a rank back; where
/// everybody talks to everybody it cannot gain anything.
#[derive(Clone, Debug, Default)]
pub struct Greedy;

impl ProcessMapper for Greedy {
    fn map(&mut self, request: &MapRequest<'_>) -> Result<Placement> {
        let ranks = request.ranks as usize;
        let graph = Graph::new(ranks, request.matrix);
        let mut growth = Growth::new(&graph);
        let mut placement = vec![HostId(0); ranks];
        let mut placed = 0;
        for host in nearest_next(request.topology, request.hosts) {
            growth.start_group();
            for _ in 0..request.topology.slots()[host.0 as usize] {
                let Some(rank) = growth.next() else { break };
                placement[rank as usize] = host;
                placed += 1;
            }
            if placed == ranks {
                break;
            }
        }
        Ok(Placement { hosts: placement })
    }
}

/// The hosts from the first on, each followed by the nearest of the rest; ties in their order.
fn nearest_next<'a>(topology: &'a Topology, hosts: &'a [HostId]) -> impl Iterator<Item = HostId> + 'a {
    let mut rest = hosts.to_vec();
    let mut last: Option<HostId> = None;
    std::iter::from_fn(move || {
        let nearest = match last {
            None => 0,
            Some(last) => {
                let distances = topology.distances_to(last);
                let distance = |host: &HostId| distances.from(topology.host(*host));
                (0..rest.len()).min_by_key(|i| distance(&rest[*i]))?
            }
        };
        last = (nearest < rest.len()).then(|| rest.remove(nearest));
        last
    })
}

/// Who exchanges how much with whom, without direction, in CSR form; a pair may occur twice.
struct Graph {
    offsets: Vec<usize>,
    neighbours: Vec<(u32, u64)>,
    /// Bytes exchanged by rank.
    total: Vec<u64>,
}

impl Graph {
    fn new(ranks: usize, matrix: &TrafficMatrix) -> Self {
        let cells = || matrix.cells().filter(|cell| cell.src != cell.dst && cell.bytes > 0);
        let mut offsets = vec![0; ranks + 1];
        for cell in cells() {
            offsets[cell.src.0 as usize + 1] += 1;
            offsets[cell.dst.0 as usize + 1] += 1;
        }
        for rank in 0..ranks {
            offsets[rank + 1] += offsets[rank];
        }
        let mut next = offsets.clone();
        let mut neighbours = vec![(0, 0); offsets[ranks]];
        let mut total = vec![0_u64; ranks];
        for cell in cells() {
            for (rank, other) in [(cell.src.0, cell.dst.0), (cell.dst.0, cell.src.0)] {
                neighbours[next[rank as usize]] = (other, cell.bytes);
                next[rank as usize] += 1;
                total[rank as usize] += cell.bytes;
            }
        }
        Self { offsets, neighbours, total }
    }

    fn neighbours(&self, rank: u32) -> &[(u32, u64)] {
        &self.neighbours[self.offsets[rank as usize]..self.offsets[rank as usize + 1]]
    }
}

/// Bytes, then least open, then least rank. Entries of a heap are not updated but outdated: a newer one lies above.
type Entry = (u64, Reverse<u64>, Reverse<u32>);

/// Ranks in the order of placement.
struct Growth<'a> {
    graph: &'a Graph,
    placed: Vec<bool>,
    /// By rank: bytes exchanged with the current group.
    gain: Vec<u64>,
    /// By rank: bytes exchanged with all placed ranks.
    near: Vec<u64>,
    /// Ranks that exchange something with the current group.
    group: BinaryHeap<Entry>,
    /// Ranks that exchange something with any placed one.
    rim: BinaryHeap<Entry>,
    /// All ranks, the one that exchanges most last.
    rest: Vec<u32>,
}

impl<'a> Growth<'a> {
    fn new(graph: &'a Graph) -> Self {
        let ranks = graph.total.len();
        let mut rest: Vec<u32> = (0..ranks as u32).collect();
        rest.sort_unstable_by_key(|rank| (graph.total[*rank as usize], Reverse(*rank)));
        Self {
            graph,
            placed: vec![false; ranks],
            gain: vec![0; ranks],
            near: vec![0; ranks],
            group: BinaryHeap::new(),
            rim: BinaryHeap::new(),
            rest,
        }
    }

    fn start_group(&mut self) {
        for (_, _, Reverse(rank)) in self.group.drain() {
            self.gain[rank as usize] = 0;
        }
    }

    fn next(&mut self) -> Option<u32> {
        let current = |entry: &Entry, bytes: &[u64], placed: &[bool]| {
            let rank = entry.2.0 as usize;
            !placed[rank] && bytes[rank] == entry.0
        };
        let pop = |heap: &mut BinaryHeap<Entry>, bytes: &[u64]| {
            while let Some(entry) = heap.pop() {
                if current(&entry, bytes, &self.placed) {
                    return Some(entry.2.0);
                }
            }
            None
        };
        let mut chosen = pop(&mut self.group, &self.gain);
        if chosen.is_none() {
            chosen = pop(&mut self.rim, &self.near);
        }
        while chosen.is_none() {
            chosen = Some(self.rest.pop()?).filter(|rank| !self.placed[*rank as usize]);
        }
        self.place(chosen?);
        chosen
    }

    fn place(&mut self, rank: u32) {
        self.placed[rank as usize] = true;
        self.gain[rank as usize] = 0;
        for (other, bytes) in self.graph.neighbours(rank) {
            let i = *other as usize;
            if self.placed[i] {
                continue;
            }
            self.gain[i] += bytes;
            self.near[i] += bytes;
            let open = Reverse(self.graph.total[i] - self.near[i]);
            self.group.push((self.gain[i], open, Reverse(*other)));
            self.rim.push((self.near[i], open, Reverse(*other)));
        }
    }
}
