//! `roce`: RDMA over converged Ethernet, version 2: go-back-N, with rates by DCQCN.
//!
//! A receiver takes packets in order only. The first one out of order is answered with a negative
//! acknowledgement of what is expected, and the source starts again from there (InfiniBand
//! Architecture Specification, reliable connection service).
//!
//! DCQCN: Zhu et al., *Congestion control for large-scale RDMA deployments*, SIGCOMM 2015. A
//! receiver of marked packets sends a congestion notification at most every 50 µs; it makes the
//! source remember its rate as the target, cut it by α/2 and raise α. Between notifications α
//! decays and the rate recovers, in steps set off by a timer and by a counter of bytes: five times
//! half way to the target, then with a target that grows. A source starts at line rate. Constants
//! are those of the paper.
//!
//! A packet is Ethernet 14, IPv4 20, UDP 8, base transport header 12, invariant CRC 4, and up to
//! the MTU of payload (of which a first packet's extended header is not counted).

use super::reassembly::WINDOW;
use super::{Offer, Transport};
use crate::engine::Picoseconds;
use crate::packet::arena::{ECN_CAPABLE, ECN_MARKED, Packet};
use crate::packet::header_bytes::ROCE_V2;
use crate::packet::wire_bytes;
use crate::units::PS_PER_BYTE;

/// Bytes of the extended header of an acknowledgement.
const ACK_HEADER: u32 = 4;
/// Bytes that a congestion notification adds: 16 reserved ones (InfiniBand Architecture
/// Specification, annex A17).
const NOTIFICATION: u32 = 16;
/// Shortest time between notifications of one connection: 50 µs (the paper, as all DCQCN constants
/// below).
const NOTIFY_EVERY: Picoseconds = 50_000_000;
/// g, the weight with which a notification raises α and a quiet period lowers it.
const GAIN: f64 = 1.0 / 256.0;
/// Period of the decay of α and of the timer that raises the rate: 55 µs.
const PERIOD: Picoseconds = 55_000_000;
/// Bytes after which the rate is raised: 10 MB.
const BYTES_PER_RAISE: u64 = 10_000_000;
/// Number of steps half way to the target before the target grows.
const FAST_RECOVERY: u32 = 5;
/// Growth of the target, Gbit/s: 40 Mbit/s.
const ADDITIVE_GBPS: f64 = 0.04;
/// Hyper increase: growth once both triggers have passed fast recovery, Gbit/s. The paper names no
/// value; this is ten times the additive one, as in QCN.
const HYPER_GBPS: f64 = 0.4;
/// Slowest rate, Gbit/s: 10 Mbit/s.
const LEAST_GBPS: f64 = 0.01;

/// First word of a reply packet: an acknowledgement.
const ACK: u32 = 0;
/// A negative acknowledgement.
const NAK: u32 = 1;
/// A congestion notification.
const CONGESTION: u32 = 2;

/// The transport `roce`.
#[derive(Clone, Copy, Debug)]
pub struct Roce {
    /// Most payload in a packet: 256, 512, 1024, 2048 or 4096.
    pub mtu: u32,
    /// Retransmission time-out without progress. Adapters use 4.096 µs · 2ⁿ; the default is n = 8,
    /// 1.05 ms.
    pub timeout: Picoseconds,
    /// DCQCN; without it sources send at line rate.
    pub has_rate_control: bool,
}

impl Default for Roce {
    fn default() -> Self {
        Self { mtu: 4096, timeout: 4_096_000 << 8, has_rate_control: true }
    }
}

/// The source of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    oldest: u32,
    next: u32,
    highest: u32,
    retransmits: u64,
    deadline: Picoseconds,
    /// Earliest time of the next packet.
    paced: Picoseconds,
    rate: Rate,
}

/// DCQCN at the source.
#[derive(Clone, Copy, Debug)]
struct Rate {
    line_gbps: f64,
    current_gbps: f64,
    target_gbps: f64,
    alpha: f64,
    /// Time of the next decay of α and raise by the timer; never while the source sends at line
    /// rate.
    next_decay: Picoseconds,
    next_raise: Picoseconds,
    bytes: u64,
    raises_by_time: u32,
    raises_by_bytes: u32,
}

impl Rate {
    fn new(line_gbps: f64) -> Self {
        Self {
            line_gbps,
            current_gbps: line_gbps,
            target_gbps: line_gbps,
            alpha: 1.0,
            next_decay: Picoseconds::MAX,
            next_raise: Picoseconds::MAX,
            bytes: 0,
            raises_by_time: 0,
            raises_by_bytes: 0,
        }
    }

    fn is_limited(&self) -> bool {
        self.next_raise < Picoseconds::MAX
    }

    fn cut(&mut self, now: Picoseconds) {
        self.catch_up(now);
        self.target_gbps = self.current_gbps;
        self.current_gbps = (self.current_gbps * (1.0 - self.alpha / 2.0)).max(LEAST_GBPS);
        self.alpha += (1.0 - self.alpha) * GAIN;
        (self.bytes, self.raises_by_time, self.raises_by_bytes) = (0, 0, 0);
        self.next_decay = now.saturating_add(PERIOD);
        self.next_raise = now.saturating_add(PERIOD);
    }

