//! Messages and an aggregation over one network, as one program.

use phaseflow_collect::Result;

use super::{AGGREGATION_KIND, Aggregation};
use crate::engine::Picoseconds;
use crate::packet::arena::Packet;
use crate::packet::fabric::Fabric;
use crate::packet::program::{Program, Verdict};
use crate::packet::simulation::Carrier;
use crate::packet::timer::Timer;
use crate::topology::{HostId, LinkId, NodeId};

/// Messages and an aggregation over one network.
#[derive(Debug)]
pub struct Aggregated<C> {
    /// A carrier of messages.
    pub carrier: C,
    /// The aggregation.
    pub aggregation: Box<dyn Aggregation>,
}

impl<C: Carrier> Aggregated<C> {
    fn collect(&mut self) {
        let done = self.aggregation.delivered();
        if !done.is_empty() {
            self.carrier.delivered().append(done);
        }
    }
}

impl<C: Carrier> Program for Aggregated<C> {
    const AT_SWITCHES: bool = true;

    #[inline]
    fn receive(&mut self, fabric: &mut Fabric<'_>, host: HostId, packet: Packet) {
        if packet.kind < AGGREGATION_KIND {
            return self.carrier.receive(fabric, host, packet);
        }
        self.aggregation.receive(fabric, host, &packet);
        self.collect();
    }

    #[inline]
    fn transit(&mut self, fabric: &mut Fabric<'_>, switch: NodeId, packet: &mut Packet) -> Verdict {
        if packet.kind < AGGREGATION_KIND {
            return Verdict::Forward;
        }
        self.aggregation.transit(fabric, switch, packet)
    }

    fn doubled(&mut self, packet: &mut Packet) {
        if packet.kind >= AGGREGATION_KIND {
            self.aggregation.doubled(packet);
        }
    }

    fn resumed(&mut self, fabric: &mut Fabric<'_>, link: LinkId) {
        self.carrier.resumed(fabric, link);
        self.aggregation.resumed(fabric, link);
        self.collect();
    }

    #[inline]
    fn needs(&mut self, timer: Timer, at: Picoseconds) -> bool {
        if timer.kind < AGGREGATION_KIND {
            return self.carrier.needs(timer, at);
        }
        self.aggregation.needs(timer, at)
    }

    #[inline]
    fn timer(&mut self, fabric: &mut Fabric<'_>, timer: Timer) {
        if timer.kind < AGGREGATION_KIND {
            return self.carrier.timer(fabric, timer);
        }
        self.aggregation.timer(fabric, timer);
        self.collect();
    }
}

impl<C: Carrier> Carrier for Aggregated<C> {
    fn start(
        &mut self,
        fabric: &mut Fabric<'_>,
        src: HostId,
        dst: HostId,
        bytes: u64,
        key: u32,
    ) -> Result<()> {
        self.carrier.start(fabric, src, dst, bytes, key)
    }

    fn delivered(&mut self) -> &mut Vec<u32> {
        self.carrier.delivered()
    }

    fn retransmits(&self) -> u64 {
        self.carrier.retransmits() + self.aggregation.report().retransmits
    }

    fn aggregation(&mut self) -> Option<&mut dyn Aggregation> {
        Some(&mut *self.aggregation)
    }
}
