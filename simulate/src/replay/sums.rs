//! Sums of vectors in the network: which ranks have joined, and which may continue.

use super::operations::Operations;
use super::transport::Transport;
use crate::engine::Picoseconds;
use crate::packet::Group;
use crate::topology::HostId;

/// The sums of an active replay. Ranks on one host sum there, which takes no time, and are one
/// worker.
#[derive(Debug, Default)]
pub(super) struct Sums {
    groups: Vec<SummingGroup>,
    /// By number of the collective.
    pub(super) of: Vec<Sum>,
}

/// Ranks that sum together, by worker.
#[derive(Debug)]
struct SummingGroup {
    /// Number within the transport; `None` if they are all on one host.
    group: Option<u32>,
    /// By member: number of the worker.
    worker_of: Vec<u32>,
    /// By worker: the ranks.
    ranks: Vec<Vec<u32>>,
}

/// One sum.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    /// By worker: its ranks that have not joined yet. Empty before the first one joins and after
    /// the last one.
    missing: Vec<u32>,
    /// Ranks that have joined.
    pub(super) joined: u32,
    /// The last one of them, and when.
    pub(super) last: (u32, Picoseconds),
}

/// The consequence of a rank's joining.
pub(super) enum Joined {
    /// Other ranks of its host have not joined yet.
    Waits,
    /// The worker adds its vector.
    Contributes { group: u32, worker: u32 },
    /// All ranks are on one host, and all have joined.
    Done,
}

impl Sums {
    /// Opens a group for each set of ranks that sums in the network.
    pub(super) fn open<T: Transport>(
        operations: &Operations,
        hosts: &[HostId],
        servers: &[HostId],
        job: u32,
        transport: &mut T,
    ) -> Self {
        if !operations.sums_in_network() {
            return Self::default();
        }
        let group_of = |members: &Vec<u32>| {
            let mut workers: Vec<HostId> = Vec::new();
            let mut worker_of = Vec::with_capacity(members.len());
            let mut ranks: Vec<Vec<u32>> = Vec::new();
            let mut known = rustc_hash::FxHashMap::default();
            for rank in members {
                let host = hosts[*rank as usize];
                let worker = *known.entry(host.0).or_insert_with(|| {
                    workers.push(host);
                    ranks.push(Vec::new());
                    workers.len() as u32 - 1
                });
                worker_of.push(worker);
                ranks[worker as usize].push(*rank);
            }
            let is_spread = workers.len() > 1;
            let group = is_spread.then(|| transport.open(&Group { job, workers, servers: servers.to_vec() }));
            SummingGroup { group, worker_of, ranks }
        };
        Self {
            groups: operations.groups().iter().map(group_of).collect(),
            of: vec![Sum::default(); operations.collectives().len()],
        }
    }

    /// Closes all groups.
    pub(super) fn close<T: Transport>(&self, transport: &mut T) {
        self.groups.iter().filter_map(|group| group.group).for_each(|group| transport.close(group));
    }

    /// A rank joins a sum.
    pub(super) fn join(
        &mut self,
        operations: &Operations,
        number: u32,
        rank: u32,
        now: Picoseconds,
    ) -> Joined {
        let collective = &operations.collectives()[number as usize];
        let members = &self.groups[collective.group as usize];
        let sum = &mut self.of[number as usize];
        if sum.joined == 0 {
            sum.missing.extend(members.ranks.iter().map(|ranks| ranks.len() as u32));
        }
        sum.joined += 1;
        sum.last = (rank, now);
        // Members ascend.
        let member = operations.groups()[collective.group as usize].partition_point(|member| *member < rank);
        let worker = members.worker_of[member];
        let missing = &mut sum.missing[worker as usize];
        *missing -= 1;
        let is_complete = *missing == 0;
        if sum.joined as usize == members.worker_of.len() {
            sum.missing = Vec::new();
        }
        match members.group {
            _ if !is_complete => Joined::Waits,
            Some(group) => Joined::Contributes { group, worker },
            None => Joined::Done,
        }
    }

    /// The ranks of a worker.
    pub(super) fn ranks(&self, operations: &Operations, number: u32, worker: u32) -> &[u32] {
        let collective = &operations.collectives()[number as usize];
        &self.groups[collective.group as usize].ranks[worker as usize]
    }
}
