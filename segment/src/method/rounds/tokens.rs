//! Where each kind of message came last.
//!
//! A *token* stands for a message and all its returns: source, destination, operation or
//! [tag](crate::first_pass::tags), and size to half a power of two. The table is flat and bounded.
//! When it is full, it drops the half of the tokens with the higher hashes, for good. The rest is a
//! fair sample of each exchange, so memory depends neither on the number of ranks nor on the number
//! of messages.

use crate::first_pass::window::sketch::scatter;

/// Slots; a power of two, at most half of them used.
const SLOTS: usize = 1 << 17;

/// Slots looked at for one token.
const PROBES: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u64,
    /// Index of the token's last message, from 1; 0 is a free slot.
    last: u64,
}

/// What is known of a message's token.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Token {
    pub(super) hash: u64,
    seen: u64,
}

/// `seen` of a token that is not followed.
const UNFOLLOWED: u64 = u64::MAX;

impl Token {
    /// The index of the last message with this token, counted from 1; 0 if there was none, `None`
    /// if the token is not followed.
    #[inline]
    pub(super) fn seen(self) -> Option<u64> {
        Some(self.seen).filter(|seen| *seen != UNFOLLOWED)
    }
}

const FREE: Slot = Slot { hash: 0, last: 0 };

/// The last message of each token of a sample.
#[derive(Debug)]
pub(super) struct Tokens {
    slots: Vec<Slot>,
    used: usize,
    /// Tokens with a lower hash are followed.
    below: u64,
}

impl Tokens {
    /// An empty table that follows all tokens.
    pub(super) fn new() -> Self {
        Self { slots: vec![FREE; 1 << 10], used: 0, below: u64::MAX }
    }

    /// Notes messages given as columns of equal length; `index` is the first one's, counted from 1.
    pub(super) fn see_all(
        &mut self,
        (src, dst): (&[u32], &[u32]),
        (bytes, kinds): (&[u64], &[u8]),
        index: u64,
        tokens: &mut [Token],
    ) {
        let messages = src.iter().zip(dst).zip(bytes).zip(kinds).zip(index..);
        for (((((src, dst), bytes), kind), index), token) in messages.zip(tokens) {
            let hash = Self::hash(*src, *dst, *bytes, *kind);
            *token = Token { hash, seen: self.see(hash, index).unwrap_or(UNFOLLOWED) };
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
        scatter((u64::from(src) << 32 | u64::from(dst)) ^ kind << 48 ^ kind >> 16)
    }

    /// Notes that message `index`, counted from 1, has this token. Returns the index of the last
    /// message that had it, 0 if none had; `None` if the token is not followed.
    #[inline(always)]
    fn see(&mut self, hash: u64, index: u64) -> Option<u64> {
        if hash >= self.below {
            return None;
        }
        let mask = self.slots.len() - 1;
        let slot = &mut self.slots[hash as usize & mask];
        // Most tokens are in the first slot.
        if slot.hash == hash && slot.last != 0 {
            return Some(std::mem::replace(&mut slot.last, index));
        }
        self.find(hash, index)
    }

    /// As [`see`](Self::see), for a followed token in any slot.
    fn find(&mut self, hash: u64, index: u64) -> Option<u64> {
        let mask = self.slots.len() - 1;
        let first = hash as usize;
        for probe in 0..PROBES {
            let slot = &mut self.slots[first.wrapping_add(probe) & mask];
            if slot.hash == hash && slot.last != 0 {
                return Some(std::mem::replace(&mut slot.last, index));
            }
            if slot.last == 0 {
                if self.used * 2 >= mask {
                    break;
                }
                *slot = Slot { hash, last: index };
                self.used += 1;
                return Some(0);
            }
        }
        self.make_room();
        self.see(hash, index)
    }

    /// Grows up to [`SLOTS`]; then drops half of the tokens.
    #[cold]
    fn make_room(&mut self) {
        let larger = (self.slots.len() * 2).min(SLOTS);
        if larger == self.slots.len() {
            self.below /= 2;
        }
        let mask = larger - 1;
        let slots = std::mem::replace(&mut self.slots, vec![FREE; larger]);
        self.used = 0;
        for slot in slots.into_iter().filter(|slot| slot.last != 0 && slot.hash < self.below) {
            let mut places = (0..PROBES).map(|probe| (slot.hash as usize).wrapping_add(probe) & mask);
            // A token without a place was made to collide; it begins anew.
            if let Some(place) = places.find(|place| self.slots[*place].last == 0) {
                self.slots[place] = slot;
                self.used += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_returns() {
        let mut tokens = Tokens::new();
        let mut see = |src, bytes, index| tokens.see(Tokens::hash(src, 1, bytes, 0), index);
        assert_eq!(see(0, 64, 1), Some(0));
        assert_eq!(see(2, 64, 2), Some(0));
        assert_eq!(see(0, 95, 3), Some(1)); // below one and a half times 64
        assert_eq!(see(0, 96, 4), Some(0));
        assert_eq!(see(0, 64, 5), Some(3));
    }

    #[test]
    fn many_ranks_leave_a_sample_that_still_returns() {
        let mut tokens = Tokens::new();
        let mut returned = 0;
        for round in 0..2u64 {
            for pair in 0..1_000_000u32 {
                let index = round * 1_000_000 + u64::from(pair) + 1;
                match tokens.see(Tokens::hash(pair / 1000, pair % 1000, 8, 0), index) {
                    Some(last) if last > 0 => {
                        assert_eq!(last, u64::from(pair) + 1);
                        returned += 1;
                    }
                    _ => {}
                }
            }
        }
        assert!((SLOTS / 8..=SLOTS / 2).contains(&returned), "{returned} tokens returned");
    }

    #[test]
    fn hashes_made_to_collide_end_in_an_empty_sample() {
        let mut tokens = Tokens::new();
        for i in 0..10_000u64 {
            tokens.see(i << 40, i + 1);
        }
        assert!(tokens.used <= SLOTS / 2);
    }
}
