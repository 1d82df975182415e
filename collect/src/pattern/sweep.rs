//! Wavefronts over the most square grid, one from each corner in turn: discrete-ordinates transport
//! (SN) on a two-dimensional decomposition, as in KBA (Koch, Baker, Alcouffe 1992) and the
//! benchmark Sweep3D.
//!
//! In a sweep, the ranks of one diagonal send along the row, then along the column, and then the
//! next diagonal follows: most ranks wait most of the time.

use super::{Pattern, grid};

pub(super) struct Sweep {
    rows: u32,
    columns: u32,
    bytes: u64,
}

impl Sweep {
    pub(super) fn new(ranks: u32, bytes: u64) -> Self {
        let [rows, columns] = grid::most_square(ranks);
        Self { rows, columns, bytes }
    }

    /// Diagonals that send anything: all but the last, the far corner.
    fn diagonals(&self) -> u32 {
        self.rows + self.columns - 2
    }
}

impl Pattern for Sweep {
    fn steps(&self) -> u32 {
        4 * 2 * self.diagonals()
    }

    fn send(&self, step: u32, src: u32) -> Option<(u32, u64)> {
        let (corner, step) = (step / (2 * self.diagonals()), step % (2 * self.diagonals()));
        let (diagonal, along_row) = (step / 2, step.is_multiple_of(2));
        // Seen from the corner where the sweep starts.
        let mirror = |row: u32, column: u32| {
            let row = if corner / 2 == 0 { row } else { self.rows - 1 - row };
            let column = if corner.is_multiple_of(2) { column } else { self.columns - 1 - column };
            (row, column)
        };
        let (row, column) = mirror(src / self.columns, src % self.columns);
        if row + column != diagonal {
            return None;
        }
        let (to_row, to_column) = if along_row { (row, column + 1) } else { (row + 1, column) };
        if to_row == self.rows || to_column == self.columns {
            return None;
        }
        let (to_row, to_column) = mirror(to_row, to_column);
        Some((to_row * self.columns + to_column, self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_sends_only_after_it_has_received() {
        let sweep = Sweep::new(12, 8); // 3×4
        let per_corner = sweep.steps() / 4;
        for corner in 0..4 {
            let mut reached = [0; 12];
            for step in corner * per_corner..(corner + 1) * per_corner {
                for src in 0..12 {
                    if let Some((dst, _)) = sweep.send(step, src) {
                        assert!(reached[src as usize] <= step, "{src} sends in step {step}");
                        reached[dst as usize] = reached[dst as usize].max(step + 1);
                    }
                }
            }
            // All ranks except the corner are reached.
            assert_eq!(reached.iter().filter(|step| **step == 0).count(), 1, "corner {corner}");
        }
    }
}
