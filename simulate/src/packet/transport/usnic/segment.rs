//! Fragments and the packets that carry them.

use super::super::super::arena::NONE;
use crate::engine::Picoseconds;

/// A fragment of the message layer, of any size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment {
    pub(super) what: What,
    /// The message it belongs to.
    pub(super) message: u32,
    /// Number within its endpoint; only fragments of several packets have one.
    pub(super) number: u32,
    pub(super) bytes: u64,
    /// Bytes handed to the adapter.
    pub(super) sent: u64,
    pub(super) acknowledged: u64,
    /// Its successor in the queue of its endpoint, or among free ones.
    pub(super) next: u32,
}

/// Headers of the message layer (`ob1`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A whole message.
    Match,
    /// The first bytes of a message.
    Rendezvous,
    /// The receiver is ready for the rest.
    Ready,
    /// Some of the rest.
    Data,
    /// The receiver has sent the address for the rest.
    PutRequest,
    /// The rest, put there.
    Put,
    /// All of it was put there.
    Finished,
}

/// One packet until it is acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) endpoint: u32,
    pub(super) fragment: u32,
    pub(super) seq: u64,
    /// First byte of the fragment in it.
    pub(super) offset: u64,
    pub(super) bytes: u32,
    /// Copies that the adapter has not sent yet.
    pub(super) posted: u32,
    pub(super) place: Place,
    /// Number of this use of the record.
    pub(super) generation: u32,
    pub(super) next: u32,
}

impl Segment {
    /// True if `handle` names the present use of the record, and its timer still runs until
    /// `deadline`.
    pub(super) fn has_timer(&self, handle: SegmentHandle, deadline: Picoseconds) -> bool {
        self.generation == handle.generation && self.place == Place::InFlight(deadline)
    }
}

/// The state of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It is sent, and its retransmission timer expires at this time.
    InFlight(Picoseconds),
    /// It waits to be sent again.
    Resend,
    /// It is acknowledged; the record is kept while the adapter still has a copy.
    Acknowledged,
}

/// Names one use of a record: the record may serve another segment later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentHandle {
    /// The number of the record.
    pub(super) id: u32,
    /// The [generation](Segment::generation) of that use.
    pub(super) generation: u32,
}

/// Records with a free list.
#[derive(Clone, Debug)]
pub(super) struct Pool<T> {
    all: Vec<T>,
    free: u32,
}

/// A record with a link to the next one.
pub(super) trait Chained {
    fn next(&mut self) -> &mut u32;
    /// Keeps the generation from the last use of the record.
    fn follow(&mut self, last: &Self);
}

impl Chained for Fragment {
    fn next(&mut self) -> &mut u32 {
        &mut self.next
    }
    fn follow(&mut self, _: &Self) {}
}

impl Chained for Segment {
    fn next(&mut self) -> &mut u32 {
        &mut self.next
    }
    fn follow(&mut self, last: &Self) {
        self.generation = last.generation.wrapping_add(1);
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { all: Vec::new(), free: NONE }
    }
}

impl<T: Chained> Pool<T> {
    pub(super) fn insert(&mut self, mut record: T) -> u32 {
        let id = self.free;
        if let Some(free) = self.all.get_mut(id as usize) {
            self.free = *free.next();
            record.follow(free);
            *free = record;
            return id;
        }
        self.all.push(record);
        (self.all.len() - 1) as u32
    }

    pub(super) fn remove(&mut self, id: u32) {
        *self.all[id as usize].next() = self.free;
        self.free = id;
    }
}

impl<T> std::ops::Index<u32> for Pool<T> {
    type Output = T;
    fn index(&self, id: u32) -> &T {
        &self.all[id as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Pool<T> {
    fn index_mut(&mut self, id: u32) -> &mut T {
        &mut self.all[id as usize]
    }
}
