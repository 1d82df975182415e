//! The event queue.
//!
//! Time is a `u64` of picoseconds (213 days). Events are popped in ascending time, equal times in
//! the order of their push. This is a total order, so a run is the same on any machine. An event
//! with a [`Handle`] can be cancelled.
//!
//! The queue is an implicit 4-ary heap of `(time, sequence)` keys with the events beside them: half
//! the levels of a binary heap, and the four children of a node share one or two cache lines
//! (LaMarca and Ladner, *The influence of caches on the performance of heaps*, 1996).
//! benches/README.md compares it to the standard library's binary heap. A calendar queue is faster
//! for many evenly spread events, with bad worst cases.
//!
//! A cancelled event stays in the heap until it reaches the top. When half of the heap is
//! cancelled, all cancelled events are removed. Cancellation costs O(1) amortised, and memory is
//! proportional to the pending events.

use phaseflow_collect::Error;

/// Picoseconds since the start of a run.
pub type Picoseconds = u64;

/// Sums of times saturate at [`Picoseconds::MAX`], which is no time of a result.
pub(crate) fn beyond_clock() -> Error {
    Error::data(
        "ends after 18446744 s (213 days), when the clock does; simulate a part of it, or less computation (--compute-scale)",
    )
}

/// An event that can be cancelled: its slot, and the number of this use of the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    slot: u32,
    generation: u32,
}

/// Pending events of a run; see the [module](self).
#[derive(Clone, Debug)]
pub struct EventQueue<E: Copy> {
    heap: Vec<Entry<E>>,
    sequence: u64,
    slots: Vec<Slot>,
    free: Vec<u32>,
    cancelled: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    /// Time in the upper half, sequence in the lower: one comparison decides.
    key: u128,
    slot: u32,
    event: E,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    generation: u32,
    cancelled: bool,
}

/// Children of a heap node: half the levels of a binary heap, and one or two cache lines.
const ARITY: usize = 4;
/// Slot of an event that cannot be cancelled.
const NO_SLOT: u32 = u32::MAX;
/// Least number of heap entries for which cancelled ones are removed together. Smaller heaps keep
/// at most 64 dead entries, a few kilobytes. Half and double change the time of the flow model by
/// less than the noise of the measurement, 10 %.
const SMALLEST_SWEEP: usize = 64;

impl<E> Entry<E> {
    fn time(&self) -> Picoseconds {
        (self.key >> 64) as u64
    }
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> Self {
        Self { heap: Vec::new(), sequence: 0, slots: Vec::new(), free: Vec::new(), cancelled: 0 }
    }
}

impl<E: Copy> EventQueue<E> {
    /// Number of pending events, without cancelled ones.
    pub fn len(&self) -> usize {
        self.heap.len() - self.cancelled
    }

    /// True if nothing is to come.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an event that cannot be cancelled.
    #[inline]
    pub fn push(&mut self, time: Picoseconds, event: E) {
        self.insert(time, event, NO_SLOT);
    }

    /// Adds an event that can be [cancelled](Self::cancel).
    pub fn push_cancellable(&mut self, time: Picoseconds, event: E) -> Handle {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        self.insert(time, event, slot);
        Handle { slot, generation: self.slots[slot as usize].generation }
    }

    /// Cancels an event; false if it has happened or is cancelled already.
    pub fn cancel(&mut self, handle: Handle) -> bool {
        let slot = &mut self.slots[handle.slot as usize];
        if slot.generation != handle.generation || slot.cancelled {
            return false;
        }
        slot.cancelled = true;
        self.cancelled += 1;
        if self.cancelled * 2 > self.heap.len() && self.heap.len() >= SMALLEST_SWEEP {
            self.sweep();
        }
        true
    }

    /// Time of the first entry: a lower bound of the next event's time, exact without cancelled
    /// events.
    pub fn peek_time(&self) -> Option<Picoseconds> {
        self.heap.first().map(Entry::time)
    }

    /// Time of the next event.
    pub fn next_time(&mut self) -> Option<Picoseconds> {
        while let Some(first) = self.heap.first() {
            if !self.is_cancelled(first.slot) {
                return Some(first.time());
            }
            self.remove_first();
        }
        None
    }

