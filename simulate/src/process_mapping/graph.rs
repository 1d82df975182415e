//! The communication graph: ranks, and the bytes that they exchange.

use phaseflow_collect::TrafficMatrix;

/// Undirected bytes between ranks in CSR form; a pair may occur twice.
pub(super) struct Graph {
    offsets: Vec<usize>,
    neighbours: Vec<(u32, u64)>,
    /// Bytes exchanged by rank.
    pub(super) total: Vec<u64>,
}

impl Graph {
    pub(super) fn new(ranks: usize, matrix: &TrafficMatrix) -> Self {
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

    pub(super) fn neighbours(&self, rank: u32) -> &[(u32, u64)] {
        &self.neighbours[self.offsets[rank as usize]..self.offsets[rank as usize + 1]]
    }
}
