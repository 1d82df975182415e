//! Bytes that links carried in a stretch of time.
//!
//! In models with a clock of their own, a phase lasts from the last rank's entry to the last rank's
//! entry into the next one. Its link bytes are all bytes that a link carries in this time. They
//! belong to the same interval as its time, so no link exceeds its capacity. Messages in flight at
//! the end of a phase count for the next one. Bytes of idle stretches belong to no phase, like
//! their time.

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

    /// Limits every link to its capacity in a time, and returns the excess.
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

    /// Whole bytes by link, ascending: links with bytes and those of `also`, which ascend. The
    /// number of rank pairs is that of `asked`, which ascends too.
    pub(super) fn shares(&self, also: impl Iterator<Item = LinkId>, asked: &[LinkShare]) -> Vec<LinkShare> {
        let mut bytes: Vec<(LinkId, u64)> = self
            .0
            .iter()
            .map(|(link, bytes)| (LinkId(*link), bytes.round() as u64))
            .filter(|(_, bytes)| *bytes > 0)
            .chain(also.map(|link| (link, 0)))
            .collect();
        // Of a link that is listed twice, the entry with bytes comes first.
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
