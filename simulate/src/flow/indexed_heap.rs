//! An indexed heap: classes of flows by the time at which their next flow finishes.
//!
//! The heap is implicit and 4-ary; it keeps the position of each number, so that times can change.
//! A rate that falls makes a time later, and under contention it often falls again. A later time is
//! therefore stored beside the heap, which is corrected when the entry reaches the top.

use std::cmp::Reverse;

/// Children of a heap node: half the levels of a binary heap, as in [`engine`](crate::engine).
const ARITY: usize = 4;
/// Not in the heap.
const ABSENT: u32 = u32::MAX;
/// The heap is drained in bulk once 1 in this number of its entries has been popped at one time.
/// Half and double change the time of the flow model by 5 %, within the noise (`halo3d`, `alltoall`
/// and `random` on 128 ranks).
const MANY: usize = 8;

/// Times by number, none negative: the earliest first; ties by number.
#[derive(Clone, Debug, Default)]
pub(super) struct IndexedHeap {
    heap: Vec<Entry>,
    /// By number: place in the heap.
    places: Vec<u32>,
    /// By number: the time, not before that of the heap.
    times: Vec<f64>,
    /// Taken out of the heap at once: the earliest last.
    due: Vec<Entry>,
    /// Taken out one by one by the time `limit`.
    popped: usize,
    limit: f64,
}

/// The bits of the time, which are in its order, above the number: one comparison decides.
type Entry = u128;

#[inline]
fn entry(time: f64, number: u32) -> Entry {
    u128::from(time.to_bits()) << 64 | u128::from(number)
}

#[inline]
fn time(entry: Entry) -> f64 {
    f64::from_bits((entry >> 64) as u64)
}

/// The latest first. Times that are nearly one are sorted by their distance and number in half the
/// width.
fn sort_descending(entries: &mut [Entry]) {
    let least = entries.iter().map(|entry| (*entry >> 64) as u64).min().unwrap_or(0);
    let apart = |entry: &Entry| (*entry >> 64) as u64 - least;
    if entries.iter().any(|entry| apart(entry) > u64::from(u32::MAX)) {
        entries.sort_unstable_by_key(|entry| Reverse(*entry));
        return;
    }
    let mut short: Vec<u64> =
        entries.iter().map(|entry| apart(entry) << 32 | u64::from(*entry as u32)).collect();
    short.sort_unstable();
    for (entry, short) in entries.iter_mut().zip(short.iter().rev()) {
        *entry = u128::from(least + (short >> 32)) << 64 | u128::from(*short as u32);
    }
}

impl IndexedHeap {
    /// Sets or changes the time of a number.
    #[inline]
    pub(super) fn set(&mut self, number: u32, time: f64) {
        let at = number as usize;
        if self.places.len() <= at {
            self.places.resize(at + 1, ABSENT);
            self.times.resize(at + 1, 0.0);
        }
        self.times[at] = time;
        let entry = entry(time, number);
        let place = self.places[at];
        if place == ABSENT {
            self.heap.push(entry);
            self.sift_up(self.heap.len() - 1, entry);
        } else if entry < self.heap[place as usize] {
            self.sift_up(place as usize, entry);
        }
    }

    /// Sets or changes times: all at once where they are half of all that is in the heap then.
    pub(super) fn set_many(&mut self, count: usize, times: impl Iterator<Item = (u32, f64)>) {
        if count * 2 < self.heap.len() {
            times.for_each(|(number, time)| self.set(number, time));
            return;
        }
        for (number, time) in times {
            let at = number as usize;
            if self.places.len() <= at {
                self.places.resize(at + 1, ABSENT);
                self.times.resize(at + 1, 0.0);
            }
            self.times[at] = time;
            if self.places[at] == ABSENT {
                self.places[at] = 0;
                self.heap.push(entry(time, number));
            }
        }
        self.heap.iter_mut().for_each(|kept| *kept = entry(self.times[*kept as u32 as usize], *kept as u32));
        self.build();
    }

    /// Makes a heap of what stands there in any order.
    fn build(&mut self) {
        let len = self.heap.len();
        for place in (0..len.div_ceil(ARITY)).rev() {
            let (mut place, moving) = (place, self.heap[place]);
            while let Some(child) = self.least_child(place)
                && self.heap[child] < moving
            {
                self.heap[place] = self.heap[child];
                place = child;
            }
            self.heap[place] = moving;
        }
        for (place, entry) in (0..).zip(&self.heap) {
            self.places[*entry as u32 as usize] = place;
        }
    }

    /// The earliest time; true if [`first`](Self::first) was asked since a time was made later.
    #[inline]
    pub(super) fn earliest(&self) -> Option<f64> {
        self.heap.first().map(|first| time(*first))
    }

    /// The earliest.
    #[inline]
    pub(super) fn first(&mut self) -> Option<(f64, u32)> {
        loop {
            let first = *self.heap.first()?;
            let number = first as u32;
            let real = self.times[number as usize];
            if real <= time(first) {
                return Some((real, number));
            }
            self.replace(0, entry(real, number));
        }
    }

