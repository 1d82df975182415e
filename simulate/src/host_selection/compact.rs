//! Hosts near each other.

use std::cmp::Reverse;
use std::collections::HashMap;

use phaseflow_collect::Result;

use super::{Enough, HostRequest, HostSelector};
use crate::topology::{HostId, Topology};

/// Topology-aware selection: hosts on as few edge switches as possible, and among such sets one of small total distance
/// between its hosts.
///
/// The number k of edge switches is the least possible on every network: the fullest ones tell how many suffice. For the
/// distance, one set is grown around each switch (its *centre*): the nearest switches first, of equally near ones those
/// with most free slots, never one that would make k switches too few, at the end the tightest one that still fits. The
/// set of least total distance wins.
///
/// - On trees of two levels whose hosts have equal slots that distance is the least possible: all pairs of switches are
///   equally far apart, so only the numbers of hosts per switch count, and the fullest first makes them as unequal as they
///   can be.
/// - Where all switches have the same number of free slots, and no more than 256 have any, it is below twice the least
///   possible: in the best set of n hosts with distance D, the star around some host has length 2 D / n or less; growing
///   finds a star that is no longer; and its pairs are, by the triangle inequality, no longer than n − 1 times the star.
///
/// Not for jobs that live on the links between switches: fewest edge switches also means fewest uplinks.
#[derive(Clone, Debug, Default)]
pub struct Compact {
    edges: Option<Edges>,
}

/// Most centres tried; of more switches with free hosts an even sample is.
const CENTRES: usize = 256;
/// From a host to another one on the same switch.
const SAME_SWITCH: u64 = 2;

/// Hosts by the switch they hang on (the first one, if there are several).
#[derive(Clone, Debug)]
struct Edges(Vec<Vec<HostId>>);

/// The free hosts on one edge switch, those with most slots first: few large ones are nearer than many small ones.
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
    fn new(topology: &Topology) -> Self {
        let mut numbers = HashMap::new();
        let mut edges: Vec<Vec<HostId>> = Vec::new();
        for host in (0..topology.host_count() as u32).map(HostId) {
            let switch = topology.outgoing(topology.host(host)).first().map(|link| topology.dst(*link));
            let number = *numbers.entry(switch).or_insert(edges.len());
            if number == edges.len() {
                edges.push(Vec::new());
            }
            edges[number].push(host);
        }
        Self(edges)
    }

    /// Fullest first, then in order of the first host.
    fn free_groups(&self, request: &HostRequest<'_>) -> Vec<Group> {
        let slots = |host: &HostId| request.topology.slots()[host.0 as usize];
        let free = self.0.iter().map(|hosts| {
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
        // Of equally near sets the one that leaves least behind on its switches.
        let slots = |set: &[usize]| set.iter().map(|group| self.groups[*group].slots).sum::<u64>();
        sets.min_by_key(|set| (self.distance(set), slots(set))).unwrap_or_default()
    }

    /// `count` groups around `centre` that have enough slots together; `None` if no such set contains it.
    fn grow(&self, centre: usize, count: usize) -> Option<Vec<usize>> {
        let mut near: Vec<(u64, usize)> =
            (0..self.groups.len()).map(|group| (self.apart(group, centre), group)).collect();
        near[centre].0 = 0;
        near.sort_unstable();
        let mut set = Vec::with_capacity(count);
        let mut missing = self.processes;
        let mut in_set = vec![false; self.groups.len()];
        // A group that is passed over because too few slots would be left stays so: what others leave is no more.
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
