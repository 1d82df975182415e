//! Accumulates a matrix message by message.

use std::hash::{BuildHasher, RandomState};

use super::sparse::{Cell, CellWriter, NOBODY, TrafficMatrix, checked_pair, checked_sum, pair};
use super::square::Square;
use crate::Result;
use crate::trace::Rank;

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
        let room = (slots * size_of::<Slot>() / Square::CELL_BYTES) as u64;
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

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
}
