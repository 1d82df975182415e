//! Valiant's routing: by a shortest path to a random place, and from there by a shortest path on.
//!
//! L. G. Valiant, "A scheme for fast parallel communication" (SIAM J. Comput. 11(2), 1982). Any
//! pattern becomes two random ones: on a balanced dragonfly each global link then carries at most
//! twice the load of uniform traffic, so half the capacity can be used whatever the pattern (Kim et
//! al., ISCA 2008, section 4). The price is that friendly patterns have twice the hops.
//!
//! The place is the switch of a host, with the same probability for each host. Pairs draw theirs
//! from one lattice instead of independently: host number ⌊n · {U + α·dst + β·src}⌋ of n, with a
//! random U. Each place is uniformly distributed as before (P. Cranley and T. Patterson, SIAM J.
//! Numer. Anal. 13, 1976), but those of neighbouring sources and destinations are spread evenly (H.
//! Niederreiter, "Random number generation and quasi-Monte Carlo methods", chapter 3). A pair has
//! one route here, where a network draws for each packet; so few pairs come out as even as many
//! packets.
//!
//! Where the way there and the way on pass the same switch, the loop between is left out.

use phaseflow_collect::Result;

use super::detour::Detour;
use super::ecmp::mix;
use super::{RouteRequest, Router, Routes};
use crate::topology::HostId;

/// The router `valiant`.
#[derive(Debug)]
pub(super) struct Valiant {
    places: Places,
    detour: Detour,
}

/// A random place for each pair of hosts.
#[derive(Debug)]
pub(super) struct Places {
    seed: u64,
    offset: u64,
}

/// Multiples of 2⁻⁶⁴: α = 1 / ρ and β = 1 / ρ², with the plastic number ρ = 1.3247… of ρ³ = ρ + 1,
/// whose powers are badly approximated by fractions together (M. Roberts, "The unreasonable
/// effectiveness of quasirandom sequences", 2018). Any two such numbers would do.
const ALPHA: u64 = 0xC13F_A9A9_02A6_328F;
const BETA: u64 = 0x91E1_0DA5_C79E_7B1D;

impl Places {
    /// Places that are drawn with this seed.
    pub(super) fn new(seed: u64) -> Self {
        Self { seed: mix(seed), offset: mix(mix(seed) ^ ALPHA) }
    }

    /// The place of a pair among `hosts`; `draw` makes different ones.
    #[inline]
    pub(super) fn place(&self, (src, dst): (HostId, HostId), hosts: usize, draw: u64) -> HostId {
        let offset = if draw == 0 { self.offset } else { mix(self.offset ^ draw) };
        let (of_dst, of_src) = (ALPHA.wrapping_mul(dst.0.into()), BETA.wrapping_mul(src.0.into()));
        let point = offset.wrapping_add(of_dst).wrapping_add(of_src);
        HostId(((u128::from(point) * hosts as u128) >> 64) as u32)
    }

    /// A number that is the pair's own, for choices among equal hops.
    #[inline]
    pub(super) fn flow(&self, (src, dst): (HostId, HostId)) -> u64 {
        mix(self.seed ^ (u64::from(src.0) << 32 | u64::from(dst.0)))
    }
}

impl Valiant {
    /// A router with random numbers of its own.
    pub(super) fn new(seed: u64) -> Self {
        Self { places: Places::new(seed), detour: Detour::default() }
    }
}

impl Router for Valiant {
    fn route(&mut self, request: &RouteRequest<'_>, routes: &mut Routes) -> Result<()> {
        let hosts = request.topology.host_count();
        for demand in request.demands {
            let (src, dst) = (demand.src, demand.dst);
            let via = self.places.place((src, dst), hosts, 0);
            let flow = self.places.flow((src, dst));
            let links = self.detour.through(request.topology, (src, via, dst), flow);
            links.iter().for_each(|link| routes.push_link(*link));
            routes.end_route();
        }
        Ok(())
    }

    fn repeats(&self) -> bool {
        true
    }
}
