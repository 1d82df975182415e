//! Multi-source breadth-first search from up to 64 places at once: each switch has a bit per place
//! that has reached it, and a link passes all bits on together.
//!
//! After Then et al., *The more the merrier: efficient multi-source graph traversal* (PVLDB 8(4),
//! 2014). Searches that reach the same switches at about the same distance share most of the work,
//! as in trees and other networks of small diameter. From places that are far apart in a torus they
//! share little, and single searches take as long.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No switch, no link, no path.
pub(super) const NONE: u32 = u32::MAX;

/// Most places.
pub(super) const PLACES: usize = u64::BITS as usize;

/// By place, then switch: links from the switch to the nearest of the place's switches, or `NONE`.
/// `before` has the switches (and numbers above them, which are none) with a link to a switch.
pub(super) fn distances<'a>(
    switches: usize,
    places: &[Vec<u32>],
    before: impl Fn(u32) -> &'a [u32],
) -> Vec<Vec<u32>> {
    let places = &places[..places.len().min(PLACES)];
    let mut distances = vec![vec![NONE; switches]; places.len()];
    // By switch: from where it has been reached, so far and at the present distance.
    let (mut reached, mut next) = (vec![0_u64; switches], vec![0_u64; switches]);
    let (mut front, mut touched) = (Vec::new(), Vec::new());
    let reach = |touched: &mut Vec<u32>, next: &mut [u64], switch: u32, bits: u64| {
        if let Some(place) = next.get_mut(switch as usize) {
            if *place == 0 {
                touched.push(switch);
            }
            *place |= bits;
        }
    };
    for (bit, starts) in places.iter().enumerate() {
        starts.iter().for_each(|start| reach(&mut touched, &mut next, *start, 1 << bit));
    }
    let mut distance = 0;
    while !touched.is_empty() {
        front.clear();
        for switch in touched.drain(..) {
            let at = switch as usize;
            let bits = std::mem::take(&mut next[at]) & !reached[at];
            reached[at] |= bits;
            if bits != 0 {
                front.push((switch, bits));
            }
            let mut rest = bits;
            while rest != 0 {
                distances[rest.trailing_zeros() as usize][at] = distance;
                rest &= rest - 1;
            }
        }
        for (switch, bits) in &front {
            before(*switch).iter().for_each(|from| reach(&mut touched, &mut next, *from, *bits));
        }
        distance += 1;
    }
    distances
}

/// By switch: cost of the cheapest path from the switch to one of `starts`, or `NONE`. `before` has
/// the switches (and numbers above them, which are none) with a link to a switch, and the link's
/// cost. E. W. Dijkstra, "A note on two problems in connexion with graphs" (Numer. Math. 1, 1959).
pub(super) fn least_costs<I: Iterator<Item = (u32, u32)>>(
    switches: usize,
    starts: &[u32],
    before: impl Fn(u32) -> I,
) -> Vec<u32> {
    let mut costs = vec![NONE; switches];
    let mut open: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
    for start in starts {
        costs[*start as usize] = 0;
        open.push(Reverse((0, *start)));
    }
    while let Some(Reverse((cost, switch))) = open.pop() {
        if cost > costs[switch as usize] {
            continue;
        }
        for (from, more) in before(switch) {
            let further = cost.saturating_add(more);
            if let Some(known) = costs.get_mut(from as usize)
                && further < *known
            {
                *known = further;
                open.push(Reverse((further, from)));
            }
        }
    }
    costs
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    /// The oracle goes from link to link, from one place.
    fn by_links(switches: u32, links: &[(u32, u32)], starts: &[u32]) -> Vec<u32> {
        let mut distances = vec![NONE; switches as usize];
        let mut queue: VecDeque<u32> = starts.iter().copied().collect();
        starts.iter().for_each(|start| distances[*start as usize] = 0);
        while let Some(to) = queue.pop_front() {
            for (from, _) in links.iter().filter(|(_, at)| *at == to) {
                if distances[*from as usize] == NONE {
                    distances[*from as usize] = distances[to as usize] + 1;
                    queue.push_back(*from);
                }
            }
        }
        distances
    }

    proptest! {
        /// One-way links, several at once, islands, links from no switch, places of several
        /// switches, as many places as there can be.
        #[test]
        fn distances_are_those_of_a_walk_along_links(
            switches in 1..150_u32,
            links in prop::collection::vec((0..1000_u32, 0..1000_u32), 0..600),
            places in prop::collection::vec(prop::collection::vec(0..1000_u32, 1..4), 0..=PLACES),
        ) {
            let links: Vec<(u32, u32)> = links.iter().map(|(a, b)| (a % switches, b % switches)).collect();
            let place = |starts: &Vec<u32>| starts.iter().map(|start| start % switches).collect();
            let places: Vec<Vec<u32>> = places.iter().map(place).collect();
            let before = |switch: u32| links.iter().filter(move |(_, to)| *to == switch).map(|(from, _)| *from);
            let before: Vec<Vec<u32>> = (0..switches).map(|switch| before(switch).chain([NONE]).collect()).collect();
            let found = distances(switches as usize, &places, |switch| &before[switch as usize]);
            let expected: Vec<Vec<u32>> = places.iter().map(|starts| by_links(switches, &links, starts)).collect();
            prop_assert_eq!(found, expected);
        }

        /// Costs are those of Bellman and Ford's relaxations; with links of cost 1, distances.
        #[test]
        fn costs_are_those_of_relaxations(
            switches in 1..60_u32,
            links in prop::collection::vec((0..1000_u32, 0..1000_u32, 1..9_u32), 0..300),
            starts in prop::collection::vec(0..1000_u32, 1..4),
        ) {
            let links: Vec<_> = links.iter().map(|(a, b, cost)| (a % switches, b % switches, *cost)).collect();
            let starts: Vec<u32> = starts.iter().map(|start| start % switches).collect();
            let found = least_costs(switches as usize, &starts, |switch| {
                let before = links.iter().filter(move |(_, to, _)| *to == switch);
                before.map(|(from, _, cost)| (*from, *cost)).chain([(NONE, 1)])
            });
            let mut expected = vec![NONE; switches as usize];
            starts.iter().for_each(|start| expected[*start as usize] = 0);
            for _ in 0..switches {
                for (from, to, cost) in &links {
                    let through = expected[*to as usize].saturating_add(*cost);
                    expected[*from as usize] = expected[*from as usize].min(through);
                }
            }
            prop_assert_eq!(found, expected);
        }
    }
}
