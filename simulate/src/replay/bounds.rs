//! Lower bounds on the time of a replay: networks without sharing, and without limits to capacity.

use crate::engine::Picoseconds;

/// Lower bounds on the makespan: one for any routing, one for any capacity.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds {
    /// By stretch: the time if every message had its links alone.
    pub(crate) unshared: Vec<Picoseconds>,
    /// The time if links had unlimited capacity.
    pub(crate) unlimited: Vec<Picoseconds>,
}

impl Bounds {
    /// Time of a stretch if every message had its links alone.
    pub(crate) fn unshared(&self, stretch: usize) -> Option<Picoseconds> {
        self.unshared.get(stretch).copied()
    }

    /// Time of a stretch if links had unlimited capacity.
    pub(crate) fn unlimited(&self, stretch: usize) -> Option<Picoseconds> {
        self.unlimited.get(stretch).copied()
    }
}
