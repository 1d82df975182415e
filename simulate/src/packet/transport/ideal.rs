//! `ideal`: no headers, no acknowledgements, no losses.
//!
//! Packets have the bytes of the message only, so times agree with closed forms. A sender knows
//! arrivals at once, and keeps at most [`WINDOW`] packets of a connection in the network, which
//! bounds memory. It has no recovery, so it is refused on networks that drop packets.

use super::reassembly::{self, Reassembly};
use super::{Offer, Transport};
use crate::engine::Picoseconds;
use crate::packet::arena::Packet;

/// Most packets of a connection in flight.
pub const WINDOW: u32 = reassembly::WINDOW;

/// The transport `ideal`.
#[derive(Clone, Copy, Debug)]
pub struct Ideal {
    /// Bytes of a message in one packet.
    pub mtu: u32,
}

/// Packets sent, packets arrived.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sender {
    next: u32,
    arrived: u32,
}

impl Transport for Ideal {
    type Sender = Sender;
    type Receiver = Reassembly;
    const REPLIES: bool = false;

    fn open(&self, _: f64) -> (Sender, Reassembly) {
        (Sender::default(), Reassembly::default())
    }

    fn payload(&self) -> u32 {
        self.mtu
    }

    fn wire(&self, payload: u32) -> u32 {
        payload
    }

    #[inline]
    fn offer(&self, sender: &Sender, _: Picoseconds, end: u32) -> Offer {
        let open = sender.next < end && sender.next - sender.arrived < WINDOW;
        if open { Offer::Packet(sender.next) } else { Offer::Nothing }
    }

    #[inline]
    fn send(&self, sender: &mut Sender, _: Picoseconds, _: &mut Packet) {
        sender.next += 1;
    }

    #[inline]
    fn receive(&self, arrived: &mut Reassembly, _: Picoseconds, packet: &Packet, reply: &mut Packet) -> bool {
        arrived.accept(packet.seq);
        reply.ack = arrived.next();
        true
    }

    #[inline]
    fn received(&self, arrived: &Reassembly) -> u32 {
        arrived.next()
    }

    #[inline]
    fn reply(&self, sender: &mut Sender, _: Picoseconds, reply: &Packet) {
        sender.arrived = reply.ack;
    }

    #[inline]
    fn acknowledged(&self, sender: &Sender) -> u32 {
        sender.arrived
    }

    #[inline]
    fn deadline(&self, _: &Sender) -> Picoseconds {
        Picoseconds::MAX
    }

    fn timeout(&self, _: &mut Sender, _: Picoseconds) {}

    fn retransmits(&self, _: &Sender) -> u64 {
        0
    }
}
