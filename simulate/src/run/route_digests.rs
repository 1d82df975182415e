//! The routes of a job's pairs in short, to see which of them change.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use crate::demand::PairDemand;
use crate::topology::LinkId;

/// By pair of hosts within the job: a digest of its latest route. Two routes have the same one with
/// a probability of 2⁻⁶⁴.
#[derive(Debug, Default)]
pub(super) struct RouteDigests(FxHashMap<(u32, u32), u64>);

impl RouteDigests {
    /// Takes new routes; `route` gives the links of pair i. Returns how many pairs had another one.
    pub(super) fn update<'r>(&mut self, pairs: &[PairDemand], route: impl Fn(usize) -> &'r [LinkId]) -> u64 {
        let mut changed = 0;
        for (i, pair) in pairs.iter().enumerate() {
            let mut hasher = FxHasher::default();
            route(i).hash(&mut hasher);
            let digest = hasher.finish();
            let before = self.0.insert((pair.src, pair.dst), digest);
            changed += u64::from(before.is_some_and(|before| before != digest));
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_with_another_route_count() {
        let pair = |src, dst| PairDemand { src, dst, bytes: 1, flows: 1 };
        let mut digests = RouteDigests::default();
        let (a, b, c) = ([LinkId(1), LinkId(2)], [LinkId(1), LinkId(3)], [LinkId(4)]);
        let mut take = |pairs: &[PairDemand], routes: &[&[LinkId]]| digests.update(pairs, |i| routes[i]);
        assert_eq!(take(&[pair(0, 1), pair(1, 0)], &[&a, &c]), 0);
        assert_eq!(take(&[pair(1, 0), pair(0, 1)], &[&c, &b]), 1);
        // Pairs of an earlier phase have not changed meanwhile.
        assert_eq!(take(&[pair(2, 0)], &[&a]), 0);
        assert_eq!(take(&[pair(0, 1), pair(1, 0), pair(2, 0)], &[&a, &b, &c]), 3);
    }
}
