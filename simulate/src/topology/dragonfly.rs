//! Dragonflies: `dragonfly[a=4,h=2,p=2]`.
//!
//! J. Kim, W. J. Dally, S. Scott and D. Abts, "Technology-driven, highly-scalable dragonfly
//! topology" (ISCA 2008): groups of `a` routers with `p` hosts and `h` global links each; within a
//! group all routers are joined. There are at most a·h + 1 groups, the default, each two of which
//! are then joined by one global cable. The paper advises a = 2p = 2h, which balances the loads.
//!
//! Which router has which global cable is the palmtree arrangement of C. Camarero, E. Vallejo and
//! R. Beivide, "Topological characterization of Hamming and dragonfly networks and its implications
//! on routing" (TACO 11(4), 2014): global port j of router i leads i·h + j + 1 groups back, around
//! the circle of groups.
//!
//! With fewer `groups`, the ports of a group go around the circle several times, as often as they
//! can in full; each two groups are then joined by ⌊a·h / (groups − 1)⌋ cables, and the ports that
//! are left are free.
//!
//! Minimal routing takes one global link (section 4.1 of Kim et al.), though two are sometimes
//! fewer hops: a global link has cost 3, a local one 1.
//!
//! Routers are `s0.0`…, by group and place in it; hosts of a router and of a group have consecutive
//! numbers.

use phaseflow_collect::choice::Choice;
use phaseflow_collect::{Error, Result};

use super::parameters::{positive, positive_or};
use super::uniform::UniformNetwork;

/// Cost of a global link: of local, global, local, 1 + 3 + 1, which is then less than that of any
/// two global links.
const GLOBAL_COST: u32 = 3;

/// Sizes of a dragonfly.
pub(super) struct Dragonfly {
    /// Routers per group.
    a: u64,
    /// Global ports per router.
    h: u64,
    /// Hosts per router.
    p: u64,
    groups: u64,
}

impl Dragonfly {
    /// Parameters `a`, `h`, `p` and `groups` (a·h + 1 by default).
    pub(super) fn parse(choice: &Choice) -> Result<Self> {
        let [a, h, p] = ["a", "h", "p"].map(|key| positive(choice, key).map(u64::from));
        let (a, h, p) = (a?, h?, p?);
        let most = a.saturating_mul(h).saturating_add(1).min(u64::from(u32::MAX));
        let groups = u64::from(positive_or(choice, "groups", most as u32)?);
        if groups > most {
            return Err(Error::usage(format!(
                "`{choice}`: groups is {groups}, expected at most a·h + 1 = {most}: a group reaches no more"
            )));
        }
        Ok(Self { a, h, p, groups })
    }

    /// Cables between each two groups.
    fn rounds(&self) -> u64 {
        if self.groups > 1 { self.a * self.h / (self.groups - 1) } else { 0 }
    }
}

