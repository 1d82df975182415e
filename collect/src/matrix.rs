//! Sparse ranks × ranks demand.

use std::collections::HashMap;

use crate::trace::Rank;
use crate::{Error, Result};

/// How much each rank sent to each other one: bytes and messages per ordered pair, only pairs that spoke.
///
/// Stored as parallel columns in ascending (source, destination) order, so that iteration is deterministic and merging
/// two matrices is a merge of two sorted lists. A pair may have messages and no bytes (barriers) but never bytes without
/// a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrafficMatrix {
    src: Vec<u32>,
    dst: Vec<u32>,
    messages: Vec<u64>,
    bytes: Vec<u64>,
}

/// One cell of a [`TrafficMatrix`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Sender.
    pub src: Rank,
    /// Receiver.
    pub dst: Rank,
    /// Number of messages.
    pub messages: u64,
    /// Their bytes together.
    pub bytes: u64,
}

impl TrafficMatrix {
    /// Builds a matrix from cells in any order; cells of the same pair are summed.
    ///
    /// # Errors
    /// A sum of bytes or messages beyond 2⁶³−1.
    pub fn from_cells(cells: impl IntoIterator<Item = Cell>) -> Result<Self> {
        let mut builder = MatrixBuilder::default();
        for cell in cells {
            builder.add(cell)?;
        }
        Ok(builder.finish())
    }

    /// Cells in ascending (source, destination) order.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = Cell> + '_ {
        (0..self.src.len()).map(|i| self.cell(i))
    }

    fn cell(&self, i: usize) -> Cell {
        Cell {
            src: Rank(self.src[i]),
            dst: Rank(self.dst[i]),
            messages: self.messages[i],
            bytes: self.bytes[i],
        }
    }

    /// The cells of one sender, in ascending order of destination.
    pub fn row(&self, src: Rank) -> impl ExactSizeIterator<Item = Cell> + '_ {
        let start = self.src.partition_point(|other| *other < src.0);
        let len = self.src[start..].partition_point(|other| *other == src.0);
        (start..start + len).map(|i| self.cell(i))
    }

    /// Number of pairs that spoke.
    pub fn len(&self) -> usize {
        self.src.len()
    }

    /// True if nobody spoke.
    pub fn is_empty(&self) -> bool {
        self.src.is_empty()
    }

    /// All bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes.iter().sum()
    }

    /// All messages.
    pub fn messages(&self) -> u64 {
        self.messages.iter().sum()
    }

    /// One more than the highest rank that occurs.
    pub fn ranks(&self) -> u32 {
        let highest = self.src.iter().chain(&self.dst).max();
        highest.map_or(0, |rank| rank + 1)
    }
}

/// Accumulates a [`TrafficMatrix`]; memory is proportional to the number of distinct pairs.
#[derive(Clone, Debug, Default)]
pub struct MatrixBuilder {
    cells: HashMap<u64, (u64, u64)>,
    messages: u64,
    bytes: u64,
}

impl MatrixBuilder {
    /// Adds a cell to what its pair has so far.
    ///
    /// # Errors
    /// The sum over all pairs would pass 2⁶³−1, the largest value an archive stores.
    pub fn add(&mut self, cell: Cell) -> Result<()> {
        self.messages = checked_sum(self.messages, cell.messages, "messages")?;
        self.bytes = checked_sum(self.bytes, cell.bytes, "bytes")?;
        let pair = self.cells.entry(u64::from(cell.src.0) << 32 | u64::from(cell.dst.0)).or_default();
        pair.0 += cell.messages;
        pair.1 += cell.bytes;
        Ok(())
    }

    /// The matrix of all that was added.
    pub fn finish(self) -> TrafficMatrix {
        let mut cells: Vec<(u64, (u64, u64))> = self.cells.into_iter().collect();
        cells.sort_unstable_by_key(|cell| cell.0);
        let mut matrix = TrafficMatrix::default();
        for (pair, (messages, bytes)) in cells {
            matrix.src.push((pair >> 32) as u32);
            matrix.dst.push(pair as u32);
            matrix.messages.push(messages);
            matrix.bytes.push(bytes);
        }
        matrix
    }
}

fn checked_sum(a: u64, b: u64, what: &str) -> Result<u64> {
    a.checked_add(b)
        .filter(|sum| i64::try_from(*sum).is_ok())
        .ok_or_else(|| Error::data(format!("{what} sum up to more than 2^63-1: {a} + {b}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(src: u32, dst: u32, messages: u64, bytes: u64) -> Cell {
        Cell { src: Rank(src), dst: Rank(dst), messages, bytes }
    }

    #[test]
    fn cells_are_sorted_and_summed() {
        let matrix =
            TrafficMatrix::from_cells([cell(2, 0, 1, 5), cell(0, 1, 1, 7), cell(2, 0, 2, 6)]).unwrap();
        assert_eq!(matrix.cells().collect::<Vec<_>>(), [cell(0, 1, 1, 7), cell(2, 0, 3, 11)]);
        assert_eq!((matrix.bytes(), matrix.messages(), matrix.ranks()), (18, 4, 3));
        for rank in 0..5 {
            let row: Vec<Cell> = matrix.cells().filter(|cell| cell.src == Rank(rank)).collect();
            assert_eq!(matrix.row(Rank(rank)).collect::<Vec<_>>(), row);
        }
    }

    #[test]
    fn a_sum_beyond_63_bits_is_refused() {
        let error = TrafficMatrix::from_cells([cell(0, 1, 1, 1 << 62), cell(0, 2, 1, 1 << 62)]).unwrap_err();
        assert!(error.to_string().starts_with("bytes sum up to more than 2^63-1"), "{error}");
    }
}
