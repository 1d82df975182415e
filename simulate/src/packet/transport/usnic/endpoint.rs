//! Endpoints: the state of one process for another one: windows, credits, queues.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::super::super::arena::NONE;
use super::preset::{Preset, SLOTS};
use crate::engine::Picoseconds;

/// The end of a connection at one process.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    /// Host of the process.
    pub(super) host: u32,
    /// The other end.
    pub(super) peer: u32,
    pub(super) peer_host: u32,
    pub(super) route: u32,
    /// First and last fragment with bytes that the adapter has not got.
    pub(super) first: u32,
    pub(super) last: u32,
    /// Packets that the adapter can still take; resends and tiny fragments make it negative.
    pub(super) credits: i32,
    /// In the list of endpoints with something to send.
    pub(super) is_listed: bool,
    pub(super) next_fragment: u32,
    pub(super) next_seq: u64,
    /// Unacknowledged segments in order; the first one is number `acknowledged` + 1.
    pub(super) sent: VecDeque<u32>,
    /// Last packet acknowledged.
    pub(super) acknowledged: u64,
    /// Packets before this one have all arrived.
    pub(super) next_contiguous: u64,
    window: u64,
    /// One bit per packet of the window that has arrived.
    received: Vec<u64>,
    /// Time of the next acknowledgement that is due.
    pub(super) ack_due: Option<Picoseconds>,
    /// By slot: number of the fragment in reassembly, and its missing bytes.
    slots: FxHashMap<u32, (u32, u64)>,
    /// Numbers of messages: next one to send, next one to match, early arrivals.
    pub(super) next_match: u32,
    pub(super) expected_match: u32,
    pub(super) early: Vec<(u32, u32)>,
}

/// First sequence number of every endpoint: near 2¹⁶, so that every run has a wrap-around.
const FIRST: u64 = 65_000;

/// The outcome of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    Accepted,
    /// An old packet, one beyond the window, or a duplicate.
    Duplicate,
}

impl Endpoint {
    pub(super) fn new((host, peer_host): (u32, u32), peer: u32, route: u32, preset: &Preset) -> Self {
        Self {
            host,
            peer,
            peer_host,
            route,
            first: NONE,
            last: NONE,
            credits: preset.endpoint_credits.cast_signed(),
            is_listed: false,
            next_fragment: 1,
            next_seq: FIRST,
            sent: VecDeque::new(),
            acknowledged: FIRST - 1,
            next_contiguous: FIRST,
            window: u64::from(preset.window),
            received: vec![0; preset.window.div_ceil(64) as usize],
            ack_due: None,
            slots: FxHashMap::default(),
            next_match: 0,
            expected_match: 0,
            early: Vec::new(),
        }
    }

    pub(super) fn window_is_open(&self) -> bool {
        self.next_seq < self.acknowledged + self.window
    }

    /// The segment of a sequence number, if it is not acknowledged.
    pub(super) fn unacknowledged(&self, seq: u64) -> Option<u32> {
        let position = seq.checked_sub(self.acknowledged + 1)?;
        self.sent.get(position as usize).copied()
    }

    /// Adds a packet.
    pub(super) fn arrive(&mut self, seq: u64) -> Arrival {
        let window = self.window;
        let bit = |seq: u64| ((seq % window / 64) as usize, 1_u64 << (seq % window % 64));
        let (word, mask) = bit(seq);
        if seq < self.next_contiguous
            || seq - self.next_contiguous >= window
            || self.received[word] & mask != 0
        {
            return Arrival::Duplicate;
        }
        self.received[word] |= mask;
        loop {
            let (word, mask) = bit(self.next_contiguous);
            if self.received[word] & mask == 0 {
                return Arrival::Accepted;
            }
            self.received[word] &= !mask;
            self.next_contiguous += 1;
        }
    }

    /// True if a packet of the fragment can be accepted: its slot is free or its own.
    pub(super) fn has_slot(&self, number: u32) -> bool {
        self.slots.get(&(number % SLOTS)).is_none_or(|(known, _)| *known == number)
    }

    /// Some bytes of a fragment have arrived; true if these were the last ones.
    pub(super) fn put_together(&mut self, number: u32, of: u64, bytes: u64) -> bool {
        let (_, left) = self.slots.entry(number % SLOTS).or_insert((number, of));
        debug_assert!(bytes <= *left, "a byte was delivered twice");
        *left = left.saturating_sub(bytes);
        let is_complete = *left == 0;
        if is_complete {
            self.slots.remove(&(number % SLOTS));
        }
        is_complete
    }

    #[cfg(test)]
    pub(super) fn slots_used(&self) -> usize {
        self.slots.len()
    }
}

/// The number near `near` that ends in the digits that were on the wire.
pub(super) fn expand(wire: u32, near: u64, bits: u32) -> u64 {
    // Numbers of 64 bits are sent as their lower 32, far wider than any window.
    let unused = 64 - bits.min(32);
    let difference = (u64::from(wire).wrapping_sub(near) << unused).cast_signed() >> unused;
    near.wrapping_add_signed(difference)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_recognised_across_the_wrap() {
        for near in [65_000_u64, 65_536, 70_000, 1 << 20, (1 << 32) - 5, (1 << 33) + 7] {
            for seq in [near - 4096, near - 1, near, near + 1, near + 4095] {
                assert_eq!(expand(seq as u32 & 0xffff, near, 16), seq);
                assert_eq!(expand(seq as u32, near, 64), seq);
            }
        }
        // 16 bits cannot identify a packet that is 65 536 numbers late.
        assert_eq!(expand(10, 65_546, 16), 65_546);
    }

    #[test]
    fn packets_are_accepted_once_and_within_the_window() {
        for window in [4, 65, 4096, 32_768] {
            accepts_once(u64::from(window), &Preset { window, ..Preset::v4_1(9000) });
        }
    }

    fn accepts_once(window: u64, preset: &Preset) {
        let mut endpoint = Endpoint::new((0, 1), 0, 0, preset);
        let first = endpoint.next_contiguous;
        assert_eq!(endpoint.arrive(first + 2), Arrival::Accepted);
        assert_eq!(endpoint.arrive(first + 2), Arrival::Duplicate);
        assert_eq!(endpoint.arrive(first + window), Arrival::Duplicate);
        assert_eq!((endpoint.arrive(first), endpoint.next_contiguous), (Arrival::Accepted, first + 1));
        assert_eq!((endpoint.arrive(first + 1), endpoint.next_contiguous), (Arrival::Accepted, first + 3));
        assert_eq!(endpoint.arrive(first), Arrival::Duplicate);
        // Once round, each bit is used again.
        for seq in first + 3..first + 3 + 2 * window {
            assert_eq!((endpoint.arrive(seq), endpoint.arrive(seq)), (Arrival::Accepted, Arrival::Duplicate));
        }
        assert_eq!(endpoint.next_contiguous, first + 3 + 2 * window);
    }

    #[test]
    fn a_slot_belongs_to_one_fragment_at_a_time() {
        let mut endpoint = Endpoint::new((0, 1), 0, 0, &Preset::v4_1(9000));
        assert!(!endpoint.put_together(1, 300, 100));
        assert!(endpoint.has_slot(1) && !endpoint.has_slot(1 + SLOTS) && endpoint.has_slot(2));
        assert!(!endpoint.put_together(1, 300, 100) && endpoint.put_together(1, 300, 100));
        assert!(endpoint.has_slot(1 + SLOTS));
        assert_eq!(endpoint.slots_used(), 0);
    }
}
