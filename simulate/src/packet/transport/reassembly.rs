//! Reassembly: the packets of a connection that have arrived.

/// Window in packets, from the first missing one: with 1500 bytes, 6 MB, the product of 100 Gbit/s
/// and 490 µs. Its bitmap takes 512 bytes.
pub const WINDOW: u32 = 4096;

/// All packets before `next`, and a bitmap of later arrivals. The bitmap is made at the first
/// packet out of order.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    next: u32,
    /// One bit per packet, by its number modulo [`WINDOW`].
    beyond: Option<Box<[u64; WINDOW as usize / 64]>>,
    /// Bits set.
    waiting: u32,
}

impl Reassembly {
    /// All packets before this one have arrived.
    #[inline]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Number of packets that have arrived beyond a missing one.
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    /// The stretch of packets beyond a missing one that a packet belongs to, its end exclusive.
    pub fn stretch(&self, seq: u32) -> Option<(u32, u32)> {
        let bits = self.beyond.as_ref().filter(|_| self.waiting > 0)?;
        let has = |seq: u32| {
            let within = seq > self.next && seq - self.next < WINDOW;
            within && bits[(seq % WINDOW / 64) as usize] & (1_u64 << (seq % 64)) != 0
        };
        if !has(seq) {
            return None;
        }
        let first = (self.next..seq).rev().take_while(|seq| has(*seq)).last().unwrap_or(seq);
        let last = (seq..).take_while(|seq| has(*seq)).last().unwrap_or(seq);
        Some((first, last + 1))
    }

    /// Adds a packet; false for a duplicate, or one beyond the window.
    #[inline]
    pub fn accept(&mut self, seq: u32) -> bool {
        if seq == self.next && self.waiting == 0 {
            self.next += 1;
            return true;
        }
        self.accept_out_of_order(seq)
    }

    fn accept_out_of_order(&mut self, seq: u32) -> bool {
        if seq < self.next || seq - self.next >= WINDOW {
            return false;
        }
        let bits = self.beyond.get_or_insert_with(|| Box::new([0; WINDOW as usize / 64]));
        let place = |seq: u32| ((seq % WINDOW / 64) as usize, 1_u64 << (seq % 64));
        let (word, bit) = place(seq);
        if bits[word] & bit != 0 {
            return false;
        }
        bits[word] |= bit;
        self.waiting += 1;
        loop {
            let (word, bit) = place(self.next);
            if bits[word] & bit == 0 {
                return true;
            }
            bits[word] &= !bit;
            self.waiting -= 1;
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The oracle is the set of all arrived packets.
        #[test]
        fn in_lockstep_with_a_set(steps in prop::collection::vec((0_u32..100, 0_u32..40, 1_u32..80), 1..200)) {
            let mut reassembly = Reassembly::default();
            let mut oracle = BTreeSet::new();
            for (back, ahead, run) in steps {
                let from = reassembly.next().saturating_sub(back) + ahead * 120;
                for seq in from..from + run {
                    let first = (0..).find(|seq| !oracle.contains(seq)).unwrap();
                    let fits = seq < first + WINDOW;
                    prop_assert_eq!(reassembly.accept(seq), fits && oracle.insert(seq));
                }
                let first = (0..).find(|seq| !oracle.contains(seq)).unwrap();
                prop_assert_eq!(reassembly.next(), first);
                prop_assert_eq!(reassembly.waiting() as usize, oracle.range(first..).count());
                let begin = (0..=from).rev().take_while(|seq| oracle.contains(seq)).last();
                let end = (from..).find(|seq| !oracle.contains(seq)).unwrap();
                let expected = begin.filter(|_| from > first).map(|begin| (begin, end));
                prop_assert_eq!(reassembly.stretch(from), expected);
            }
        }
    }
}
