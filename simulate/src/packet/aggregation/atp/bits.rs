//! A bit for each packet in a window.

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// Room for `bits` in a row.
    pub(super) fn new(bits: u32) -> Self {
        let words = bits.div_ceil(64) as usize;
        Self { words: vec![0; if words == 0 { 0 } else { words.next_power_of_two() }] }
    }

    /// Its word, and where in that.
    #[inline]
    fn place(&self, number: u32) -> (usize, u32) {
        ((number as usize / 64) & self.words.len().wrapping_sub(1), number % 64)
    }

    #[inline]
    pub(super) fn has(&self, number: u32) -> bool {
        let (word, bit) = self.place(number);
        self.words.get(word).is_some_and(|word| word >> bit & 1 != 0)
    }

    #[inline]
    pub(super) fn set(&mut self, number: u32, value: bool) {
        let (word, bit) = self.place(number);
        if let Some(word) = self.words.get_mut(word) {
            *word = *word & !(1 << bit) | u64::from(value) << bit;
        }
    }

    /// The first one that is set, or `to`.
    pub(super) fn first(&self, from: u32, to: u32) -> u32 {
        let mut number = from;
        while number < to {
            let (word, bit) = self.place(number);
            match self.words.get(word).map_or(0, |word| word >> bit) {
                0 => number = number.saturating_add(64 - bit),
                rest => return to.min(number + rest.trailing_zeros()),
            }
        }
        to
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bits_are_found(set in prop::collection::btree_set(0_u32..500, 0..9), from in 0_u32..300, room in 1_u32..129) {
            let mut bits = Bits::new(room);
            let room = bits.words.len() as u32 * 64;
            let to = from + room;
            for number in set.range(from..to) {
                bits.set(*number, true);
            }
            for number in from..to {
                prop_assert_eq!(bits.has(number), set.contains(&number));
                prop_assert_eq!(bits.first(number, to), set.range(number..to).next().copied().unwrap_or(to));
            }
        }
    }
}
