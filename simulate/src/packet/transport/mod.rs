//! Transports: they cut messages into packets, and control loss, order and congestion.

pub(super) mod choice;
pub mod dctcp;
pub mod ideal;
mod messages;
pub mod reassembly;
pub mod roce;
mod round_trip;
mod stack;
pub mod tcp;
pub mod usnic;

pub use choice::{NAMES, TransportChoice};
pub use dctcp::Dctcp;
pub use ideal::Ideal;
pub use roce::Roce;
pub use stack::Stack;
pub use tcp::Tcp;

use super::arena::Packet;
use crate::engine::Picoseconds;

/// A protocol that numbers the packets of a connection 0, 1, … and delivers them in order.
///
/// The [`Stack`] cuts messages into packets, lets the connections of a host share its wire in turn,
/// carries replies back and keeps timers. The protocol chooses the next packet and its time.
pub trait Transport {
    /// State of a connection at its source.
    type Sender;
    /// State of a connection at its destination.
    type Receiver;
    /// False if a sender knows arrivals at once, without a packet.
    const REPLIES: bool = true;
    /// True if a receiver may reply later, at its [deadline](Self::reply_deadline).
    const DELAYS_REPLIES: bool = false;

    /// A new connection; its source can send `gbps` Gbit/s.
    fn open(&self, gbps: f64) -> (Self::Sender, Self::Receiver);

    /// Most bytes of a message in one packet, at least 1.
    fn payload(&self) -> u32;

    /// Bytes on the wire of a packet that carries `payload` bytes of a message.
    fn wire(&self, payload: u32) -> u32;

    /// Bytes that a host puts into one queue before its wire. By default a packet is made when the
    /// wire is free.
    fn host_queue(&self) -> u64 {
        0
    }

    /// The next action of the sender; packets up to `end` (exclusive) are ready.
    fn offer(&self, sender: &Self::Sender, now: Picoseconds, end: u32) -> Offer;

    /// Sends the packet of the last [`offer`](Self::offer); sets its flags and words.
    fn send(&self, sender: &mut Self::Sender, now: Picoseconds, packet: &mut Packet);

    /// Receives a data packet. Fills in `reply` and returns true if the sender gets a reply.
    fn receive(
        &self,
        receiver: &mut Self::Receiver,
        now: Picoseconds,
        packet: &Packet,
        reply: &mut Packet,
    ) -> bool;

    /// Time of the next [delayed reply](Self::delayed_reply); [`Picoseconds::MAX`] for never.
    fn reply_deadline(&self, receiver: &Self::Receiver) -> Picoseconds {
        let _ = receiver;
        Picoseconds::MAX
    }

    /// The deadline of a reply has passed: fills it in.
    fn delayed_reply(&self, receiver: &mut Self::Receiver, reply: &mut Packet) {
        let _ = (receiver, reply);
    }

    /// Packets before this one have all arrived.
    fn received(&self, receiver: &Self::Receiver) -> u32;

    /// A reply has come back.
    fn reply(&self, sender: &mut Self::Sender, now: Picoseconds, reply: &Packet);

    /// Packets before this one are known to have arrived.
    fn acknowledged(&self, sender: &Self::Sender) -> u32;

    /// Time of the next [`timeout`](Self::timeout); [`Picoseconds::MAX`] for never.
    fn deadline(&self, sender: &Self::Sender) -> Picoseconds;

    /// The deadline has passed.
    fn timeout(&self, sender: &mut Self::Sender, now: Picoseconds);

    /// Packets that were sent more than once.
    fn retransmits(&self, sender: &Self::Sender) -> u64;
}

/// The next action of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Send the packet of this number.
    Packet(u32),
    /// Wait until then.
    At(Picoseconds),
    /// Wait for a reply, or for something to send.
    Nothing,
}
