//! What a sender knows about its packets in the network: which have arrived out of order
//! (selective acknowledgements, RFC 2018), which are lost, and how many are still on their way
//! (RFC 6675).
//!
//! A packet is lost if enough packets sent after it have arrived: [`Scoreboard::find_lost`]. What
//! is lost is sent again in order; a packet that is lost a second time is found by the timer alone.
//! Memory: 512 bytes from the first packet out of order on.

use super::super::reassembly::WINDOW;

/// Packets from the oldest unacknowledged one to the next one to send.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    /// Oldest packet that is not acknowledged.
    pub(super) oldest: u32,
    /// Next packet to send for the first time.
    pub(super) next: u32,
    /// One bit per packet that has arrived out of order, by its number modulo [`WINDOW`].
    arrived: Option<Box<[u64; WINDOW as usize / 64]>>,
    /// Bits set.
    arrivals: u32,
    /// Number after that of the youngest packet that has arrived out of order.
    top: u32,
    /// Packets before this one that have not arrived are lost.
    edge: u32,
    /// Lost packets before this one have been sent again.
    resent: u32,
}

impl Scoreboard {
    fn has_arrived(&self, seq: u32) -> bool {
        let bit = 1_u64 << (seq % 64);
        self.arrived.as_ref().is_some_and(|bits| bits[(seq % WINDOW / 64) as usize] & bit != 0)
    }

    /// Notes the packets from `first` to `end` (exclusive) as arrived out of order.
    pub(super) fn note(&mut self, first: u32, end: u32) {
        let (first, end) = (first.max(self.oldest), end.min(self.next));
        if first >= end {
            return;
        }
        let bits = self.arrived.get_or_insert_with(|| Box::new([0; WINDOW as usize / 64]));
        for seq in first..end {
            let (word, bit) = ((seq % WINDOW / 64) as usize, 1_u64 << (seq % 64));
            self.arrivals += u32::from(bits[word] & bit == 0);
            bits[word] |= bit;
        }
        self.top = self.top.max(end);
    }

    /// All packets before `ack` have arrived.
    pub(super) fn acknowledge(&mut self, ack: u32) {
        if let Some(bits) = self.arrived.as_mut().filter(|_| self.arrivals > 0) {
            for seq in self.oldest..ack {
                let (word, bit) = ((seq % WINDOW / 64) as usize, 1_u64 << (seq % 64));
                self.arrivals -= u32::from(bits[word] & bit != 0);
                bits[word] &= !bit;
            }
        }
        self.oldest = ack;
        self.edge = self.edge.max(ack);
        self.resent = self.resent.max(ack);
    }

    /// Packets are lost that `proof` packets sent after them have overtaken (`IsLost` of RFC 6675).
    pub(super) fn find_lost(&mut self, proof: u32) {
        if self.arrivals < proof {
            return;
        }
        let (mut seq, mut seen) = (self.top, 0);
        while seq > self.oldest && seen < proof {
            seq -= 1;
            seen += u32::from(self.has_arrived(seq));
        }
        if seen == proof {
            self.edge = self.edge.max(seq);
        }
    }

    /// Packets without word of their arrival are lost, all of them, also those sent again.
    pub(super) fn lose_all(&mut self) {
        (self.edge, self.resent) = (self.next, self.oldest);
    }

    /// The oldest packet is lost. What was sent again is not sent once more.
    pub(super) fn lose_oldest(&mut self) {
        self.edge = self.edge.max(self.oldest + 1).min(self.next);
    }

    /// The lost packet to send again next.
    pub(super) fn lost(&self) -> Option<u32> {
        (self.resent.max(self.oldest)..self.edge).find(|seq| !self.has_arrived(*seq))
    }

    /// A lost packet has been sent again.
    pub(super) fn resend(&mut self, seq: u32) {
        self.resent = seq + 1;
    }

    /// True if packets are known to be lost, sent again or not.
    pub(super) fn has_lost(&self) -> bool {
        self.edge > self.oldest
    }

    /// Packets in the network: `Pipe` of RFC 6675.
    pub(super) fn in_flight(&self) -> u32 {
        let sent = self.next - self.oldest;
        if self.arrivals == 0 && self.edge == self.oldest {
            return sent;
        }
        let lost = (self.resent.max(self.oldest)..self.edge).filter(|seq| !self.has_arrived(*seq)).count();
        sent - self.arrivals - lost as u32
    }

    /// Packets that are known to have arrived beyond a missing one.
    pub(super) fn arrivals(&self) -> u32 {
        self.arrivals
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn sent(packets: u32) -> Scoreboard {
        Scoreboard { next: packets, ..Scoreboard::default() }
    }

    #[test]
    fn three_packets_prove_a_loss() {
        let mut board = sent(10);
        // 2 and 5 are missing.
        for seq in [3, 4] {
            board.note(seq, seq + 1);
            board.find_lost(3);
        }
        board.acknowledge(2);
        assert_eq!((board.lost(), board.in_flight(), board.has_lost()), (None, 6, false));
        board.note(6, 7);
        board.find_lost(3);
        assert_eq!((board.lost(), board.in_flight()), (Some(2), 4));
        board.resend(2);
        assert_eq!((board.lost(), board.in_flight()), (None, 5));
        board.note(7, 9);
        board.find_lost(3);
        assert_eq!((board.lost(), board.in_flight()), (Some(5), 2));
        board.acknowledge(5);
        assert_eq!((board.lost(), board.in_flight(), board.arrivals()), (Some(5), 1, 3));
        board.lose_all();
        assert_eq!((board.lost(), board.in_flight()), (Some(5), 0));
        board.resend(5);
        assert_eq!((board.lost(), board.in_flight()), (Some(9), 1));
    }

    proptest! {
        /// The oracle is the set of all arrived packets, looked through from end to end.
        #[test]
        fn in_lockstep_with_a_set(steps in prop::collection::vec((0_u32..30, 1_u32..6, 0_u8..8), 1..120)) {
            let mut board = sent(0);
            let (mut arrived, mut resent, mut edge) = (BTreeSet::new(), 0, 0);
            for (ahead, run, what) in steps {
                board.next += u32::from(what < 6) * ahead;
                let next = board.next;
                match what {
                    0..=4 => {
                        let first = (board.oldest + ahead).min(next);
                        board.note(first, first + run);
                        arrived.extend(first..(first + run).min(next));
                    }
                    5 => {
                        let first = (0..).find(|seq| !arrived.contains(seq)).unwrap_or(0).min(next);
                        board.acknowledge(first);
                        (edge, resent) = (edge.max(first), resent.max(first));
                    }
                    6 => if let Some(lost) = board.lost() {
                        board.resend(lost);
                        resent = lost + 1;
                    },
                    _ => {
                        board.lose_all();
                        (edge, resent) = (next, board.oldest);
                    }
                }
                board.find_lost(3);
                let overtaken = |seq: &u32| arrived.range(seq + 1..).count() >= 3;
                edge = edge.max((board.oldest..next).rev().find(overtaken).map_or(0, |seq| seq + 1));
                let missing = |from: u32, to: u32| (from..to).filter(|seq| !arrived.contains(seq)).count() as u32;
                let from = resent.max(board.oldest);
                prop_assert_eq!(board.lost(), (from..edge).find(|seq| !arrived.contains(seq)));
                prop_assert_eq!(board.in_flight(), missing(board.oldest, next) - missing(from, edge));
                prop_assert_eq!(board.arrivals() as usize, arrived.range(board.oldest..).count());
            }
        }
    }
}
