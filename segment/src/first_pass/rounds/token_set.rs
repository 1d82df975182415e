//! Sets of tokens in bounded memory.

use crate::first_pass::window::sketch::scatter;

/// Bits of a set.
const BITS: usize = 8192;

/// A set of tokens, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenSet(Box<[u64; BITS / 64]>);

impl Default for TokenSet {
    fn default() -> Self {
        Self(Box::new([0; BITS / 64]))
    }
}

impl TokenSet {
    /// Adds the token of this number.
    #[inline]
    pub(crate) fn insert(&mut self, token: u32) {
        let (word, bit) = place(token);
        self.0[word] |= bit;
    }

    /// Whether it holds the token of this number, or one that shares its bit.
    #[inline]
    pub(crate) fn holds(&self, token: u32) -> bool {
        let (word, bit) = place(token);
        self.0[word] & bit != 0
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0.iter()).for_each(|(own, other)| *own |= other);
    }

    fn bits(&self) -> f64 {
        f64::from(self.0.iter().map(|word| word.count_ones()).sum::<u32>())
    }

    /// The chance, from 0 to 1, that it seems to hold a token that was not added.
    pub(crate) fn by_chance(&self) -> f64 {
        self.bits() / BITS as f64
    }

    /// About how many tokens it holds: tokens share bits by chance, so there are more tokens than
    /// bits (linear counting: Whang, Vander-Zanden and Taylor, ACM TODS 15, 1990).
    pub(crate) fn len(&self) -> f64 {
        let free = (BITS as f64 - self.bits()).max(1.0);
        BITS as f64 * (BITS as f64 / free).ln()
    }

    /// What part of another set's tokens it holds, from 0 to 1. A full set holds the bit of any
    /// token by chance, which says nothing.
    pub(crate) fn part_of(&self, other: &Self) -> f64 {
        let common = self.0.iter().zip(other.0.iter()).map(|(own, other)| (own & other).count_ones());
        let by_chance = self.by_chance();
        let part = f64::from(common.sum::<u32>()) / other.bits().max(1.0);
        ((part - by_chance) / (1.0 - by_chance).max(1.0 / BITS as f64)).max(0.0)
    }
}

/// The word and the bit of a token in a set.
#[inline]
fn place(token: u32) -> (usize, u64) {
    let bit = scatter(u64::from(token)) as usize % BITS;
    (bit / 64, 1 << (bit % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_tokens() {
        let of = |tokens: std::ops::Range<u32>| {
            let mut set = TokenSet::default();
            tokens.for_each(|token| set.insert(token));
            set
        };
        let (one, mut other) = (of(0..60), of(40..100));
        assert!((58.0..=61.0).contains(&one.len()));
        assert!((19.0 / 60.0..=22.0 / 60.0).contains(&one.part_of(&other)), "{}", one.part_of(&other));
        other.merge(&one);
        assert!((other.part_of(&one) - 1.0).abs() < 1e-9);
        // Of 16 000 tokens, nearly all bits are set; other tokens are not among them.
        let many = of(1000..17_000);
        assert!((many.len() / 16_000.0 - 1.0).abs() < 0.1, "{}", many.len());
        assert!(many.part_of(&of(100_000..100_500)) < 0.3);
        // One token sets one of 8192 bits.
        let one = of(7..8);
        assert!(one.holds(7) && !one.holds(8) && (one.by_chance() * 8192.0 - 1.0).abs() < 1e-9);
    }
}
