//! Rounds of rounds: pieces that come again in one order.
//!
//! A round in which some messages come twice falls into pieces, each of which ends where something
//! comes again. Pieces that come in the same order again are one round. A piece is known by its
//! *signature*: its tokens in a few bins, and the least hash of each bin (one-permutation hashing,
//! Li, Owen and Zhang 2012). The part of bins in which two signatures agree is about the part of
//! tokens that two pieces share. Tokens that were not seen lately are noise and do not count.

/// Longest order of pieces that is noticed, in pieces.
const LONGEST: usize = 32;
/// Pieces that are remembered.
const KEPT: usize = 2 * LONGEST;

/// Bins of a signature.
const BINS: usize = 8;
/// The least hash in each bin.
type Signature = [u32; BINS];
/// A signature without tokens.
const NOTHING: Signature = [u32::MAX; BINS];

/// A piece as it is remembered.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    /// Signatures of all its tokens, and of the tokens that were seen lately.
    all: Signature,
    known: Signature,
    /// Its first message.
    start: u64,
}

impl Piece {
    /// Bins in which there is something, and how many of them agree.
    fn likeness(&self, other: &Piece) -> (u32, u32) {
        let (mut used, mut same) = (0, 0);
        for bin in 0..BINS {
            let known = self.known[bin];
            let agree = (known == other.known[bin]) | (known == other.all[bin]);
            same += u32::from(agree) & u32::from(known != u32::MAX);
            used += u32::from((known != u32::MAX) | (other.known[bin] != u32::MAX));
        }
        (used, same)
    }

    /// Three quarters of the bins agree.
    fn is_like(&self, other: &Piece) -> bool {
        let (used, same) = self.likeness(other);
        used > 0 && 4 * same >= 3 * used
    }

    /// All bins agree.
    fn is_equal(&self, other: &Piece) -> bool {
        let (used, same) = self.likeness(other);
        used > 0 && same == used
    }
}

/// The order of the last pieces.
#[derive(Debug)]
pub(super) struct Rhythm {
    pieces: [Piece; KEPT],
    count: u64,
    /// Where the oldest remembered piece begins.
    recent: u64,
    /// Which of the pieces before the last one were like it; index 1 is the piece before it.
    like: [bool; LONGEST + 1],
    /// For each length of a period, the number of pieces in a row that were like the piece a period
    /// before.
    alike: [u32; LONGEST + 1],
    /// Number of the last piece that was the third of its kind in a row.
    monotonous: u64,
    period: usize,
    before: u64,
    /// Signatures of the piece that is not over.
    all: Signature,
    known: Signature,
}

/// Pieces in a row that must be like the piece a period before. A short order may come twice by
/// chance.
fn needed(period: usize) -> usize {
    period.max(8.min(2 * period))
}

impl Default for Rhythm {
    fn default() -> Self {
        Self {
            pieces: [Piece::default(); KEPT],
            count: 0,
            recent: 0,
            like: [false; LONGEST + 1],
            alike: [0; LONGEST + 1],
            monotonous: 0,
            period: 1,
            before: 0,
            all: NOTHING,
            known: NOTHING,
        }
    }
}

impl Rhythm {
    /// Adds a message of the piece that is not over; `seen` is the index of its token's last
    /// message, from 1.
    #[inline]
    pub(super) fn message(&mut self, hash: u64, seen: u64) {
        // Bits from the middle: the ends of the hash decide the token's slot, and whether it is
        // followed.
        let (bin, hash) = (hash as usize >> 20 & (BINS - 1), (hash >> 24) as u32);
        self.all[bin] = self.all[bin].min(hash);
        if seen > self.recent {
            self.known[bin] = self.known[bin].min(hash);
        }
    }

    /// Ends a piece that began at `start`. Returns the length of the period that it continues or
    /// completes; 1 if there is none.
    pub(super) fn end_piece(&mut self, start: u64) -> usize {
        let piece = Piece { all: self.all, known: self.known, start };
        (self.all, self.known) = (NOTHING, NOTHING);
        let longest = LONGEST.min(self.count as usize);
        let at = |back: usize| &self.pieces[((self.count - back as u64) % KEPT as u64) as usize];
        let mut like = self.like;
        if longest > 1 && (piece.all, piece.known) == (at(1).all, at(1).known) {
            // This piece is like all that the last one was like.
            like.copy_within(1..LONGEST, 2);
            like[1] = piece.is_like(at(1));
        } else {
            (1..=longest).for_each(|back| like[back] = piece.is_like(at(back)));
        }
        let equal = longest > 1 && piece.is_equal(at(1)) && piece.is_equal(at(2));
        self.like = like;
        for (alike, like) in self.alike.iter_mut().zip(like) {
            *alike = if like { *alike + 1 } else { 0 };
        }
        self.pieces[(self.count % KEPT as u64) as usize] = piece;
        self.count += 1;
        self.recent = self.pieces[(self.count % KEPT as u64) as usize].start;
        if equal {
            self.monotonous = self.count;
        }
        // A period in which one piece comes three times in a row is a loop of phases, not a round.
        let is_round = |period: usize| {
            period == 1
                || self.count - self.monotonous.min(self.count) >= 3 * period as u64
                || self.monotonous == 0
        };
        let found =
            (1..=longest).find(|period| self.alike[*period] as usize >= needed(*period) && is_round(*period));
        self.period = found.unwrap_or(1);
        self.before = self.start(2 * self.period);
        self.period
    }

    /// Length of the present period.
    pub(super) fn period(&self) -> usize {
        self.period
    }

    /// Number of pieces since the period first came, if this piece is the one at which it was
    /// noticed.
    pub(super) fn noticed(&self) -> Option<usize> {
        let alike = self.alike[self.period] as usize;
        (alike == needed(self.period)).then_some(alike + self.period)
    }

    /// A token not seen since this message was not in the last two periods.
    #[inline]
    pub(super) fn before(&self) -> u64 {
        self.before
    }

    /// Where a piece begins, counted `back` from the last one; 0 if it is forgotten.
    pub(super) fn start(&self, back: usize) -> u64 {
        if back as u64 >= self.count || back >= KEPT {
            return 0;
        }
        self.pieces[((self.count - 1 - back as u64) % KEPT as u64) as usize].start
    }

    /// Forgets the rhythm, as something new begins.
    pub(super) fn forget(&mut self) {
        self.alike = [0; LONGEST + 1];
        self.period = 1;
        (self.all, self.known) = (NOTHING, NOTHING);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::first_pass::window::sketch::scatter;

    /// The periods after each of these pieces; each letter is a piece of sixteen tokens.
    fn periods(pieces: &str) -> Vec<usize> {
        let mut rhythm = Rhythm::default();
        let piece = |(number, letter): (usize, char)| {
            (0..16).for_each(|token| rhythm.message(scatter(u64::from(letter) << 8 | token), 1));
            rhythm.end_piece(16 * number as u64)
        };
        pieces.chars().enumerate().map(piece).collect()
    }

    #[test]
    fn orders_that_come_again_are_rounds() {
        assert_eq!(periods("ababababab").last(), Some(&2));
        assert_eq!(periods("abcbdabcbdabcbd").last(), Some(&5));
        assert_eq!(periods("abcdefgh").last(), Some(&1));
        // Three of a kind in a row: phases in a loop, each of several rounds.
        assert!(periods(&"aaaabbbb".repeat(6)).iter().all(|period| *period == 1));
    }

    #[test]
    fn an_order_is_noticed_after_two_rounds() {
        let first = periods("abcdefghabcdefghabcdefgh").iter().position(|period| *period == 8);
        assert_eq!(first, Some(15));
    }
}
