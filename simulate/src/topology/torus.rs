//! Tori and meshes of any dimension: `torus[dims=4x4x4]`, `mesh[dims=4x4x4]`.
//!
//! A switch beside each host (or beside `hosts` of them) joined to its neighbours in each
//! dimension. In a torus each dimension is a ring; in a mesh it is a line, whose ends have one
//! neighbour. In a ring of two both neighbours are the same switch, joined once; a dimension of one
//! has none. Host `h5` of `torus[dims=4x4]` hangs on switch `s1.1`: the last coordinate counts
//! first.

use phaseflow_collect::choice::Choice;
use phaseflow_collect::{Error, Result};

use super::coordinates::{coordinates, strides, volume};
use super::parameters::positive_or;
use super::uniform::UniformNetwork;

/// Switches per dimension and hosts per switch.
pub(super) struct Grid {
    dims: Vec<u32>,
    hosts: u32,
    /// True if each dimension is a ring.
    wraps: bool,
}

impl Grid {
    /// Parameters `dims` and `hosts` (per switch, default 1) of a torus.
    pub(super) fn torus(choice: &Choice) -> Result<Self> {
        Self::parse(choice, true)
    }

    /// The same of a mesh.
    pub(super) fn mesh(choice: &Choice) -> Result<Self> {
        Self::parse(choice, false)
    }

    fn parse(choice: &Choice, wraps: bool) -> Result<Self> {
        let dims: Vec<u32> = choice.required_list("dims")?;
        if dims.contains(&0) {
            return Err(Error::usage(format!("`{choice}`: dims has no zeros")));
        }
        Ok(Self { dims, hosts: positive_or(choice, "hosts", 1)?, wraps })
    }

    /// Cables along a line or ring of `extent` switches.
    fn cables(&self, extent: u32) -> u32 {
        if self.wraps && extent > 2 { extent } else { extent - 1 }
    }
}

/// Builds the grid: hosts `h0`…, then switches `s0.0.0`… .
pub(super) fn build(grid: &Grid, network: &mut UniformNetwork<'_>) -> Result<()> {
    let per_switch = u64::from(grid.hosts);
    let switches = volume(&grid.dims);
    let hosts = switches.saturating_mul(per_switch);
    let of_dimension = |dim: &u32| (switches / u64::from(*dim)).saturating_mul(u64::from(grid.cables(*dim)));
    let cables = grid.dims.iter().map(of_dimension).fold(hosts, u64::saturating_add);
    network.reserve(hosts.saturating_add(switches), cables.saturating_mul(2))?;

    for host in 0..hosts {
        network.host(format!("h{host}"));
    }
    for switch in 0..switches {
        network.switch(format!("s{}", coordinates(switch, &grid.dims)));
    }
    for host in 0..hosts {
        network.cable(host, hosts + host / per_switch);
    }
    for switch in 0..switches {
        for (dim, stride) in strides(&grid.dims) {
            let at = switch / stride % dim;
            if at + 1 < dim || (grid.wraps && dim > 2) {
                let next = switch - at * stride + (at + 1) % dim * stride;
                network.cable(hosts + switch, hosts + next);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::topology::measured::{bisection, found_bisection, made};
    use crate::topology::{HostId, TopologyChoice, TopologyOptions, topology};

    #[test]
    fn distances_are_those_around_the_rings_and_along_the_lines() {
        for (text, dims) in [
            ("torus[dims=4x5x2]", vec![4, 5, 2]),
            ("torus[dims=7]", vec![7]),
            ("torus[dims=3x1x4]", vec![3, 1, 4]),
            ("mesh[dims=4x5x2]", vec![4, 5, 2]),
            ("mesh[dims=7]", vec![7]),
        ] {
            let choice = TopologyChoice::parse(text).unwrap();
            let net = topology(&choice, &TopologyOptions::default()).unwrap();
            for src in 0..net.host_count() as u32 {
                let to = net.distances_to(HostId(src));
                for dst in 0..net.host_count() as u32 {
                    let (mut a, mut b, mut hops) = (src, dst, 0);
                    for dim in dims.iter().rev() {
                        let apart = (a % dim).abs_diff(b % dim);
                        hops += if text.starts_with("mesh") { apart } else { apart.min(dim - apart) };
                        (a, b) = (a / dim, b / dim);
                    }
                    let expected = if src == dst { 0 } else { hops + 2 };
                    assert_eq!(to.from(net.host(HostId(dst))), Some(expected), "{text} {src} {dst}");
                }
            }
        }
    }

    /// W. J. Dally and B. Towles, *Principles and Practices of Interconnection Networks* (2004),
    /// section 5.1: with an even number of places in the first dimension, 2N/k cables of a torus
    /// cross its middle, and N/k of a mesh.
    #[test]
    fn bisections_are_those_of_the_middle() {
        for (text, cables) in [
            ("torus[dims=4x4]", 8),
            ("torus[dims=8x3x5]", 30),
            ("mesh[dims=4x4]", 4),
            ("mesh[dims=8x3x5]", 15),
        ] {
            assert_eq!(bisection(&made(text)), cables, "{text}");
        }
        // No other division has fewer.
        for (text, cables) in [("torus[dims=6x6]", 12), ("mesh[dims=6x6]", 6)] {
            assert_eq!(found_bisection(&made(text), 60), cables, "{text}");
        }
    }

    #[test]
    fn switches_are_named_by_their_coordinates() {
        let choice = TopologyChoice::parse("torus[dims=4x4]").unwrap();
        let net = topology(&choice, &TopologyOptions::default()).unwrap();
        let switch = net.dst(net.outgoing(net.host(HostId(6)))[0]);
        assert_eq!(net.node(switch).name, "s1.2");
        let mut ends: Vec<&str> =
            net.outgoing(switch).iter().map(|link| net.node(net.dst(*link)).name.as_str()).collect();
        ends.sort_unstable();
        assert_eq!(ends, ["h6", "s0.2", "s1.1", "s1.3", "s2.2"]);
    }
}
