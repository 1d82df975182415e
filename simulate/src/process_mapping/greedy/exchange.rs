//! Improves a placement by exchanging ranks.

use super::super::graph::Graph;

/// A placement in hosts of the job, by number.
pub(super) struct Exchange<'a> {
    graph: &'a Graph,
    of_rank: Vec<u32>,
    members: Vec<Vec<u32>>,
    slots: Vec<usize>,
    /// By host: bytes that the present rank exchanges with it.
    bytes: Vec<u64>,
    touched: Vec<u32>,
}

impl<'a> Exchange<'a> {
    /// `of_rank` numbers the host of each rank, `slots` are those of each host.
    pub(super) fn new(graph: &'a Graph, of_rank: Vec<u32>, slots: Vec<usize>) -> Self {
        let mut members = vec![Vec::new(); slots.len()];
        for (rank, host) in (0..).zip(&of_rank) {
            members[*host as usize].push(rank);
        }
        let bytes = vec![0; slots.len()];
        Self { graph, of_rank, members, slots, bytes, touched: Vec::new() }
    }

    pub(super) fn into_placement(self) -> Vec<u32> {
        self.of_rank
    }

    /// Tries to exchange each rank once; false if no exchange helped.
    pub(super) fn round(&mut self) -> bool {
        let mut gained = false;
        for rank in 0..self.of_rank.len() as u32 {
            if let Some((host, wanted)) = self.favourite(rank) {
                gained |= self.move_to(rank, host, wanted);
            }
        }
        gained
    }

    /// The host with which a rank exchanges most, if it is not its own, and the excess over its
    /// own.
    fn favourite(&mut self, rank: u32) -> Option<(u32, u64)> {
        for (other, bytes) in self.graph.neighbours(rank) {
            let host = self.of_rank[*other as usize];
            if self.bytes[host as usize] == 0 {
                self.touched.push(host);
            }
            self.bytes[host as usize] += bytes;
        }
        let own = self.bytes[self.of_rank[rank as usize] as usize];
        let most =
            self.touched.iter().copied().max_by_key(|host| (self.bytes[*host as usize], u32::MAX - host));
        let favourite = most.map(|host| (host, self.bytes[host as usize]));
        for host in self.touched.drain(..) {
            self.bytes[host as usize] = 0;
        }
        favourite.filter(|(_, bytes)| *bytes > own).map(|(host, bytes)| (host, bytes - own))
    }

    /// Moves a rank to a free slot of `host`, or exchanges it with the best member there, if fewer
    /// bytes then cross the network.
    fn move_to(&mut self, rank: u32, host: u32, wanted: u64) -> bool {
        let from = self.of_rank[rank as usize];
        if self.members[host as usize].len() < self.slots[host as usize] {
            self.members[from as usize].retain(|other| *other != rank);
            self.members[host as usize].push(rank);
            self.of_rank[rank as usize] = host;
            return true;
        }
        let gain = |member: u32| {
            let mut gain = i128::from(wanted);
            for (other, bytes) in self.graph.neighbours(member) {
                let bytes = i128::from(*bytes);
                let of_other = self.of_rank[*other as usize];
                // The bytes between the two ranks cross before and after, so the gain must not
                // count them.
                gain += if *other == rank {
                    -bytes
                } else if of_other == from {
                    bytes
                } else if of_other == host {
                    -bytes
                } else {
                    0
                };
            }
            gain
        };
        let members = &self.members[host as usize];
        let Some((best, member)) = members.iter().map(|member| (gain(*member), *member)).max() else {
            return false;
        };
        if best <= 0 {
            return false;
        }
        for (place, old, new) in [(from, rank, member), (host, member, rank)] {
            if let Some(slot) = self.members[place as usize].iter_mut().find(|other| **other == old) {
                *slot = new;
            }
        }
        self.of_rank[rank as usize] = host;
        self.of_rank[member as usize] = from;
        true
    }
}
