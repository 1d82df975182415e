//! HyperX networks: `hyperx[dims=4x4,hosts=4]`.
//!
//! J. H. Ahn, N. Binkert, A. Davis, M. McLaren and R. S. Schreiber, "HyperX: topology, routing, and
//! packaging of efficient large-scale networks" (SC 2009): a switch per point of a grid, joined
//! with every switch that differs from it in one coordinate. With all extents 2 it is a hypercube,
//! with one dimension a complete graph, with two a flattened butterfly. `links=2x1` joins switches
//! that differ in the first coordinate by two cables each: the paper's relative bandwidth K. The
//! distance of two switches is the number of coordinates in which they differ, so the diameter is
//! the number of dimensions.

use phaseflow_collect::choice::Choice;
use phaseflow_collect::{Error, Result};

use super::coordinates::{coordinates, strides, volume};
use super::parameters::positive_or;
use super::uniform::UniformNetwork;

/// Switches per dimension, cables per pair of them, hosts per switch.
pub(super) struct HyperX {
    dims: Vec<u32>,
    links: Vec<u32>,
    hosts: u32,
}

impl HyperX {
    /// Parameters `dims`, `hosts` (per switch, default 1) and `links` (by dimension, default 1).
    pub(super) fn parse(choice: &Choice) -> Result<Self> {
        let dims: Vec<u32> = choice.required_list("dims")?;
        let links: Vec<u32> = match choice.get("links") {
            None => vec![1; dims.len()],
            Some(_) => choice.required_list("links")?,
        };
        if dims.contains(&0) || links.contains(&0) {
            return Err(Error::usage(format!("`{choice}`: dims and links have no zeros")));
        }
        if links.len() != dims.len() {
            return Err(Error::usage(format!(
                "`{choice}`: links has {} numbers, expected {}, one per dimension",
                links.len(),
                dims.len()
            )));
        }
        Ok(Self { dims, links, hosts: positive_or(choice, "hosts", 1)? })
    }
}

/// Builds the network: hosts `h0`…, then switches `s0.0`… .
pub(super) fn build(hyperx: &HyperX, network: &mut UniformNetwork<'_>) -> Result<()> {
    let per_switch = u64::from(hyperx.hosts);
    let switches = volume(&hyperx.dims);
    let hosts = switches.saturating_mul(per_switch);
    let to_others =
        hyperx.dims.iter().zip(&hyperx.links).map(|(dim, links)| u64::from(dim - 1) * u64::from(*links));
    let per_switch_links = to_others.fold(0, u64::saturating_add);
    network.reserve(
        hosts.saturating_add(switches),
        hosts.saturating_mul(2).saturating_add(switches.saturating_mul(per_switch_links)),
    )?;

    for host in 0..hosts {
        network.host(format!("h{host}"));
    }
    for switch in 0..switches {
        network.switch(format!("s{}", coordinates(switch, &hyperx.dims)));
    }
    for host in 0..hosts {
        network.cable(host, hosts + host / per_switch);
    }
    for switch in 0..switches {
        for ((dim, stride), links) in strides(&hyperx.dims).zip(hyperx.links.iter().rev()) {
            let at = switch / stride % dim;
            for other in at + 1..dim {
                for _ in 0..*links {
                    network.cable(hosts + switch, hosts + switch + (other - at) * stride);
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::topology::measured::{bisection, diameter, made};

    #[test]
    fn distances_count_the_coordinates_that_differ() {
        let net = made("hyperx[dims=4x3x2]");
        for src in 0..24_u32 {
            let to = net.distances_to(crate::topology::HostId(src));
            for dst in (0..24_u32).filter(|dst| *dst != src) {
                let digits = |n: u32| [n / 6, n / 2 % 3, n % 2];
                let differ = digits(src).iter().zip(digits(dst)).filter(|(a, b)| **a != *b).count() as u32;
                assert_eq!(to.from(net.host(crate::topology::HostId(dst))), Some(differ + 2));
            }
        }
    }

    /// The paper's section 3: diameter, and cables across the middle of one dimension, K·S/4 for
    /// each host of a regular network.
    #[test]
    fn closed_forms() {
        // Two dimensions of 4: 16 switches, cut between coordinates 0, 1 and 2, 3: 4 rows of 2 · 2.
        let net = made("hyperx[dims=4x4,hosts=4]");
        assert_eq!((diameter(&net), bisection(&net)), (2, 16));
        let net = made("hyperx[dims=4x4,hosts=4,links=3x1]");
        assert_eq!((diameter(&net), bisection(&net)), (2, 48));
        assert_eq!(net.link_count(), 2 * (64 + 16 * 3 * (3 + 1) / 2));
        // A hypercube.
        let net = made("hyperx[dims=2x2x2x2]");
        assert_eq!((diameter(&net), bisection(&net)), (4, 8));
    }
}
