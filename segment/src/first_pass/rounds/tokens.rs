//! Which tokens there are, and when each came last.
//!
//! A *token* stands for a message and all its returns: source, destination, operation, and size to
//! half a power of two. Tokens and pairs are numbered in the order in which they first come, so
//! that nothing depends on the numbers of ranks. The table is bounded: when it is full, it forgets
//! tokens that were in neither of the last two windows. A forgotten token looks new when it comes
//! again.

use crate::first_pass::window::sketch::scatter;

/// Tokens, at most; 40 bytes each. Messages whose token finds no place count as new.
const MOST: usize = 1 << 18;

/// Pairs, at most, with a number of their own; others share numbers by their hash.
const MOST_PAIRS: usize = 1 << 18;

/// Where a token came last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Last {
    /// The window, from 1; 0 if it never came.
    pub(super) window: u64,
    /// Windows in which it came.
    pub(super) windows: u32,
    /// Messages with the token in that window.
    pub(super) count: u32,
    /// Messages in that window before the first one with the token.
    pub(super) first: u32,
}

/// What is known of a token before its first message. Windows are numbered from 1, so 0 is none.
const NEVER: Last = Last { window: 0, windows: 0, count: 0, first: 0 };

/// A token that is followed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    /// Where it came last.
    pub(super) last: Last,
    /// Number of its pair.
    pub(super) pair: u32,
    hash: u64,
}

/// Open addressing from hashes to numbers below [`u32::MAX`].
#[derive(Debug, Default)]
struct Numbers {
    slots: Vec<(u64, u32)>,
    used: usize,
}

const FREE: u32 = u32::MAX;

impl Numbers {
    /// The number of `hash`; if it has none yet, it gets `next`.
    #[inline]
    fn of(&mut self, hash: u64, next: u32) -> u32 {
        if self.used * 2 >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match self.slots[at] {
                (_, FREE) => {
                    self.slots[at] = (hash, next);
                    self.used += 1;
                    return next;
                }
                (own, number) if own == hash => return number,
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// The number of `hash`, if it has one.
    #[inline]
    fn get(&self, hash: u64) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            match self.slots[at] {
                (_, FREE) => return None,
                (own, number) if own == hash => return Some(number),
                _ => at = (at + 1) & mask,
            }
        }
    }

    #[cold]
    fn grow(&mut self) {
        let larger = (self.slots.len() * 2).max(1 << 10);
        let slots = std::mem::replace(&mut self.slots, vec![(0, FREE); larger]);
        self.used = 0;
        for (hash, number) in slots.into_iter().filter(|slot| slot.1 != FREE) {
            self.of(hash, number);
        }
    }
}

/// The hash of a message's token.
#[inline]
fn hash(src: u32, dst: u32, bytes: u64, operation: u8) -> u64 {
    let size = bytes | 1;
    let exponent = size.ilog2();
    // The bit after the leading one halves the power of two.
    let half = (size.rotate_left(64 - exponent) >> 63) & 1;
    let kind = u64::from(operation & 63) << 8 | u64::from(exponent) << 1 | half;
    scatter(pair_of(src, dst) ^ kind << 48 ^ kind >> 16)
}

#[inline]
fn pair_of(src: u32, dst: u32) -> u64 {
    u64::from(src) << 32 | u64::from(dst)
}

/// All tokens that are followed.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    numbers: Numbers,
    pub(super) list: Vec<Token>,
    pairs: Numbers,
}

impl Tokens {
    /// The number of a message's token.
    #[inline]
    pub(super) fn number(&mut self, src: u32, dst: u32, bytes: u64, operation: u8) -> u32 {
        let hash = hash(src, dst, bytes, operation);
        let next = self.list.len() as u32;
        let number = self.numbers.of(hash, next);
        if number == next {
            let hash_of_pair = scatter(pair_of(src, dst));
            let pair = if self.pairs.used < MOST_PAIRS {
                let next = self.pairs.used as u32;
                self.pairs.of(hash_of_pair, next)
            } else {
                (hash_of_pair >> 40) as u32
            };
            self.list.push(Token { last: NEVER, pair, hash });
        }
        number
    }

    /// The number of a message's token, if it has come and is not forgotten.
    #[inline]
    pub(crate) fn known(&self, src: u32, dst: u32, bytes: u64, operation: u8) -> Option<u32> {
        self.numbers.get(hash(src, dst, bytes, operation))
    }

    /// How many are followed.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// True if there is no room for more.
    pub(super) fn is_full(&self) -> bool {
        self.list.len() >= MOST
    }

    /// Forgets tokens that were in neither of the last two windows, counted from `window`. Returns
    /// the new number of each token.
    pub(super) fn forget(&mut self, window: u64) -> Vec<u32> {
        let keeps = |token: &Token| token.last.window + 1 >= window;
        let mut becomes = vec![FREE; self.list.len()];
        let all = std::mem::take(&mut self.list);
        // If nearly all tokens are of the last windows, only the tokens of the youngest window
        // stay.
        let young = |token: &Token| token.last.window >= window;
        let many = all.iter().filter(|token| keeps(token)).count() > MOST / 2;
        self.numbers = Numbers::default();
        for (token, becomes) in all.into_iter().zip(&mut becomes) {
            if if many { young(&token) } else { keeps(&token) } {
                let number = self.list.len() as u32;
                *becomes = self.numbers.of(token.hash, number);
                self.list.push(token);
            }
        }
        becomes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_pairs_have_numbers_in_order_of_appearance() {
        let mut tokens = Tokens::default();
        assert_eq!(tokens.number(7, 3, 64, 0), 0);
        assert_eq!(tokens.number(1, 2, 64, 0), 1);
        assert_eq!(tokens.number(7, 3, 95, 0), 0); // below one and a half times 64
        assert_eq!(tokens.number(7, 3, 96, 0), 2);
        assert_eq!((tokens.known(1, 2, 64, 0), tokens.known(1, 2, 64, 5)), (Some(1), None));
        assert_eq!(Tokens::default().known(1, 2, 64, 0), None);
        assert_eq!(tokens.list.iter().map(|token| token.pair).collect::<Vec<_>>(), [0, 1, 0]);
    }

    #[test]
    fn old_tokens_are_forgotten_and_the_others_keep_what_is_known() {
        let mut tokens = Tokens::default();
        for src in 0..100 {
            let number = tokens.number(src, 200, 8, 0);
            tokens.list[number as usize].last =
                Last { window: u64::from(src), windows: 1, count: 1, first: src };
        }
        let becomes = tokens.forget(90);
        assert_eq!(tokens.list.len(), 11);
        assert_eq!(becomes[88], FREE);
        assert_eq!(becomes[99], tokens.number(99, 200, 8, 0));
        assert_eq!(tokens.list[becomes[99] as usize].last.first, 99);
        assert_eq!(tokens.list[becomes[99] as usize].pair, 99);
    }
}