    /// Removes the next event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Picoseconds, E)> {
        loop {
            let first = *self.heap.first()?;
            let cancelled = self.is_cancelled(first.slot);
            self.remove_first();
            if !cancelled {
                return Some((first.time(), first.event));
            }
        }
    }

    #[inline]
    fn is_cancelled(&self, slot: u32) -> bool {
        slot != NO_SLOT && self.slots[slot as usize].cancelled
    }

    #[inline]
    fn insert(&mut self, time: Picoseconds, event: E, slot: u32) {
        let entry = Entry { key: u128::from(time) << 64 | u128::from(self.sequence), slot, event };
        self.sequence += 1;
        self.heap.push(entry);
        self.sift_up(self.heap.len() - 1, entry);
    }

    /// Frees the slot of the first entry and closes the gap with the last one.
    #[inline]
    fn remove_first(&mut self) {
        let Some(last) = self.heap.pop() else { return };
        let gone = self.heap.first().map_or(last.slot, |first| first.slot);
        self.release(gone);
        if !self.heap.is_empty() {
            // The last entry came from the bottom and belongs near it: walk the gap down without
            // comparing to it, then let it climb (Floyd's variant, as in the standard library).
            let gap = self.sift_gap_down(0);
            self.sift_up(gap, last);
        }
    }

    fn release(&mut self, slot: u32) {
        if slot != NO_SLOT {
            let state = &mut self.slots[slot as usize];
            self.cancelled -= usize::from(state.cancelled);
            *state = Slot { generation: state.generation.wrapping_add(1), cancelled: false };
            self.free.push(slot);
        }
    }

    #[inline]
    fn sift_up(&mut self, mut position: usize, entry: Entry<E>) {
        while position > 0 {
            let parent = (position - 1) / ARITY;
            if entry.key > self.heap[parent].key {
                break;
            }
            self.heap[position] = self.heap[parent];
            position = parent;
        }
        self.heap[position] = entry;
    }

    /// Moves the gap at `position` to a leaf by pulling the earliest child up; returns the leaf.
    #[inline]
    fn sift_gap_down(&mut self, mut position: usize) -> usize {
        loop {
            let first = position * ARITY + 1;
            let child = match self.heap.get(first..) {
                // A node with four children: three selections without branches.
                Some([a, b, c, d, ..]) => {
                    let (ab, ab_key) = if b.key < a.key { (1, b.key) } else { (0, a.key) };
                    let (cd, cd_key) = if d.key < c.key { (3, d.key) } else { (2, c.key) };
                    first + if cd_key < ab_key { cd } else { ab }
                }
                Some(family) => match (0..family.len()).min_by_key(|i| family[*i].key) {
                    Some(child) => first + child,
                    None => return position,
                },
                None => return position,
            };
            self.heap[position] = self.heap[child];
            position = child;
        }
    }

    /// Removes all cancelled entries and restores the heap order from the bottom up: O(n).
    fn sweep(&mut self) {
        let mut heap = std::mem::take(&mut self.heap);
        heap.retain(|entry| {
            let keep = !self.is_cancelled(entry.slot);
            if !keep {
                self.release(entry.slot);
            }
            keep
        });
        self.heap = heap;
        for position in (0..self.heap.len().div_ceil(ARITY)).rev() {
            self.sift_down(position);
        }
    }

    fn sift_down(&mut self, mut position: usize) {
        let entry = self.heap[position];
        loop {
            let first = position * ARITY + 1;
            let children = first..(first + ARITY).min(self.heap.len());
            let Some(child) = children.min_by_key(|i| self.heap[*i].key) else {
                break;
            };
            if entry.key < self.heap[child].key {
                break;
            }
            self.heap[position] = self.heap[child];
            position = child;
        }
        self.heap[position] = entry;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Push {
            delay: u64,
            cancellable: bool,
        },
        Pop,
        /// Cancels the handle of this number, modulo how many were given out: pending, used or
        /// cancelled ones.
        Cancel(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        // Few distinct delays, so that equal times are common.
        prop_oneof![
            4 => (0_u64..6, any::<bool>()).prop_map(|(delay, cancellable)| Step::Push { delay, cancellable }),
            2 => Just(Step::Pop),
            3 => any::<usize>().prop_map(Step::Cancel),
        ]
    }

    proptest! {
        /// The oracle is a sorted map from (time, sequence), which drops cancelled events at once.
        #[test]
        fn in_lockstep_with_a_sorted_map(steps in prop::collection::vec(step(), 0..600)) {
            let mut queue = EventQueue::default();
            let mut oracle = BTreeMap::new();
            let mut handles = Vec::new();
            let mut now = 0;
            for (sequence, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Push { delay, cancellable } => {
                        oracle.insert((now + delay, sequence), sequence);
                        if cancellable {
                            handles.push((queue.push_cancellable(now + delay, sequence), (now + delay, sequence)));
                        } else {
                            queue.push(now + delay, sequence);
                        }
                    }
                    Step::Pop => {
                        let expected = oracle.pop_first().map(|((time, _), event)| (time, event));
                        prop_assert_eq!(queue.pop(), expected);
                        now = expected.map_or(now, |(time, _)| time);
                    }
                    Step::Cancel(number) => {
                        if let Some((handle, key)) = handles.get(number % handles.len().max(1)) {
                            prop_assert_eq!(queue.cancel(*handle), oracle.remove(key).is_some());
                        }
                    }
                }
                prop_assert_eq!(queue.len(), oracle.len());
                prop_assert_eq!(queue.next_time(), oracle.first_key_value().map(|((time, _), _)| *time));
            }
            while let Some(((time, _), event)) = oracle.pop_first() {
                prop_assert_eq!(queue.pop(), Some((time, event)));
            }
            prop_assert_eq!(queue.pop(), None);
        }
    }

    #[test]
    fn cancelled_events_do_not_pile_up() {
        let mut queue = EventQueue::default();
        for event in 0..100_000_u64 {
            let handle = queue.push_cancellable(1_000_000 + event, event);
            assert!(queue.cancel(handle));
            assert!(!queue.cancel(handle));
        }
        assert!(queue.is_empty());
        assert!(queue.heap.len() < SMALLEST_SWEEP && queue.slots.len() <= SMALLEST_SWEEP);
    }

    #[test]
    fn equal_times_are_first_in_first_out() {
        let mut queue = EventQueue::default();
        (0..1000).for_each(|event| queue.push(5, event));
        assert!((0..1000).all(|event| queue.pop() == Some((5, event))));
    }
}