    /// Takes a number out.
    pub(super) fn remove(&mut self, number: u32) {
        let place = std::mem::replace(&mut self.places[number as usize], ABSENT);
        if let Some(last) = self.heap.pop().filter(|last| *last as u32 != number) {
            self.replace(place as usize, last);
        }
    }

    /// Takes the earliest out.
    #[cfg(test)]
    fn pop(&mut self) -> Option<(f64, u32)> {
        let first = self.first()?;
        self.remove(first.1);
        Some(first)
    }

    /// Takes the earliest out if it is due by `limit`, which is not before that of earlier calls;
    /// to be called until there is none.
    #[inline]
    pub(super) fn pop_due(&mut self, limit: f64) -> Option<u32> {
        if limit > self.limit {
            (self.limit, self.popped) = (limit, 0);
        }
        let first = self.first().filter(|(time, _)| *time <= limit);
        let first = first.map(|(time, number)| entry(time, number));
        if let Some(due) = self.due.pop_if(|due| first.is_none_or(|first| *due < first)) {
            return Some(due as u32);
        }
        let number = first? as u32;
        self.remove(number);
        self.popped += 1;
        if self.popped * MANY > self.heap.len() {
            self.popped = 0;
            self.take_due();
        }
        Some(number)
    }

    /// Takes out all that are due at once.
    fn take_due(&mut self) {
        let Self { heap, places, times, due, limit, .. } = self;
        heap.retain_mut(|kept| {
            let number = *kept as u32;
            let time = times[number as usize];
            *kept = entry(time, number);
            let is_due = time <= *limit;
            if is_due {
                places[number as usize] = ABSENT;
                due.push(*kept);
            }
            !is_due
        });
        sort_descending(due);
        self.build();
    }

    /// The earliest child of a place of the heap.
    #[inline]
    fn least_child(&self, place: usize) -> Option<usize> {
        let first = place * ARITY + 1;
        match self.heap.get(first..)? {
            [a, b, c, d, ..] => {
                // Selections, no branches that could be mispredicted.
                let (ab, least_ab) = if b < a { (1, b) } else { (0, a) };
                let (cd, least_cd) = if d < c { (3, d) } else { (2, c) };
                Some(first + if least_cd < least_ab { cd } else { ab })
            }
            family => (0..family.len()).min_by_key(|child| family[*child]).map(|child| first + child),
        }
    }

    /// Room for `count` times.
    pub(super) fn reserve(&mut self, count: usize) {
        self.heap.reserve(count);
        self.places.reserve(count);
        self.times.reserve(count);
    }

    /// Puts an entry in place of another one. It mostly belongs near the bottom: the gap goes there
    /// without comparing to it, then the entry climbs (Floyd's variant, as in the standard
    /// library).
    fn replace(&mut self, mut place: usize, entry: Entry) {
        while let Some(child) = self.least_child(place) {
            self.put(place, self.heap[child]);
            place = child;
        }
        self.sift_up(place, entry);
    }

    fn sift_up(&mut self, mut place: usize, entry: Entry) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.heap[parent] < entry {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    #[inline]
    fn put(&mut self, place: usize, entry: Entry) {
        self.heap[place] = entry;
        self.places[entry as u32 as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// The oracle is a map from number to time with a linear search.
    fn first(oracle: &BTreeMap<u32, u8>) -> Option<(f64, u32)> {
        let first = oracle.iter().min_by_key(|(number, time)| (**time, **number));
        first.map(|(number, time)| (f64::from(*time), *number))
    }

    proptest! {
        /// Steps set the time of a number, take it out, or go on to a time; what is popped then may
        /// come again at once.
        #[test]
        fn in_lockstep_with_a_map(steps in prop::collection::vec((0..40_u32, 0..12_u8), 0..300)) {
            let (mut heap, mut oracle) = (IndexedHeap::default(), BTreeMap::new());
            let mut now = 0;
            for (number, step) in steps {
                match step {
                    0..10 => {
                        heap.set(number, f64::from(step));
                        oracle.insert(number, step);
                    }
                    10 => {
                        if oracle.remove(&number).is_some() {
                            heap.remove(number);
                        }
                    }
                    _ => {
                        now += 1;
                        let mut again = number;
                        while let Some(popped) = heap.pop_due(f64::from(now)) {
                            prop_assert_eq!(first(&oracle).map(|(_, number)| number), Some(popped));
                            prop_assert!(oracle.remove(&popped).is_some_and(|time| time <= now));
                            if again > 0 {
                                again /= 2;
                                heap.set(popped, f64::from(now));
                                oracle.insert(popped, now);
                            }
                        }
                        prop_assert!(oracle.values().all(|time| *time > now));
                    }
                }
                prop_assert_eq!(heap.first(), first(&oracle));
            }
            for _ in 0..oracle.len() {
                let expected = first(&oracle);
                prop_assert_eq!(heap.pop(), expected);
                expected.map(|(_, number)| oracle.remove(&number));
            }
            prop_assert_eq!(heap.pop(), None);
        }
    }
}
