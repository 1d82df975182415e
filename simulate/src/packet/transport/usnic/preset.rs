//! Presets: the differences between versions of the usNIC BTL.

use crate::engine::Picoseconds;
use crate::packet::header_bytes::{ETHERNET, IPV4, UDP};

/// Parameters of `usnic-2013` and `usnic-4.1`.
///
/// Sources: Open MPI's `ompi/mca/btl/usnic` at e02cc0a7ec (September 2013, with the design notes in
/// its README), and `opal/mca/btl/usnic` of branch v4.1.x at dadb5bfe; libfabric 1.14 for the
/// packet sizes of the latter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// Largest IP packet.
    pub mtu: u32,
    /// Bytes of a frame before the BTL header: Ethernet, and IPv4 and UDP if used.
    pub frame_header: u32,
    /// Bytes of the MTU besides BTL header and payload.
    pub reserved: u32,
    /// BTL header of a fragment in one packet, and of an acknowledgement.
    pub fragment_header: u32,
    /// BTL header of a part of a larger fragment.
    pub chunk_header: u32,
    /// Digits of sequence numbers on the wire.
    pub sequence_bits: u32,
    /// Retransmission time-out of a packet: 1 ms and 5 ms.
    pub timeout: Picoseconds,
    /// Progress passes before an acknowledgement is sent alone; the next tick of the millisecond
    /// clock is the latest time.
    pub acknowledge_after: u32,
    /// In place of passes and ticks: time before an acknowledgement is sent alone. The design notes
    /// have 50 µs.
    pub ack_delay: Option<Picoseconds>,
    /// Packets are numbered within a window of this; one less may be unacknowledged. 2 to 32 768.
    pub window: u32,
    /// Packets that an endpoint may have with the adapter, at least 1.
    pub endpoint_credits: u32,
    /// Resends in one pass.
    pub resends: u32,
    /// The first duplicate acknowledgement causes a resend of the packet after it.
    pub has_fast_retransmit: bool,
    /// Fragments below this many bytes, header of ob1 included, may overtake the queue if they fit
    /// into one packet.
    pub tiny: u32,
    /// These use the command channel.
    pub tiny_on_command: bool,
    /// Long messages are put into the receiver's memory.
    pub has_put: bool,
    /// Time of one progress pass of a process that only polls, 0.5 to 2 µs. An acknowledgement
    /// waits some passes for a packet to travel with. If they end before the next packet leaves,
    /// acknowledgements are sent alone; with passes of 1 µs and below, they cost both directions of
    /// a link at 10 Gbit/s 1 %.
    pub pass: Picoseconds,
    /// Packets that the data channel can hold: `sd_num`, `rd_num`.
    pub data_credits: u32,
    /// Packets that the command channel can hold: `prio_sd_num`.
    pub command_credits: u32,
}

/// Largest fragment of a message, and the eager limit: 150 KiB, of one device.
pub(super) const EAGER_LIMIT: u64 = 150 * 1024;
/// Bytes of ob1's largest header.
pub(super) const OB1_HEADER: u64 = 56;
/// Bytes that travel with a rendezvous.
pub(super) const RENDEZVOUS_BYTES: u64 = 500;
/// Packets that an endpoint may have with the adapter.
const ENDPOINT_CREDITS: u32 = 8;
/// WINDOW_SIZE.
const WINDOW: u32 = 4096;
/// Widest window for numbers of 16 bits: half of their range, so that old and new numbers differ.
pub(in crate::packet) const MOST_WINDOW: u32 = 1 << 15;
/// Fragments that a receiver can reassemble at a time.
pub(super) const SLOTS: u32 = 2048;
/// A clock tick that makes all delayed acknowledgements due.
pub(super) const TICK: Picoseconds = 1_000_000_000;

impl Preset {
    /// Branch v4.1.x: UDP, 16-bit sequence numbers, no PUT.
    pub fn v4_1(mtu: u32) -> Self {
        Self {
            mtu,
            frame_header: ETHERNET + IPV4 + UDP,
            reserved: IPV4 + UDP,
            fragment_header: 32,
            chunk_header: 48,
            sequence_bits: 16,
            timeout: 5_000_000_000,
            acknowledge_after: 4,
            ack_delay: None,
            window: WINDOW,
            endpoint_credits: ENDPOINT_CREDITS,
            resends: 16,
            has_fast_retransmit: true,
            tiny: 736,
            tiny_on_command: false,
            has_put: false,
            pass: 1_500_000,
            data_credits: 4095,
            command_credits: 127,
        }
    }

    /// September 2013: Ethernet alone, with 40 bytes of the MTU reserved for a global routing
    /// header that is not sent.
    pub fn v2013(mtu: u32) -> Self {
        Self {
            mtu,
            frame_header: ETHERNET,
            reserved: 40,
            fragment_header: 48,
            chunk_header: 64,
            sequence_bits: 64,
            timeout: 1_000_000_000,
            acknowledge_after: 5,
            ack_delay: None,
            window: WINDOW,
            endpoint_credits: ENDPOINT_CREDITS,
            resends: u32::MAX,
            has_fast_retransmit: true,
            tiny: 680,
            tiny_on_command: true,
            has_put: true,
            pass: 1_500_000,
            data_credits: 4095,
            command_credits: 127,
        }
    }

    /// Largest eager message: the eager limit less the largest header of ob1.
    pub fn eager_bytes(&self) -> u64 {
        EAGER_LIMIT - OB1_HEADER
    }

    /// Most bytes of a fragment that fits into one packet.
    pub(super) fn largest_fragment(&self) -> u32 {
        self.mtu.saturating_sub(self.reserved + self.fragment_header).max(1)
    }

    /// Most bytes of a larger fragment in one packet.
    pub(in crate::packet) fn largest_chunk(&self) -> u32 {
        self.mtu.saturating_sub(self.reserved + self.chunk_header).max(1)
    }

    /// Least credits of the command channel with which tiny fragments overtake the queue.
    pub(super) fn fast_path(&self) -> u32 {
        let credits = if self.tiny_on_command { self.command_credits } else { self.data_credits };
        credits.saturating_sub(10)
    }
}
