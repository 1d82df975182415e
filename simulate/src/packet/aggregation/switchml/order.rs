//! The order of packets on an unreliable connection of RDMA, which drops some of them.
//!
//! Packets are numbered. The first packet of a message is always accepted. A gap in the numbers
//! drops the rest of the message, and so does a length that differs from that of the first packet
//! (InfiniBand Architecture Specification, unreliable connection service). SwitchML's switch does
//! the same for each worker and queue pair.

/// The receiving end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    /// Number of the next packet, and its position in the message.
    expected: (u32, u32),
    is_broken: bool,
}

impl Order {
    /// True if the packet with this number, the `position`-th of its message, is accepted.
    ///
    /// Numbers do not suffice: a result for all and one for a single worker may follow each other
    /// with missing packets in between.
    #[inline]
    pub(super) fn takes(&mut self, number: u32, position: u32) -> bool {
        self.is_broken = position != 0 && (self.is_broken || (number, position) != self.expected);
        self.expected = (number.wrapping_add(1), position + 1);
        !self.is_broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(packets: &[(u32, u32)]) -> Vec<bool> {
        let mut order = Order::default();
        packets.iter().map(|(number, position)| order.takes(*number, *position)).collect()
    }

    #[test]
    fn a_gap_drops_the_rest_of_a_message() {
        // Two messages of four packets; the second packet is lost, then the first one of the next
        // message.
        let found = taken(&[(7, 0), (9, 2), (10, 3), (11, 0), (12, 1), (13, 2), (14, 3), (16, 1), (17, 2)]);
        assert_eq!(found, [true, false, false, true, true, true, true, false, false]);
    }

    #[test]
    fn a_message_has_all_its_packets() {
        assert_eq!(taken(&[(1, 0), (2, 2)]), [true, false]);
        assert_eq!(taken(&[(1, 0), (2, 1), (3, 1), (4, 2)]), [true, true, false, false]);
    }
}
