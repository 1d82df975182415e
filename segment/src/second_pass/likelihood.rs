//! Which of two phases a message is of: the logarithm of how much more likely it is in the new one.
//!
//! It has two parts. The first is that of source, destination, size and operation, each taken alone
//! ([`Ratio`]). The second is whether the windows of each phase have the message's
//! token: that these four come together.
//!
//! The windows of a short phase may hold messages of its neighbours. Then the messages beside the
//! change tell what it sends, and tell it again when they have moved the change (expectation
//! maximization; Dempster, Laird and Rubin, JRSS B 39, 1977).

use std::sync::Arc;

use crate::first_pass::rounds::ranks::Ranks;
use crate::first_pass::rounds::token_set::TokenSet;
use crate::first_pass::window::sketch::{Ratio, pair_hash};
use crate::plan::Behaviour;

/// Part of a phase's messages whose tokens the windows around have not: ranks may be late, and
/// messages stray. It is an estimate; from .02 to .1 the score changes by less than .003.
const UNSEEN: f64 = 0.05;

/// What the old and the new phase send.
pub(crate) struct Likelihood {
    ratio: Ratio,
    /// The numbers of ranks in sketches.
    ranks: Arc<Ranks>,
    members: [Membership; 2],
    /// What windows tell of both, and whether these may hold messages of the neighbours.
    known: [(Behaviour, bool); 2],
}

/// Messages that are looked at again, in columns of equal length.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) src: &'a [u32],
    pub(crate) dst: &'a [u32],
    pub(crate) bytes: &'a [u64],
    pub(crate) operations: &'a [u8],
    pub(crate) tokens: &'a [Option<u32>],
}

impl Likelihood {
    /// Tells by `ratio` alone, which is positive for messages of the new phase.
    pub(crate) fn new(ratio: Ratio) -> Self {
        Self { ratio, ranks: Arc::default(), members: Default::default(), known: Default::default() }
    }

    /// Sketches have these numbers of ranks.
    pub(crate) fn with_ranks(self, ranks: Arc<Ranks>) -> Self {
        Self { ranks, ..self }
    }

    /// What windows tell of the old and the new phase, and whether they are doubtful: they may hold
    /// messages of the neighbours.
    pub(crate) fn with_phases(self, known: [(Behaviour, bool); 2]) -> Self {
        let members = [0, 1].map(|side| Membership::new(known[side].0.tokens.clone()));
        Self { members, known, ..self }
    }

    /// By how much more likely the message is in the new phase, in nats; `operation` is its archive
    /// code, `token` the number of its token.
    pub(crate) fn of(&self, (src, dst, bytes, operation): (u32, u32, u64, i64), token: Option<u32>) -> f64 {
        let [old, new] = &self.members;
        let token = if old.is_known() && new.is_known() { new.tells(token, old) } else { 0.0 };
        self.ratio.of(self.ranks.number(src), self.ranks.number(dst), bytes, operation) + token
    }

    /// What messages that both phases send tell: [`Ratio::common`].
    pub(crate) fn common(&self) -> f64 {
        self.ratio.common()
    }

    /// Whether a phase is known from doubtful windows only.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.known.iter().any(|known| known.1)
    }

    /// Learns what doubtful phases send from the messages before and after the change. False if
    /// there are none of such a phase.
    pub(crate) fn learn(&mut self, sides: [Rows<'_>; 2]) -> bool {
        if sides.iter().zip(&self.known).any(|(side, known)| known.1 && side.src.is_empty()) {
            return false;
        }
        let mut phases = self.known.clone();
        for ((own, _), side) in phases.iter_mut().zip(sides).filter(|(known, _)| known.1) {
            let numbers =
                |ranks: &[u32]| ranks.iter().map(|rank| self.ranks.number(*rank)).collect::<Vec<_>>();
            let (src, dst) = (numbers(side.src), numbers(side.dst));
            let pairs: Vec<u64> = src.iter().zip(&dst).map(|(src, dst)| pair_hash(*src, *dst)).collect();
            own.sketch.add_columns((&src, &dst), &pairs, side.bytes, side.operations);
            side.tokens.iter().flatten().for_each(|token| own.tokens.insert(*token));
        }
        self.ratio = Ratio::new(&phases[1].0.sketch, &phases[0].0.sketch);
        self.members = phases.map(|(own, _)| Membership::new(own.tokens));
        true
    }
}

/// Whether a message is of the windows that a set of tokens is from: what it tells that the set
/// holds the message's token, or does not, in nats.
#[derive(Clone, Debug, Default)]
struct Membership {
    set: TokenSet,
    held: f64,
    missing: f64,
}

