//! The open requests of a rank, and the event of each.
//!
//! Most programs have few requests open at a time: going through a list of them is faster than a
//! hash table, which takes those beyond.

use rustc_hash::FxHashMap;

/// Requests in the list: 128 bytes, two cache lines. With two open requests, the bench `dumpi`
/// executes 7 % fewer instructions than with the table alone.
const MOST_LISTED: usize = 8;

/// Requests in the table after which those whose events have left are looked for: some tools never
/// say that a request is complete.
pub(super) const MANY: usize = 1 << 12;

/// Requests by their numbers, with the numbers of their events.
#[derive(Default)]
pub(super) struct Requests {
    listed: Vec<(i64, u64)>,
    others: FxHashMap<i64, u64>,
}

impl Requests {
    /// Adds a request; returns the event that it had before. Events before `first` have left.
    #[inline]
    pub(super) fn insert(&mut self, request: i64, event: u64, first: u64) -> Option<u64> {
        if let Some((_, number)) = self.listed.iter_mut().find(|(listed, _)| *listed == request) {
            return Some(std::mem::replace(number, event));
        }
        if self.listed.len() < MOST_LISTED && self.others.is_empty() {
            self.listed.push((request, event));
            return None;
        }
        if self.others.len() >= MANY && self.others.len() == self.others.capacity() {
            self.others.retain(|_, number| *number >= first);
        }
        self.others.insert(request, event)
    }

    /// Removes a request; returns its event.
    #[inline]
    pub(super) fn remove(&mut self, request: i64) -> Option<u64> {
        match self.listed.iter().position(|(listed, _)| *listed == request) {
            Some(place) => Some(self.listed.swap_remove(place).1),
            None if self.others.is_empty() => None,
            None => self.others.remove(&request),
        }
    }

    /// The event of a request.
    pub(super) fn get(&self, request: i64) -> Option<u64> {
        let listed = self.listed.iter().find(|(listed, _)| *listed == request);
        listed.map(|(_, number)| number).or_else(|| self.others.get(&request)).copied()
    }

    /// The requests, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        self.listed.iter().map(|(request, _)| *request).chain(self.others.keys().copied())
    }

    pub(super) fn clear(&mut self) {
        self.listed.clear();
        self.others.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_a_table_has_them(calls in prop::collection::vec((any::<bool>(), 0i64..30), 0..300)) {
            let (mut found, mut expected) = (Requests::default(), FxHashMap::default());
            for (number, (opens, request)) in (0..).zip(calls) {
                prop_assert_eq!(found.get(request), expected.get(&request).copied());
                if opens {
                    prop_assert_eq!(found.insert(request, number, 0), expected.insert(request, number));
                } else {
                    prop_assert_eq!(found.remove(request), expected.remove(&request));
                }
                let mut open: Vec<_> = found.iter().collect();
                let mut all: Vec<_> = expected.keys().copied().collect();
                open.sort_unstable();
                all.sort_unstable();
                prop_assert_eq!(open, all);
            }
        }
    }
}
