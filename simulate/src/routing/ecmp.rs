//! Equal-cost multi-path (ECMP): each switch hashes a flow's ends to one of the candidates.
//!
//! As switches do (RFC 2992 describes hashing for ECMP), with the pair of hosts as the flow and a
//! salt per switch, so that the choices of successive switches are independent (no polarisation).
//! The hash is SplitMix64's mixing function (Steele, Lea and Flood, "Fast splittable pseudorandom
//! number generators", OOPSLA 2014), applied to seed, ends and switch in turn; its high 32 bits,
//! times the number of candidates, shifted right by 32, give the choice. Routes depend on seed,
//! ends and topology only: a pair keeps its path, and two heavy pairs that collide once collide
//! always.

use phaseflow_collect::Result;

use super::walk::Walker;
use super::{RouteRequest, Router, Routes};

/// The router `ecmp`.
#[derive(Debug)]
pub(super) struct Ecmp {
    seed: u64,
    walker: Walker,
}

impl Ecmp {
    /// A router whose hash functions are chosen by `seed`.
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, walker: Walker::default() }
    }
}

impl Router for Ecmp {
    fn route(&mut self, request: &RouteRequest<'_>, routes: &mut Routes) -> Result<()> {
        let seed = mix(self.seed);
        for demand in request.demands {
            let flow = mix(seed ^ (u64::from(demand.src.0) << 32 | u64::from(demand.dst.0)));
            let ends = (demand.src, demand.dst);
            self.walker.walk(request.topology, ends, routes, |node, candidates| {
                let hash = mix(flow ^ u64::from(node.0)) >> 32;
                ((hash * candidates.len() as u64) >> 32) as usize
            });
        }
        Ok(())
    }

    fn repeats(&self) -> bool {
        true
    }
}

/// One step of SplitMix64.
#[inline]
pub(super) fn mix(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}
