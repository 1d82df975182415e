//! The order of packets on a queue pair of RDMA: what an unreliable connection takes and what it drops.
//!
//! Packets are numbered. The first packet of a message is always taken; a gap in the numbers drops the rest of the message (InfiniBand
//! Architecture Specification, unreliable connection service). SwitchML's switch does the same for each worker and queue pair.

/// The receiving end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    expected: u32,
    is_broken: bool,
}

impl Order {
    /// True if the packet with this number, the `position`-th of its message, is taken.
    #[inline]
    pub(super) fn takes(&mut self, number: u32, position: u32) -> bool {
        self.is_broken = position != 0 && (self.is_broken || number != self.expected);
        self.expected = number.wrapping_add(1);
        !self.is_broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_drops_the_rest_of_a_message() {
        let mut order = Order::default();
        // Two messages of four packets; the second packet is lost, then the first one of the next message.
        let taken: Vec<bool> =
            [(7, 0), (9, 2), (10, 3), (11, 0), (12, 1), (13, 2), (14, 3), (16, 1), (17, 2)]
                .map(|(number, position)| order.takes(number, position))
                .into();
        assert_eq!(taken, [true, false, false, true, true, true, true, false, false]);
    }
}