impl Membership {
    /// What a set of tokens tells; nothing if it is empty or nearly full.
    fn new(set: TokenSet) -> Self {
        // Messages of other windows have their bit in the set by chance.
        let by_chance = set.by_chance();
        if by_chance <= 0.0 || by_chance >= 1.0 - UNSEEN {
            return Self::default();
        }
        Self { set, held: ((1.0 - UNSEEN) / by_chance).ln(), missing: (UNSEEN / (1.0 - by_chance)).ln() }
    }

    /// By how much more likely a message with this token is in these windows than in those of
    /// `other`. It is 0 if the token is not known, if both have it, or if neither has it: how many
    /// other tokens they have tells nothing about this one.
    #[inline]
    fn tells(&self, token: Option<u32>, other: &Self) -> f64 {
        match token.map(|token| (self.set.holds(token), other.set.holds(token))) {
            Some((true, false)) => self.held - other.missing,
            Some((false, true)) => self.missing - other.held,
            _ => 0.0,
        }
    }

    /// False if nothing is known of the windows, or if they have nearly all tokens.
    fn is_known(&self) -> bool {
        self.missing < 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows with these messages (source, destination, bytes, token), a number of times each.
    fn windows(messages: &[(u32, u32, u64, u32)], times: usize) -> Behaviour {
        let mut own = Behaviour::default();
        for (src, dst, bytes, token) in messages.repeat(times) {
            own.sketch.add_columns((&[src], &[dst]), &[pair_hash(src, dst)], &[bytes], &[0]);
            own.tokens.insert(token);
        }
        own
    }

    /// The likelihood of two phases known from windows.
    fn likelihood(known: [(Behaviour, bool); 2]) -> Likelihood {
        Likelihood::new(Ratio::new(&known[1].0.sketch, &known[0].0.sketch)).with_phases(known)
    }

    #[test]
    fn tokens_tell_where_pairs_swap_their_sizes() {
        // Both phases have the same pairs and the same sizes, but not together.
        let old = windows(&[(0, 1, 1024, 0), (2, 3, 64, 1)], 20);
        let new = windows(&[(0, 1, 64, 2), (2, 3, 1024, 3)], 20);
        let own = likelihood([(old, false), (new, false)]);
        assert!(own.of((0, 1, 64, 0), None).abs() < 1e-6);
        // The token is held by one set of two bits, and missing in the other.
        let expected = (0.95f64 / (2.0 / 8192.0)).ln() - (0.05f64 / (1.0 - 2.0 / 8192.0)).ln();
        assert!((own.of((0, 1, 64, 0), Some(2)) - expected).abs() < 1e-6);
        assert!((own.of((0, 1, 1024, 0), Some(0)) + expected).abs() < 1e-6);
    }

    #[test]
    fn a_token_of_both_tells_nothing_however_many_others_one_has() {
        let few = windows(&[(0, 1, 64, 7)], 20);
        let mut many = windows(&[(0, 1, 64, 7)], 20);
        (100..3000).for_each(|token| many.tokens.insert(token));
        let own = likelihood([(many, false), (few, false)]);
        assert!(own.of((0, 1, 64, 0), Some(7)).abs() < 1e-6);
        // Nor does one of neither, but one of the many is known by it.
        assert!(own.of((0, 1, 64, 0), Some(5000)).abs() < 1e-6);
        assert!(own.of((0, 1, 64, 0), Some(200)) < -3.0);
    }

    #[test]
    fn a_full_set_tells_nothing() {
        let mut all = windows(&[(0, 1, 64, 0)], 20);
        (0..200_000).for_each(|token| all.tokens.insert(token));
        let own = likelihood([(windows(&[(0, 1, 64, 7)], 20), false), (all, false)]);
        assert!(own.of((0, 1, 64, 0), Some(7)).abs() < 1e-6);
    }

    #[test]
    fn doubtful_windows_and_the_messages_beside_the_change_tell_together() {
        // One window has what the old phase sends first, the messages beside the change the rest.
        let (first, last) = ((0, 1, 64, 0), (4, 5, 64, 1));
        let new = windows(&[(8, 9, 64, 2)], 20);
        let mut own = likelihood([(windows(&[first], 5), true), (new, false)]);
        assert!(own.is_doubtful());
        let message = |own: (u32, u32, u64, u32)| ((own.0, own.1, own.2, 0), Some(own.3));
        let rows = |tokens, len: usize| Rows {
            src: &[4; 4][..len],
            dst: &[5; 4][..len],
            bytes: &[64; 4][..len],
            operations: &[0; 4][..len],
            tokens,
        };
        // Without messages of it nothing can be learned.
        assert!(!own.learn([rows(&[], 0), rows(&[], 0)]));
        assert!(own.learn([rows(&[Some(1); 4], 4), rows(&[], 0)]));
        for old in [first, last] {
            let (message, token) = message(old);
            assert!(own.of(message, token) < -5.0, "{}", own.of(message, token));
        }
        assert!(own.of((8, 9, 64, 0), Some(2)) > 5.0);
    }
}
