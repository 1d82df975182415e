//! The network in the greeting of plugins.

use std::collections::HashMap;

use serde::Serialize;

use crate::topology::{HostId, LinkId, NodeId, Topology};

/// Data that a program needs to route and place.
#[derive(Serialize)]
pub(super) struct Network<'a> {
    label: &'a str,
    hosts: Vec<Host<'a>>,
    switches: Vec<&'a str>,
    links: Vec<Link<'a>>,
}

#[derive(Serialize)]
struct Host<'a> {
    name: &'a str,
    slots: u32,
}

#[derive(Serialize)]
struct Link<'a> {
    src: &'a str,
    dst: &'a str,
    /// Gbit/s.
    capacity: f64,
    latency_ns: f64,
}

impl<'a> Network<'a> {
    pub(super) fn of(topology: &'a Topology) -> Self {
        let name = |node: NodeId| topology.node(node).name.as_str();
        let hosts = topology.slots().iter().enumerate();
        let nodes = (0..topology.node_count() as u32).map(NodeId);
        let links = (0..topology.link_count() as u32).map(LinkId);
        Self {
            label: topology.label(),
            hosts: hosts
                .map(|(host, slots)| Host { name: name(topology.host(HostId(host as u32))), slots: *slots })
                .collect(),
            switches: nodes.filter(|node| topology.is_switch(*node)).map(name).collect(),
            links: links
                .map(|link| Link {
                    src: name(topology.src(link)),
                    dst: name(topology.dst(link)),
                    capacity: topology.link(link).capacity,
                    latency_ns: topology.link(link).latency_ps as f64 / 1e3,
                })
                .collect(),
        }
    }
}

/// Hosts by name, to read answers.
#[derive(Debug)]
pub(super) struct Places(HashMap<String, HostId>);

impl Places {
    pub(super) fn of(topology: &Topology) -> Self {
        let hosts = (0..topology.host_count() as u32).map(HostId);
        Self(hosts.map(|host| (topology.node(topology.host(host)).name.clone(), host)).collect())
    }

    pub(super) fn host(&self, name: &str) -> Option<HostId> {
        self.0.get(name).copied()
    }
}
