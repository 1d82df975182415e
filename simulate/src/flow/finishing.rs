//! Which class of flows has the next flow to finish.
//!
//! An implicit 4-ary heap with the place of each class, so that a time can be changed. Rates that fall make times later, and
//! under contention most do so again before they come up: a later time is only noted and put right when it surfaces.

/// Children of a heap node.
const ARITY: usize = 4;
/// Not in the heap.
const ABSENT: u32 = u32::MAX;

/// Times by class, the earliest first; ties by number of the class.
#[derive(Clone, Debug, Default)]
pub(super) struct Finishing {
    heap: Vec<(f64, u32)>,
    /// By class: place in the heap.
    places: Vec<u32>,
    /// By class: the time, not before that of the heap.
    times: Vec<f64>,
}

impl Finishing {
    /// Sets or changes the time of a class.
    #[inline]
    pub(super) fn set(&mut self, class: u32, time: f64) {
        let number = class as usize;
        if self.places.len() <= number {
            self.places.resize(number + 1, ABSENT);
            self.times.resize(number + 1, 0.0);
        }
        self.times[number] = time;
        let place = self.places[number];
        if place == ABSENT {
            self.heap.push((time, class));
            self.sift_up(self.heap.len() - 1, (time, class));
        } else if time < self.heap[place as usize].0 {
            self.sift_up(place as usize, (time, class));
        }
    }

    /// The earliest time; true if [`first`](Self::first) was asked since the last change.
    pub(super) fn earliest(&self) -> Option<f64> {
        self.heap.first().map(|(time, _)| *time)
    }

    /// The earliest.
    pub(super) fn first(&mut self) -> Option<(f64, u32)> {
        loop {
            let (time, class) = *self.heap.first()?;
            let real = self.times[class as usize];
            if real <= time {
                return Some((time, class));
            }
            self.sift_down(0, (real, class));
        }
    }

    /// Takes a class out.
    pub(super) fn remove(&mut self, class: u32) {
        let place = std::mem::replace(&mut self.places[class as usize], ABSENT);
        let Some(last) = self.heap.pop() else { return };
        if last.1 == class {
            return;
        }
        let place = place as usize;
        if before(last, self.heap[place]) {
            self.sift_up(place, last);
        } else {
            self.sift_down(place, last);
        }
    }

    fn sift_up(&mut self, mut place: usize, entry: (f64, u32)) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if before(self.heap[parent], entry) {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    fn sift_down(&mut self, mut place: usize, entry: (f64, u32)) {
        loop {
            let first = place * ARITY + 1;
            let children = first..(first + ARITY).min(self.heap.len());
            let Some(child) = children.reduce(|a, b| if before(self.heap[b], self.heap[a]) { b } else { a })
            else {
                break;
            };
            if before(entry, self.heap[child]) {
                break;
            }
            self.put(place, self.heap[child]);
            place = child;
        }
        self.put(place, entry);
    }

    #[inline]
    fn put(&mut self, place: usize, entry: (f64, u32)) {
        self.heap[place] = entry;
        self.places[entry.1 as usize] = place as u32;
    }
}

#[inline]
fn before(a: (f64, u32), b: (f64, u32)) -> bool {
    a.0 < b.0 || (a.0 <= b.0 && a.1 < b.1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The oracle is a map from class to time that is looked through.
        #[test]
        fn in_lockstep_with_a_map(steps in prop::collection::vec((0..12_u32, proptest::option::weighted(0.8, 0..9_u8)), 0..300)) {
            let mut finishing = Finishing::default();
            let mut oracle = BTreeMap::new();
            for (class, time) in steps {
                match time {
                    Some(time) => {
                        finishing.set(class, f64::from(time));
                        oracle.insert(class, time);
                    }
                    None => {
                        if oracle.remove(&class).is_some() {
                            finishing.remove(class);
                        }
                    }
                }
                let first = oracle.iter().min_by_key(|(class, time)| (**time, **class));
                prop_assert_eq!(finishing.first(), first.map(|(class, time)| (f64::from(*time), *class)));
            }
        }
    }
}