    /// Applies the timers that have expired by now, at most until the rate reaches that of the
    /// line.
    fn catch_up(&mut self, now: Picoseconds) {
        while self.is_limited() && self.next_raise <= now {
            self.next_raise = self.next_raise.saturating_add(PERIOD);
            self.raises_by_time += 1;
            self.raise();
        }
        // 0.996ⁿ is 0 after some thousand periods.
        let mut periods = 0;
        while self.next_decay <= now && periods < 4096 {
            self.next_decay = self.next_decay.saturating_add(PERIOD);
            self.alpha *= 1.0 - GAIN;
            periods += 1;
        }
    }

    fn count(&mut self, bytes: u32) {
        if !self.is_limited() {
            return;
        }
        self.bytes += u64::from(bytes);
        if self.bytes >= BYTES_PER_RAISE {
            self.bytes -= BYTES_PER_RAISE;
            self.raises_by_bytes += 1;
            self.raise();
        }
    }

    fn raise(&mut self) {
        let (least, most) =
            (self.raises_by_time.min(self.raises_by_bytes), self.raises_by_time.max(self.raises_by_bytes));
        if least > FAST_RECOVERY {
            self.target_gbps += HYPER_GBPS;
        } else if most > FAST_RECOVERY {
            self.target_gbps += ADDITIVE_GBPS;
        }
        self.target_gbps = self.target_gbps.min(self.line_gbps);
        self.current_gbps = (self.current_gbps + self.target_gbps) / 2.0;
        if self.current_gbps > self.line_gbps * 0.9999 {
            self.current_gbps = self.line_gbps;
            self.next_raise = Picoseconds::MAX;
        }
    }
}

/// The destination of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Receiver {
    expected: u32,
    /// The next expected reply.
    has_asked: bool,
    /// No notification before this time.
    quiet_until: Picoseconds,
}

impl Sender {
    fn rearm(&mut self, now: Picoseconds, timeout: Picoseconds) {
        let is_idle = self.oldest == self.highest;
        self.deadline = if is_idle { Picoseconds::MAX } else { now.saturating_add(timeout) };
    }
}

impl Transport for Roce {
    type Sender = Sender;
    type Receiver = Receiver;

    fn open(&self, gbps: f64) -> (Sender, Receiver) {
        let sender = Sender {
            oldest: 0,
            next: 0,
            highest: 0,
            retransmits: 0,
            deadline: Picoseconds::MAX,
            paced: 0,
            rate: Rate::new(gbps),
        };
        (sender, Receiver::default())
    }

    fn payload(&self) -> u32 {
        self.mtu.max(1)
    }

    #[inline]
    fn wire(&self, payload: u32) -> u32 {
        wire_bytes(ROCE_V2 + payload)
    }

    #[inline]
    fn offer(&self, sender: &Sender, now: Picoseconds, end: u32) -> Offer {
        if sender.next >= end || sender.next - sender.oldest >= WINDOW {
            Offer::Nothing
        } else if sender.paced > now {
            Offer::At(sender.paced)
        } else {
            Offer::Packet(sender.next)
        }
    }

    #[inline]
    fn send(&self, sender: &mut Sender, now: Picoseconds, packet: &mut Packet) {
        sender.retransmits += u64::from(sender.next < sender.highest);
        sender.next += 1;
        sender.highest = sender.highest.max(sender.next);
        if sender.deadline == Picoseconds::MAX {
            sender.rearm(now, self.timeout);
        }
        packet.flags = ECN_CAPABLE;
        sender.rate.count(packet.wire);
        if sender.rate.is_limited() {
            sender.rate.catch_up(now);
            let gap = f64::from(packet.wire) * PS_PER_BYTE / sender.rate.current_gbps;
            sender.paced = now.saturating_add(gap.round() as u64);
        }
    }

    #[inline]
    fn receive(
        &self,
        receiver: &mut Receiver,
        now: Picoseconds,
        packet: &Packet,
        reply: &mut Packet,
    ) -> bool {
        let is_marked = packet.flags & ECN_MARKED != 0;
        let mut kind = ACK;
        if packet.seq == receiver.expected {
            receiver.expected += 1;
            receiver.has_asked = false;
        } else if packet.seq > receiver.expected {
            if !std::mem::replace(&mut receiver.has_asked, true) {
                kind = NAK;
            } else if !is_marked {
                return false;
            }
        }
        reply.ack = receiver.expected;
        reply.words[0] = kind;
        reply.wire = wire_bytes(ROCE_V2 + ACK_HEADER);
        // A notification travels with the acknowledgement: one packet with the length of both.
        if is_marked && self.has_rate_control && now >= receiver.quiet_until {
            receiver.quiet_until = now.saturating_add(NOTIFY_EVERY);
            reply.words[1] = CONGESTION;
            reply.wire += wire_bytes(ROCE_V2 + NOTIFICATION);
        }
        true
    }

    #[inline]
    fn received(&self, receiver: &Receiver) -> u32 {
        receiver.expected
    }

    #[inline]
    fn reply(&self, sender: &mut Sender, now: Picoseconds, reply: &Packet) {
        if reply.words[1] == CONGESTION {
            sender.rate.cut(now);
        }
        if reply.ack > sender.oldest {
            sender.oldest = reply.ack;
            sender.next = sender.next.max(reply.ack);
            sender.rearm(now, self.timeout);
        }
        if reply.words[0] == NAK && reply.ack == sender.oldest {
            sender.next = sender.oldest;
            sender.rearm(now, self.timeout);
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
        sender.next = sender.oldest;
        sender.rearm(now, self.timeout);
    }

    fn retransmits(&self, sender: &Sender) -> u64 {
        sender.retransmits
    }
}
