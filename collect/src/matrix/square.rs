//! The cells of all pairs of the first ranks, where most of them speak.

use rustc_hash::FxHashMap;

use super::sparse::Cell;
use crate::trace::Rank;

/// Messages and bytes of all pairs of the first ranks.
#[derive(Clone, Debug)]
pub(super) struct Square {
    ranks: u32,
    /// By source and destination.
    cells: Vec<SmallCell>,
    /// By place in `cells`: what its 32 bits do not hold.
    carry: FxHashMap<usize, (u64, u64)>,
}

/// The low 32 bits of messages and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SmallCell {
    messages: u32,
    bytes: u32,
}

impl Square {
    /// Memory of a cell.
    pub(super) const CELL_BYTES: usize = size_of::<SmallCell>();

    pub(super) fn new(ranks: u32) -> Self {
        let cells = vec![SmallCell::default(); ranks as usize * ranks as usize];
        Self { ranks, cells, carry: FxHashMap::default() }
    }

    /// Adds to a cell; false if a rank has no place.
    #[inline]
    pub(super) fn add(&mut self, src: u32, dst: u32, messages: u64, bytes: u64) -> bool {
        if src.max(dst) >= self.ranks {
            return false;
        }
        let at = src as usize * self.ranks as usize + dst as usize;
        let cell = &mut self.cells[at];
        // All sums of a builder fit 63 bits.
        let (messages, bytes) = (u64::from(cell.messages) + messages, u64::from(cell.bytes) + bytes);
        (cell.messages, cell.bytes) = (messages as u32, bytes as u32);
        let high = (messages >> 32, bytes >> 32);
        if high != (0, 0) {
            let carry = self.carry.entry(at).or_default();
            *carry = (carry.0 + high.0, carry.1 + high.1);
        }
        true
    }

    /// Number of cells that are not empty. The low bits of one with a carry may be 0.
    pub(super) fn used(&self) -> usize {
        let empty = SmallCell::default();
        let carried = self.carry.keys().filter(|at| self.cells[**at] == empty).count();
        carried + self.cells.iter().filter(|cell| **cell != empty).count()
    }

    /// The cells that are not empty, in ascending order.
    pub(super) fn for_each(&self, mut each: impl FnMut(Cell)) {
        for (row, src) in self.cells.chunks_exact((self.ranks as usize).max(1)).zip(0..) {
            for (cell, dst) in row.iter().zip(0..) {
                let at = src as usize * self.ranks as usize + dst as usize;
                let (mut messages, mut bytes) = (u64::from(cell.messages), u64::from(cell.bytes));
                if !self.carry.is_empty()
                    && let Some(carry) = self.carry.get(&at)
                {
                    (messages, bytes) = (messages + (carry.0 << 32), bytes + (carry.1 << 32));
                }
                if (messages, bytes) != (0, 0) {
                    each(Cell { src: Rank(src), dst: Rank(dst), messages, bytes });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(src: u32, dst: u32, messages: u64, bytes: u64) -> Cell {
        Cell { src: Rank(src), dst: Rank(dst), messages, bytes }
    }

    #[test]
    fn a_cell_of_a_square_whose_low_bits_are_0_is_there() {
        let mut square = Square::new(2);
        assert!(square.add(1, 0, 1 << 32, 3 << 32));
        assert!(!square.add(2, 0, 1, 1) && !square.add(0, 2, 1, 1));
        let mut found = Vec::new();
        square.for_each(|cell| found.push(cell));
        assert_eq!((square.used(), found), (1, vec![cell(1, 0, 1 << 32, 3 << 32)]));
    }
}
