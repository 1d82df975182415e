//! Transposing a matrix that is spread over the most square grid of ranks: place (i, j) of r×c
//! sends to (j, i) of c×r. Places that stay where they are (the diagonal of a square grid) send
//! nothing.

use super::{Pattern, grid};
use crate::{Error, Result};

pub(super) struct Transpose {
    rows: u32,
    columns: u32,
    bytes: u64,
}

impl Transpose {
    pub(super) fn new(ranks: u32, bytes: u64) -> Result<Self> {
        let [rows, columns] = grid::most_square(ranks);
        if rows == 1 {
            return Err(Error::usage(format!(
                "transpose needs a grid, but {ranks} ranks, a prime number, only have 1×{ranks}"
            )));
        }
        Ok(Self { rows, columns, bytes })
    }
}

impl Pattern for Transpose {
    fn steps(&self) -> u32 {
        1
    }

    fn send(&self, _: u32, src: u32) -> Option<(u32, u64)> {
        let (row, column) = (src / self.columns, src % self.columns);
        let dst = column * self.rows + row;
        (dst != src).then_some((dst, self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // 0 1 2      0 3
        // 3 4 5  ->  1 4   : rank 1 holds place (0, 1), which is place (1, 0) of 3×2, rank 2.
        //            2 5
        let transpose = Transpose::new(6, 8).unwrap();
        let sent: Vec<_> = (0..6).map(|src| transpose.send(0, src).map(|(dst, _)| dst)).collect();
        assert_eq!(sent, [None, Some(2), Some(4), Some(1), Some(3), None]);
        let square = Transpose::new(16, 8).unwrap();
        assert_eq!((0..16).filter(|src| square.send(0, *src).is_some()).count(), 12);
    }
}
