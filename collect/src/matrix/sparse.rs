//! Sparse ranks × ranks demand.

use std::ops::Range;

use crate::trace::Rank;
use crate::{Error, Result};

/// Traffic matrices: bytes and messages per ordered pair of ranks, without empty pairs.
///
/// Cells are stored in ascending (source, destination) order, so that iteration is deterministic
/// and merging two matrices is a merge of two sorted lists. A pair may have messages and no bytes
/// (barriers) but never bytes without a message. Pairs of equal traffic share its numbers, so a
/// cell of a dense pattern takes 8 bytes; one that is like no other takes 24.
#[derive(Clone, Debug, Default)]
pub struct TrafficMatrix {
    /// Ranks that send, ascending.
    sources: Vec<u32>,
    /// By place in `sources`: where the cells of the rank begin.
    starts: Vec<usize>,
    dst: Vec<u32>,
    /// By cell: place of its numbers in `values`.
    value: Vec<u32>,
    /// Messages and bytes.
    values: Vec<(u64, u64)>,
    /// Sums over all cells.
    messages: u64,
    bytes: u64,
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

impl PartialEq for TrafficMatrix {
    /// Equal matrices have equal cells; how they are stored may differ.
    fn eq(&self, other: &Self) -> bool {
        self.cells().eq(other.cells())
    }
}

impl Eq for TrafficMatrix {}

impl TrafficMatrix {
    /// Builds a matrix from cells in any order; cells of the same pair are summed.
    ///
    /// # Errors
    /// A sum over all pairs above 2⁶³−1, the largest value of an archive; a rank beyond 32 bits.
    pub fn from_cells(cells: impl IntoIterator<Item = Cell>) -> Result<Self> {
        let mut cells: Vec<Cell> = cells.into_iter().collect();
        // Cells mostly are in long ascending runs, which this sort uses.
        cells.sort_by_key(|cell| (cell.src, cell.dst));
        let (mut messages, mut bytes) = (0, 0);
        let (mut writer, mut last) = (CellWriter::default(), None::<Cell>);
        for cell in cells.into_iter().filter(|cell| (cell.messages, cell.bytes) != (0, 0)) {
            messages = checked_sum(messages, cell.messages, "messages")?;
            bytes = checked_sum(bytes, cell.bytes, "bytes")?;
            checked_pair(cell.src.0, cell.dst.0)?;
            match &mut last {
                Some(last) if (last.src, last.dst) == (cell.src, cell.dst) => {
                    last.messages += cell.messages;
                    last.bytes += cell.bytes;
                }
                _ => last.replace(cell).into_iter().for_each(|before| writer.push(before)),
            }
        }
        last.into_iter().for_each(|before| writer.push(before));
        Ok(writer.matrix)
    }

    /// Cells in ascending (source, destination) order.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = Cell> + '_ {
        let mut row = 0;
        (0..self.dst.len()).map(move |i| {
            // No row is empty.
            if self.starts.get(row + 1).is_some_and(|start| *start <= i) {
                row += 1;
            }
            self.cell(self.sources[row], i)
        })
    }

    #[inline]
    fn cell(&self, src: u32, i: usize) -> Cell {
        let (messages, bytes) = self.values[self.value[i] as usize];
        Cell { src: Rank(src), dst: Rank(self.dst[i]), messages, bytes }
    }

    /// The cells of one sender, in ascending order of destination.
    pub fn row(&self, src: Rank) -> impl ExactSizeIterator<Item = Cell> + '_ {
        self.row_range(src).map(move |i| self.cell(src.0, i))
    }

    fn row_range(&self, src: Rank) -> Range<usize> {
        match self.sources.binary_search(&src.0) {
            Ok(row) => self.starts[row]..self.starts.get(row + 1).copied().unwrap_or(self.dst.len()),
            Err(_) => 0..0,
        }
    }

    /// The cell of a pair, if it spoke.
    pub fn get(&self, src: Rank, dst: Rank) -> Option<Cell> {
        let row = self.row_range(src);
        let place = self.dst[row.clone()].binary_search(&dst.0).ok()?;
        Some(self.cell(src.0, row.start + place))
    }

    /// Number of pairs that spoke.
    pub fn len(&self) -> usize {
        self.dst.len()
    }

    /// True without any messages.
    pub fn is_empty(&self) -> bool {
        self.dst.is_empty()
    }

    /// All bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// All messages.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// The different numbers of messages and bytes that cells have, each with the number of those
    /// cells, in any order; the same numbers may come again.
    pub fn values(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let mut counts = vec![0; self.values.len()];
        self.value.iter().for_each(|value| counts[*value as usize] += 1);
        self.values.iter().zip(counts).map(|((messages, bytes), count)| (*messages, *bytes, count))
    }

    /// One more than the highest rank that occurs.
    pub fn ranks(&self) -> u32 {
        let highest = self.sources.last().into_iter().chain(&self.dst).max();
        highest.map_or(0, |rank| rank.saturating_add(1))
    }
}

