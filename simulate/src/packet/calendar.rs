//! The event queue of packets: a calendar queue of records by their ids.
//!
//! Records are popped in ascending time, equal times in the order of insertion, as in the queue of
//! [`engine`](crate::engine). In a packet simulation that heap spends most of its time in the lower
//! levels. Here a push appends to a recently written cache line, and most pops read the line of the
//! previous pop.
//!
//! A bucket is a stretch of 2ⁿ ps (Brown, *Calendar queues: a fast O(1) priority queue
//! implementation for the simulation event set problem*, 1988): a list of chunks of one cache line,
//! newest first. The present bucket is emptied into a small vector and sorted. Two levels of
//! bitmaps skip empty buckets. Records beyond the last bucket wait in a heap. They move into their
//! bucket as soon as it exists, before younger records, so buckets need no sequence numbers.
//! Records that are inserted into the present bucket go into a second heap.
//!
//! The width adapts to the pending records: wider if many lie beyond the last bucket, narrower if
//! buckets are full. The order does not depend on it. Memory is 8 bytes per record in full chunks,
//! 64 at worst.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::arena::NONE;
use crate::engine::Picoseconds;

/// Pending records; see the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Calendar {
    /// Binary logarithm of a bucket's width in picoseconds.
    shift: u32,
    /// By bucket, modulo their number: its newest chunk, times [`ROOM`], plus the records in that;
    /// [`NONE`] for no chunk. A push reads nothing else, so it never waits for a chunk.
    newest: Vec<u32>,
    chunks: Vec<Chunk>,
    /// The first chunk of the list of free ones.
    free: u32,
    /// One bit per bucket that is not empty.
    occupied: Vec<u64>,
    /// One bit per word of `occupied` that is not zero.
    summary: [u64; BUCKETS / 64 / 64],
    /// Number of the present bucket, from time 0.
    current: u64,
    /// The rest of it, last first.
    batch: Vec<Entry>,
    /// Records that were added since.
    late: BinaryHeap<Reverse<(Picoseconds, u64, u32)>>,
    /// Records beyond the last bucket.
    far: BinaryHeap<Reverse<(Picoseconds, u64, u32)>>,
    /// Orders `late` and `far`.
    sequence: u64,
    len: usize,
    seen: Seen,
    /// A sum of prefetched values, so that the compiler keeps the reads.
    warm: u32,
}

/// Some records of a bucket, in order of insertion.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Chunk {
    /// The previous chunk, which is full, as in [`Calendar::newest`].
    older: u32,
    /// The lower half of the time, and the record; the bucket determines the upper half.
    records: [(u32, u32); CHUNK],
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    time: Picoseconds,
    /// Position in the bucket: the lower, the older.
    position: u32,
    id: u32,
}

/// Statistics for the width since its last adaptation.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    pushes: u32,
    far: u32,
    batches: u32,
    until: u32,
}

/// Records in a chunk: with a link of 8 bytes, 7 of 8 bytes fill a cache line of 64.
const CHUNK: usize = 7;
/// The power of two above [`CHUNK`].
const ROOM: u32 = 8;
/// Number of buckets: at the first width of 1 ns they span 65 µs, more than the round-trip time of
/// a data centre. It has to be a power of 64 times a power of two below 64.
const BUCKETS: usize = 1 << 16;
/// Binary logarithm of the first width, picoseconds: 1 ns. It adapts; half and double: as for
/// [`FULL`].
const FIRST_SHIFT: u32 = 10;
/// Binary logarithm of the narrowest bucket, 16 ps: less than 2 bits at 100 Gbit/s.
const LEAST_SHIFT: u32 = 4;
/// Binary logarithm of the widest bucket, 2³¹ ps: the calendar then spans two minutes.
const MOST_SHIFT: u32 = 31;
/// Pushes between adaptations of the width, a quarter of the buckets. Half and double: as for
/// [`FULL`].
const JUDGE_AFTER: u32 = 1 << 14;
/// A bucket that holds more on average is too wide. Half and double change the time of the packet
/// model by less than the noise, 12 % (`halo3d`, `alltoall` and `random` on 64 ranks).
const FULL: u32 = 12;

