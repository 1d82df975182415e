//! Any shortest path, each as likely as any other.
//!
//! A candidate is taken with the probability of its share of the remaining paths. All paths
//! (parallel links make different ones) are then equally likely; with equal hops they would not be,
//! on tori and irregular networks. It is the baseline for all other routers.

use phaseflow_collect::Result;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::walk::Walker;
use super::{RouteRequest, Router, Routes};

/// The router `random`.
#[derive(Debug)]
pub(super) struct Random {
    random: Xoshiro256PlusPlus,
    walker: Walker,
}

impl Random {
    /// A router with random numbers of its own.
    pub(super) fn new(seed: u64) -> Self {
        Self { random: Xoshiro256PlusPlus::seed_from_u64(seed), walker: Walker::default() }
    }
}

impl Router for Random {
    fn route(&mut self, request: &RouteRequest<'_>, routes: &mut Routes) -> Result<()> {
        let (topology, random) = (request.topology, &mut self.random);
        for demand in request.demands {
            let counts = topology.paths_to(demand.dst).counts();
            self.walker.walk(topology, (demand.src, demand.dst), routes, |_, candidates| {
                let paths =
                    |i: usize| topology.switch_after(candidates[i]).map_or(1.0, |after| counts[after]);
                let all: f64 = (0..candidates.len()).map(paths).sum();
                let mut left = random.r#gen::<f64>() * all;
                let taken = (0..candidates.len()).find(|i| {
                    left -= paths(*i);
                    left < 0.0
                });
                // A remainder by rounding belongs to the last candidate.
                taken.unwrap_or(candidates.len() - 1)
            });
        }
        Ok(())
    }
}
