//! Holds of many flows together.

use std::collections::BTreeMap;

use super::Delay;
use crate::topology::LinkId;

/// Delays added up by link and owner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DelaySums {
    /// Picoseconds.
    of: BTreeMap<(Option<LinkId>, Option<u32>), f64>,
}

impl DelaySums {
    /// Adds a part of a hold.
    pub fn add(&mut self, delay: &Delay, part: f64) {
        *self.of.entry((delay.link, delay.by)).or_default() += delay.time * part;
    }

    /// Adds a part of other sums.
    pub fn add_all(&mut self, other: &Self, part: f64) {
        other.iter().for_each(|delay| self.add(&delay, part));
    }

    /// By link, then owner.
    pub fn iter(&self) -> impl Iterator<Item = Delay> + '_ {
        self.of.iter().map(|((link, by), time)| Delay { link: *link, by: *by, time: *time })
    }

    /// The same by owner alone.
    #[must_use]
    pub fn without_links(&self) -> Self {
        let mut sums = Self::default();
        self.iter().for_each(|delay| sums.add(&Delay { link: None, ..delay }, 1.0));
        sums
    }

    /// All together, picoseconds.
    pub fn time(&self) -> f64 {
        self.of.values().sum()
    }
}