impl Default for Calendar {
    fn default() -> Self {
        Self {
            shift: FIRST_SHIFT,
            newest: vec![NONE; BUCKETS],
            chunks: Vec::new(),
            free: NONE,
            occupied: vec![0; BUCKETS / 64],
            summary: [0; BUCKETS / 64 / 64],
            current: 0,
            batch: Vec::new(),
            late: BinaryHeap::new(),
            far: BinaryHeap::new(),
            sequence: 0,
            len: 0,
            seen: Seen { until: JUDGE_AFTER, ..Seen::default() },
            warm: 0,
        }
    }
}

impl Calendar {
    /// Number of pending records.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Moves an empty calendar to `now`, so that records after it go into buckets.
    #[inline]
    pub(super) fn go_back(&mut self, now: Picoseconds) {
        if self.len == 0 {
            self.current = now >> self.shift;
        }
    }

    /// Adds a record. One before the last popped record goes into a heap and is popped next.
    #[inline]
    pub(super) fn push(&mut self, time: Picoseconds, id: u32) {
        self.len += 1;
        self.seen.pushes += 1;
        self.place(time, id);
    }

    #[inline]
    fn place(&mut self, time: Picoseconds, id: u32) {
        let bucket = time >> self.shift;
        if bucket <= self.current {
            self.sequence += 1;
            self.late.push(Reverse((time, self.sequence, id)));
        } else if bucket - self.current < BUCKETS as u64 {
            self.link(time, bucket, id);
        } else {
            self.sequence += 1;
            self.seen.far += 1;
            self.far.push(Reverse((time, self.sequence, id)));
        }
    }

    #[inline]
    fn link(&mut self, time: Picoseconds, bucket: u64, id: u32) {
        let slot = bucket as usize % BUCKETS;
        let mut newest = self.newest[slot];
        // Also true of NONE.
        if newest % ROOM == CHUNK as u32 {
            newest = self.new_chunk(newest) * ROOM;
            self.occupied[slot / 64] |= 1 << (slot % 64);
            self.summary[slot / 64 / 64] |= 1 << (slot / 64 % 64);
        }
        // The remainder keeps the index within bounds for the compiler too.
        self.chunks[(newest / ROOM) as usize].records[newest as usize % ROOM as usize % CHUNK] =
            (time as u32, id);
        self.newest[slot] = newest + 1;
    }

    fn new_chunk(&mut self, older: u32) -> u32 {
        let chunk = Chunk { older, records: [(0, 0); CHUNK] };
        let id = self.free;
        if let Some(free) = self.chunks.get_mut(id as usize) {
            self.free = free.older;
            *free = chunk;
            return id;
        }
        self.chunks.push(chunk);
        (self.chunks.len() - 1) as u32
    }