/// Numbers of places where equal traffic of earlier cells is looked for: it bounds the time of a
/// cell, not the number of values. Patterns have a few values, or as many as cells.
const RECENT: usize = 1 << 10;

/// Writes cells in ascending order.
#[derive(Debug)]
pub(super) struct CellWriter {
    pub(super) matrix: TrafficMatrix,
    /// By a hash of the numbers: their place among the values, if they are still the latest there.
    recent: Vec<u32>,
}

impl Default for CellWriter {
    fn default() -> Self {
        Self { matrix: TrafficMatrix::default(), recent: vec![u32::MAX; RECENT] }
    }
}

impl CellWriter {
    pub(super) fn with_capacity(cells: usize) -> Self {
        let mut writer = Self::default();
        writer.matrix.dst.reserve_exact(cells);
        writer.matrix.value.reserve_exact(cells);
        writer
    }

    /// Adds a cell whose pair comes after the last one.
    pub(super) fn push(&mut self, cell: Cell) {
        let matrix = &mut self.matrix;
        if matrix.sources.last() != Some(&cell.src.0) {
            matrix.sources.push(cell.src.0);
            matrix.starts.push(matrix.dst.len());
        }
        let numbers = (cell.messages, cell.bytes);
        // Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4).
        let hash = (cell.bytes ^ cell.messages.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let recent = &mut self.recent[(hash >> 54) as usize];
        if matrix.values.get(*recent as usize) != Some(&numbers) {
            *recent = matrix.values.len() as u32; // at most one a cell, whose pairs are fewer
            matrix.values.push(numbers);
        }
        matrix.dst.push(cell.dst.0);
        matrix.value.push(*recent);
        // All sums of a matrix fit 63 bits.
        matrix.messages += cell.messages;
        matrix.bytes += cell.bytes;
    }
}

/// Source and destination 2³²−1: [`Error`], because ranks are counted in 32 bits.
pub(super) const NOBODY: u64 = u64::MAX;

/// Source and destination as one number.
#[inline]
pub(super) fn pair(src: u32, dst: u32) -> u64 {
    u64::from(src) << 32 | u64::from(dst)
}

/// The same, if it is not [`NOBODY`].
#[inline]
pub(super) fn checked_pair(src: u32, dst: u32) -> Result<u64> {
    let pair = pair(src, dst);
    if pair == NOBODY {
        return Err(Error::data(format!("rank {src} is beyond the largest, {}", u32::MAX - 1)));
    }
    Ok(pair)
}

pub(super) fn checked_sum(a: u64, b: u64, what: &str) -> Result<u64> {
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
        let values: u64 =
            matrix.values().map(|(messages, bytes, count)| count * (100 * messages + bytes)).sum();
        assert_eq!(values, 418);
        for rank in 0..5 {
            let row: Vec<Cell> = matrix.cells().filter(|cell| cell.src == Rank(rank)).collect();
            assert_eq!(matrix.row(Rank(rank)).collect::<Vec<_>>(), row);
            for dst in 0..5 {
                let of_pair = row.iter().find(|cell| cell.dst == Rank(dst)).copied();
                assert_eq!(matrix.get(Rank(rank), Rank(dst)), of_pair);
            }
        }
    }

    #[test]
    fn nothing_is_no_cell_and_a_rank_has_a_successor() {
        assert!(TrafficMatrix::from_cells([cell(0, 1, 0, 0)]).unwrap().is_empty());
        let error = TrafficMatrix::from_cells([cell(u32::MAX, u32::MAX, 1, 1)]).unwrap_err();
        assert_eq!(error.to_string(), "rank 4294967295 is beyond the largest, 4294967294");
    }

    #[test]
    fn a_sum_beyond_63_bits_is_refused() {
        let error = TrafficMatrix::from_cells([cell(0, 1, 1, 1 << 62), cell(0, 2, 1, 1 << 62)]).unwrap_err();
        assert!(error.to_string().starts_with("bytes sum up to more than 2^63-1"), "{error}");
    }
}
