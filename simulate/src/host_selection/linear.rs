//! Hosts side by side.

use std::cmp::Reverse;

use phaseflow_collect::Result;

use super::{Enough, HostRequest, HostSelector};
use crate::topology::HostId;

/// PFSim's linear selection over the order of the hosts in the file: the first hosts of the
/// shortest run of consecutive free hosts that fits (the first of equal ones); if none does, whole
/// runs, the longest first, until there are enough slots.
///
/// Good where neighbours in the file are neighbours in the network; it ignores the topology.
#[derive(Clone, Debug, Default)]
pub struct Linear {
    runs: Vec<Run>,
}

/// A maximal run of free hosts.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: u32,
    end: u32,
    slots: u64,
}

impl HostSelector for Linear {
    fn select(&mut self, request: &HostRequest<'_>) -> Result<Vec<HostId>> {
        self.find_runs(request);
        let processes = u64::from(request.processes);
        let length = |run: &Run| run.end - run.start;
        let mut enough = Enough::new(request);
        match self.runs.iter().filter(|run| run.slots >= processes).min_by_key(|run| length(run)) {
            Some(run) => enough.take((run.start..run.end).map(HostId)),
            None => {
                self.runs.sort_by_key(|run| Reverse(length(run)));
                enough.take(self.runs.iter().flat_map(|run| run.start..run.end).map(HostId));
            }
        }
        Ok(enough.hosts)
    }
}

impl Linear {
    fn find_runs(&mut self, request: &HostRequest<'_>) {
        self.runs.clear();
        let mut host = 0;
        for stretch in request.free.chunk_by(|a, b| a == b) {
            let end = host + stretch.len();
            if stretch[0] {
                let slots = request.topology.slots()[host..end].iter().map(|s| u64::from(*s)).sum();
                self.runs.push(Run { start: host as u32, end: end as u32, slots });
            }
            host = end;
        }
    }
}
