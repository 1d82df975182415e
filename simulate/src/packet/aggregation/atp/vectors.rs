//! The numbers in packets and aggregators, if results are verified.
//!
//! A packet, an aggregator and a server's slot own one block each; without checks all blocks are
//! [`NONE`]. A block whose packet is lost is not found again: with checks, memory grows by 248
//! bytes for each packet lost.

use super::header::LANES;
use crate::packet::arena::NONE;

/// What a packet carries: integers, or the bits of floats.
pub(super) type Block = [i32; LANES];

/// Blocks by number, and which numbers are free.
#[derive(Clone, Debug, Default)]
pub(super) struct Vectors {
    blocks: Vec<Block>,
    free: Vec<u32>,
}

impl Vectors {
    pub(super) fn insert(&mut self, block: Block) -> u32 {
        let id = self.free.pop().unwrap_or(self.blocks.len() as u32);
        match self.blocks.get_mut(id as usize) {
            Some(place) => *place = block,
            None => self.blocks.push(block),
        }
        id
    }

    /// The block; `None` for [`NONE`].
    pub(super) fn get(&self, id: u32) -> Option<&Block> {
        self.blocks.get(id as usize)
    }

    /// Forgets a block.
    #[inline]
    pub(super) fn release(&mut self, id: u32) {
        if id != NONE {
            self.free.push(id);
        }
    }

    /// Another block of the same numbers.
    #[inline]
    pub(super) fn copy(&mut self, id: u32) -> u32 {
        match self.get(id) {
            Some(block) => self.insert(*block),
            None => NONE,
        }
    }

    /// Adds `part` to `sum`, number by number, and forgets `part`.
    #[inline]
    pub(super) fn add(&mut self, sum: u32, part: u32, add: fn(i32, i32) -> i32) {
        if part == NONE {
            return;
        }
        let part_block = self.blocks[part as usize];
        if let Some(block) = self.blocks.get_mut(sum as usize) {
            block.iter_mut().zip(part_block).for_each(|(sum, part)| *sum = add(*sum, part));
        }
        self.release(part);
    }

    /// True if some number has left the range of integers.
    pub(super) fn is_saturated(&self, id: u32) -> bool {
        self.get(id).is_some_and(|block| block.iter().any(|lane| is_saturated(*lane)))
    }

    /// Blocks in use.
    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        self.blocks.len() - self.free.len()
    }
}

/// What the server takes for an overflow.
fn is_saturated(lane: i32) -> bool {
    lane == i32::MAX || lane == i32::MIN
}

/// The addition of a switch. A sum beyond the range stays at its end. Plain saturating registers
/// return from it, which gives wrong results without a sign of them.
pub(super) fn add_integers(a: i32, b: i32) -> i32 {
    if is_saturated(a) {
        return a;
    }
    if is_saturated(b) { b } else { a.saturating_add(b) }
}

/// A server adds raw floats.
pub(super) fn add_floats(a: i32, b: i32) -> i32 {
    let float = |bits: i32| f32::from_bits(bits.cast_unsigned());
    (float(a) + float(b)).to_bits().cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_overflown_never_comes_back() {
        assert_eq!(add_integers(i32::MAX - 1, 1), i32::MAX);
        assert_eq!(add_integers(i32::MAX, -5), i32::MAX);
        assert_eq!(add_integers(7, i32::MIN), i32::MIN);
        assert_eq!(add_integers(i32::MIN + 5, -5), i32::MIN);
        assert_eq!(add_integers(3, -5), -2);
    }

    #[test]
    fn blocks_are_added_copied_and_forgotten() {
        let mut vectors = Vectors::default();
        let (a, b) = (vectors.insert([1; LANES]), vectors.insert([2; LANES]));
        let c = vectors.copy(a);
        vectors.add(a, b, add_integers);
        assert_eq!((vectors.get(a), vectors.get(c)), (Some(&[3; LANES]), Some(&[1; LANES])));
        assert_eq!(vectors.used(), 2);
        vectors.add(NONE, NONE, add_integers);
        assert_eq!((vectors.copy(NONE), vectors.is_saturated(NONE)), (NONE, false));
        let bits = |x: f32| x.to_bits().cast_signed();
        assert_eq!(add_floats(bits(1.5), bits(-0.25)), bits(1.25));
    }
}
