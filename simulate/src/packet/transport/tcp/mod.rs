//! `tcp`: TCP as Linux has it by default, with CUBIC or Reno and without marks.
//!
//! - Slow start from 10 packets (RFC 6928), ended by HyStart++ (RFC 9406) under CUBIC; congestion
//!   avoidance of CUBIC (RFC 9438) or Reno (RFC 5681): `congestion.rs`, `hystart.rs`.
//! - Losses are found and repaired by selective acknowledgements (RFC 2018, 6675), what is lost
//!   twice by the timer (RFC 6298), at least 200 ms as in Linux: `scoreboard.rs`, `timeout.rs`.
//! - Every second packet is acknowledged, a single one after 40 ms: `acknowledgement.rs`.
//! - A sender has at most the receiver's window in the network.
//!
//! A packet is Ethernet 14, IPv4 20, TCP 20 with 12 bytes of timestamps, and the payload; options
//! of selective acknowledgements are not counted. The window counts packets. Connections are open
//! from the start. Left out: RACK and tail loss probes (RFC 8985), pacing, segmentation offload,
//! growth of the receive window, Nagle's algorithm, which MPI libraries switch off.

mod acknowledgement;
mod congestion;
mod hystart;
mod scoreboard;
#[cfg(test)]
mod tests;
mod timeout;

use acknowledgement::Acknowledgement;
pub use acknowledgement::Receiver;
pub use congestion::Congestion;
use congestion::CongestionWindow;
use hystart::{Growth, HyStart};
use scoreboard::Scoreboard;
use timeout::Timeout;

use super::reassembly::WINDOW;
use super::{Offer, Transport};
use crate::engine::Picoseconds;
use crate::packet::arena::Packet;
use crate::packet::header_bytes::{ETHERNET, IPV4, TCP, TCP_TIMESTAMPS};
use crate::packet::wire_bytes;

/// Bytes of the headers that count as part of the MTU.
const HEADERS: u32 = IPV4 + TCP + TCP_TIMESTAMPS;
/// Packets that have overtaken a lost one (`DupThresh`; RFC 5681, section 3.2; RFC 6675).
const DUPLICATES: u32 = 3;

/// The transport `tcp`.
#[derive(Clone, Copy, Debug)]
pub struct Tcp {
    /// Largest IP packet.
    pub mtu: u32,
    /// The algorithm that moves the window.
    pub congestion: Congestion,
    /// Initial window, packets: 10 (RFC 6928).
    pub initial_window: u32,
    /// Shortest retransmission timeout beyond the round-trip time: 200 ms, as in Linux
    /// (`TCP_RTO_MIN`); RFC 6298 asks for 1 s.
    pub least_timeout: Picoseconds,
    /// Delay of the acknowledgement of a single packet: 40 ms, as in Linux (`TCP_DELACK_MIN`); RFC
    /// 1122 allows 500 ms. 0 for none: each packet is acknowledged.
    pub ack_delay: Picoseconds,
    /// Bytes that the receiver takes beyond what is acknowledged: 6 MiB, the greatest of Linux
    /// (`tcp_rmem`). A connection has at most 4095 packets in the network.
    pub receive_window: u64,
    /// Bytes that a host queues before its wire, first come, first served, whatever their
    /// connection. 0, connections in turn, as `fq_codel` and `fq` serve them, the defaults of most
    /// distributions. Acknowledgements wait in the queue too.
    pub host_queue: u64,
    /// Packets overtake each other: a loss is shown by a whole window of packets that have
    /// arrived instead of three.
    pub is_reordered: bool,
}

impl Default for Tcp {
    fn default() -> Self {
        Self {
            mtu: 1500,
            congestion: Congestion::Cubic,
            initial_window: 10,
            least_timeout: 200_000_000_000,
            ack_delay: 40_000_000_000,
            receive_window: 6 << 20,
            host_queue: 0,
            is_reordered: false,
        }
    }
}

/// The repair of losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    /// Found by acknowledgements; over when this packet is reached.
    Fast(u32),
    /// Found by the timer.
    Timeout(u32),
}