/// Builds the dragonfly: hosts `h0`…, then routers group by group.
pub(super) fn build(dragonfly: &Dragonfly, network: &mut UniformNetwork<'_>) -> Result<()> {
    let Dragonfly { a, h, p, groups } = *dragonfly;
    let routers = a.saturating_mul(groups);
    let hosts = routers.saturating_mul(p);
    let others = groups - 1;
    let global = groups.saturating_mul(others).saturating_mul(dragonfly.rounds());
    let links = [hosts.saturating_mul(2), routers.saturating_mul(a - 1), global];
    network.reserve(hosts.saturating_add(routers), links.into_iter().fold(0, u64::saturating_add))?;

    for host in 0..hosts {
        network.host(format!("h{host}"));
    }
    for group in 0..groups {
        for router in 0..a {
            network.switch(format!("s{group}.{router}"));
        }
    }
    for host in 0..hosts {
        network.cable(host, hosts + host / p);
    }
    for group in 0..groups {
        let first = hosts + group * a;
        for router in 0..a {
            for other in router + 1..a {
                network.cable(first + router, first + other);
            }
        }
        // The port at the other end leads as many groups back as lead forth from there.
        for port in 0..others * dragonfly.rounds() {
            let back = port % others + 1;
            let other = (group + groups - back) % groups;
            let its_port = port - port % others + groups - back - 1;
            if group > other {
                network.costly_cable(first + port / h, hosts + other * a + its_port / h, GLOBAL_COST);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use crate::topology::measured::{bisection, diameter, made};
    use crate::topology::{LinkId, NodeId, Topology};

    /// By pair of groups, the global links from the one to the other.
    fn global(net: &Topology, a: u32) -> HashMap<(u32, u32), u32> {
        let hosts = net.host_count() as u32;
        let group = |node: NodeId| node.0.checked_sub(hosts).map(|switch| switch / a);
        let mut links = HashMap::new();
        for link in (0..net.link_count() as u32).map(LinkId) {
            if let (Some(src), Some(dst)) = (group(net.src(link)), group(net.dst(link)))
                && src != dst
            {
                *links.entry((src, dst)).or_insert(0) += 1;
            }
        }
        links
    }

    #[test]
    fn each_two_groups_have_one_cable_and_each_router_h() {
        for (text, a, h, p) in [
            ("dragonfly[a=4,h=2,p=2]", 4, 2, 2),
            ("dragonfly[a=3,h=1,p=2]", 3, 1, 2),
            ("dragonfly[a=2,h=3,p=1]", 2, 3, 1),
        ] {
            let (net, groups) = (made(text), a * h + 1);
            let hosts = groups * a * p;
            assert_eq!((net.host_count() as u32, net.switch_count() as u32), (hosts, groups * a), "{text}");
            assert_eq!(net.link_count() as u32, 2 * hosts + groups * a * (a - 1) + groups * a * h, "{text}");
            let links = global(&net, a);
            assert_eq!(links.len() as u32, groups * (groups - 1));
            assert!(links.values().all(|count| *count == 1));
            for switch in 0..net.switch_count() {
                assert_eq!(net.outgoing(net.switch(switch)).len() as u32, p + a - 1 + h, "{text}");
            }
            // Local, global, local: 1 + 3 + 1.
            assert_eq!(diameter(&net), if a > 1 { 5 } else { 3 }, "{text}");
        }
    }

    /// Camarero et al., definition of the palmtree: from router i of group g, port j leads to group
    /// g − i·h − j − 1.
    #[test]
    fn global_ports_are_arranged_as_a_palmtree() {
        let net = made("dragonfly[a=4,h=2,p=2]");
        let hosts = net.host_count() as u32;
        for switch in 0..net.switch_count() as u32 {
            let (group, router) = (switch / 4, switch % 4);
            let mut found: Vec<u32> = net
                .outgoing(NodeId(hosts + switch))
                .iter()
                .filter_map(|link| net.dst(*link).0.checked_sub(hosts).map(|other| other / 4))
                .filter(|other| *other != group)
                .collect();
            let mut expected: Vec<u32> =
                (0..2).map(|port| (group + 9 - (router * 2 + port + 1)) % 9).collect();
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{group} {router}");
        }
    }

    #[test]
    fn fewer_groups_have_more_cables_between_them() {
        let net = made("dragonfly[a=4,h=2,p=2,groups=5]");
        let links = global(&net, 4);
        assert_eq!(
            (links.len(), links.values().copied().min(), links.values().copied().max()),
            (20, Some(2), Some(2))
        );
        // Seven of eight ports go around three times two groups: one is free.
        assert!(global(&made("dragonfly[a=4,h=2,p=2,groups=4]"), 4).values().all(|count| *count == 2));
        let one = made("dragonfly[a=4,h=2,p=2,groups=1]");
        assert_eq!((one.switch_count(), one.link_count()), (4, 2 * 8 + 4 * 3));
    }

    /// A cut between g/2 and g/2 groups passes (g/2)² global cables, if no group is divided.
    #[test]
    fn bisection_of_an_even_number_of_groups() {
        assert_eq!(bisection(&made("dragonfly[a=3,h=1,p=2]")), 4);
        assert_eq!(bisection(&made("dragonfly[a=1,h=5,p=1]")), 9);
    }
}
