//! Hosts near each other.

use std::cmp::Reverse;

use phaseflow_collect::Result;

use super::edges::Edges;
use super::{Enough, HostRequest, HostSelector};
use crate::topology::{HostId, Topology};

/// Topology-aware selection: hosts on as few edge switches as possible, and among such sets one of
/// small total distance between its hosts.
///
/// The number k of edge switches is the least possible on every network, as the fullest switches
/// are counted. For the distance, one set is grown around each switch (its *centre*). It takes the
/// nearest switches first, of equal ones those with most free slots. It skips switches that would
/// make k too few, and ends with the tightest one that fits. The set of least total distance wins.
///
/// - On trees of two levels whose hosts have equal slots that distance is the least possible: all
///   pairs of switches are equally far apart, so only the numbers of hosts per switch count, and
///   the fullest first makes them as unequal as they can be.
/// - If all switches have the same number of free slots, and at most `CENTRES` have any, the
///   distance is below twice the least. In the best set of n hosts with distance D, the star around
///   some host has length 2 D / n or less. Growing finds a star of at most this length. By the
///   triangle inequality, its pairs are at most n − 1 times the star.
///
/// The wrong choice for jobs that need the links between switches: fewest edge switches also means
/// fewest uplinks.
#[derive(Clone, Debug, Default)]
pub struct Compact {
    edges: Option<Edges>,
}

/// Most centres that are tried; of more switches an even sample. Time is proportional to it, and up
/// to it the bound above holds. The distance between 64 hosts, with half of all hosts free, six
/// seeds, is 0.6 % above that of all centres on `torus[dims=16x16x4]`, and 1.5 % on
/// `dragonfly[a=16,h=8,p=8]`. At half it is 0.6 % and 2.9 %, at double 0.2 % and 1.2 %.
const CENTRES: usize = 256;
/// From a host to another one on the same switch.
const SAME_SWITCH: u64 = 2;

/// The free hosts on one edge switch, those with most slots first: few large ones are nearer than
/// many small ones.
#[derive(Clone, Debug)]
struct Group {
    hosts: Vec<HostId>,
    slots: u64,
}

impl HostSelector for Compact {
    fn select(&mut self, request: &HostRequest<'_>) -> Result<Vec<HostId>> {
        let edges = self.edges.get_or_insert_with(|| Edges::new(request.topology));
        let groups = edges.free_groups(request);
        let candidates = Candidates {
            topology: request.topology,
            groups: &groups,
            processes: u64::from(request.processes),
        };
        let mut enough = Enough::new(request);
        for group in candidates.best() {
            enough.take(groups[group].hosts.iter().copied());
        }
        Ok(enough.hosts)
    }
}

impl Edges {
    /// Fullest first, then in order of the first host.
    fn free_groups(&self, request: &HostRequest<'_>) -> Vec<Group> {
        let slots = |host: &HostId| request.topology.slots()[host.0 as usize];
        let free = self.switches().map(|hosts| {
            let is_free = |host: &HostId| request.free[host.0 as usize];
            let mut hosts: Vec<HostId> = hosts.iter().copied().filter(is_free).collect();
            hosts.sort_by_key(|host| Reverse(slots(host)));
            Group { slots: hosts.iter().map(|host| u64::from(slots(host))).sum(), hosts }
        });
        let mut groups: Vec<Group> = free.filter(|group| group.slots > 0).collect();
        groups.sort_by_key(|group| Reverse(group.slots));
        groups
    }
}

/// Groups by index, fullest first.
#[derive(Clone, Copy)]
struct Candidates<'a> {
    topology: &'a Topology,
    groups: &'a [Group],
    processes: u64,
}

impl Candidates<'_> {
    fn best(&self) -> Vec<usize> {
        let mut sum = 0;
        let too_few = |group: &&Group| {
            let missing = sum < self.processes;
            sum += group.slots;
            missing
        };
        let fewest = self.groups.iter().take_while(too_few).count();
        let step = self.groups.len().div_ceil(CENTRES).max(1);
        let sets = (0..self.groups.len()).step_by(step).filter_map(|centre| self.grow(centre, fewest));
        // Of equally near sets the one with the fewest slots left on its switches.
        let slots = |set: &[usize]| set.iter().map(|group| self.groups[*group].slots).sum::<u64>();
        sets.min_by_key(|set| (self.distance(set), slots(set))).unwrap_or_default()
    }

    /// `count` groups around `centre` that have enough slots together; `None` if no such set
    /// contains it.
    fn grow(&self, centre: usize, count: usize) -> Option<Vec<usize>> {
        let mut near: Vec<(u64, usize)> =
            (0..self.groups.len()).map(|group| (self.apart(group, centre), group)).collect();
        near[centre].0 = 0;
        near.sort_unstable();
        let mut set = Vec::with_capacity(count);
        let mut missing = self.processes;
        let mut in_set = vec![false; self.groups.len()];
        // A group that would leave too few slots stays unsuitable, as later groups have no more
        // slots.
        for (position, &(distance, group)) in near.iter().enumerate() {
            let left = count - set.len();
            let fullest = (0..self.groups.len()).filter(|other| !in_set[*other] && *other != group);
            let others: u64 = fullest.take(left - 1).map(|other| self.groups[other].slots).sum();
            if self.groups[group].slots + others < missing {
                continue;
            }
            let mut chosen = group;
            if left == 1 {
                let equally_near = near[position..].iter().take_while(|(other, _)| *other == distance);
                let fits = equally_near.filter(|(_, group)| self.groups[*group].slots >= missing);
                chosen = fits.map(|(_, group)| *group).min_by_key(|group| self.groups[*group].slots)?;
            }
            set.push(chosen);
            in_set[chosen] = true;
            missing = missing.saturating_sub(self.groups[chosen].slots);
            if left == 1 {
                return Some(set);
            }
        }
        None
    }

    /// Sum of the distances between the hosts that a set would give, each pair in both directions.
    fn distance(&self, set: &[usize]) -> u64 {
        let mut missing = self.processes;
        let mut counts = Vec::with_capacity(set.len());
        for group in set {
            let mut count = 0;
            for host in &self.groups[*group].hosts {
                if missing == 0 {
                    break;
                }
                missing = missing.saturating_sub(u64::from(self.topology.slots()[host.0 as usize]));
                count += 1;
            }
            counts.push((*group, count));
        }
        let within = counts.iter().map(|(_, count)| count * (count - 1) * SAME_SWITCH).sum::<u64>();
        let between = counts.iter().flat_map(|(to, n)| {
            let others = counts.iter().filter(move |(from, _)| from != to);
            others.map(move |(from, m)| n * m * self.apart(*from, *to))
        });
        within + between.sum::<u64>()
    }

    /// Links from a host of one group to a host of another.
    fn apart(&self, from: usize, to: usize) -> u64 {
        let host = |group: usize| self.groups[group].hosts[0];
        let distances = self.topology.distances_to(host(to));
        // The topology was checked: all hosts reach each other.
        distances.from(self.topology.host(host(from))).map_or(0, u64::from)
    }
}

