//! The header of ATP: sizes, kinds, flags, and the positions of fields in a [`Packet`].
//!
//! | field of the paper | here |
//! |---|---|
//! | bitmap0, bitmap1 | `words[0]`, `words[1]` |
//! | fanInDegree0, fanInDegree1 | the two low bytes of `ack` |
//! | aggregatorIndex | `words[2]` |
//! | JobIDAndSequenceNumber | `flow` and `seq` |
//! | the vector | `words[3]`: where it is [kept](super::vectors) |
//!
//! Parameter packets need no bitmaps: `words[0]` has the new aggregator of a collided packet,
//! `words[1]` the position in the multicast tree.

use crate::packet::aggregation::{AGGREGATION_KIND, ELEMENT_BYTES};
use crate::packet::arena::{ECN_MARKED, PROGRAM_FLAGS, Packet};
use crate::packet::header_bytes::{ETHERNET, IPV4, UDP};
use crate::packet::wire_bytes;

/// A worker's contribution, or a sum of some, on its way to a server.
pub(super) const GRADIENT: u8 = AGGREGATION_KIND;
/// A result on its way to all workers.
pub(super) const PARAMETER: u8 = AGGREGATION_KIND + 1;
/// A server asks all workers for floats: in the protocol a parameter packet with the flag for
/// overflow.
pub(super) const ASK: u8 = AGGREGATION_KIND + 2;

/// Raw floats, which switches leave alone.
pub(super) const OVERFLOW: u16 = PROGRAM_FLAGS;
/// Sent more than once.
pub(super) const RESEND: u16 = PROGRAM_FLAGS << 1;
/// Found its aggregator taken.
pub(super) const COLLISION: u16 = PROGRAM_FLAGS << 2;
/// A contribution to it was marked.
pub(super) const ECN: u16 = PROGRAM_FLAGS << 3;
/// edgeSwitchIdentifier: bitmap1 and fanInDegree1 count from now on.
pub(super) const SECOND: u16 = PROGRAM_FLAGS << 4;
/// The packet has passed its worker's switch; a real switch knows it from the port.
pub(super) const PASSED: u16 = PROGRAM_FLAGS << 5;

/// Numbers in a packet (paper and code).
pub(super) const LANES: usize = 62;
/// Bytes of them.
pub(super) const PAYLOAD: u64 = LANES as u64 * ELEMENT_BYTES;
/// Bytes of the headers in the paper, ATP's being 16: its packets have 306 bytes.
const PAPER_HEADERS: u32 = ETHERNET + IPV4 + UDP + 16;
/// Bytes of the headers in the code, ATP's being 14 and 12 behind the vector: its packets have 308
/// bytes.
const CODE_HEADERS: u32 = ETHERNET + IPV4 + 14 + 12;

/// Bytes on the wire of each packet; the last one of a vector is not shorter.
pub(super) fn wire(is_code: bool) -> u32 {
    let headers = if is_code { CODE_HEADERS } else { PAPER_HEADERS };
    wire_bytes(headers + PAYLOAD as u32)
}

/// Job and sequence number in one word.
#[inline]
pub(super) fn identifier(packet: &Packet) -> u64 {
    u64::from(packet.flow) << 32 | u64::from(packet.seq)
}

/// Bitmap and number of contributions that count at the level where the packet is.
#[inline]
pub(super) fn contribution(packet: &Packet) -> (u32, u32) {
    if packet.flags & SECOND == 0 {
        (packet.words[0], packet.ack & 0xff)
    } else {
        (packet.words[1], packet.ack >> 8 & 0xff)
    }
}

/// True if the packet or a contribution to it was marked: the code's switches copy the mark of IP
/// into the header.
#[inline]
pub(super) fn is_marked(packet: &Packet) -> bool {
    packet.flags & (ECN | ECN_MARKED) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_take_330_and_332_bytes() {
        assert_eq!((wire(false), wire(true)), (330, 332));
    }
}
