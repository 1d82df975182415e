//! Measures of generated networks, for tests of closed forms.

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{HostId, LinkId, Topology, TopologyChoice, TopologyOptions, topology};

/// A generated network.
#[track_caller]
pub(crate) fn made(text: &str) -> Topology {
    topology(&TopologyChoice::parse(text).unwrap(), &TopologyOptions::default()).unwrap()
}

/// Highest cost of a shortest path between two switches that have hosts: its cables, if all cost 1.
pub(super) fn diameter(net: &Topology) -> u32 {
    let hosts = || (0..net.host_count() as u32).map(HostId);
    let far = |to| {
        let distances = net.distances_to(to);
        hosts().filter_map(move |from| distances.from(net.host(from))).max().unwrap()
    };
    hosts().map(far).max().unwrap() - 2
}

/// Cables across the cut that leaves the hosts of lower and those of higher numbers on different
/// sides: for generators whose best cut that is. Switches stand with their hosts.
pub(super) fn bisection(net: &Topology) -> usize {
    let half = net.host_count() as u32 / 2;
    let side = |switch| {
        let hosts = net.outgoing(switch).iter().map(|link| net.dst(*link).0);
        hosts.filter(|node| *node < net.host_count() as u32).min().unwrap() < half
    };
    let cut = (0..net.link_count() as u32).map(LinkId).filter(|link| net.between_switches(*link));
    cut.filter(|link| side(net.src(*link)) && !side(net.dst(*link))).count()
}

/// By switch: whether a cable joins it with each other one.
pub(super) fn joined(net: &Topology) -> Vec<Vec<bool>> {
    let number = |node| net.switch_number(node).unwrap();
    let mut joined = vec![vec![false; net.switch_count()]; net.switch_count()];
    for link in (0..net.link_count() as u32).map(LinkId).filter(|link| net.between_switches(*link)) {
        joined[number(net.src(link))][number(net.dst(link))] = true;
    }
    joined
}

/// Cables between two halves of the switches, the fewest that a search finds: from each of some
/// random divisions, it swaps two switches while that saves a cable. The bisection has no more.
pub(super) fn found_bisection(net: &Topology, divisions: u64) -> usize {
    let joined = joined(net);
    let switches = joined.len();
    let cut = |side: &[bool]| {
        let pairs = (0..switches).flat_map(|a| (0..a).map(move |b| (a, b)));
        pairs.filter(|(a, b)| joined[*a][*b] && side[*a] != side[*b]).count()
    };
    let searched = |seed: u64| {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut side: Vec<bool> = (0..switches).map(|switch| switch % 2 == 0).collect();
        side.shuffle(&mut random);
        // What moving a switch alone saves.
        let saved = |side: &[bool], a: usize| -> i64 {
            let others = (0..switches).filter(|b| joined[a][*b]);
            others.map(|b| if side[a] == side[b] { -1 } else { 1 }).sum()
        };
        loop {
            let gains: Vec<i64> = (0..switches).map(|switch| saved(&side, switch)).collect();
            let pairs = (0..switches).flat_map(|a| (0..switches).map(move |b| (a, b)));
            let pairs = pairs.filter(|(a, b)| side[*a] && !side[*b]);
            let gain = |(a, b): &(usize, usize)| gains[*a] + gains[*b] - 2 * i64::from(joined[*a][*b]);
            let first = random.gen_range(0..switches);
            let best = pairs.max_by_key(|pair| (gain(pair), (pair.0 + first) % switches));
            let Some((a, b)) = best.filter(|pair| gain(pair) > 0) else { return cut(&side) };
            side.swap(a, b);
        }
    };
    (0..divisions).map(searched).min().unwrap()
}
