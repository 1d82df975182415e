//! Neighbouring ranks together.

use phaseflow_collect::Result;

use super::{MapRequest, Placement, ProcessMapper};
use crate::topology::HostId;

/// Fills each host's slots before the next: ranks 0 … s−1 on the first host. The default of most
/// MPI launchers; good for codes whose neighbours in rank are neighbours in the domain.
#[derive(Clone, Copy, Debug, Default)]
pub struct Block;

impl ProcessMapper for Block {
    fn map(&mut self, request: &MapRequest<'_>) -> Result<Placement> {
        let mut hosts: Vec<HostId> = Vec::with_capacity(request.ranks as usize);
        for (host, slots) in request.slots() {
            let missing = request.ranks as usize - hosts.len();
            hosts.extend(std::iter::repeat_n(host, slots.min(missing)));
        }
        Ok(Placement { hosts })
    }
}
