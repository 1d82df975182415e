//! Measures of generated networks, for tests of closed forms.

use super::{HostId, LinkId, Topology, TopologyChoice, TopologyOptions, topology};

/// A generated network.
#[track_caller]
pub(crate) fn made(text: &str) -> Topology {
    topology(&TopologyChoice::parse(text).unwrap(), &TopologyOptions::default()).unwrap()
}

/// Highest cost of a shortest path between two switches that have hosts: its cables, if all cost 1.
pub(super) fn diameter(net: &Topology) -> u32 {
    let hosts = || (0..net.host_count() as u32).map(HostId);
    let far = |to| {
        let distances = net.distances_to(to);
        hosts().filter_map(move |from| distances.from(net.host(from))).max().unwrap()
    };
    hosts().map(far).max().unwrap() - 2
}

/// Cables across the cut that leaves the hosts of lower and those of higher numbers on different
/// sides: for generators whose best cut that is. Switches stand with their hosts.
pub(super) fn bisection(net: &Topology) -> usize {
    let half = net.host_count() as u32 / 2;
    let side = |switch| {
        let hosts = net.outgoing(switch).iter().map(|link| net.dst(*link).0);
        hosts.filter(|node| *node < net.host_count() as u32).min().unwrap() < half
    };
    let cut = (0..net.link_count() as u32).map(LinkId).filter(|link| net.between_switches(*link));
    cut.filter(|link| side(net.src(*link)) && !side(net.dst(*link))).count()
}