/// The source of a connection.
#[derive(Clone, Debug)]
pub struct Sender {
    board: Scoreboard,
    congestion: CongestionWindow,
    /// None once slow start has ended, and with Reno.
    hystart: Option<HyStart>,
    timeout: Timeout,
    recovery: Option<Recovery>,
    /// The first lost packet is sent again whatever is in the network.
    is_urgent: bool,
    /// Packets before this one were sent up to the limit of the window, so it may grow.
    full: u32,
    last_sent: Picoseconds,
    deadline: Picoseconds,
    retransmits: u64,
}

impl Sender {
    fn window(&self) -> u32 {
        (self.congestion.window as u32).max(1)
    }

    fn rearm(&mut self, now: Picoseconds) {
        let is_idle = self.board.oldest == self.board.next;
        self.deadline = if is_idle { Picoseconds::MAX } else { now.saturating_add(self.timeout.current) };
    }

    /// The packets before `ack` are acknowledged, by an answer that took `sample`.
    fn advance(&mut self, ack: u32, sample: Picoseconds, now: Picoseconds) {
        let fresh = ack - self.board.oldest;
        let sent = self.board.next - self.board.oldest;
        self.board.acknowledge(ack);
        match self.recovery {
            Some(Recovery::Fast(end) | Recovery::Timeout(end)) if ack >= end => self.recovery = None,
            // A partial acknowledgement: the packet after it is lost too (RFC 6582, section 3.2).
            Some(Recovery::Fast(_)) => self.board.lose_oldest(),
            Some(Recovery::Timeout(_)) => self.grow(ack, fresh, sent, sample, now),
            None => self.grow(ack, fresh, sent, sample, now),
        }
        self.rearm(now);
    }

    /// `packets` before `ack` are acknowledged, of `sent` in the network.
    fn grow(&mut self, ack: u32, packets: u32, sent: u32, sample: Picoseconds, now: Picoseconds) {
        let mut growth = 1.0;
        if let Some(hystart) = self.hystart.as_mut().filter(|_| self.congestion.is_in_slow_start()) {
            match hystart.observe(ack, self.board.next, sample) {
                Growth::By(part) => growth = part,
                // Later slow starts have a threshold (RFC 9406, section 4.3).
                Growth::Over => {
                    self.congestion.leave_slow_start();
                    self.hystart = None;
                }
            }
        }
        // A window that is not filled says nothing about the network (RFC 7661). Slow start may be
        // one doubling ahead of what is sent, as in Linux: its own wire may be the slowest.
        let is_used = self.congestion.is_in_slow_start() && self.window() < 2 * sent;
        if is_used || ack <= self.full {
            self.congestion.acknowledge(packets, now, self.timeout.smoothed(), growth);
            self.congestion.window = self.congestion.window.min(f64::from(WINDOW));
        }
    }

    /// Begins the repair of losses that acknowledgements have shown.
    fn recover(&mut self, proof: u32) {
        self.board.find_lost(proof);
        if self.recovery.is_none() && self.board.has_lost() {
            self.congestion.reduce(self.board.next - self.board.oldest);
            self.recovery = Some(Recovery::Fast(self.board.next));
            (self.is_urgent, self.hystart) = (true, None);
        }
    }
}

impl Transport for Tcp {
    type Sender = Sender;
    type Receiver = Receiver;
    const DELAYS_REPLIES: bool = true;

    fn open(&self, _: f64) -> (Sender, Receiver) {
        let sender = Sender {
            board: Scoreboard::default(),
            congestion: CongestionWindow::new(self.congestion, self.initial_window),
            hystart: (self.congestion == Congestion::Cubic).then(HyStart::new),
            timeout: Timeout::new(self.least_timeout),
            recovery: None,
            is_urgent: false,
            full: 0,
            last_sent: 0,
            deadline: Picoseconds::MAX,
            retransmits: 0,
        };
        (sender, Receiver::new())
    }

    fn payload(&self) -> u32 {
        self.mtu.saturating_sub(HEADERS).max(1)
    }

    #[inline]
    fn wire(&self, payload: u32) -> u32 {
        wire_bytes(ETHERNET + HEADERS + payload)
    }

    fn host_queue(&self) -> u64 {
        self.host_queue
    }

