//! Faults of a link: loss, duplication and reordering of packets.

use serde::{Deserialize, Serialize};

/// Faults of a link, drawn for every packet. Only the packet model uses them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Faults {
    /// Probability that a packet is lost, below 1.
    pub loss: f64,
    /// Probability that a packet arrives twice, below 1.
    pub duplicate: f64,
    /// Largest additional delay of a packet, picoseconds, uniformly distributed, so that packets
    /// overtake each other; 0 keeps their order.
    pub reorder_ps: u64,
}

impl Faults {
    /// True for a link that only carries.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Both faults together: loss or duplication by either, and the longer delay.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let either = |a: f64, b: f64| a + b - a * b;
        Self {
            loss: either(self.loss, other.loss),
            duplicate: either(self.duplicate, other.duplicate),
            reorder_ps: self.reorder_ps.max(other.reorder_ps),
        }
    }
}
