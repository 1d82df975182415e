//! Holds of many flows together.

use std::collections::BTreeMap;

use super::Hold;
use crate::topology::LinkId;

/// Holds added up by link and owner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HoldSums {
    /// Picoseconds.
    of: BTreeMap<(Option<LinkId>, Option<u32>), f64>,
}

impl HoldSums {
    /// Adds a part of a hold.
    pub fn add(&mut self, hold: &Hold, part: f64) {
        *self.of.entry((hold.link, hold.by)).or_default() += hold.time * part;
    }

    /// Adds a part of other sums.
    pub fn add_all(&mut self, other: &Self, part: f64) {
        other.iter().for_each(|hold| self.add(&hold, part));
    }

    /// By link, then owner.
    pub fn iter(&self) -> impl Iterator<Item = Hold> + '_ {
        self.of.iter().map(|((link, by), time)| Hold { link: *link, by: *by, time: *time })
    }

    /// The same by owner alone.
    #[must_use]
    pub fn without_links(&self) -> Self {
        let mut sums = Self::default();
        self.iter().for_each(|hold| sums.add(&Hold { link: None, ..hold }, 1.0));
        sums
    }

    /// All together, picoseconds.
    pub fn time(&self) -> f64 {
        self.of.values().sum()
    }
}
