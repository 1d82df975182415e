//! Tests of the engine and the transports together.

mod closed_forms;
mod invariants;
mod programs;
mod routes;
mod timers;

use super::transport::{Stack, Transport};
use super::*;
use crate::engine::Picoseconds;
use crate::topology::sketch::sketch;
use crate::topology::{HostId, NetworkGraph, PortOrder, Topology};

/// A network drawn in a line, all links of one capacity and latency.
pub(in crate::packet) fn network(
    text: &str,
    gbps: f64,
    latency_ps: Picoseconds,
    switch_latency_ps: Picoseconds,
) -> Topology {
    let mut graph = sketch(text);
    for link in graph.edge_weights_mut() {
        (link.capacity, link.latency_ps) = (gbps, latency_ps);
    }
    freeze(graph, switch_latency_ps)
}

fn freeze(graph: NetworkGraph, switch_latency_ps: Picoseconds) -> Topology {
    Topology::freeze("net", graph, PortOrder::Name, switch_latency_ps).unwrap()
}

pub(in crate::packet) fn simulation<'a, T: Transport>(
    network: &'a Topology,
    options: &FabricOptions,
    transport: T,
) -> Simulation<'a, Stack<T>> {
    let fabric = Fabric::new(network, options);
    let carrier = Stack::new(&fabric, transport);
    Simulation { fabric, carrier }
}

pub(in crate::packet) fn message(src: u32, dst: u32, bytes: u64) -> Message {
    Message { start: 0, src: HostId(src), dst: HostId(dst), bytes }
}

/// Arrival of the last message.
pub(in crate::packet) fn makespan<T: Transport>(
    network: &Topology,
    options: &FabricOptions,
    transport: T,
    messages: &[Message],
) -> u64 {
    let arrivals = simulation(network, options, transport).carry(messages, None).unwrap();
    arrivals.into_iter().map(Option::unwrap).max().unwrap()
}
