//! The short path of a message: all its data is known already, and its record is written without a
//! call.
//!
//! Most messages follow one on the same communicator, in a program without overlapping MPI calls,
//! with the time stamp counter as clock. One comparison with [`Near`](crate::lane::Near) detects
//! this case. All other messages (inside collectives, from any source, with a full chunk) take the
//! long path through [`Envelope`](crate::message::Envelope). Both write the same records.

use super::request::size_field;
use crate::clock;
use crate::format::{Kind, MOST_BYTES, Slot, flags};
use crate::lane;
use crate::message::Posted;
use crate::operation::Operation;

/// Most elements, and most bytes of each, on the short path: below 2³², their product does not
/// overflow.
const MOST: u64 = (1 << 31) - 1;

/// Writes the record of a message that starts now; null if it needs the long path.
#[inline(always)]
pub(super) fn post(
    kind: Kind,
    bits: u8,
    count: usize,
    datatype: usize,
    peer: usize,
    tag: usize,
    comm: usize,
) -> Posted {
    let lane = lane::single();
    let (peer, tag) = (peer as u32, tag as u32);
    // SAFETY: `near` names a communicator only while no other thread uses the lane. MPI is given
    // the same datatype, and `peers` has `size` members.
    unsafe {
        let near = &(*lane).near;
        if near.handle != comm || peer >= near.size || tag.cast_signed() < 0 || !(*lane).has_room() {
            return Posted::NONE;
        }
        let size = size_field(datatype);
        if (count as u64 | size) > MOST {
            return Posted::NONE;
        }
        let peer = if near.peers.is_null() { peer } else { *near.peers.add(peer as usize) };
        let around = if (*lane).operation == Operation::Sendrecv as u8 { Operation::Sendrecv as u8 } else { 0 };
        let bits = bits | if (*lane).inside { flags::INSIDE } else { 0 };
        let bytes = (count as u64 * size).min(MOST_BYTES);
        let slot = |time| Slot::new(kind, time, around, bytes, peer, tag.cast_signed(), near.number, bits);
        if kind as u8 == Kind::Receive as u8 && bits & flags::NONBLOCKING != 0 {
            Posted((*lane).push_started_receive(slot(0), clock::counted))
        } else {
            Posted((*lane).push_into_room(slot(clock::counted())))
        }
    }
}

/// A blocking transfer is over, now.
///
/// # Safety
/// `posted` is of [`post`], and no other thread completes it.
#[inline(always)]
pub(super) unsafe fn completed(posted: Posted) {
    // SAFETY: the caller's promise; until now the word holds no time.
    unsafe {
        let word = posted.0.cast::<u64>().add(1);
        word.write_volatile(word.read_volatile() | clock::counted());
    }
}

/// Completes a blocking receive. Source and tag are those of its arguments.
///
/// # Safety
/// As [`completed`].
#[inline(always)]
pub(super) unsafe fn received(posted: Posted, bytes: u64) {
    // SAFETY: the caller's promise; of word 2 the bytes change.
    unsafe {
        completed(posted);
        let word = posted.0.cast::<u64>().add(2);
        word.write_volatile(word.read_volatile() & !MOST_BYTES | bytes.min(MOST_BYTES));
    }
}
