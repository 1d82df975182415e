//! `dctcp`: Data Center TCP, whose window follows the share of marked packets.
//!
//! Alizadeh et al., *Data center TCP (DCTCP)*, SIGCOMM 2010: with F the marked share of a window's
//! packets, α ← (1 − g)α + gF, and a window with marks shrinks to cwnd(1 − α/2). Everything else is
//! TCP: slow start and congestion avoidance (RFC 5681), recovery of several losses from one window
//! by partial acknowledgements (NewReno, RFC 6582), retransmission timeout from smoothed round-trip
//! times (RFC 6298) that are measured with timestamps (RFC 7323). Each data packet is acknowledged,
//! with its mark echoed.
//!
//! The window counts packets. Connections are open from the start. A packet is Ethernet 14, IPv4
//! 20, TCP 20 with 12 bytes of timestamps, and the payload.

use super::reassembly::{Reassembly, WINDOW};
use super::round_trip::RoundTrip;
use super::{Offer, Transport};
use crate::engine::Picoseconds;
use crate::packet::arena::{ECN_CAPABLE, ECN_MARKED, Packet};
use crate::packet::header_bytes::{ETHERNET, IPV4, TCP, TCP_TIMESTAMPS};
use crate::packet::wire_bytes;

/// Bytes of the headers that count as part of the MTU.
const HEADERS: u32 = IPV4 + TCP + TCP_TIMESTAMPS;
/// Weight of the newest window in α: 1/16 (section 3.3 of the paper; RFC 8257).
const GAIN: f64 = 1.0 / 16.0;
/// Duplicate acknowledgements that show a loss (RFC 5681, section 3.2).
const DUPLICATES: u32 = 3;
/// Longest retransmission timeout: 1 s.
const LONGEST_TIMEOUT: Picoseconds = 1_000_000_000_000;

/// The transport `dctcp`.
#[derive(Clone, Copy, Debug)]
pub struct Dctcp {
    /// Largest IP packet.
    pub mtu: u32,
    /// Initial window, packets: 10 (RFC 6928).
    pub initial_window: u32,
    /// Shortest retransmission timeout. Linux has 200 ms; data centres 1 to 10 ms (section 4 of the
    /// paper: 10 ms).
    pub least_timeout: Picoseconds,
    /// Packets overtake each other: a loss is shown by a whole window of duplicate acknowledgements
    /// instead of three.
    pub is_reordered: bool,
}

impl Default for Dctcp {
    fn default() -> Self {
        Self { mtu: 1500, initial_window: 10, least_timeout: 1_000_000_000, is_reordered: false }
    }
}

/// The source of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    /// Oldest packet that is not acknowledged.
    oldest: u32,
    /// Next packet to send.
    next: u32,
    /// Number after that of the youngest packet sent.
    highest: u32,
    /// Loss recovery ends when this packet is reached.
    recovery: u32,
    /// Acknowledgements of nothing new.
    duplicates: u32,
    is_recovering: bool,
    /// The oldest packet is sent again before all others.
    resend: bool,
    /// In packets.
    window: f64,
    threshold: f64,
    /// Share of marks, smoothed.
    alpha: f64,
    /// The window over which marks are counted ends here.
    round_end: u32,
    acked: u32,
    marked: u32,
    round_trip: RoundTrip,
    timeout: Picoseconds,
    deadline: Picoseconds,
    retransmits: u64,
}

impl Sender {
    fn limit(&self) -> u32 {
        // Each duplicate shows that a packet has left the network.
        let inflation = if self.is_recovering { self.duplicates } else { 0 };
        (self.window as u32).max(1).saturating_add(inflation).min(WINDOW - 1)
    }

    /// Counts the mark of a packet; at the end of a window, applies the marks.
    fn account(&mut self, is_marked: bool, ack: u32) {
        self.acked += 1;
        self.marked += u32::from(is_marked);
        if ack < self.round_end {
            return;
        }
        let share = f64::from(self.marked) / f64::from(self.acked);
        self.alpha += GAIN * (share - self.alpha);
        if self.marked > 0 && !self.is_recovering {
            self.window = (self.window * (1.0 - self.alpha / 2.0)).max(1.0);
            self.threshold = self.window;
        }
        (self.acked, self.marked, self.round_end) = (0, 0, self.highest);
    }

    fn measure(&mut self, sample: Picoseconds, least: Picoseconds) {
        let (smoothed, variation) = self.round_trip.measure(sample);
        self.timeout = (smoothed + 4 * variation).clamp(least, LONGEST_TIMEOUT.max(least));
    }

    fn rearm(&mut self, now: Picoseconds) {
        let is_idle = self.oldest == self.highest;
        self.deadline = if is_idle { Picoseconds::MAX } else { now.saturating_add(self.timeout) };
    }
}

impl Transport for Dctcp {
    type Sender = Sender;
    type Receiver = Reassembly;

