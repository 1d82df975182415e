//! Sparse ranks × ranks demand.

use std::hash::{BuildHasher, RandomState};

use crate::trace::Rank;
use crate::{Error, Result};

/// Traffic matrices: bytes and messages per ordered pair of ranks, without empty pairs.
///
/// Stored as parallel columns in ascending (source, destination) order, so that iteration is
/// deterministic and merging two matrices is a merge of two sorted lists. A pair may have messages
/// and no bytes (barriers) but never bytes without a message.
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
    /// As [`MatrixBuilder::add`].
    pub fn from_cells(cells: impl IntoIterator<Item = Cell>) -> Result<Self> {
        let mut cells: Vec<Cell> = cells.into_iter().collect();
        // Cells mostly are in long ascending runs, which this sort uses.
        cells.sort_by_key(|cell| (cell.src, cell.dst));
        let (mut messages, mut bytes) = (0, 0);
        let mut matrix = Self::default();
        for cell in cells.into_iter().filter(|cell| (cell.messages, cell.bytes) != (0, 0)) {
            messages = checked_sum(messages, cell.messages, "messages")?;
            bytes = checked_sum(bytes, cell.bytes, "bytes")?;
            checked_pair(cell.src.0, cell.dst.0)?;
            matrix.push(cell);
        }
        Ok(matrix)
    }

    /// Adds a cell whose pair does not come before the last one.
    fn push(&mut self, cell: Cell) {
        let last = self.src.last().zip(self.dst.last());
        if last == Some((&cell.src.0, &cell.dst.0)) {
            let last = self.src.len() - 1;
            self.messages[last] += cell.messages;
            self.bytes[last] += cell.bytes;
            return;
        }
        self.src.push(cell.src.0);
        self.dst.push(cell.dst.0);
        self.messages.push(cell.messages);
        self.bytes.push(cell.bytes);
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

    /// True without any messages.
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
        highest.map_or(0, |rank| rank.saturating_add(1))
    }
}

/// Accumulates a [`TrafficMatrix`]; memory is proportional to the number of distinct pairs.
///
/// An open-addressing table of pairs: a message costs one multiplication and, nearly always, one
/// cache line. The multiplier is random, so a trace cannot be made whose pairs all collide; the
/// result does not depend on it.
#[derive(Clone, Debug)]
pub struct MatrixBuilder {
    /// A power of two of them, at most half in use.
    slots: Vec<Slot>,
    used: usize,
    multiplier: u64,
    messages: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    pair: u64,
    messages: u64,
    bytes: u64,
}

/// Source and destination 2³²−1: [`Error`], because ranks are counted in 32 bits.
const NOBODY: u64 = u64::MAX;

/// A free slot.
const FREE: Slot = Slot { pair: NOBODY, messages: 0, bytes: 0 };

impl Default for MatrixBuilder {
    fn default() -> Self {
        let multiplier = RandomState::new().hash_one(NOBODY) | 1;
        Self { slots: Vec::new(), used: 0, multiplier, messages: 0, bytes: 0 }
    }
}

impl MatrixBuilder {
    /// Adds a cell to its pair; an empty cell has no effect.
    ///
    /// # Errors
    /// A sum over all pairs above 2⁶³−1, the largest value of an archive; a rank beyond 32 bits.
    pub fn add(&mut self, cell: Cell) -> Result<()> {
        if (cell.messages, cell.bytes) == (0, 0) {
            return Ok(());
        }
        self.count(cell.messages, cell.bytes)?;
        let slot = self.slot(cell.src.0, cell.dst.0)?;
        slot.messages += cell.messages;
        slot.bytes += cell.bytes;
        Ok(())
    }

    /// Adds one message a row of three columns of equal length.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_messages(&mut self, src: &[u32], dst: &[u32], bytes: &[u64]) -> Result<()> {
        self.count(src.len() as u64, sum_of_bytes(bytes))?;
        for ((src, dst), bytes) in src.iter().zip(dst).zip(bytes) {
            let pair = pair(*src, *dst);
            let first = place(pair, self.multiplier, self.slots.len());
            let slot = match self.slots.get(first) {
                // Most pairs are in their first slot.
                Some(slot) if slot.pair == pair && pair != NOBODY => &mut self.slots[first],
                _ => self.slot(*src, *dst)?,
            };
            slot.messages += 1;
            slot.bytes += bytes;
        }
        Ok(())
    }

    /// The matrix of all that was added.
    pub fn finish(self) -> TrafficMatrix {
        let mut slots = self.slots;
        slots.retain(|slot| slot.pair != NOBODY);
        slots.sort_unstable_by_key(|slot| slot.pair);
        let mut matrix = TrafficMatrix::default();
        for slot in slots {
            let (src, dst) = (Rank((slot.pair >> 32) as u32), Rank(slot.pair as u32));
            matrix.push(Cell { src, dst, messages: slot.messages, bytes: slot.bytes });
        }
        matrix
    }

    fn count(&mut self, messages: u64, bytes: u64) -> Result<()> {
        self.messages = checked_sum(self.messages, messages, "messages")?;
        self.bytes = checked_sum(self.bytes, bytes, "bytes")?;
        Ok(())
    }

    #[inline]
    fn slot(&mut self, src: u32, dst: u32) -> Result<&mut Slot> {
        let pair = checked_pair(src, dst)?;
        if self.slots.is_empty() {
            self.grow();
        }
        let mut at = find(&self.slots, self.multiplier, pair);
        if self.slots[at].pair == NOBODY {
            if self.used * 2 >= self.slots.len() {
                self.grow();
                at = find(&self.slots, self.multiplier, pair);
            }
            self.used += 1;
            self.slots[at].pair = pair;
        }
        Ok(&mut self.slots[at])
    }

    #[cold]
    fn grow(&mut self) {
        let mut larger = vec![FREE; (self.slots.len() * 2).max(16)];
        for slot in self.slots.drain(..).filter(|slot| slot.pair != NOBODY) {
            let at = find(&larger, self.multiplier, slot.pair);
            larger[at] = slot;
        }
        self.slots = larger;
    }
}

