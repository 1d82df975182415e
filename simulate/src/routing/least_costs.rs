//! Least costs from switches to destinations under loads that only grow: greedy routing of many
//! demands.
//!
//! A cost that was exact once is a lower bound ever after. The candidate of the least bound is
//! computed anew; if its cost is still its bound, it is the best, without a look at the paths of
//! the others. This is lazy evaluation as in M. Minoux, "Accelerated greedy algorithms for
//! maximizing submodular set functions" (1978). Switches with no choice left are summed along their
//! only path, which is kept. On a three-level fat tree most demands thus look at k to 2k of k²/4
//! paths. Ties: the first candidate, as its bound is the first of the least.

use std::marker::PhantomData;

use super::path_cost::Cost;
use crate::topology::{LinkId, ShortestPaths, Topology};

/// Links of a path at most; a deeper network is searched in another way, without recursion. Fat
/// trees, dragonflies and tori of 10 000 hosts are less deep.
const DEEPEST: u32 = 64;

/// Costs by attachment and switch.
#[derive(Debug)]
pub(super) struct LeastCosts<C> {
    rows: Vec<Row>,
    /// Number of the present loads: costs of other ones are forgotten.
    epoch: u64,
    cost_of: PhantomData<C>,
}

/// Lower bounds of the costs towards one attachment.
#[derive(Clone, Debug, Default)]
struct Row {
    epoch: u64,
    /// By switch.
    bound: Vec<f64>,
    /// By switch: the candidate of least cost when the bound was computed.
    onward: Vec<LinkId>,
    /// By switch: its only path. It depends on no loads.
    tails: Vec<Tail>,
}

/// Links of a tail at most: those of the way down in trees of up to five levels.
const TAIL: usize = 4;

/// The only path of a switch to the attachment, if it has one of a few links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tail {
    links: [LinkId; TAIL],
    kind: TailKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TailKind {
    Unknown,
    /// There is a choice, or a long way.
    None,
    /// So many links.
    Links(u8),
}

impl Tail {
    const UNKNOWN: Self = Self { links: [LinkId(0); TAIL], kind: TailKind::Unknown };

    fn find(topology: &Topology, paths: &ShortestPaths<'_>, switch: usize) -> Self {
        let mut tail = Self::UNKNOWN;
        let (mut at, mut count) = (switch, 0_u8);
        loop {
            let next = match paths.candidates(at) {
                [] => {
                    tail.kind = TailKind::Links(count);
                    return tail;
                }
                [only] => tail.links.get_mut(usize::from(count)).map(|place| {
                    *place = *only;
                    *only
                }),
                _ => None,
            };
            match next.and_then(|link| topology.switch_after(link)) {
                Some(after) => at = after,
                None => {
                    tail.kind = TailKind::None;
                    return tail;
                }
            }
            count += 1;
        }
    }
}

impl<C> Default for LeastCosts<C> {
    fn default() -> Self {
        Self { rows: Vec::new(), epoch: 0, cost_of: PhantomData }
    }
}

impl<C: Cost> LeastCosts<C> {
    /// Forgets all costs: loads may have fallen.
    pub(super) fn forget(&mut self) {
        self.epoch += 1;
    }

    /// Computes the least cost from a switch, and from those on its best path; false if the network
    /// is too deep.
    #[inline]
    pub(super) fn find(
        &mut self,
        topology: &Topology,
        paths: &ShortestPaths<'_>,
        switch: usize,
        load: &[f64],
    ) -> bool {
        let attachment = paths.attachment();
        if attachment >= self.rows.len() {
            self.rows.resize(attachment + 1, Row::default());
        }
        let row = &mut self.rows[attachment];
        if row.epoch != self.epoch {
            row.epoch = self.epoch;
            row.bound.clear();
            row.bound.resize(topology.switch_count(), 0.0);
            row.onward.resize(topology.switch_count(), LinkId(u32::MAX));
            row.tails.resize(topology.switch_count(), Tail::UNKNOWN);
        }
        row.least::<C>(topology, paths, switch, load, DEEPEST).is_some()
    }

    /// The candidate of least cost of a switch on the path that was found last.
    #[inline]
    pub(super) fn onward(&self, paths: &ShortestPaths<'_>, switch: usize) -> LinkId {
        self.rows[paths.attachment()].onward[switch]
    }
}

