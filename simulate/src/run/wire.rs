//! What carries the messages of replays: flows or packets.

use phaseflow_collect::{Error, Result};

use super::model::Model;
use crate::engine::Picoseconds;
use crate::flow::FlowNetwork;
use crate::packet::{AggregationReport, Group, LinkTraffic};
use crate::replay::{Options, Packets, Shared, Transport};
use crate::topology::{HostId, LinkId, Topology};

/// One of the two.
pub(super) enum Wire<'a> {
    Flows(Box<Shared<'a>>),
    /// Whether routes of the router count.
    Packets(Box<Packets<'a>>, bool),
}

impl<'a> Wire<'a> {
    /// The network of a model that replays.
    pub(super) fn new(topology: &'a Topology, model: &Model) -> Result<Option<Self>> {
        Ok(match model {
            Model::Traffic => None,
            Model::Flow(options, _) => Some(Self::flows_of(topology, options)),
            Model::Packet(model) => {
                Some(Self::Packets(Box::new(model.network(topology)?), model.takes_routes()))
            }
        })
    }

    /// A network of flows.
    pub(super) fn flows_of(topology: &'a Topology, options: &Options) -> Self {
        Self::Flows(Box::new(Shared::new(topology, &options.network)))
    }

    /// Messages between two hosts take these links from now on.
    pub(super) fn route(&mut self, src: HostId, dst: HostId, links: &[LinkId]) {
        match self {
            Self::Flows(flows) => flows.route(src, dst, links),
            Self::Packets(packets, true) => packets.route(src, dst, links),
            Self::Packets(_, false) => {}
        }
    }

    /// The flows.
    pub(super) fn flows(&self) -> Option<&FlowNetwork<'a>> {
        match self {
            Self::Flows(flows) => Some(flows.network()),
            Self::Packets(..) => None,
        }
    }

    /// What packets came to since the last time that this was asked.
    pub(super) fn take_counts(&mut self) -> Option<Counts> {
        let Self::Packets(packets, _) = self else { return None };
        let network = packets.network();
        Some(Counts {
            links: network.take_traffic(),
            retransmits: network.retransmits(),
            report: network.report(),
        })
    }
}

/// Counts of packets: those of links since they were asked for last, the others since the beginning.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) links: Vec<LinkTraffic>,
    pub(super) retransmits: u64,
    pub(super) report: AggregationReport,
}

impl Transport for Wire<'_> {
    fn start(&mut self, now: Picoseconds, src: HostId, dst: HostId, bytes: u64, key: u32) {
        match self {
            Self::Flows(flows) => flows.start(now, src, dst, bytes, key),
            Self::Packets(packets, _) => packets.start(now, src, dst, bytes, key),
        }
    }

    fn next(&mut self, limit: Picoseconds) -> Option<Picoseconds> {
        match self {
            Self::Flows(flows) => flows.next(limit),
            Self::Packets(packets, _) => packets.next(limit),
        }
    }

    fn advance(&mut self, to: Picoseconds, finished: &mut Vec<u32>) {
        match self {
            Self::Flows(flows) => flows.advance(to, finished),
            Self::Packets(packets, _) => packets.advance(to, finished),
        }
    }

    fn open(&mut self, group: &Group) -> u32 {
        match self {
            Self::Flows(flows) => flows.open(group),
            Self::Packets(packets, _) => packets.open(group),
        }
    }

    fn close(&mut self, group: u32) {
        match self {
            Self::Flows(flows) => flows.close(group),
            Self::Packets(packets, _) => packets.close(group),
        }
    }

    fn contribute(&mut self, now: Picoseconds, group: u32, worker: u32, bytes: u64, key: u32) {
        match self {
            Self::Flows(flows) => flows.contribute(now, group, worker, bytes, key),
            Self::Packets(packets, _) => packets.contribute(now, group, worker, bytes, key),
        }
    }

    fn failure(&mut self) -> Option<Error> {
        match self {
            Self::Flows(flows) => flows.failure(),
            Self::Packets(packets, _) => packets.failure(),
        }
    }

    fn stuck(&mut self) -> Option<String> {
        match self {
            Self::Flows(flows) => flows.stuck(),
            Self::Packets(packets, _) => packets.stuck(),
        }
    }
}
