//! Tori of any dimension: `torus[dims=4x4x4]`.
//!
//! A switch beside each host (or beside `hosts` of them) joined to its two neighbours in each
//! dimension. In a dimension of two both neighbours are the same switch, joined once; a dimension
//! of one has none. Host `h5` of `torus[dims=4x4]` hangs on switch `s1.1`: the last coordinate
//! counts first.

use phaseflow_collect::choice::Choice;
use phaseflow_collect::{Error, Result};

use super::parameters::positive_or;
use super::uniform::UniformNetwork;

/// Switches per dimension and hosts per switch.
pub(super) struct Torus {
    dims: Vec<u32>,
    hosts: u32,
}

impl Torus {
    /// Parameters `dims` and `hosts` (per switch, default 1).
    pub(super) fn parse(choice: &Choice) -> Result<Self> {
        let dims: Vec<u32> = choice.required_list("dims")?;
        if dims.contains(&0) {
            return Err(Error::usage(format!("`{choice}`: dims has no zeros")));
        }
        Ok(Self { dims, hosts: positive_or(choice, "hosts", 1)? })
    }
}

/// Builds the torus: hosts `h0`…, then switches `s0.0.0`… .
pub(super) fn build(torus: &Torus, network: &mut UniformNetwork<'_>) -> Result<()> {
    let per_switch = u64::from(torus.hosts);
    let switches = torus.dims.iter().fold(1, |product: u64, dim| product.saturating_mul(u64::from(*dim)));
    let hosts = switches.saturating_mul(per_switch);
    // Cables that each switch adds in a dimension: a ring has as many as switches, a pair half as
    // many.
    let halves: u64 = torus.dims.iter().map(|dim| u64::from(*dim - 1).min(2)).sum();
    network.reserve(
        hosts.saturating_add(switches),
        hosts.saturating_mul(2).saturating_add(switches.saturating_mul(halves)),
    )?;

    for host in 0..hosts {
        network.host(format!("h{host}"));
    }
    for switch in 0..switches {
        network.switch(format!("s{}", coordinates(switch, &torus.dims)));
    }
    for host in 0..hosts {
        network.cable(host, hosts + host / per_switch);
    }
    for switch in 0..switches {
        let mut stride = 1;
        for dim in torus.dims.iter().rev().map(|dim| u64::from(*dim)) {
            let at = switch / stride % dim;
            if dim > 2 || (dim == 2 && at == 0) {
                let next = switch - at * stride + (at + 1) % dim * stride;
                network.cable(hosts + switch, hosts + next);
            }
            stride *= dim;
        }
    }
    Ok(())
}

fn coordinates(switch: u64, dims: &[u32]) -> String {
    let (mut rest, mut digits) = (switch, Vec::new());
    for dim in dims.iter().rev() {
        digits.push((rest % u64::from(*dim)).to_string());
        rest /= u64::from(*dim);
    }
    digits.reverse();
    digits.join(".")
}

#[cfg(test)]
mod tests {
    use crate::topology::{HostId, TopologyChoice, TopologyOptions, topology};

    #[test]
    fn distances_are_those_around_the_rings() {
        for (text, dims) in [
            ("torus[dims=4x5x2]", vec![4, 5, 2]),
            ("torus[dims=7]", vec![7]),
            ("torus[dims=3x1x4]", vec![3, 1, 4]),
        ] {
            let choice = TopologyChoice::parse(text).unwrap();
            let net = topology(&choice, &TopologyOptions::default()).unwrap();
            for src in 0..net.host_count() as u32 {
                let to = net.distances_to(HostId(src));
                for dst in 0..net.host_count() as u32 {
                    let (mut a, mut b, mut hops) = (src, dst, 0);
                    for dim in dims.iter().rev() {
                        let apart = (a % dim).abs_diff(b % dim);
                        hops += apart.min(dim - apart);
                        (a, b) = (a / dim, b / dim);
                    }
                    let expected = if src == dst { 0 } else { hops + 2 };
                    assert_eq!(to.from(net.host(HostId(dst))), Some(expected), "{text} {src} {dst}");
                }
            }
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
