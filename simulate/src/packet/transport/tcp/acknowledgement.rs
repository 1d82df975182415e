//! The receiver: which packets have arrived, and when it says so.
//!
//! Every second packet in order is acknowledged at once, a single one after the delay (RFC 1122,
//! section 4.2.3.2; RFC 5681, section 4.2). Packets out of order, and those that fill a gap, are
//! acknowledged at once, with the stretch of packets that the newest one belongs to (RFC 2018, the
//! first block; others are not needed as long as acknowledgements arrive).

use super::super::reassembly::Reassembly;
use crate::engine::Picoseconds;

/// The packets of a connection at its destination.
#[derive(Clone, Debug)]
pub struct Receiver {
    arrived: Reassembly,
    /// Packets in order that are not acknowledged: 0 or 1.
    pending: u32,
    /// When they are; [`Picoseconds::MAX`] if there are none.
    pub(super) deadline: Picoseconds,
    /// Time stamp of the oldest packet that is not acknowledged (RFC 7323, section 4.1).
    stamp: [u32; 2],
}

/// Packets in order that are acknowledged together: 2 (RFC 5681, section 4.2).
const TOGETHER: u32 = 2;

/// What an acknowledgement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Acknowledgement {
    /// All packets before this one have arrived.
    pub(super) ack: u32,
    /// The time stamp that is echoed.
    pub(super) stamp: [u32; 2],
    /// A stretch of packets beyond a missing one, its end exclusive.
    pub(super) block: Option<(u32, u32)>,
}

impl Receiver {
    pub(super) fn new() -> Self {
        Self { arrived: Reassembly::default(), pending: 0, deadline: Picoseconds::MAX, stamp: [0; 2] }
    }

    pub(super) fn next(&self) -> u32 {
        self.arrived.next()
    }

    /// A packet arrives; `None` if it is acknowledged later.
    pub(super) fn take(
        &mut self,
        seq: u32,
        stamp: [u32; 2],
        now: Picoseconds,
        delay: Picoseconds,
    ) -> Option<Acknowledgement> {
        let before = self.arrived.next();
        let had_gap = self.arrived.waiting() > 0;
        self.arrived.accept(seq);
        let is_in_order = seq == before && !had_gap;
        if self.pending == 0 {
            self.stamp = stamp;
        }
        if is_in_order {
            self.pending += 1;
            if self.pending < TOGETHER && delay > 0 {
                self.deadline = now.saturating_add(delay);
                return None;
            }
        }
        let block = self.arrived.stretch(seq);
        Some(Acknowledgement { block, ..self.acknowledge() })
    }

    /// The acknowledgement of all that is pending.
    pub(super) fn acknowledge(&mut self) -> Acknowledgement {
        (self.pending, self.deadline) = (0, Picoseconds::MAX);
        Acknowledgement { ack: self.arrived.next(), stamp: self.stamp, block: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Picoseconds = 40;

    #[test]
    fn every_second_packet_and_every_gap_is_acknowledged() {
        let mut receiver = Receiver::new();
        let mut take = |seq: u32| {
            let said = receiver.take(seq, [seq, 0], u64::from(seq) * 100, DELAY);
            (said.map(|said| (said.ack, said.stamp[0], said.block)), receiver.deadline)
        };
        let never = Picoseconds::MAX;
        assert_eq!(take(0), (None, 40));
        // The stamp of the older one is echoed.
        assert_eq!(take(1), (Some((2, 0, None)), never));
        assert_eq!(take(2), (None, 240));
        assert_eq!(take(4), (Some((3, 2, Some((4, 5)))), never));
        assert_eq!(take(5), (Some((3, 5, Some((4, 6)))), never));
        assert_eq!(take(7), (Some((3, 7, Some((7, 8)))), never));
        // A gap that is filled in part, and the rest.
        assert_eq!(take(3), (Some((6, 3, None)), never));
        assert_eq!(take(6), (Some((8, 6, None)), never));
        // A packet that was there already.
        assert_eq!(take(6), (Some((8, 6, None)), never));
        assert_eq!(take(8), (None, 840));
    }

    #[test]
    fn a_delay_of_nothing_is_none() {
        let mut receiver = Receiver::new();
        assert_eq!(receiver.take(0, [0; 2], 5, 0).map(|said| said.ack), Some(1));
    }
}