    /// True if the present bucket is empty: [`turn`](Self::turn) is next.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.batch.is_empty() && self.late.is_empty()
    }

    /// The records of the bucket that has just been turned to.
    pub(super) fn batch(&self) -> impl Iterator<Item = u32> {
        self.batch.iter().map(|entry| entry.id)
    }

    /// Time of the next record of this bucket.
    pub(super) fn next_time(&self) -> Option<Picoseconds> {
        let batch = self.batch.last().map(|entry| entry.time);
        let late = self.late.peek().map(|Reverse((time, ..))| *time);
        batch.into_iter().chain(late).min()
    }

    /// Pops the next record of this bucket.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(Picoseconds, u32)> {
        if let Some(Reverse((late, _, id))) = self.late.peek().copied()
            // Of equal times, the records in the batch are older.
            && self.batch.last().is_none_or(|first| late < first.time)
        {
            self.late.pop();
            self.len -= 1;
            return Some((late, id));
        }
        let entry = self.batch.pop()?;
        self.len -= 1;
        Some((entry.time, entry.id))
    }

    /// Advances to the next occupied bucket; false if there is none.
    pub(super) fn turn(&mut self) -> bool {
        if self.seen.pushes >= self.seen.until {
            self.judge();
            if !self.late.is_empty() {
                return true;
            }
        }
        let next = match self.next_occupied() {
            Some(bucket) => bucket,
            None => match self.far.peek() {
                Some(Reverse((time, ..))) => time >> self.shift,
                None => return false,
            },
        };
        self.current = next;
        self.seen.batches += 1;
        while let Some(Reverse((time, _, id))) = self.far.peek().copied() {
            let bucket = time >> self.shift;
            if bucket - next >= BUCKETS as u64 {
                break;
            }
            self.far.pop();
            self.link(time, bucket, id);
        }
        self.empty_current();
        // This is probably the next bucket: its chunks are prefetched.
        if let Some(next) = self.next_occupied() {
            let older =
                |newest: u32| self.chunks.get((newest / ROOM) as usize).map_or(NONE, |chunk| chunk.older);
            self.warm ^= older(older(self.newest[next as usize % BUCKETS]));
        }
        true
    }

    #[inline]
    fn empty_current(&mut self) {
        let slot = self.current as usize % BUCKETS;
        let mut newest = std::mem::replace(&mut self.newest[slot], NONE);
        let word = &mut self.occupied[slot / 64];
        *word &= !(1 << (slot % 64));
        if *word == 0 {
            self.summary[slot / 64 / 64] &= !(1 << (slot / 64 % 64));
        }
        let start = self.current << self.shift;
        // The newest come first; of equal times the older ones need lower positions.
        let mut position = u32::MAX;
        while newest != NONE {
            let (chunk, len) = (newest / ROOM, newest % ROOM);
            let Chunk { older, records } = self.chunks[chunk as usize];
            for (time, id) in records.iter().take(len as usize).rev() {
                // No bucket is wider than 2³² ps, so the lower half determines the time within it.
                let time = start + u64::from(time.wrapping_sub(start as u32));
                self.batch.push(Entry { time, position, id: *id });
                position -= 1;
            }
            self.chunks[chunk as usize].older = self.free;
            self.free = chunk;
            newest = older;
        }
        if self.batch.len() > 1 {
            // Popped from the end: the latest first, and of equal times the youngest.
            self.batch.sort_unstable_by_key(|entry| Reverse((entry.time, entry.position)));
        }
    }

    /// The next bucket after the current one that is not empty.
    #[inline]
    fn next_occupied(&self) -> Option<u64> {
        let start = (self.current + 1) as usize % BUCKETS;
        let found = self.occupied_from(start).or_else(|| self.occupied_from(0))?;
        let ahead = found.wrapping_sub(start) % BUCKETS;
        Some(self.current + 1 + ahead as u64)
    }

    /// The first occupied slot from `start` on.
    #[inline]
    fn occupied_from(&self, start: usize) -> Option<usize> {
        let word = start / 64;
        let rest = self.occupied[word] & (!0 << (start % 64));
        if rest != 0 {
            return Some(word * 64 + rest.trailing_zeros() as usize);
        }
        let next = word + 1;
        let mut group = next / 64;
        let mut bits = self.summary.get(group)? & (!0 << (next % 64));
        while bits == 0 {
            group += 1;
            bits = *self.summary.get(group)?;
        }
        let word = group * 64 + bits.trailing_zeros() as usize;
        Some(word * 64 + self.occupied[word].trailing_zeros() as usize)
    }

    /// Changes the width if it does not fit the pending records. Only between buckets.
    fn judge(&mut self) {
        let Seen { pushes, far, batches, .. } = self.seen;
        let shift = if far > pushes / 64 && self.shift < MOST_SHIFT {
            self.shift + 1
        } else if pushes > batches.saturating_mul(FULL) && far < pushes / 512 && self.shift > LEAST_SHIFT {
            self.shift - 1
        } else {
            self.shift
        };
        // Moving all records costs about as much as the pushes since the last change.
        let until = JUDGE_AFTER.max(self.len.min(1 << 30) as u32);
        self.seen = Seen { until, ..Seen::default() };
        if shift != self.shift {
            self.rebuild(shift);
        }
    }

    /// Removes all records in order and inserts them with another width.
    fn rebuild(&mut self, shift: u32) {
        let mut all: Vec<(Picoseconds, u32)> = Vec::with_capacity(self.len);
        let time = self.current << self.shift | ((1 << self.shift) - 1);
        while let Some(bucket) = self.next_occupied() {
            self.current = bucket;
            self.empty_current();
            all.extend(self.batch.drain(..).rev().map(|entry| (entry.time, entry.id)));
        }
        let mut far = std::mem::take(&mut self.far);
        while let Some(Reverse((time, _, id))) = far.pop() {
            all.push((time, id));
        }
        self.shift = shift;
        // The bucket at the end of the processed time.
        self.current = time >> shift;
        for (time, id) in all {
            self.place(time, id);
        }
        self.seen.far = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn pop(calendar: &mut Calendar) -> Option<(Picoseconds, u32)> {
        if calendar.is_done() {
            calendar.turn();
        }
        calendar.pop()
    }

    /// Delays of all sizes, many equal: within a bucket, within the calendar, beyond it.
    fn delay() -> impl Strategy<Value = u64> {
        prop_oneof![0_u64..4, 0_u64..4000, 0_u64..100_000_000, Just(1_000_000_000_000)]
    }

    proptest! {
        /// The oracle is a sorted map from (time, sequence).
        #[test]
        fn in_lockstep_with_a_sorted_map(
            steps in prop::collection::vec(prop::option::weighted(0.6, delay()), 0..800),
            judge_after in 1_u32..200,
        ) {
            let mut calendar = Calendar { seen: Seen { until: judge_after, ..Seen::default() }, ..Calendar::default() };
            let mut oracle = BTreeMap::new();
            let mut now = 0;
            for (sequence, step) in steps.into_iter().enumerate() {
                if let Some(delay) = step {
                    calendar.push(now + delay, sequence as u32);
                    oracle.insert((now + delay, sequence), sequence as u32);
                } else {
                    if calendar.is_done() {
                        calendar.turn();
                    }
                    prop_assert_eq!(calendar.next_time(), oracle.first_key_value().map(|((time, _), _)| *time));
                    let expected = oracle.pop_first().map(|((time, _), id)| (time, id));
                    let popped = pop(&mut calendar);
                    prop_assert_eq!(popped, expected);
                    if let Some((time, _)) = popped {
                        now = time;
                        calendar.seen.until = calendar.seen.until.min(calendar.seen.pushes + judge_after);
                    }
                }
                prop_assert_eq!(calendar.len(), oracle.len());
            }
            while let Some(((time, _), id)) = oracle.pop_first() {
                prop_assert_eq!(pop(&mut calendar), Some((time, id)));
            }
            prop_assert_eq!(pop(&mut calendar), None);
        }
    }

    #[test]
    fn the_width_follows_what_is_pending() {
        for (spread, narrower) in [(1_u64 << 12, true), (1 << 36, false)] {
            let mut calendar = Calendar::default();
            for i in 0..4096_u64 {
                calendar.push(i.wrapping_mul(2_654_435_761) % spread, i as u32);
            }
            for i in 0..400_000_u64 {
                let (time, id) = pop(&mut calendar).unwrap();
                calendar.push(time + i.wrapping_mul(2_654_435_761) % spread, id);
            }
            assert_eq!(calendar.shift < FIRST_SHIFT, narrower, "{}", calendar.shift);
            assert_eq!(calendar.shift > FIRST_SHIFT, !narrower, "{}", calendar.shift);
        }
    }
}
