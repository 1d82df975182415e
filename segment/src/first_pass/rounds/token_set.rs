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

    /// The numbers of the bits that are set.
    fn places(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(64 * at + bit)
            })
        })
    }

    /// The part of some sets that hold one of its tokens, the larger one of both sides: the mean
    /// over its tokens, from 0 to 1.
    pub(crate) fn known_to(&self, sides: [Option<&TokenCounts>; 2]) -> f64 {
        let (mut sum, mut tokens) = (0.0, 0u32);
        for place in self.places() {
            sum += sides.into_iter().flatten().map(|side| side.part(place)).fold(0.0, f64::max);
            tokens += 1;
        }
        let others = sides.into_iter().flatten().map(|side| 1.0 - side.by_chance);
        beyond_chance(sum / f64::from(tokens.max(1)), 1.0 - others.product::<f64>())
    }
}

/// A full set holds the bit of any token by chance, which says nothing.
fn beyond_chance(part: f64, by_chance: f64) -> f64 {
    ((part - by_chance) / (1.0 - by_chance).max(1.0 / BITS as f64)).max(0.0)
}

/// How many of some sets hold each token.
#[derive(Clone, Debug)]
pub(crate) struct TokenCounts {
    counts: Box<[u32; BITS]>,
    sets: u32,
    /// The chance that one of the sets seems to hold another token.
    by_chance: f64,
}

impl TokenCounts {
    /// Counts of these sets, of a run that has this number of `tokens`.
    pub(crate) fn new<'a>(sets: impl Iterator<Item = &'a TokenSet>, tokens: usize) -> Self {
        // A bit stands for a number of tokens. Of these, each but the token itself is set or not.
        let others = (1.0 - BITS as f64 / tokens.max(1) as f64).max(0.0);
        let mut all = Self { counts: Box::new([0; BITS]), sets: 0, by_chance: 0.0 };
        for set in sets {
            all.sets += 1;
            all.by_chance += 1.0 - (1.0 - set.by_chance()).powf(others);
            set.places().for_each(|place| all.counts[place] += 1);
        }
        all.by_chance /= f64::from(all.sets.max(1));
        all
    }

    /// The part of the other sets that hold a token of one of these sets: the mean over all tokens,
    /// from 0 to 1. `None` of fewer than two sets.
    pub(crate) fn of_their_own(&self) -> Option<f64> {
        let others = self.sets.checked_sub(1).filter(|others| *others > 0)?;
        let (mut again, mut tokens) = (0u64, 0u64);
        for count in self.counts.iter().map(|count| u64::from(*count)).filter(|count| *count > 0) {
            again += count * (count - 1);
            tokens += count;
        }
        Some(beyond_chance(again as f64 / (f64::from(others) * tokens.max(1) as f64), self.by_chance))
    }

    /// The part of the sets that hold the token of this bit.
    fn part(&self, place: usize) -> f64 {
        f64::from(self.counts[place]) / f64::from(self.sets.max(1))
    }
}

/// The word and the bit of a token in a set. Tokens are numbered as they come: as many as there are
/// bits have one of their own, and later ones are scattered over all bits.
#[inline]
fn place(token: u32) -> (usize, u64) {
    let own = token as usize;
    let bit = if own < BITS { own } else { scatter(u64::from(token)) as usize % BITS };
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
        // Of 20 tokens, all of which the first set has; of 40 others, none.
        let counts = |sets: &[TokenSet]| TokenCounts::new(sets.iter(), 400);
        let (one, other) = (of(0..60), of(40..100));
        let of_one = counts(std::slice::from_ref(&one));
        assert!((of(40..60).known_to([Some(&of_one), None]) - 1.0).abs() < 1e-9);
        assert!(of(200..240).known_to([Some(&of_one), None]) < 0.05);
        assert!(of(40..60).known_to([None, None]).abs() < 1e-9);
        // The sides know different halves of these.
        let of_other = counts(&[other.clone(), of(300..310)]);
        assert!((of(20..40).known_to([Some(&of_one), Some(&of_other)]) - 1.0).abs() < 0.05);
        assert!((of(80..100).known_to([Some(&of_one), Some(&of_other)]) - 0.5).abs() < 0.05);
        // A third of the tokens of two sets come in the other one, too.
        let both = counts(&[one, other]).of_their_own();
        assert!(both.is_some_and(|part| (part - 1.0 / 3.0).abs() < 0.03), "{both:?}");
        assert_eq!(of_one.of_their_own(), None);
        // As many tokens as there are bits share none.
        let half = counts(&[of(0..4096)]);
        assert!(of(4096..8192).known_to([Some(&half), None]).abs() < 1e-9);
        assert!((of(0..4096).by_chance() - 0.5).abs() < 1e-9);
        // Of 16 000 tokens, nearly all bits are set; other tokens are not among them.
        let many = TokenCounts::new([of(10_000..26_000), of(10_000..26_000)].iter(), 200_000);
        assert!(of(100_000..100_500).known_to([Some(&many), None]) < 0.3);
        assert!((of(10_000..10_500).known_to([Some(&many), None]) - 1.0).abs() < 1e-9);
        // One token sets one of 8192 bits.
        let one = of(7..8);
        assert!(one.holds(7) && !one.holds(8) && (one.by_chance() * 8192.0 - 1.0).abs() < 1e-9);
    }
}
