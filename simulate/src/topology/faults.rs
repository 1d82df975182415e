//! What a link does to packets besides carrying them.

use serde::{Deserialize, Serialize};

/// Faults of a link, each by chance and anew for every packet that passes. Only the packet model
/// looks at them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Faults {
    /// Probability that a packet is lost, below 1.
    pub loss: f64,
    /// Probability that a packet arrives twice, below 1.
    pub duplicate: f64,
    /// A packet takes up to so much longer, picoseconds, evenly distributed, so that packets
    /// overtake each other; 0 keeps their order.
    pub reorder_ps: u64,
}

impl Faults {
    /// True for a link that only carries.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Both causes at once: what either loses or doubles, and the longer one of the delays.
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
