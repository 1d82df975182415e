//! Neighbouring ranks apart.

use phaseflow_collect::Result;

use super::{MapRequest, Placement, ProcessMapper};

/// Deals ranks out to the hosts round robin, skipping full ones. It spreads the memory traffic of
/// neighbours, and their messages cross the network.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cyclic;

impl ProcessMapper for Cyclic {
    fn map(&mut self, request: &MapRequest<'_>) -> Result<Placement> {
        let ranks = request.ranks as usize;
        let mut open: Vec<_> = request.slots().collect();
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
