//! Sparse ranks × ranks demand.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use rustc_hash::FxHashMap;

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
    /// As [`MatrixBuilder::add`].
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
struct CellWriter {
    matrix: TrafficMatrix,
    /// By a hash of the numbers: their place among the values, if they are still the latest there.
    recent: Vec<u32>,
}

impl Default for CellWriter {
    fn default() -> Self {
        Self { matrix: TrafficMatrix::default(), recent: vec![u32::MAX; RECENT] }
    }
}

impl CellWriter {
    fn with_capacity(cells: usize) -> Self {
        let mut writer = Self::default();
        writer.matrix.dst.reserve_exact(cells);
        writer.matrix.value.reserve_exact(cells);
        writer
    }

    /// Adds a cell whose pair comes after the last one.
    fn push(&mut self, cell: Cell) {
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

/// Accumulates a [`TrafficMatrix`]; memory is proportional to the number of distinct pairs.
///
/// An open-addressing table of pairs: a message costs one multiplication and, nearly always, one
/// cache line. The multiplier is random, so a trace cannot be made whose pairs all collide; the
/// result does not depend on it. Once most pairs of ranks speak, a square of cells takes the place
/// of the table.
#[derive(Clone, Debug)]
pub struct MatrixBuilder {
    /// A power of two of them, at most half in use; none beside a square.
    slots: Vec<Slot>,
    used: usize,
    multiplier: u64,
    square: Option<Square>,
    messages: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    pair: u64,
    messages: u64,
    bytes: u64,
}

/// Messages and bytes of all pairs of the first ranks.
#[derive(Clone, Debug)]
struct Square {
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

/// Source and destination 2³²−1: [`Error`], because ranks are counted in 32 bits.
const NOBODY: u64 = u64::MAX;

/// A free slot.
const FREE: Slot = Slot { pair: NOBODY, messages: 0, bytes: 0 };

impl Default for MatrixBuilder {
    fn default() -> Self {
        let multiplier = RandomState::new().hash_one(NOBODY) | 1;
        Self { slots: Vec::new(), used: 0, multiplier, square: None, messages: 0, bytes: 0 }
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
        self.add_to(cell.src.0, cell.dst.0, cell.messages, cell.bytes)
    }

    /// Adds one message a row of three columns of equal length.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_messages(&mut self, src: &[u32], dst: &[u32], bytes: &[u64]) -> Result<()> {
        self.count(src.len() as u64, sum_of_bytes(bytes))?;
        for ((src, dst), bytes) in src.iter().zip(dst).zip(bytes) {
            if let Some(square) = &mut self.square
                && square.add(*src, *dst, 1, *bytes)
            {
                continue;
            }
            let pair = pair(*src, *dst);
            let first = place(pair, self.multiplier, self.slots.len());
            match self.slots.get_mut(first) {
                // Most pairs are in their first slot.
                Some(slot) if slot.pair == pair && pair != NOBODY => {
                    slot.messages += 1;
                    slot.bytes += bytes;
                }
                _ => self.add_to(*src, *dst, 1, *bytes)?,
            }
        }
        Ok(())
    }

    #[inline]
    fn add_to(&mut self, src: u32, dst: u32, messages: u64, bytes: u64) -> Result<()> {
        if let Some(square) = &mut self.square {
            if square.add(src, dst, messages, bytes) {
                return Ok(());
            }
            self.leave_square();
        }
        match self.slot(src, dst)? {
            Some(slot) => {
                slot.messages += messages;
                slot.bytes += bytes;
                Ok(())
            }
            None => self.add_to(src, dst, messages, bytes),
        }
    }

    /// The matrix of all that was added.
    pub fn finish(mut self) -> TrafficMatrix {
        if let Some(square) = self.square.take() {
            let mut writer = CellWriter::with_capacity(square.used());
            square.for_each(|cell| writer.push(cell));
            return writer.matrix;
        }
        let mut slots = self.slots;
        slots.retain(|slot| slot.pair != NOBODY);
        slots.sort_unstable_by_key(|slot| slot.pair);
        let mut writer = CellWriter::with_capacity(slots.len());
        slots.iter().for_each(|slot| writer.push(slot.cell()));
        writer.matrix
    }

    fn count(&mut self, messages: u64, bytes: u64) -> Result<()> {
        self.messages = checked_sum(self.messages, messages, "messages")?;
        self.bytes = checked_sum(self.bytes, bytes, "bytes")?;
        Ok(())
    }

    /// The slot of a pair; `None` once a square has taken the place of the table.
    fn slot(&mut self, src: u32, dst: u32) -> Result<Option<&mut Slot>> {
        let pair = checked_pair(src, dst)?;
        if self.slots.is_empty() {
            self.grow(src.max(dst));
        }
        let mut at = find(&self.slots, self.multiplier, pair);
        if self.slots[at].pair == NOBODY {
            if self.used * 2 >= self.slots.len() {
                self.grow(src.max(dst));
                if self.square.is_some() {
                    return Ok(None);
                }
                at = find(&self.slots, self.multiplier, pair);
            }
            self.used += 1;
            self.slots[at].pair = pair;
        }
        Ok(Some(&mut self.slots[at]))
    }

    /// Doubles the table, or changes to a square where that is smaller; `rank` comes next.
    #[cold]
    fn grow(&mut self, rank: u32) {
        let slots = (self.slots.len() * 2).max(16);
        let used = || self.slots.iter().filter(|slot| slot.pair != NOBODY);
        let highest = used().map(|slot| (slot.pair >> 32).max(slot.pair & u64::from(u32::MAX))).max();
        let ranks = highest.unwrap_or(0).max(u64::from(rank)) + 1;
        let room = (slots * size_of::<Slot>() / size_of::<SmallCell>()) as u64;
        if slots >= LEAST_SLOTS && ranks.checked_mul(ranks).is_some_and(|cells| cells <= room) {
            let mut square = Square::new(ranks as u32);
            for Cell { src, dst, messages, bytes } in used().map(Slot::cell) {
                square.add(src.0, dst.0, messages, bytes);
            }
            (self.slots, self.used, self.square) = (Vec::new(), 0, Some(square));
            return;
        }
        let mut larger = vec![FREE; slots];
        for slot in self.slots.drain(..).filter(|slot| slot.pair != NOBODY) {
            let at = find(&larger, self.multiplier, slot.pair);
            larger[at] = slot;
        }
        self.slots = larger;
    }

    /// Changes back to a table: a rank has come that the square has no room for.
    #[cold]
    fn leave_square(&mut self) {
        let Some(square) = self.square.take() else { return };
        self.used = square.used();
        self.slots = vec![FREE; (self.used * 2).next_power_of_two().max(16)];
        let (slots, multiplier) = (&mut self.slots, self.multiplier);
        square.for_each(|cell| {
            let pair = pair(cell.src.0, cell.dst.0);
            let at = find(slots, multiplier, pair);
            slots[at] = Slot { pair, messages: cell.messages, bytes: cell.bytes };
        });
    }
}

/// Slots of the smallest table that a square replaces: smaller ones stay in the cache.
const LEAST_SLOTS: usize = 1 << 12;

impl Slot {
    fn cell(&self) -> Cell {
        let (src, dst) = (Rank((self.pair >> 32) as u32), Rank(self.pair as u32));
        Cell { src, dst, messages: self.messages, bytes: self.bytes }
    }
}

impl Square {
    fn new(ranks: u32) -> Self {
        let cells = vec![SmallCell::default(); ranks as usize * ranks as usize];
        Self { ranks, cells, carry: FxHashMap::default() }
    }

    /// Adds to a cell; false if a rank has no place.
    #[inline]
    fn add(&mut self, src: u32, dst: u32, messages: u64, bytes: u64) -> bool {
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
    fn used(&self) -> usize {
        let empty = SmallCell::default();
        let carried = self.carry.keys().filter(|at| self.cells[**at] == empty).count();
        carried + self.cells.iter().filter(|cell| **cell != empty).count()
    }

    /// The cells that are not empty, in ascending order.
    fn for_each(&self, mut each: impl FnMut(Cell)) {
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

    proptest! {
        // Dense enough for squares, ranks that come late, and numbers beyond 32 bits.
        #[test]
        fn squares_sum_as_a_map_does(
            (few, many) in (40_u32..90, 90_u32..140),
            more in prop::collection::vec((0_u32..140, 0_u32..140, 0_u64..1 << 40), 0..3000),
        ) {
            let dense = |ranks: u32| (0..ranks).flat_map(move |src| (0..ranks).map(move |dst| (src, dst, 7)));
            let all = || dense(few).chain(more.iter().copied()).chain(dense(many));
            let mut oracle = BTreeMap::<(u32, u32), (u64, u64)>::new();
            let mut builder = MatrixBuilder::default();
            for (src, dst, bytes) in all() {
                let pair = oracle.entry((src, dst)).or_default();
                *pair = (pair.0 + 1, pair.1 + bytes);
                builder.add_messages(&[src], &[dst], &[bytes]).unwrap();
            }
            let expected: Vec<Cell> =
                oracle.iter().map(|((src, dst), (n, bytes))| cell(*src, *dst, *n, *bytes)).collect();
            let matrix = builder.finish();
            prop_assert_eq!(matrix.cells().collect::<Vec<_>>(), &expected[..]);
            prop_assert_eq!(matrix, TrafficMatrix::from_cells(expected).unwrap());
        }
    }

    // A table doubles at a power of two of cells, and only then becomes a square: 128 ranks pass
    // one.
    #[test]
    fn pairs_of_all_ranks_take_a_square() {
        let mut builder = MatrixBuilder::default();
        for (src, dst) in (0..130).flat_map(|src| (0..130).map(move |dst| (src, dst))) {
            builder.add_messages(&[src], &[dst], &[7]).unwrap();
        }
        assert!(builder.square.is_some());
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
