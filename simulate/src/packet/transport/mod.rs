//! How messages become packets, and what is done about those that are late, lost or too many.

pub(super) mod choice;
pub mod dctcp;
pub mod ideal;
mod messages;
pub mod reassembly;
pub mod roce;
mod stack;
pub mod usnic;

pub use choice::{NAMES, TransportChoice};
pub use dctcp::Dctcp;
pub use ideal::Ideal;
pub use roce::Roce;
pub use stack::Stack;

use super::arena::Packet;
use crate::engine::Picoseconds;

/// A protocol that numbers the packets of a connection 0, 1, … and delivers them in order.
///
/// The [`Stack`] cuts messages into packets, lets the connections of a host share its wire in turn,
/// carries replies back and keeps timers. The protocol decides which packet is next, and when.
pub trait Transport {
    /// State of a connection at its source.
    type Sender;
    /// State of a connection at its destination.
    type Receiver;
    /// False if a sender knows at once, and without a packet, what has arrived.
    const REPLIES: bool = true;

    /// A new connection; its source can send `gbps` Gbit/s.
    fn open(&self, gbps: f64) -> (Self::Sender, Self::Receiver);

    /// Most bytes of a message in one packet, at least 1.
    fn payload(&self) -> u32;

    /// Bytes on the wire of a packet that carries `payload` bytes of a message.
    fn wire(&self, payload: u32) -> u32;

    /// What the sender would do now; packets up to `end` (exclusive) are there to be sent.
    fn offer(&self, sender: &Self::Sender, now: Picoseconds, end: u32) -> Offer;

    /// The packet of the last [`offer`](Self::offer) goes out; sets flags and words.
    fn send(&self, sender: &mut Self::Sender, now: Picoseconds, packet: &mut Packet);

    /// A data packet has arrived. If there is something to tell the sender, makes `reply` a packet
    /// for that and returns true.
    fn receive(
        &self,
        receiver: &mut Self::Receiver,
        now: Picoseconds,
        packet: &Packet,
        reply: &mut Packet,
    ) -> bool;

    /// Packets before this one have all arrived.
    fn received(&self, receiver: &Self::Receiver) -> u32;

    /// A reply has come back.
    fn reply(&self, sender: &mut Self::Sender, now: Picoseconds, reply: &Packet);

    /// Packets before this one are known to have arrived.
    fn acknowledged(&self, sender: &Self::Sender) -> u32;

    /// When [`timeout`](Self::timeout) is to be called; [`Picoseconds::MAX`] for never.
    fn deadline(&self, sender: &Self::Sender) -> Picoseconds;

    /// The deadline has passed.
    fn timeout(&self, sender: &mut Self::Sender, now: Picoseconds);

    /// Packets that were sent more than once.
    fn retransmits(&self, sender: &Self::Sender) -> u64;
}

/// What a sender would do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Send the packet of this number.
    Packet(u32),
    /// Wait until then.
    At(Picoseconds),
    /// Wait for a reply, or for something to send.
    Nothing,
}