    fn open(&self, _: f64) -> (Sender, Reassembly) {
        let sender = Sender {
            oldest: 0,
            next: 0,
            highest: 0,
            recovery: 0,
            duplicates: 0,
            is_recovering: false,
            resend: false,
            window: f64::from(self.initial_window.max(1)),
            threshold: f64::INFINITY,
            // RFC 8257, section 3.3: α starts at 1.
            alpha: 1.0,
            round_end: 0,
            acked: 0,
            marked: 0,
            round_trip: RoundTrip::default(),
            timeout: self.least_timeout,
            deadline: Picoseconds::MAX,
            retransmits: 0,
        };
        (sender, Reassembly::default())
    }

    fn payload(&self) -> u32 {
        self.mtu.saturating_sub(HEADERS).max(1)
    }

    #[inline]
    fn wire(&self, payload: u32) -> u32 {
        wire_bytes(ETHERNET + HEADERS + payload)
    }

    #[inline]
    fn offer(&self, sender: &Sender, _: Picoseconds, end: u32) -> Offer {
        if sender.resend {
            return Offer::Packet(sender.oldest);
        }
        let is_open = sender.next < end && sender.next - sender.oldest < sender.limit();
        if is_open { Offer::Packet(sender.next) } else { Offer::Nothing }
    }

    #[inline]
    fn send(&self, sender: &mut Sender, now: Picoseconds, packet: &mut Packet) {
        if sender.resend {
            sender.resend = false;
            sender.retransmits += 1;
        } else {
            sender.retransmits += u64::from(sender.next < sender.highest);
            sender.next += 1;
            sender.highest = sender.highest.max(sender.next);
        }
        if sender.deadline == Picoseconds::MAX {
            sender.rearm(now);
        }
        packet.flags = ECN_CAPABLE;
        packet.words[0] = now as u32;
        packet.words[1] = (now >> 32) as u32;
    }

    #[inline]
    fn receive(
        &self,
        receiver: &mut Reassembly,
        _: Picoseconds,
        packet: &Packet,
        reply: &mut Packet,
    ) -> bool {
        receiver.accept(packet.seq);
        reply.ack = receiver.next();
        reply.wire = self.wire(0);
        reply.words = packet.words;
        reply.words[2] = u32::from(packet.flags & ECN_MARKED != 0);
        true
    }

    #[inline]
    fn received(&self, receiver: &Reassembly) -> u32 {
        receiver.next()
    }

    #[inline]
    fn reply(&self, sender: &mut Sender, now: Picoseconds, reply: &Packet) {
        let sent = u64::from(reply.words[1]) << 32 | u64::from(reply.words[0]);
        sender.measure(now.saturating_sub(sent), self.least_timeout);
        sender.account(reply.words[2] != 0, reply.ack);
        if reply.ack > sender.oldest {
            let fresh = reply.ack - sender.oldest;
            sender.oldest = reply.ack;
            sender.next = sender.next.max(reply.ack);
            if sender.is_recovering {
                if reply.ack >= sender.recovery {
                    sender.is_recovering = false;
                    sender.duplicates = 0;
                    sender.resend = false;
                } else {
                    // A partial acknowledgement: the packet after it is lost too.
                    sender.resend = true;
                    sender.duplicates = sender.duplicates.saturating_sub(fresh);
                }
            } else {
                sender.duplicates = 0;
                // Slow start grows by the acknowledged packets, at most to the threshold.
                let growth = f64::from(fresh);
                sender.window +=
                    if sender.window < sender.threshold { growth } else { growth / sender.window };
                sender.window = sender.window.min(f64::from(WINDOW));
            }
            sender.rearm(now);
        } else if sender.oldest < sender.highest {
            sender.duplicates += 1;
            let proof = if self.is_reordered { sender.limit().max(DUPLICATES) } else { DUPLICATES };
            if !sender.is_recovering && sender.duplicates >= proof && sender.oldest >= sender.recovery {
                sender.is_recovering = true;
                sender.resend = true;
                sender.recovery = sender.highest;
                sender.threshold = (sender.window / 2.0).max(2.0);
                sender.window = sender.threshold;
            }
        }
    }

    #[inline]
    fn acknowledged(&self, sender: &Sender) -> u32 {
        sender.oldest
    }

    #[inline]
    fn deadline(&self, sender: &Sender) -> Picoseconds {
        sender.deadline
    }

    fn timeout(&self, sender: &mut Sender, now: Picoseconds) {
        let flight = f64::from(sender.highest - sender.oldest);
        sender.threshold = (flight / 2.0).max(2.0);
        sender.window = 1.0;
        sender.next = sender.oldest;
        sender.recovery = sender.highest;
        sender.round_end = sender.highest;
        (sender.is_recovering, sender.resend, sender.duplicates) = (false, false, 0);
        sender.timeout = sender.timeout.saturating_mul(2).min(LONGEST_TIMEOUT.max(self.least_timeout));
        sender.rearm(now);
    }

    fn retransmits(&self, sender: &Sender) -> u64 {
        sender.retransmits
    }
}