    #[inline]
    fn offer(&self, sender: &Sender, _: Picoseconds, end: u32) -> Offer {
        let board = &sender.board;
        let is_open = board.in_flight() < sender.window() || sender.is_urgent;
        let lost = board.lost().filter(|_| sender.recovery.is_some());
        match lost {
            _ if !is_open => Offer::Nothing,
            Some(lost) => Offer::Packet(lost),
            None if board.next < end && board.next - board.oldest < self.most_in_flight() => {
                Offer::Packet(board.next)
            }
            None => Offer::Nothing,
        }
    }

    #[inline]
    fn send(&self, sender: &mut Sender, now: Picoseconds, packet: &mut Packet) {
        sender.is_urgent = false;
        if packet.seq < sender.board.next {
            sender.board.resend(packet.seq);
            sender.retransmits += 1;
        } else {
            let is_idle = sender.board.oldest == sender.board.next;
            if is_idle && now.saturating_sub(sender.last_sent) > sender.timeout.current {
                sender.congestion.restart(self.initial_window);
            }
            sender.board.next += 1;
            if sender.board.in_flight() >= sender.window() {
                sender.full = sender.board.next;
            }
        }
        sender.last_sent = now;
        if sender.deadline == Picoseconds::MAX {
            sender.rearm(now);
        }
        packet.words[0] = now as u32;
        packet.words[1] = (now >> 32) as u32;
    }

    #[inline]
    fn receive(
        &self,
        receiver: &mut Receiver,
        now: Picoseconds,
        packet: &Packet,
        reply: &mut Packet,
    ) -> bool {
        let stamp = [packet.words[0], packet.words[1]];
        let said = receiver.take(packet.seq, stamp, now, self.ack_delay);
        said.inspect(|said| self.fill(said, reply)).is_some()
    }

    #[inline]
    fn received(&self, receiver: &Receiver) -> u32 {
        receiver.next()
    }

    #[inline]
    fn reply_deadline(&self, receiver: &Receiver) -> Picoseconds {
        receiver.deadline
    }

    fn delayed_reply(&self, receiver: &mut Receiver, reply: &mut Packet) {
        self.fill(&receiver.acknowledge(), reply);
    }

    #[inline]
    fn reply(&self, sender: &mut Sender, now: Picoseconds, reply: &Packet) {
        let [low, high, first, end] = reply.words;
        let sample = now.saturating_sub(u64::from(high) << 32 | u64::from(low));
        sender.timeout.measure(sample);
        if first < end {
            sender.board.note(first, end);
        }
        if reply.ack > sender.board.oldest {
            sender.advance(reply.ack, sample, now);
        }
        if sender.board.arrivals() > 0 || sender.board.has_lost() {
            let proof = if self.is_reordered { sender.window().max(DUPLICATES) } else { DUPLICATES };
            sender.recover(proof);
        }
    }

    #[inline]
    fn acknowledged(&self, sender: &Sender) -> u32 {
        sender.board.oldest
    }

    #[inline]
    fn deadline(&self, sender: &Sender) -> Picoseconds {
        sender.deadline
    }

    fn timeout(&self, sender: &mut Sender, now: Picoseconds) {
        // Only the first timer of a loss sets the threshold (RFC 5681, equation 4).
        if matches!(sender.recovery, Some(Recovery::Timeout(_))) {
            sender.congestion.window = 1.0;
        } else {
            sender.congestion.collapse(sender.board.next - sender.board.oldest);
        }
        sender.board.lose_all();
        sender.recovery = Some(Recovery::Timeout(sender.board.next));
        (sender.is_urgent, sender.hystart) = (true, None);
        sender.timeout.back_off();
        sender.rearm(now);
    }

    fn retransmits(&self, sender: &Sender) -> u64 {
        sender.retransmits
    }
}

impl Tcp {
    /// Packets that a connection has at most in the network.
    fn most_in_flight(&self) -> u32 {
        let packets = self.receive_window / u64::from(self.payload());
        packets.clamp(1, u64::from(WINDOW - 1)) as u32
    }

    /// Makes a packet of what a receiver says.
    fn fill(&self, said: &Acknowledgement, reply: &mut Packet) {
        let (first, end) = said.block.unwrap_or((0, 0));
        reply.ack = said.ack;
        reply.wire = self.wire(0);
        reply.words = [said.stamp[0], said.stamp[1], first, end];
    }
}