#[cfg(test)]
mod tests {
    use phaseflow_collect::TrafficMatrix;
    use proptest::prelude::*;

    use super::*;
    use crate::topology::test_tree::tree;
    use crate::topology::{TopologyChoice, TopologyOptions, topology};

    /// Number of edge switches and sum of distances of a set of hosts.
    fn cost(topology: &Topology, hosts: &[HostId]) -> (usize, u64) {
        let edge = |host: &HostId| topology.dst(topology.outgoing(topology.host(*host))[0]);
        let mut edges: Vec<_> = hosts.iter().map(edge).collect();
        edges.sort_unstable();
        edges.dedup();
        let apart = |a: &HostId, b: &HostId| topology.distances_to(*a).from(topology.host(*b)).unwrap();
        let sum = hosts.iter().flat_map(|a| hosts.iter().map(move |b| u64::from(apart(a, b)))).sum();
        (edges.len(), sum)
    }

    /// The least cost of all sets of free hosts with enough slots, none of whose hosts could be
    /// spared.
    fn least(topology: &Topology, free: &[bool], processes: u32) -> (usize, u64) {
        let matrix = &TrafficMatrix::default();
        let request = HostRequest { topology, free, processes, matrix, judge: None };
        let free: Vec<HostId> = request.free_hosts().collect();
        let sets = (0..1_u32 << free.len()).filter_map(|bits| {
            let hosts: Vec<HostId> =
                (0..free.len()).filter(|i| bits >> i & 1 == 1).map(|i| free[i]).collect();
            let slots: u32 = hosts.iter().map(|host| topology.slots()[host.0 as usize]).sum();
            (slots >= processes).then(|| cost(topology, &hosts))
        });
        sets.min().unwrap()
    }

    fn select(topology: &Topology, free: &[bool], processes: u32) -> Vec<HostId> {
        Compact::default()
            .select(&HostRequest {
                topology,
                free,
                processes,
                matrix: &TrafficMatrix::default(),
                judge: None,
            })
            .unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(120))]

        #[test]
        fn exact_on_two_level_trees(
            edges in prop::collection::vec(1_usize..5, 1..5),
            slots in 1_u32..4,
            taken in any::<u32>(),
            processes in 1_u32..40,
        ) {
            let edges: Vec<Vec<u32>> = edges.into_iter().map(|hosts| vec![slots; hosts]).collect();
            let topology = tree(&edges, 2, &[1.0]);
            let free: Vec<bool> = (0..topology.host_count()).map(|host| taken >> host & 1 == 0).collect();
            let count = free.iter().filter(|free| **free).count() as u32;
            prop_assume!(processes <= count * slots && count <= 11);
            let hosts = select(&topology, &free, processes);
            prop_assert_eq!(cost(&topology, &hosts), least(&topology, &free, processes));
        }

        #[test]
        fn fewest_switches_always_and_below_twice_the_distance_on_even_networks(
            name in prop::sample::select(vec![
                "xgft[m=2:2:3,w=1:2:2]", "torus[dims=3x4]", "xgft[m=2:3:2,w=1:1:1]", "torus[dims=11]",
            ]),
            taken in any::<u32>(),
            even in any::<bool>(),
            processes in 1_u32..12,
        ) {
            let topology = topology(&TopologyChoice::parse(name).unwrap(), &TopologyOptions::default()).unwrap();
            let free: Vec<bool> = (0..topology.host_count()).map(|host| even || taken >> host & 1 == 0).collect();
            prop_assume!(processes as usize <= free.iter().filter(|free| **free).count());
            let (switches, distance) = cost(&topology, &select(&topology, &free, processes));
            let (fewest, least) = least(&topology, &free, processes);
            prop_assert_eq!(switches, fewest);
            // One host per switch: all switches with free hosts are alike, whatever is taken.
            if even || name.starts_with("torus") {
                prop_assert!(distance < 2 * least.max(1), "{} for {}", distance, least);
            }
        }
    }

    #[test]
    fn one_switch_rather_than_two_and_the_tightest_one() {
        let topology = tree(&[vec![1; 2], vec![1; 6], vec![1; 4]], 2, &[1.0]);
        assert_eq!(select(&topology, &[true; 12], 4), (8..12).map(HostId).collect::<Vec<_>>());
        assert_eq!(select(&topology, &[true; 12], 7), [2, 3, 4, 5, 6, 7, 0].map(HostId));
    }
}