/// The sum of some messages' bytes, at most 2⁶⁴−1.
pub fn sum_of_bytes(bytes: &[u64]) -> u64 {
    // The sums of the halves do not overflow, so the loop is vectorized.
    let halves =
        |(low, high): (u64, u64), bytes: &u64| (low + (bytes & u64::from(u32::MAX)), high + (bytes >> 32));
    let (low, high) = bytes.iter().fold((0, 0), halves);
    u64::try_from((u128::from(high) << 32) + u128::from(low)).unwrap_or(u64::MAX)
}

/// First slot of a `pair` among `slots`, a power of two of them or none.
#[inline]
fn place(pair: u64, multiplier: u64, slots: usize) -> usize {
    // The product's high bits depend on all bits of the pair.
    (pair.wrapping_mul(multiplier) >> 32) as usize & slots.wrapping_sub(1)
}

/// The slot of `pair`, or its free slot; `slots` are a power of two and not all in use.
#[inline]
fn find(slots: &[Slot], multiplier: u64, pair: u64) -> usize {
    let mask = slots.len() - 1;
    let mut at = place(pair, multiplier, slots.len());
    while slots[at].pair != pair && slots[at].pair != NOBODY {
        at = (at + 1) & mask;
    }
    at
}

/// Source and destination as one number.
#[inline]
fn pair(src: u32, dst: u32) -> u64 {
    u64::from(src) << 32 | u64::from(dst)
}

/// The same, if it is not [`NOBODY`].
#[inline]
fn checked_pair(src: u32, dst: u32) -> Result<u64> {
    let pair = pair(src, dst);
    if pair == NOBODY {
        return Err(Error::data(format!("rank {src} is beyond the largest, {}", u32::MAX - 1)));
    }
    Ok(pair)
}

fn checked_sum(a: u64, b: u64, what: &str) -> Result<u64> {
    a.checked_add(b)
        .filter(|sum| i64::try_from(*sum).is_ok())
        .ok_or_else(|| Error::data(format!("{what} sum up to more than 2^63-1: {a} + {b}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn cell(src: u32, dst: u32, messages: u64, bytes: u64) -> Cell {
        Cell { src: Rank(src), dst: Rank(dst), messages, bytes }
    }

    #[test]
    fn bytes_add_up_to_the_largest_number() {
        assert_eq!(sum_of_bytes(&[]), 0);
        assert_eq!(sum_of_bytes(&[1, u64::from(u32::MAX), 1 << 40, 7]), 8 + u64::from(u32::MAX) + (1 << 40));
        assert_eq!(sum_of_bytes(&[u64::MAX - 5, 3, 2]), u64::MAX);
        assert_eq!(sum_of_bytes(&[u64::MAX; 3]), u64::MAX);
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

    proptest! {
        #[test]
        fn the_table_sums_as_a_map_does(
            messages in prop::collection::vec((0u32..40, 0u32..40, 0u64..1000), 0..2000),
        ) {
            let mut oracle = BTreeMap::<(u32, u32), (u64, u64)>::new();
            for (src, dst, bytes) in &messages {
                let pair = oracle.entry((*src, *dst)).or_default();
                *pair = (pair.0 + 1, pair.1 + bytes);
            }
            let (src, dst): (Vec<u32>, Vec<u32>) = messages.iter().map(|m| (m.0, m.1)).unzip();
            let bytes: Vec<u64> = messages.iter().map(|m| m.2).collect();
            let mut builder = MatrixBuilder::default();
            builder.add_messages(&src, &dst, &bytes).unwrap();
            let expected = oracle.iter().map(|((src, dst), (n, bytes))| cell(*src, *dst, *n, *bytes));
            prop_assert_eq!(builder.finish().cells().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
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
