//! The network that carries the messages of replays: flows or packets.

use phaseflow_collect::{Error, Result};

use super::RunProgress;
use super::model::PacketModel;
use crate::engine::Picoseconds;
use crate::flow::{Delay, FlowNetwork, Loss, Pair};
use crate::packet::Group;
use crate::phase_packets::Counts;
use crate::replay::{MessageRoutes, Options, Packets, Shared, Transport};
use crate::topology::{HostId, LinkId, Topology};

/// Flows or packets, and the progress of the run.
pub(super) struct MessageNetwork<'a> {
    carrier: Carrier<'a>,
    progress: Option<&'a RunProgress<'a>>,
}

enum Carrier<'a> {
    Flows(Box<Shared<'a>>),
    /// Whether routes of the router count.
    Packets(Box<Packets<'a>>, bool),
}

impl<'a> MessageNetwork<'a> {
    /// A packet network.
    ///
    /// # Errors
    /// Those of its parameters.
    pub(super) fn packets_of(
        topology: &'a Topology,
        model: &PacketModel,
        progress: Option<&'a RunProgress<'a>>,
    ) -> Result<Self> {
        let packets = Box::new(model.network(topology)?);
        Ok(Self { carrier: Carrier::Packets(packets, model.takes_routes()), progress })
    }

    /// A flow network that records the traffic of each job.
    pub(super) fn flows_of(
        topology: &'a Topology,
        routes: MessageRoutes,
        options: &Options,
        progress: Option<&'a RunProgress<'a>>,
    ) -> Self {
        let mut flows = Box::new(Shared::new(topology, routes, &options.network));
        flows.record_owner_traffic();
        if options.blame {
            flows.attribute_delays();
        }
        Self { carrier: Carrier::Flows(flows), progress }
    }

    /// Messages between two hosts take these links from now on, not those before.
    pub(super) fn route(&mut self, src: HostId, dst: HostId, links: &[LinkId]) {
        match &mut self.carrier {
            Carrier::Flows(flows) => flows.route_changes(src, dst),
            Carrier::Packets(packets, true) => packets.route(src, dst, links),
            Carrier::Packets(_, false) => {}
        }
    }

    /// Links have failed: from `now` on the network is this one.
    pub(super) fn fail(&mut self, now: Picoseconds, topology: &'a Topology) {
        match &mut self.carrier {
            Carrier::Flows(flows) => flows.fail(now, topology),
            Carrier::Packets(packets, _) => packets.network().fail(now, topology),
        }
    }

    /// The flows.
    pub(super) fn flows(&self) -> Option<&FlowNetwork<'a>> {
        match &self.carrier {
            Carrier::Flows(flows) => Some(flows.network()),
            Carrier::Packets(..) => None,
        }
    }

    /// Bytes that links carried for a job since the last call; none for packets, which have
    /// [counts](Self::take_counts).
    pub(super) fn take_owner_traffic(&mut self, job: u32) -> Vec<(LinkId, f64)> {
        match &mut self.carrier {
            Carrier::Flows(flows) => flows.take_owner_traffic(job),
            Carrier::Packets(..) => Vec::new(),
        }
    }

    /// Drops the traffic of a job that sends no more messages.
    pub(super) fn forget_owner_traffic(&mut self, job: u32) {
        if let Carrier::Flows(flows) = &mut self.carrier {
            flows.forget_owner_traffic(job);
        }
    }

    /// The time that the packet network has reached; flows can start at any time.
    pub(super) fn now(&mut self) -> Picoseconds {
        match &mut self.carrier {
            Carrier::Flows(_) => 0,
            Carrier::Packets(packets, _) => packets.network().now(),
        }
    }

    /// Packet counts since the last call, up to the present time of replays.
    pub(super) fn take_counts(&mut self, now: Picoseconds) -> Option<Counts> {
        let Carrier::Packets(packets, _) = &mut self.carrier else { return None };
        let network = packets.network();
        Some(Counts {
            links: network.take_traffic(now),
            retransmits: network.retransmits(),
            report: network.report(),
        })
    }
}

impl Transport for MessageNetwork<'_> {
    fn start(&mut self, now: Picoseconds, src: HostId, dst: HostId, bytes: u64, key: u32) {
        match &mut self.carrier {
            Carrier::Flows(flows) => flows.start(now, src, dst, bytes, key),
            Carrier::Packets(packets, _) => packets.start(now, src, dst, bytes, key),
        }
    }

    fn next(&mut self, limit: Picoseconds) -> Option<Picoseconds> {
        match &mut self.carrier {
            Carrier::Flows(flows) => flows.next(limit),
            Carrier::Packets(packets, _) => packets.next(limit),
        }
    }

    fn advance(&mut self, to: Picoseconds, finished: &mut Vec<u32>) {
        let before = finished.len();
        match &mut self.carrier {
            Carrier::Flows(flows) => flows.advance(to, finished),
            Carrier::Packets(packets, _) => packets.advance(to, finished),
        }
        if let Some(progress) = self.progress {
            progress.arrived((finished.len() - before) as u64);
        }
    }

    fn belong(&mut self, job: u32, ranks: Pair) {
        match &mut self.carrier {
            Carrier::Flows(flows) => flows.belong(job, ranks),
            Carrier::Packets(packets, _) => packets.belong(job, ranks),
        }
    }

    fn competing_pairs(&self, losses: &[Loss]) -> Vec<Option<Pair>> {
        match &self.carrier {
            Carrier::Flows(flows) => flows.competing_pairs(losses),
            Carrier::Packets(packets, _) => packets.competing_pairs(losses),
        }
    }

    fn forget(&mut self, before: Picoseconds) {
        match &mut self.carrier {
            Carrier::Flows(flows) => flows.forget(before),
            Carrier::Packets(packets, _) => packets.forget(before),
        }
    }

    fn attributes_delays(&self) -> bool {
        match &self.carrier {
            Carrier::Flows(flows) => flows.attributes_delays(),
            Carrier::Packets(packets, _) => packets.attributes_delays(),
        }
    }

    fn take_delays(&mut self, key: u32) -> Vec<Delay> {
        match &mut self.carrier {
            Carrier::Flows(flows) => flows.take_delays(key),
            Carrier::Packets(packets, _) => packets.take_delays(key),
        }
    }

    fn open(&mut self, group: &Group) -> u32 {
        match &mut self.carrier {
            Carrier::Flows(flows) => flows.open(group),
            Carrier::Packets(packets, _) => packets.open(group),
        }
    }

    fn close(&mut self, group: u32) {
        match &mut self.carrier {
            Carrier::Flows(flows) => flows.close(group),
            Carrier::Packets(packets, _) => packets.close(group),
        }
    }

    fn contribute(&mut self, now: Picoseconds, group: u32, worker: u32, bytes: u64, key: u32) {
        match &mut self.carrier {
            Carrier::Flows(flows) => flows.contribute(now, group, worker, bytes, key),
            Carrier::Packets(packets, _) => packets.contribute(now, group, worker, bytes, key),
        }
    }

    fn failure(&mut self) -> Option<Error> {
        match &mut self.carrier {
            Carrier::Flows(flows) => flows.failure(),
            Carrier::Packets(packets, _) => packets.failure(),
        }
    }

    fn stuck(&mut self) -> Option<String> {
        match &mut self.carrier {
            Carrier::Flows(flows) => flows.stuck(),
            Carrier::Packets(packets, _) => packets.stuck(),
        }
    }
}
