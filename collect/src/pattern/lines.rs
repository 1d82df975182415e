//! `MPI_Alltoall` within each row, or each column, of the most square grid: the transposes of a
//! multidimensional Fourier transform over pencils (Pekurovsky, SIAM J. Sci. Comput. 2012).

use super::{Pattern, grid};
use crate::trace::Operation;
use crate::{Error, Result};

pub(super) struct Lines {
    /// Members of a line, and by how much their numbers differ.
    length: u32,
    stride: u32,
    bytes: u64,
}

impl Lines {
    pub(super) fn rows(ranks: u32, bytes: u64) -> Self {
        let [_, columns] = grid::most_square(ranks);
        Self { length: columns, stride: 1, bytes }
    }

    /// # Errors
    /// A prime number of ranks: one row.
    pub(super) fn columns(ranks: u32, bytes: u64) -> Result<Self> {
        let [rows, columns] = grid::most_square(ranks);
        if rows == 1 {
            return Err(Error::usage(format!(
                "columns need a grid, but {ranks} ranks, a prime number, only have 1×{ranks}"
            )));
        }
        Ok(Self { length: rows, stride: columns, bytes })
    }
}

impl Pattern for Lines {
    fn steps(&self) -> u32 {
        self.length - 1
    }

    fn send(&self, step: u32, src: u32) -> Option<(u32, u64)> {
        let place = src / self.stride % self.length;
        let other = (place + 1 + step) % self.length;
        Some((src - place * self.stride + other * self.stride, self.bytes))
    }

    fn collective(&self, _: u32) -> Option<(Operation, u64)> {
        Some((Operation::Alltoall, self.bytes.saturating_mul(u64::from(self.length))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_by_hand() {
        // 0 1 2
        // 3 4 5
        let of = |lines: &Lines, src| -> Vec<u32> {
            (0..lines.steps()).filter_map(|step| lines.send(step, src)).map(|(dst, _)| dst).collect()
        };
        assert_eq!(of(&Lines::rows(6, 8), 4), [5, 3]);
        assert_eq!(of(&Lines::columns(6, 8).unwrap(), 4), [1]);
        assert!(Lines::columns(7, 8).is_err());
    }
}
