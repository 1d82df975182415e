//! Routes that are set anew.

use phaseflow_collect::choice::Choice;

use super::*;
use crate::packet::transport::TransportChoice;
use crate::packet::{PacketNetwork, Paths};
use crate::topology::LinkId;

/// The links from node to node.
fn path(net: &Topology, nodes: &[&str]) -> Vec<LinkId> {
    let name = |node| net.node(node).name.as_str();
    let link = |ends: &[&str]| {
        let mut links = (0..net.link_count() as u32).map(LinkId);
        links.find(|link| [name(net.src(*link)), name(net.dst(*link))] == ends).unwrap()
    };
    nodes.windows(2).map(link).collect()
}

/// Endpoints of usNIC live as long as the network: their packets take the routes of today.
#[test]
fn connections_take_the_route_that_was_set_last() {
    let net = network("h0-s0 h1-s1 s0-a s0-b a-s1 b-s1", 10.0, 1000, 0);
    let by = |spine: &str| path(&net, &["h0", "s0", spine, "s1", "h1"]);
    for transport in ["ideal", "usnic-2013", "usnic-4.1", "dctcp", "roce", "tcp"] {
        let transport = TransportChoice::new(&Choice::plain(transport), None, Paths::Flow).unwrap();
        let mut network = PacketNetwork::new(&net, &FabricOptions::default(), &transport, None).unwrap();
        let mut delivered = Vec::new();
        for (key, spine) in (0..).zip(["a", "b", "a", "b"]) {
            network.set_route(HostId(0), HostId(1), &by(spine)).unwrap();
            network.start(HostId(0), HostId(1), 100_000, key).unwrap();
            while network.run(u64::MAX, &mut delivered) {}
            assert_eq!(delivered.last(), Some(&key), "{transport:?}");
            let traffic = network.take_traffic(u64::MAX);
            let bytes = |spine: &str| traffic[by(spine)[1].0 as usize].bytes;
            let other = if spine == "a" { "b" } else { "a" };
            assert!(bytes(spine) >= 100_000 && bytes(other) == 0, "{transport:?}: {key}");
        }
    }
}

/// The host has two links; a packet is on one of them when the route that leaves by the other one
/// is set.
#[test]
fn a_packet_whose_route_is_replaced_still_arrives() {
    let net = network("h0-s0 h0-s1 s0-s2 s1-s2 s2-h1", 10.0, 1_000_000, 0);
    let by = |leaf: &str| path(&net, &["h0", leaf, "s2", "h1"]);
    let ideal = TransportChoice::new(&Choice::plain("ideal"), None, Paths::Flow).unwrap();
    let mut network = PacketNetwork::new(&net, &FabricOptions::default(), &ideal, None).unwrap();
    network.set_route(HostId(0), HostId(1), &by("s0")).unwrap();
    network.start(HostId(0), HostId(1), 1000, 0).unwrap();
    let mut delivered = Vec::new();
    network.run(500_000, &mut delivered);
    network.set_route(HostId(0), HostId(1), &by("s1")).unwrap();
    while network.run(u64::MAX, &mut delivered) {}
    assert_eq!(delivered, [0]);
    assert_eq!(network.take_traffic(u64::MAX)[by("s0")[1].0 as usize].bytes, 1000);
}
