//! A packet network with any transport and any aggregation.

use std::fmt;

use phaseflow_collect::{Error, Result};

use super::aggregation::{Aggregated, Aggregation, AggregationReport, Group};
use super::port::check_rates;
use super::transport::usnic::Usnic;
use super::transport::{Stack, TransportChoice};
use super::{Carrier, Fabric, FabricOptions, LinkTraffic, Simulation};
use crate::engine::Picoseconds;
use crate::topology::{HostId, LinkId, Topology};

/// A [`Simulation`] of any transport, with or without an [`Aggregation`]. Cost: one dynamic call
/// per message, none per packet.
pub struct PacketNetwork<'a> {
    simulation: Box<dyn Run<'a> + 'a>,
    /// The reason why messages cannot be carried, if any.
    refusal: Option<Error>,
}

impl fmt::Debug for PacketNetwork<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PacketNetwork").finish_non_exhaustive()
    }
}

/// What depends on the transport.
trait Run<'a> {
    fn fabric(&mut self) -> &mut Fabric<'a>;
    fn start(&mut self, src: HostId, dst: HostId, bytes: u64, key: u32) -> Result<()>;
    fn run(&mut self, until: Picoseconds, delivered: &mut Vec<u32>) -> bool;
    fn retransmits(&self) -> u64;
    fn aggregation(&mut self) -> Option<(&mut Fabric<'a>, &mut dyn Aggregation)>;
}

impl<'a, C: Carrier> Run<'a> for Simulation<'a, C> {
    fn fabric(&mut self) -> &mut Fabric<'a> {
        &mut self.fabric
    }

    fn start(&mut self, src: HostId, dst: HostId, bytes: u64, key: u32) -> Result<()> {
        Simulation::start(self, src, dst, bytes, key)
    }

    fn run(&mut self, until: Picoseconds, delivered: &mut Vec<u32>) -> bool {
        Simulation::run(self, until, delivered)
    }

    fn retransmits(&self) -> u64 {
        self.carrier.retransmits()
    }

    fn aggregation(&mut self) -> Option<(&mut Fabric<'a>, &mut dyn Aggregation)> {
        let Self { fabric, carrier } = self;
        Some((fabric, carrier.aggregation()?))
    }
}

impl<'a> PacketNetwork<'a> {
    /// An idle network.
    ///
    /// # Errors
    /// Options that contradict each other, or a transport that cannot work with them.
    pub fn new(
        topology: &'a Topology,
        options: &FabricOptions,
        transport: &TransportChoice,
        aggregation: Option<Box<dyn Aggregation>>,
    ) -> Result<Self> {
        let largest = aggregation.as_ref().map_or(0, |aggregation| aggregation.largest_packet());
        options.check(transport.largest_packet().max(largest))?;
        check_rates(topology)?;
        let fabric = Fabric::new(topology, options);
        // One arm for each transport, so that each gets an engine of its own.
        let simulation = match transport {
            TransportChoice::Ideal(transport) => with(Stack::new(&fabric, *transport), fabric, aggregation),
            TransportChoice::Dctcp(transport) => with(Stack::new(&fabric, *transport), fabric, aggregation),
            TransportChoice::Tcp(transport) => with(Stack::new(&fabric, *transport), fabric, aggregation),
            TransportChoice::Roce(transport) => with(Stack::new(&fabric, *transport), fabric, aggregation),
            TransportChoice::Usnic(preset) => with(Usnic::new(&fabric, *preset)?, fabric, aggregation),
        };
        // With sums in the network only, the transport is not used.
        Ok(Self { simulation, refusal: transport.check(&options.worst(topology)).err() })
    }

    /// The time.
    pub fn now(&mut self) -> Picoseconds {
        self.simulation.fabric().now()
    }

    /// Time of the next event of packets and timers.
    pub fn next_time(&mut self) -> Option<Picoseconds> {
        self.simulation.fabric().next_time()
    }

    /// Sets the links of packets from `src` to `dst` from now on.
    ///
    /// # Errors
    /// As [`Fabric::set_route`].
    pub fn set_route(&mut self, src: HostId, dst: HostId, links: &[LinkId]) -> Result<()> {
        self.simulation.fabric().set_route(src, dst, links)
    }

    /// As [`Fabric::fail`].
    pub fn fail(&mut self, now: Picoseconds, topology: &'a Topology) {
        self.simulation.fabric().fail(now, topology);
    }

    /// As [`Simulation::start`].
    ///
    /// # Errors
    /// As [`Simulation::start`]; a transport that cannot recover what this network loses.
    pub fn start(&mut self, src: HostId, dst: HostId, bytes: u64, key: u32) -> Result<()> {
        match self.refusal.take() {
            Some(refusal) => Err(refusal),
            None => self.simulation.start(src, dst, bytes, key),
        }
    }

    /// As [`Simulation::run`].
    pub fn run(&mut self, until: Picoseconds, delivered: &mut Vec<u32>) -> bool {
        self.simulation.run(until, delivered)
    }

    /// As [`Aggregation::open`].
    ///
    /// # Errors
    /// As [`Aggregation::open`]; a network that does not sum.
    pub fn open(&mut self, group: &Group) -> Result<u32> {
        let (fabric, aggregation) = self.simulation.aggregation().ok_or_else(no_aggregation)?;
        aggregation.open(fabric, group)
    }

    /// As [`Aggregation::close`].
    pub fn close(&mut self, group: u32) {
        if let Some((fabric, aggregation)) = self.simulation.aggregation() {
            aggregation.close(fabric, group);
        }
    }

    /// As [`Aggregation::contribute`].
    ///
    /// # Errors
    /// As [`Aggregation::contribute`]; a network that does not sum.
    pub fn contribute(&mut self, group: u32, worker: u32, bytes: u64, key: u32) -> Result<()> {
        let (fabric, aggregation) = self.simulation.aggregation().ok_or_else(no_aggregation)?;
        aggregation.contribute(fabric, group, worker, bytes, key)
    }

    /// Counters of every link since the last call, up to a time before which no event is pending.
    pub fn take_traffic(&mut self, until: Picoseconds) -> Vec<LinkTraffic> {
        self.simulation.fabric().take_traffic(until)
    }

    /// Packets that were sent more than once so far.
    pub fn retransmits(&self) -> u64 {
        self.simulation.retransmits()
    }

    /// The sum so far.
    pub fn report(&mut self) -> AggregationReport {
        self.simulation.aggregation().map_or_else(AggregationReport::default, |(_, sums)| sums.report())
    }

    /// Describes a deadlock of the network, as a sentence.
    pub fn stuck(&mut self) -> Option<String> {
        let paused = self.simulation.fabric().stuck();
        if let Some(link) = paused.first() {
            let topology = self.simulation.fabric().topology();
            let name = |node| &topology.node(node).name;
            let (src, dst) = (name(topology.src(*link)), name(topology.dst(*link)));
            let count = paused.len();
            return Some(format!(
                "{count} links are paused and wait for each other, one of them {src}>{dst}"
            ));
        }
        self.simulation.aggregation().and_then(|(_, aggregation)| aggregation.stuck())
    }
}

fn with<'a, C: Carrier + 'a>(
    carrier: C,
    fabric: Fabric<'a>,
    aggregation: Option<Box<dyn Aggregation>>,
) -> Box<dyn Run<'a> + 'a> {
    match aggregation {
        None => Box::new(Simulation { fabric, carrier }),
        Some(aggregation) => Box::new(Simulation { fabric, carrier: Aggregated { carrier, aggregation } }),
    }
}

fn no_aggregation() -> Error {
    Error::usage("nothing in this network sums")
}
