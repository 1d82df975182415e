//! Ranks anywhere.

use phaseflow_collect::Result;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Block, MapRequest, Placement, ProcessMapper};
use crate::stream::Stream;

/// A random permutation of the ranks over the slots of [`Block`] mapping: each host has as many
/// ranks as there. A baseline; PFSim's class of this name shuffles the hosts only and keeps
/// neighbours together, which on interchangeable hosts is block mapping again.
#[derive(Clone, Debug)]
pub struct Random {
    rng: Xoshiro256PlusPlus,
}

impl Random {
    /// A mapper with the stream that process mappers have for this seed.
    pub fn new(seed: u64) -> Self {
        Self { rng: Stream::ProcessMapper.generator(seed) }
    }
}

impl ProcessMapper for Random {
    fn map(&mut self, request: &MapRequest<'_>) -> Result<Placement> {
        let mut placement = Block.map(request)?;
        placement.hosts.shuffle(&mut self.rng);
        Ok(placement)
    }
}
