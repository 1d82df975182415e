//! Where packets live: one vector of records of one cache line each, and a free list through them.
//!
//! A record is a packet or a timer: both wait in the [`Calendar`](super::calendar::Calendar), which links them by their ids
//! and needs no memory of its own for them. A packet in flight costs 64 bytes and nothing else.

use crate::engine::Picoseconds;

/// No record, no link, no host.
pub(super) const NONE: u32 = u32::MAX;

/// A packet: what the engine needs to carry it, and header words for the programs at its ends and on its way.
///
/// `flow`, `seq`, `ack`, `kind` and `words` mean what the program that made the packet says; the engine reads none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Packet {
    /// When it happens next.
    pub(super) time: Picoseconds,
    /// The next record in its bucket, port or free list.
    pub(super) next: u32,
    /// The link it is on.
    pub(super) link: u32,
    /// Where its way stands in the table of routes: [`Fabric::route`](super::Fabric::route).
    pub route: u32,
    /// Number of the host it goes to.
    pub dst: u32,
    /// The connection it belongs to.
    pub flow: u32,
    /// Number of the packet within its connection.
    pub seq: u32,
    /// What is acknowledged.
    pub ack: u32,
    /// Bytes it occupies a link for: the frame, its preamble and the gap after it; see [`wire_bytes`](super::wire_bytes).
    pub wire: u32,
    /// Bytes of the user's in it.
    pub payload: u32,
    /// What the record is for the engine.
    pub(super) event: Event,
    /// What the packet is for its program.
    pub kind: u8,
    /// [`ECN_CAPABLE`], [`ECN_MARKED`], and bits of the program's own from [`PROGRAM_FLAGS`] on.
    pub flags: u16,
    /// Header words of the program's own.
    pub words: [u32; 4],
}

/// The sender understands congestion marks; without it a queue above the threshold lets the packet pass unmarked.
pub const ECN_CAPABLE: u16 = 1;
/// A queue on the way was above its threshold.
pub const ECN_MARKED: u16 = 2;
/// The lowest flag that the engine leaves alone.
pub const PROGRAM_FLAGS: u16 = 16;

/// What happens when a record's time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Event {
    /// The packet has reached the end of its link.
    Arrival,
    /// A program's timer.
    Timer,
    /// The port has put a packet on the wire and may take the next one.
    Port,
    /// A pause or its end reaches the port.
    Pause,
}

impl Default for Packet {
    fn default() -> Self {
        Self {
            time: 0,
            next: NONE,
            link: NONE,
            route: NONE,
            dst: NONE,
            flow: 0,
            seq: 0,
            ack: 0,
            wire: 0,
            payload: 0,
            event: Event::Arrival,
            kind: 0,
            flags: 0,
            words: [0; 4],
        }
    }
}

/// Records by id, and which are free.
#[derive(Clone, Debug)]
pub(super) struct Arena {
    records: Vec<Packet>,
    free: u32,
    used: usize,
}

impl Default for Arena {
    fn default() -> Self {
        Self { records: Vec::new(), free: NONE, used: 0 }
    }
}

impl Arena {
    /// Keeps a record; the room of a removed one is used first.
    #[inline]
    pub(super) fn insert(&mut self, packet: Packet) -> u32 {
        self.used += 1;
        let id = self.free;
        if let Some(record) = self.records.get_mut(id as usize) {
            self.free = record.next;
            *record = packet;
            return id;
        }
        self.records.push(packet);
        (self.records.len() - 1) as u32
    }

    /// Takes a record out.
    #[inline]
    pub(super) fn remove(&mut self, id: u32) -> Packet {
        self.used -= 1;
        let record = &mut self.records[id as usize];
        let packet = *record;
        record.next = self.free;
        self.free = id;
        packet
    }

    /// Number of records in use.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// The largest number of records that were in use at once.
    pub(super) fn peak(&self) -> usize {
        self.records.len()
    }
}

impl std::ops::Index<u32> for Arena {
    type Output = Packet;

    #[inline]
    fn index(&self, id: u32) -> &Packet {
        &self.records[id as usize]
    }
}

impl std::ops::IndexMut<u32> for Arena {
    #[inline]
    fn index_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.records[id as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_a_cache_line_and_room_is_used_again() {
        assert_eq!(size_of::<Packet>(), 64);
        let mut arena = Arena::default();
        let ids: Vec<u32> = (0..100).map(|seq| arena.insert(Packet { seq, ..Packet::default() })).collect();
        assert!(ids.iter().zip(0..).all(|(id, seq)| arena[*id].seq == seq));
        assert!(ids.iter().zip(0..).all(|(id, seq)| arena.remove(*id).seq == seq));
        let again: Vec<u32> = (0..100).map(|_| arena.insert(Packet::default())).collect();
        assert!(again.iter().all(|id| ids.contains(id)));
        assert_eq!((arena.used(), arena.peak()), (100, 100));
    }
}
