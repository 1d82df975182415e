//! Lower bounds on the time of a replay: networks without sharing, and without limits to capacity.

use crate::engine::Picoseconds;

/// What no routing and no faster network can beat.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds {
    /// By stretch: if nobody had to share links.
    pub(crate) unshared: Vec<Picoseconds>,
    /// If links had no limit to their capacity.
    pub(crate) unlimited: Vec<Picoseconds>,
}

impl Bounds {
    /// Of a stretch, if nobody had to share links.
    pub(crate) fn unshared(&self, stretch: usize) -> Option<Picoseconds> {
        self.unshared.get(stretch).copied()
    }

    /// Of a stretch, if links had no limit to their capacity.
    pub(crate) fn unlimited(&self, stretch: usize) -> Option<Picoseconds> {
        self.unlimited.get(stretch).copied()
    }
}
