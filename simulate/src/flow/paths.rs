//! The paths of flows: routes with what belongs to them.
//!
//! All flows of a pair of hosts take one path where the router answers the pair alone; else each
//! flow has its own. A path is forgotten when its last flow has gone, but for those of the latest
//! pairs.

use std::ops::{Index, IndexMut};

use rustc_hash::FxHashMap;

use super::max_min::Route;
use crate::engine::Picoseconds;

/// No class, or no path.
pub(super) const NONE: u32 = u32::MAX;

/// Pairs of hosts whose path is kept although no flow takes it: 5 MB. More are routed again when
/// they next send, so that memory does not grow with the pairs of an all-to-all.
const KEPT_PAIRS: usize = 1 << 16;

/// A route, its latency and its class.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Path {
    pub(super) route: Route,
    pub(super) latency_ps: Picoseconds,
    /// The class of its flows without a cap, or [`NONE`].
    pub(super) class: u32,
    /// Flows that take it now.
    pub(super) flows: u32,
    /// The pair of hosts whose flows all take it; `None` if it is for one flow, or if flows of the
    /// pair that start now take another one.
    pub(super) pair: Option<(u32, u32)>,
}

/// The paths, by number.
#[derive(Debug, Default)]
pub(super) struct Paths {
    of_pair: FxHashMap<(u32, u32), u32>,
    all: Vec<Path>,
    unused: Vec<u32>,
}

impl Paths {
    /// Room for the paths of `pairs` pairs.
    pub(super) fn reserve(&mut self, pairs: usize) {
        self.of_pair.reserve(pairs);
        self.all.reserve(pairs);
    }

    /// One more flow takes the path of a pair; `None` if it has none.
    pub(super) fn join(&mut self, pair: (u32, u32)) -> Option<u32> {
        let number = *self.of_pair.get(&pair)?;
        self.all[number as usize].flows += 1;
        Some(number)
    }

    /// Adds a path.
    pub(super) fn add(&mut self, path: Path) -> u32 {
        let number = self.unused.pop().unwrap_or(self.all.len() as u32);
        match self.all.get_mut(number as usize) {
            Some(place) => *place = path,
            None => self.all.push(path),
        }
        if let Some(pair) = path.pair {
            self.of_pair.insert(pair, number);
        }
        number
    }

    /// A flow of a path has gone; true if the path is to be forgotten.
    pub(super) fn leave(&mut self, number: u32) -> bool {
        let path = &mut self.all[number as usize];
        path.flows -= 1;
        path.flows == 0 && (path.pair.is_none() || self.of_pair.len() > KEPT_PAIRS)
    }

    /// A pair and its path part; returns the path if no flow takes it any more.
    pub(super) fn part(&mut self, pair: (u32, u32)) -> Option<u32> {
        let number = self.of_pair.remove(&pair)?;
        let path = &mut self.all[number as usize];
        path.pair = None;
        (path.flows == 0).then_some(number)
    }

    /// Parts all pairs and their paths; returns the paths that no flow takes.
    pub(super) fn part_all(&mut self) -> Vec<u32> {
        let mut pairs: Vec<(u32, u32)> = self.of_pair.keys().copied().collect();
        pairs.sort_unstable();
        pairs.into_iter().filter_map(|pair| self.part(pair)).collect()
    }

    /// Removes a path that no flow takes.
    pub(super) fn remove(&mut self, number: u32) {
        if let Some(pair) = self.all[number as usize].pair {
            self.of_pair.remove(&pair);
        }
        self.unused.push(number);
    }
}

impl Index<u32> for Paths {
    type Output = Path;

    #[inline]
    fn index(&self, number: u32) -> &Path {
        &self.all[number as usize]
    }
}

impl IndexMut<u32> for Paths {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut Path {
        &mut self.all[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(pair: Option<(u32, u32)>) -> Path {
        Path { class: NONE, flows: 1, pair, ..Path::default() }
    }

    #[test]
    fn paths_of_the_latest_pairs_are_kept() {
        let mut paths = Paths::default();
        for dst in 0..KEPT_PAIRS as u32 + 5 {
            assert_eq!(paths.join((0, dst)), None);
            let number = paths.add(path(Some((0, dst))));
            if paths.leave(number) {
                paths.remove(number);
            }
        }
        // What is beyond uses one place again and again.
        assert_eq!((paths.of_pair.len(), paths.all.len()), (KEPT_PAIRS, KEPT_PAIRS + 1));
        assert_eq!(paths.join((0, 7)), Some(7));
        assert_eq!(paths.join((0, KEPT_PAIRS as u32)), None);
    }

    #[test]
    fn a_path_outlives_its_pair_as_long_as_flows_take_it() {
        let mut paths = Paths::default();
        let old = paths.add(path(Some((1, 2))));
        assert_eq!(paths.join((1, 2)), Some(old));
        // Two flows take it when the pair gets another route.
        assert_eq!(paths.part((1, 2)), None);
        let new = paths.add(path(Some((1, 2))));
        assert_ne!(old, new);
        assert_eq!([paths.leave(old), paths.leave(old)], [false, true]);
        paths.remove(old);
        assert_eq!(paths.join((1, 2)), Some(new));
        // A flow of its own path is gone at once.
        let single = paths.add(path(None));
        assert_eq!(single, old);
        assert!(paths.leave(single));
        assert_eq!((paths.leave(new), paths.leave(new)), (false, false));
        assert_eq!(paths.part((1, 2)), Some(new));
    }
}
