//! Neighbouring ranks apart.

use std::collections::HashMap;

use phaseflow_collect::Result;

use super::{MapRequest, Placement, ProcessMapper};
use crate::topology::HostId;

/// Deals ranks out to the hosts round robin, skipping full ones. It spreads the memory traffic of
/// neighbours, and their messages cross the network. Hosts of one slot are dealt over their
/// switches in the same way, as round robin over the hosts would be block mapping.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cyclic;

impl ProcessMapper for Cyclic {
    fn map(&mut self, request: &MapRequest<'_>) -> Result<Placement> {
        let ranks = request.ranks as usize;
        let mut open: Vec<_> = request.slots().collect();
        if open.iter().all(|(_, slots)| *slots == 1) {
            return Ok(Placement { hosts: over_switches(request) });
        }
        let mut hosts = Vec::with_capacity(ranks);
        while hosts.len() < ranks && !open.is_empty() {
            let missing = ranks - hosts.len();
            hosts.extend(open.iter().take(missing).map(|(host, _)| *host));
            open.retain_mut(|(_, slots)| {
                *slots -= 1;
                *slots > 0
            });
        }
        Ok(Placement { hosts })
    }
}

/// The first hosts in their order, one of each switch in turn; the switch is that of the host's
/// first link.
fn over_switches(request: &MapRequest<'_>) -> Vec<HostId> {
    let topology = request.topology;
    let mut turns = HashMap::new();
    let used = request.hosts.iter().take(request.ranks as usize);
    let mut hosts: Vec<(usize, HostId)> = used
        .map(|host| {
            let switch = topology.outgoing(topology.host(*host)).first().map(|link| topology.dst(*link));
            let turn: &mut usize = turns.entry(switch).or_default();
            *turn += 1;
            (*turn, *host)
        })
        .collect();
    hosts.sort_by_key(|(turn, _)| *turn); // stable
    hosts.into_iter().map(|(_, host)| host).collect()
}
