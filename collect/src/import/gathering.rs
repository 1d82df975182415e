//! Collectives of a trace whose calls come one by one.
//!
//! The n-th collective call of each member of a communicator belongs to the n-th of all others (MPI
//! 4.1, section 6.14).

use std::collections::VecDeque;
use std::rc::Rc;

use rustc_hash::FxHashMap;

/// Gathers calls until all members have made theirs. Memory: the calls of collectives that are not
/// complete, and a number for each member of a communicator.
pub(super) struct Gathering<T> {
    communicators: FxHashMap<u32, Communicator<T>>,
}

struct Communicator<T> {
    /// World ranks of the members.
    members: Rc<[u32]>,
    /// Number of each rank's next call.
    next: FxHashMap<u32, u64>,
    /// Number of the first incomplete collective.
    first: u64,
    incomplete: VecDeque<Vec<(u32, T)>>,
}

/// A collective that all members have entered.
pub(super) struct Gathered<T> {
    /// World ranks.
    pub(super) members: Rc<[u32]>,
    /// A call for each member, in their order.
    pub(super) calls: Vec<T>,
}

impl<T> Default for Gathering<T> {
    fn default() -> Self {
        Self { communicators: FxHashMap::default() }
    }
}

impl<T> Gathering<T> {
    /// A rank makes its next call on a communicator, whose members are asked for once; returns the
    /// collective if it is complete now.
    pub(super) fn add(
        &mut self,
        communicator: u32,
        rank: u32,
        call: T,
        members: impl FnOnce() -> Vec<u32>,
    ) -> Option<Gathered<T>> {
        let known = self.communicators.entry(communicator).or_insert_with(|| Communicator {
            members: members().into(),
            next: FxHashMap::default(),
            first: 0,
            incomplete: VecDeque::new(),
        });
        let next = known.next.entry(rank).or_insert(known.first);
        let place = usize::try_from(next.checked_sub(known.first)?).ok()?;
        *next += 1;
        while known.incomplete.len() <= place {
            known.incomplete.push_back(Vec::new());
        }
        known.incomplete[place].push((rank, call));
        if place > 0 || known.incomplete[0].len() < known.members.len() {
            return None;
        }
        known.first += 1;
        let mut calls = known.incomplete.pop_front()?;
        let place_of: FxHashMap<u32, usize> =
            known.members.iter().enumerate().map(|(place, rank)| (*rank, place)).collect();
        calls.sort_by_key(|(rank, _)| place_of.get(rank).copied());
        let is_of_members = calls.iter().map(|(rank, _)| rank).eq(known.members.iter());
        let calls = calls.into_iter().map(|(_, call)| call).collect();
        is_of_members.then(|| Gathered { members: Rc::clone(&known.members), calls })
    }

    /// Calls in collectives that not all members have entered.
    pub(super) fn left(&self) -> u64 {
        let incomplete = self.communicators.values().flat_map(|known| &known.incomplete);
        incomplete.map(|calls| calls.len() as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_calls_belong_together() {
        let mut gathering = Gathering::default();
        let mut add = |rank, call| {
            gathering.add(7, rank, call, || vec![3, 1]).map(|found| (found.members.to_vec(), found.calls))
        };
        assert_eq!(add(1, "b0"), None);
        assert_eq!(add(1, "b1"), None);
        assert_eq!(add(3, "a0"), Some((vec![3, 1], vec!["a0", "b0"])));
        assert_eq!(add(3, "a1"), Some((vec![3, 1], vec!["a1", "b1"])));
        assert_eq!(add(3, "a2"), None);
        assert_eq!(gathering.left(), 1);
    }
}
