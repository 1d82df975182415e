//! How long a round is: the time until the same messages come again.
//!
//! Parallel programs repeat themselves. Whatever a round is made of, be it one halo exchange or the
//! hundred steps of an alltoall, each of its messages returns after one round; a *token* (source,
//! destination, operation, and size to a power of two) stands for a message and all its returns. A
//! window of time that is shorter than a round shows one step of it; the time to the next return of
//! its tokens says how much one has to look at to see the whole.

use super::sketch::scatter;

/// Most tokens followed; beyond it a sample is, chosen by hash, so that memory does not depend on
/// the number of ranks.
const TOKENS: usize = 2048;

/// Slots looked at for one token.
const PROBES: usize = 32;

/// The share of a window's tokens that return within what is called its round. More than half,
/// because programs that send a pair two messages of one size in a round would show half of the
/// round; not all, because of rare messages.
const SHARE: f64 = 0.75;

/// The last time of each token of a sample.
#[derive(Debug)]
pub(crate) struct Tokens {
    /// Twice [`TOKENS`] of them, the hash's low bits say where.
    slots: Vec<Option<Token>>,
    used: usize,
    /// Tokens of a lower hash are followed.
    below: u64,
}

#[derive(Clone, Copy, Debug)]
struct Token {
    hash: u64,
    last_ns: i64,
}

/// What is known of a message's token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Nothing: it is not in the sample.
    Unwatched,
    /// It is new, or was forgotten.
    First,
    /// It came last at this time.
    Again(i64),
}

impl Default for Tokens {
    fn default() -> Self {
        Self { slots: vec![None; 2 * TOKENS], used: 0, below: u64::MAX }
    }
}

impl Tokens {
    /// Notes a message. When the sample has to shrink, `forgotten` hears the last times of the
    /// tokens that are let go.
    #[inline]
    pub(crate) fn see(
        &mut self,
        (src, dst, bytes, operation): (u32, u32, u64, i64),
        time_ns: i64,
        forgotten: impl FnMut(i64),
    ) -> Seen {
        let kind = u64::from((bytes | 1).ilog2()) << 6 | (operation & 63).cast_unsigned();
        // Ranks rarely use their upper bits.
        let hash = scatter((u64::from(src) << 32 | u64::from(dst)) ^ kind << 52);
        if hash >= self.below { Seen::Unwatched } else { self.follow(hash, time_ns, forgotten) }
    }

    fn follow(&mut self, hash: u64, time_ns: i64, mut forgotten: impl FnMut(i64)) -> Seen {
        loop {
            let mask = self.slots.len() - 1;
            for probe in 0..PROBES {
                let slot = &mut self.slots[(hash as usize).wrapping_add(probe) & mask];
                match slot {
                    Some(token) if token.hash == hash => {
                        return Seen::Again(std::mem::replace(&mut token.last_ns, time_ns));
                    }
                    Some(_) => {}
                    None if self.used < TOKENS => {
                        *slot = Some(Token { hash, last_ns: time_ns });
                        self.used += 1;
                        return Seen::First;
                    }
                    None => break,
                }
            }
            self.halve(&mut forgotten);
            if hash >= self.below {
                return Seen::Unwatched;
            }
        }
    }

    /// Keeps the half of the tokens with the lower hashes.
    #[cold]
    fn halve(&mut self, forgotten: &mut impl FnMut(i64)) {
        self.below /= 2;
        let tokens = std::mem::replace(&mut self.slots, vec![None; 2 * TOKENS]);
        let mask = self.slots.len() - 1;
        self.used = 0;
        for token in tokens.into_iter().flatten() {
            let free = (0..PROBES)
                .map(|probe| (token.hash as usize).wrapping_add(probe) & mask)
                .find(|at| token.hash < self.below && self.slots[*at].is_none());
            match free {
                Some(at) => {
                    self.slots[at] = Some(token);
                    self.used += 1;
                }
                None => forgotten(token.last_ns),
            }
        }
    }
}

/// Times between a token and its next (or last) message, over the messages of one window.
#[derive(Clone, Debug)]
pub(crate) struct Returns {
    /// Messages whose token is followed.
    watched: u64,
    /// By power of two: how many, and their sum in nanoseconds.
    octaves: [(u32, u64); 64],
}

impl Default for Returns {
    fn default() -> Self {
        Self { watched: 0, octaves: [(0, 0); 64] }
    }
}

impl Returns {
    /// True if no token is followed here.
    pub(crate) fn is_empty(&self) -> bool {
        self.watched == 0
    }

    pub(crate) fn watch(&mut self) {
        self.watched += 1;
    }

    pub(crate) fn forget(&mut self) {
        self.watched = self.watched.saturating_sub(1);
    }

    pub(crate) fn add(&mut self, ns: u64) {
        let octave = &mut self.octaves[(ns | 1).ilog2() as usize];
        octave.0 = octave.0.saturating_add(1);
        octave.1 = octave.1.saturating_add(ns);
    }

    pub(crate) fn merge(&mut self, other: &Returns) {
        self.watched += other.watched;
        for (sum, octave) in self.octaves.iter_mut().zip(&other.octaves) {
            *sum = (sum.0.saturating_add(octave.0), sum.1.saturating_add(octave.1));
        }
    }

    /// The time within which [`SHARE`] of the watched messages return, to the mean of its octave;
    /// `None` if fewer do.
    pub(crate) fn round_ns(&self) -> Option<u64> {
        let wanted = (self.watched as f64 * SHARE).ceil().max(1.0) as u64;
        let mut returned = 0;
        for (count, sum) in self.octaves {
            returned += u64::from(count);
            if returned >= wanted {
                return Some(sum / u64::from(count.max(1)));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_returns_after_a_round() {
        let mut tokens = Tokens::default();
        let mut see = |src, bytes, time| tokens.see((src, 1, bytes, 0), time, |_| {});
        assert_eq!(see(0, 64, 10), Seen::First);
        assert_eq!(see(2, 64, 11), Seen::First);
        assert_eq!(see(0, 100, 15), Seen::Again(10)); // the same power of two
        assert_eq!(see(0, 200, 16), Seen::First);
    }

    #[test]
    fn many_ranks_leave_a_sample_that_still_returns() {
        let mut tokens = Tokens::default();
        let (mut first, mut again, mut gone) = (0, 0, 0);
        for round in 0..2 {
            for pair in 0..1_000_000u32 {
                let message = (pair / 1000, pair % 1000, 8, 0);
                match tokens.see(message, i64::from(round * 1_000_000 + pair), |_| gone += 1) {
                    Seen::Unwatched => {}
                    Seen::First => first += 1,
                    Seen::Again(last) => {
                        assert_eq!(last, i64::from(pair));
                        again += 1;
                    }
                }
            }
        }
        assert!((TOKENS / 4..=TOKENS).contains(&again), "{again} tokens returned");
        assert_eq!(first, again + gone);
    }

    #[test]
    fn hashes_made_to_collide_end_in_an_empty_sample() {
        let mut tokens = Tokens::default();
        for i in 0..100_000u64 {
            tokens.follow(i << 40 >> 20, 0, |_| {});
        }
        assert!(tokens.used <= TOKENS);
    }

    #[test]
    fn a_round_is_known_if_enough_messages_return() {
        let mut returns = Returns::default();
        (0..4).for_each(|_| returns.watch());
        returns.add(100);
        returns.add(120);
        assert_eq!(returns.round_ns(), None);
        returns.add(110);
        assert_eq!(returns.round_ns(), Some(110));
        assert_eq!(Returns::default().round_ns(), None);
    }
}
