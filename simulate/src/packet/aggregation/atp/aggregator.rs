//! The aggregator table of a switch, and its operations for packets (paper § 3.5, § 3.7).
//!
//! The first contribution to a sum allocates an aggregator; the passing result frees it. A packet
//! that finds its aggregator allocated to another sum continues to the server alone. An aggregator
//! without contributions for a time counts as leaked: any packet of another sum that hashes to it,
//! a contribution, a resend or a result, frees it (paper § 3.7, *Memory leak*).
//!
//! ```text
//!          contribution                    last contribution                parameter packet
//!   free ───────────────► summing, bitmap ──────────────────► complete ─────────────────────► free
//!                            └───────── resend: the sum so far goes on to the server ───────────►┘
//! ```

use super::header::{COLLISION, ECN, SECOND, contribution, identifier, is_marked};
use super::vectors::{Vectors, add_integers};
use crate::engine::Picoseconds;
use crate::packet::arena::{NONE, Packet};

/// One aggregator, half a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Job and sequence number, or [`FREE`].
    pub(super) identifier: u64,
    /// Time of the last contribution.
    last_used: Picoseconds,
    /// Whose contributions are in it.
    pub(super) bitmap: u32,
    /// Their number.
    pub(super) counter: u32,
    /// Its sum, among the vectors.
    pub(super) value: u32,
    /// A contribution was marked.
    is_marked: bool,
}

/// No job, no packet.
pub(super) const FREE: u64 = u64::MAX;

/// A free aggregator.
const EMPTY: Row =
    Row { identifier: FREE, last_used: 0, bitmap: 0, counter: 0, value: NONE, is_marked: false };

/// The aggregators of one switch.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) rows: Vec<Row>,
    /// Time without contributions after which another packet frees an aggregator.
    leak_timeout: Picoseconds,
    /// Packets that found their aggregator taken.
    pub(super) collisions: u64,
    /// Aggregators that were freed as leaked.
    pub(super) leaks: u64,
}

impl Table {
    pub(super) fn new(aggregators: u32, leak_timeout: Picoseconds) -> Self {
        Self { rows: vec![EMPTY; aggregators as usize], leak_timeout, collisions: 0, leaks: 0 }
    }

    /// The aggregator of a packet; a leaked one of another sum is freed.
    #[inline]
    fn asked(&mut self, packet: &Packet, now: Picoseconds, vectors: &mut Vectors) -> Option<&mut Row> {
        let row = self.rows.get_mut(packet.words[2] as usize)?;
        let is_others = row.identifier != FREE && row.identifier != identifier(packet);
        if is_others && now.saturating_sub(row.last_used) > self.leak_timeout {
            self.leaks += 1;
            vectors.release(row.value);
            *row = EMPTY;
        }
        Some(row)
    }

    /// Processes a first contribution; true if the packet continues, possibly as the whole sum.
    #[inline]
    pub(super) fn add(
        &mut self,
        packet: &mut Packet,
        now: Picoseconds,
        vectors: &mut Vectors,
        is_code: bool,
    ) -> bool {
        let identifier = identifier(packet);
        let (bitmap, fan_in) = contribution(packet);
        let is_open = |row: &&mut Row| row.identifier == identifier || row.identifier == FREE;
        let Some(row) = self.asked(packet, now, vectors).filter(is_open) else {
            self.collisions += 1;
            packet.flags |= COLLISION;
            return true;
        };
        row.identifier = identifier;
        row.is_marked |= is_marked(packet);
        if row.bitmap & bitmap != 0 {
            vectors.release(packet.words[3]);
            // The code sends a complete sum once more; the paper drops the duplicate.
            if !is_code || row.counter < fan_in {
                return false;
            }
        } else {
            take(row, packet.words[3], bitmap, vectors);
            row.last_used = now;
            if row.counter < fan_in {
                return false;
            }
        }
        packet.words[3] = vectors.copy(row.value);
        give(row, packet);
        packet.flags |= SECOND;
        true
    }

    /// Processes a resent contribution at the switch of its worker's rack: it takes the partial sum
    /// along. It always continues and allocates no aggregator, as other workers may have
    /// contributed already.
    pub(super) fn resend_first(&mut self, packet: &mut Packet, now: Picoseconds, vectors: &mut Vectors) {
        let identifier = identifier(packet);
        let Some(row) = self.asked(packet, now, vectors) else { return };
        if row.identifier != identifier {
            return;
        }
        let (bitmap, _) = contribution(packet);
        if row.bitmap & bitmap == 0 {
            take(row, packet.words[3], bitmap, vectors);
        } else {
            vectors.release(packet.words[3]);
        }
        packet.words[3] = row.value;
        give(row, packet);
        *row = EMPTY;
    }

    /// Processes a resent contribution at the switch of the server's rack: the sum there is
    /// dropped, as each rack resends its own.
    pub(super) fn resend_second(&mut self, packet: &mut Packet, now: Picoseconds, vectors: &mut Vectors) {
        let identifier = identifier(packet);
        let Some(row) = self.asked(packet, now, vectors) else { return };
        if row.identifier == identifier {
            // The sum is dropped, but its mark is kept.
            if row.is_marked {
                packet.flags |= ECN;
            }
            vectors.release(row.value);
            *row = EMPTY;
        }
    }

    /// A result passes: its aggregator is free.
    #[inline]
    pub(super) fn free(&mut self, packet: &Packet, now: Picoseconds, vectors: &mut Vectors) {
        let Some(row) = self.asked(packet, now, vectors) else { return };
        if row.identifier == identifier(packet) {
            vectors.release(row.value);
            *row = EMPTY;
        }
    }
}

/// An aggregator takes a contribution in.
#[inline]
fn take(row: &mut Row, value: u32, bitmap: u32, vectors: &mut Vectors) {
    if row.bitmap == 0 {
        row.value = value;
    } else {
        vectors.add(row.value, value, add_integers);
    }
    row.bitmap |= bitmap;
    row.counter += 1;
}

/// The packet leaves with the state of the sum, without its values.
#[inline]
fn give(row: &Row, packet: &mut Packet) {
    packet.words[usize::from(packet.flags & SECOND != 0)] = row.bitmap;
    if row.is_marked {
        packet.flags |= ECN;
    }
}
