//! The memory of packets: two parallel vectors of records with a free list.
//!
//! Every link that a packet passes reads and writes its [`Step`], 16 bytes; the other 48 bytes are
//! only used at its source and its end. Once the packets in flight fill a cache, this split
//! determines the speed. Timers are records too.

/// No record, no link, no host.
pub(super) const NONE: u32 = u32::MAX;

/// A packet: data for the engine, and header words for the programs at hosts and switches.
///
/// The program that makes the packet defines `flow`, `seq`, `ack`, `kind` and `words`; the engine
/// does not read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Position of its route in the table of routes: [`Fabric::route`](super::Fabric::route).
    pub route: u32,
    /// Number of the host it goes to.
    pub dst: u32,
    /// The connection it belongs to.
    pub flow: u32,
    /// Number of the packet within its connection.
    pub seq: u32,
    /// What is acknowledged.
    pub ack: u32,
    /// Bytes it occupies a link for: the frame, its preamble and the gap after it; see
    /// [`wire_bytes`](super::wire_bytes).
    pub wire: u32,
    /// Bytes of the user's in it.
    pub payload: u32,
    /// The kind of packet, defined by the program.
    pub kind: u8,
    /// [`ECN_CAPABLE`], [`ECN_MARKED`], and bits of the program's own from [`PROGRAM_FLAGS`] on.
    pub flags: u16,
    /// Header words of the program's own.
    pub words: [u32; 4],
}

/// What carries a packet along.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// The link it is on; of a timer its first word; of a free record the next one.
    pub(super) link: u32,
    /// As [`Packet::route`]; of a timer its second word.
    pub(super) route: u32,
    /// As [`Packet::wire`].
    pub(super) wire: u32,
    /// As [`Packet::flags`].
    pub(super) flags: u16,
    /// Of a timer its kind.
    pub(super) kind: u8,
    /// The kind of the record.
    pub(super) event: Event,
}

/// The sender understands congestion marks; without it a queue above the threshold lets the packet
/// pass unmarked.
pub const ECN_CAPABLE: u16 = 1;
/// A queue on the route was above its threshold.
pub const ECN_MARKED: u16 = 2;
/// The lowest flag that the engine leaves alone.
pub const PROGRAM_FLAGS: u16 = 16;

/// The event at the time of a record.
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
            route: NONE,
            dst: NONE,
            flow: 0,
            seq: 0,
            ack: 0,
            wire: 0,
            payload: 0,
            kind: 0,
            flags: 0,
            words: [0; 4],
        }
    }
}

/// Records by id, with the free ones.
#[derive(Clone, Debug)]
pub(super) struct Arena {
    steps: Vec<Step>,
    /// The data of packets; undefined for other records.
    packets: Vec<Packet>,
    free: u32,
    used: usize,
    /// Records in use that are no packets.
    others: usize,
}

impl Default for Arena {
    fn default() -> Self {
        Self { steps: Vec::new(), packets: Vec::new(), free: NONE, used: 0, others: 0 }
    }
}

impl Arena {
    /// Stores a packet, in a free record if there is one.
    #[inline]
    pub(super) fn insert(&mut self, packet: Packet) -> u32 {
        let Packet { route, wire, flags, kind, .. } = packet;
        let id = self.insert_step(Step { link: NONE, route, wire, flags, kind, event: Event::Arrival });
        match self.packets.get_mut(id as usize) {
            Some(place) => *place = packet,
            None => {
                self.packets.resize(id as usize, Packet::default());
                self.packets.push(packet);
            }
        }
        id
    }

    /// Keeps something that is no packet.
    #[inline]
    pub(super) fn insert_step(&mut self, step: Step) -> u32 {
        self.used += 1;
        self.others += usize::from(step.event != Event::Arrival);
        let id = self.free;
        if let Some(free) = self.steps.get_mut(id as usize) {
            self.free = free.link;
            *free = step;
            return id;
        }
        self.steps.push(step);
        (self.steps.len() - 1) as u32
    }

    /// The packet of a record, as it is now.
    #[inline]
    pub(super) fn packet(&self, id: u32) -> Packet {
        let Step { route, flags, .. } = self[id];
        Packet { route, flags, ..self.packets[id as usize] }
    }

    /// Replaces the packet of a record.
    pub(super) fn replace(&mut self, id: u32, packet: Packet) {
        let Packet { route, wire, flags, kind, .. } = packet;
        let step = &mut self[id];
        *step = Step { route, wire, flags, kind, ..*step };
        self.packets[id as usize] = packet;
    }

    /// Destination and connection of a packet.
    #[inline]
    pub(super) fn ends(&self, id: u32) -> (u32, u32) {
        let packet = &self.packets[id as usize];
        (packet.dst, packet.flow)
    }

    /// Frees a record.
    #[inline]
    pub(super) fn remove(&mut self, id: u32) {
        self.used -= 1;
        self.others -= usize::from(self[id].event != Event::Arrival);
        self.steps[id as usize].link = self.free;
        self.free = id;
    }

    /// The records in use that are packets.
    pub(super) fn packet_ids(&self) -> impl Iterator<Item = u32> + use<> {
        let mut is_packet: Vec<bool> = self.steps.iter().map(|step| step.event == Event::Arrival).collect();
        let mut free = self.free;
        while let Some(step) = self.steps.get(free as usize) {
            is_packet[free as usize] = false;
            free = step.link;
        }
        (0..).zip(is_packet).filter(|(_, is_packet)| *is_packet).map(|(id, _)| id)
    }

    /// Number of packets in use.
    pub(super) fn packets_used(&self) -> usize {
        self.used - self.others
    }

    /// The largest number of records that were in use at once.
    pub(super) fn peak(&self) -> usize {
        self.steps.len()
    }
}

impl std::ops::Index<u32> for Arena {
    type Output = Step;

    #[inline]
    fn index(&self, id: u32) -> &Step {
        &self.steps[id as usize]
    }
}

impl std::ops::IndexMut<u32> for Arena {
    #[inline]
    fn index_mut(&mut self, id: u32) -> &mut Step {
        &mut self.steps[id as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_takes_64_bytes_and_room_is_used_again() {
        assert_eq!((size_of::<Step>(), size_of::<Packet>()), (16, 48));
        let mut arena = Arena::default();
        let ids: Vec<u32> = (0..100).map(|seq| arena.insert(Packet { seq, ..Packet::default() })).collect();
        assert!(ids.iter().zip(0..).all(|(id, seq)| arena.packet(*id).seq == seq));
        ids.iter().for_each(|id| arena.remove(*id));
        let again: Vec<u32> = (0..100).map(|_| arena.insert(Packet::default())).collect();
        assert!(again.iter().all(|id| ids.contains(id)));
        assert_eq!((arena.packets_used(), arena.peak()), (100, 100));
    }
}
