//! Bytes that links carried in a stretch of time.
//!
//! In models with a clock of their own a phase loads a link with what the link carries from the
//! last rank's entry into the phase to the last one's entry into the next, whoever sent it: as its
//! time, so its bytes, and no link carries more than its capacity. What was sent at the end of a
//! phase and travels in the time of the next one is a load of the next one. Bytes that are carried
//! in idle stretches are in no phase, as is their time.

use rustc_hash::FxHashMap;

use crate::engine::Picoseconds;
use crate::topology::{LinkId, Topology};
use crate::traffic::LinkShare;
use crate::units::BYTES_PER_PS;

/// Bytes by link; parts of bytes where a message was under way at an end of the time.
#[derive(Clone, Debug, Default)]
pub(super) struct LinkBytes(FxHashMap<u32, f64>);

impl LinkBytes {
    /// Adds what links carried, times `factor`.
    pub(super) fn add(&mut self, links: impl IntoIterator<Item = (LinkId, f64)>, factor: f64) {
        for (link, bytes) in links {
            *self.0.entry(link.0).or_default() += bytes * factor;
        }
    }

    /// By link, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (LinkId, f64)> + '_ {
        self.0.iter().map(|(link, bytes)| (LinkId(*link), *bytes))
    }

    /// Cuts every link to what it can carry in a time, and returns what is above that.
    pub(super) fn cut(&mut self, topology: &Topology, time: Picoseconds) -> Self {
        let mut rest = Self::default();
        for (link, bytes) in &mut self.0 {
            let most = topology.link(LinkId(*link)).capacity * BYTES_PER_PS * time as f64;
            if *bytes > most {
                rest.0.insert(*link, *bytes - most);
                *bytes = most;
            }
        }
        rest
    }

    /// In whole bytes, by link in ascending order: links that carried any and those of `also`,
    /// which ascend. How many pairs of ranks use each is from what was `asked` for, which ascends
    /// too.
    pub(super) fn shares(&self, also: impl Iterator<Item = LinkId>, asked: &[LinkShare]) -> Vec<LinkShare> {
        let mut bytes: Vec<(LinkId, u64)> = self
            .0
            .iter()
            .map(|(link, bytes)| (LinkId(*link), bytes.round() as u64))
            .filter(|(_, bytes)| *bytes > 0)
            .chain(also.map(|link| (link, 0)))
            .collect();
        // Of a link that is there twice the bytes come first.
        bytes.sort_unstable_by_key(|(link, bytes)| (*link, std::cmp::Reverse(*bytes)));
        bytes.dedup_by_key(|(link, _)| *link);
        let share = |(link, bytes): (LinkId, u64)| {
            let place = asked.binary_search_by_key(&link, |share| share.link);
            let flows = place.map_or(0, |place| asked[place].flows);
            LinkShare { link, flows, bytes, load: 0.0 }
        };
        bytes.into_iter().map(share).collect()
    }
}
