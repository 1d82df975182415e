//! Hosts anywhere.

use phaseflow_collect::Result;
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Enough, HostRequest, HostSelector};
use crate::stream::Stream;
use crate::topology::HostId;

/// Free hosts drawn without replacement, each with equal probability, until there are enough slots;
/// handed out in host order, as PFSim sorts them. (PFSim draws with replacement and so may count
/// one host twice; this one does not.)
///
/// A model of a busy machine without a placement policy; a baseline for the others.
#[derive(Clone, Debug)]
pub struct Random {
    rng: Xoshiro256PlusPlus,
    free: Vec<HostId>,
}

impl Random {
    /// A selector with the stream that host selectors have for this seed.
    pub fn new(seed: u64) -> Self {
        Self { rng: Stream::HostSelector.generator(seed), free: Vec::new() }
    }
}

impl HostSelector for Random {
    fn select(&mut self, request: &HostRequest<'_>) -> Result<Vec<HostId>> {
        self.free.clear();
        self.free.extend(request.free_hosts());
        let (rng, free) = (&mut self.rng, &mut self.free);
        // Fisher and Yates's shuffle, stopped when there are enough.
        let draws = (0..free.len()).map(|i| {
            let drawn = rng.gen_range(i..free.len());
            free.swap(i, drawn);
            free[i]
        });
        let mut enough = Enough::new(request);
        enough.take(draws);
        enough.hosts.sort_unstable();
        Ok(enough.hosts)
    }
}