impl Row {
    /// The least cost from a switch; `None` if that is deeper than `depth` links.
    fn least<C: Cost>(
        &mut self,
        topology: &Topology,
        paths: &ShortestPaths<'_>,
        switch: usize,
        load: &[f64],
        depth: u32,
    ) -> Option<f64> {
        let links = paths.candidates(switch);
        if links.is_empty() {
            return Some(0.0);
        }
        let depth = depth.checked_sub(1)?;
        loop {
            let (link, bound, is_exact) = self.least_bound::<C>(topology, paths, links, load);
            let cost = match topology.switch_after(link).filter(|_| !is_exact) {
                Some(after) => {
                    let rest = self.least::<C>(topology, paths, after, load, depth)?;
                    C::join(load[link.0 as usize], rest)
                }
                None => bound,
            };
            if cost <= bound {
                self.bound[switch] = cost;
                self.onward[switch] = link;
                return Some(cost);
            }
        }
    }

    /// The first link of the least bound, and whether that is the cost; there is at least one link.
    #[inline]
    fn least_bound<C: Cost>(
        &mut self,
        topology: &Topology,
        paths: &ShortestPaths<'_>,
        links: &[LinkId],
        load: &[f64],
    ) -> (LinkId, f64, bool) {
        let mut best = (links[0], f64::INFINITY, true);
        for link in links {
            let (rest, is_exact) = match topology.switch_after(*link) {
                None => (0.0, true),
                Some(after) => match self.tail(topology, paths, after) {
                    Tail { links, kind: TailKind::Links(count) } => {
                        let tail = links[..usize::from(count)].iter().rev();
                        (tail.fold(0.0, |rest, link| C::join(load[link.0 as usize], rest)), true)
                    }
                    _ => (self.bound[after], false),
                },
            };
            let bound = C::join(load[link.0 as usize], rest);
            if bound < best.1 {
                best = (*link, bound, is_exact);
            }
        }
        best
    }

    #[inline]
    fn tail(&mut self, topology: &Topology, paths: &ShortestPaths<'_>, switch: usize) -> Tail {
        let tail = self.tails[switch];
        if tail.kind != TailKind::Unknown {
            return tail;
        }
        self.tails[switch] = Tail::find(topology, paths, switch);
        self.tails[switch]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::path_cost::{Maximum, Sum};
    use super::*;
    use crate::topology::{HostId, TopologyChoice, TopologyOptions, topology};

    /// The least cost and its first link, by looking at everything.
    fn oracle<C: Cost>(net: &Topology, to: HostId, switch: usize, load: &[f64]) -> (f64, Option<LinkId>) {
        let mut best = (0.0, None);
        for link in net.paths_to(to).candidates(switch) {
            let rest = net.switch_after(*link).map_or(0.0, |after| oracle::<C>(net, to, after, load).0);
            let cost = C::join(load[link.0 as usize], rest);
            if best.1.is_none() || cost < best.0 {
                best = (cost, Some(*link));
            }
        }
        best
    }

    fn check<C: Cost>(net: &Topology, steps: &[(u32, u32, u32)]) {
        let (mut load, mut least) = (vec![0.0; net.link_count()], LeastCosts::<C>::default());
        least.forget();
        for (to, from, more) in steps {
            let to = HostId(to % net.host_count() as u32);
            let mut switch = *from as usize % net.switch_count();
            let paths = net.paths_to(to);
            assert!(least.find(net, &paths, switch, &load));
            while let (_, Some(link)) = oracle::<C>(net, to, switch, &load) {
                if paths.candidates(switch).len() > 1 {
                    assert_eq!(least.onward(&paths, switch), link);
                }
                load[link.0 as usize] += f64::from(*more);
                switch = net.switch_after(link).unwrap();
            }
        }
    }

    proptest! {
        // CORRECTNESS: after any history of growing loads, the first of the best paths.
        #[test]
        fn the_lazy_way_finds_what_the_slow_one_does(
            kind in 0..3_usize,
            steps in prop::collection::vec((0_u32..99, 0_u32..99, 0_u32..4), 1..120),
        ) {
            let text = ["fat-tree[k=4]", "torus[dims=3x4]", "xgft[m=3:2:2,w=2:3:2]"][kind];
            let net = topology(&TopologyChoice::parse(text).unwrap(), &TopologyOptions::default()).unwrap();
            check::<Sum>(&net, &steps);
            check::<Maximum>(&net, &steps);
        }
    }

    #[test]
    fn a_ring_of_1000_switches_is_too_deep() {
        let choice = TopologyChoice::parse("torus[dims=1000]").unwrap();
        let net = topology(&choice, &TopologyOptions::default()).unwrap();
        let (load, mut least) = (vec![0.0; net.link_count()], LeastCosts::<Sum>::default());
        least.forget();
        let find =
            |least: &mut LeastCosts<Sum>, switch| least.find(&net, &net.paths_to(HostId(0)), switch, &load);
        assert!(find(&mut least, 3));
        assert!(!find(&mut least, 500));
    }
}
