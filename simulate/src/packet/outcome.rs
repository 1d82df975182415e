//! The packet model in one call: arrivals and link counters of a list of messages.

use phaseflow_collect::{Error, Result};

use super::transport::usnic::Usnic;
use super::transport::{Stack, TransportChoice};
use super::{Carrier, Fabric, FabricOptions, LinkTraffic, Message, Simulation};
use crate::engine::Picoseconds;
use crate::routing::Routes;
use crate::topology::{HostId, LinkId, Topology};

/// The outcome of messages and links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// When each message has arrived; `None` if it had not by the end.
    pub arrivals: Vec<Option<Picoseconds>>,
    /// By link.
    pub links: Vec<LinkTraffic>,
    /// Packets that were sent more than once.
    pub retransmits: u64,
    /// Number of transmissions of packets on links.
    pub hops: u64,
    /// The largest number of packets and timers that were pending at once.
    pub most_pending: usize,
    /// Its end.
    pub ended: Picoseconds,
    /// Links that are paused while packets wait for them; with missing messages, these pauses are a
    /// deadlock.
    pub stuck: Vec<LinkId>,
}

/// Links by pair of hosts; other pairs, and acknowledgements, use [`Paths`](super::Paths).
pub type PairRoutes<'a> = (&'a [(HostId, HostId)], &'a Routes);

/// Carries `messages`, ordered by start, over a network, at most until `limit`.
///
/// Deterministic: the same arguments give the same outcome. Memory is 0.3 MB, 310 bytes a link (90
/// more where queues are kept packet by packet), at most 136 bytes for each packet in flight, 0.5
/// KB for each pair of hosts that communicates (2 KB with `usnic`, 1 KB where packets overtake each
/// other), and 32 bytes for each message that has started and is not acknowledged.
///
/// # Errors
/// Options that contradict each other or the transport; a message to its sender or to a host that
/// does not exist; an invalid route; more packets than can be numbered.
pub fn simulate(
    topology: &Topology,
    options: &FabricOptions,
    transport: &TransportChoice,
    routes: Option<PairRoutes<'_>>,
    messages: &[Message],
    limit: Option<Picoseconds>,
) -> Result<Outcome> {
    options.check(transport.largest_packet())?;
    transport.check(&options.worst(topology))?;
    check(topology, messages)?;
    let mut fabric = Fabric::new(topology, options);
    if let Some((pairs, routes)) = routes {
        for ((src, dst), links) in pairs.iter().zip(routes.iter()) {
            fabric.set_route(*src, *dst, links)?;
        }
    }
    // One arm for each transport, so that each gets an engine of its own.
    match transport {
        TransportChoice::Ideal(transport) => run(Stack::new(&fabric, *transport), fabric, messages, limit),
        TransportChoice::Dctcp(transport) => run(Stack::new(&fabric, *transport), fabric, messages, limit),
        TransportChoice::Tcp(transport) => run(Stack::new(&fabric, *transport), fabric, messages, limit),
        TransportChoice::Roce(transport) => run(Stack::new(&fabric, *transport), fabric, messages, limit),
        TransportChoice::Usnic(preset) => run(Usnic::new(&fabric, *preset)?, fabric, messages, limit),
    }
}

fn check(topology: &Topology, messages: &[Message]) -> Result<()> {
    let hosts = topology.host_count();
    let mut before = 0;
    for (number, message) in messages.iter().enumerate() {
        let Message { start, src, dst, .. } = *message;
        if src == dst || src.0.max(dst.0) as usize >= hosts {
            return Err(Error::data(format!(
                "message {number} goes from host {} to host {}, expected two of {hosts} hosts",
                src.0, dst.0
            )));
        }
        if start < before {
            return Err(Error::data(format!(
                "message {number} starts at {start} ps, the one before at {before} ps"
            )));
        }
        before = start;
    }
    if messages.len() > u32::MAX as usize {
        return Err(Error::data("more than 2^32 messages"));
    }
    Ok(())
}

fn run<C: Carrier>(
    carrier: C,
    fabric: Fabric<'_>,
    messages: &[Message],
    limit: Option<Picoseconds>,
) -> Result<Outcome> {
    let mut simulation = Simulation { fabric, carrier };
    let arrivals = simulation.carry(messages, limit)?;
    let Simulation { mut fabric, carrier } = simulation;
    Ok(Outcome {
        arrivals,
        links: fabric.traffic(),
        retransmits: carrier.retransmits(),
        hops: fabric.hops(),
        most_pending: fabric.most_pending(),
        ended: fabric.now(),
        stuck: fabric.stuck(),
    })
}
