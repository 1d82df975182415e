//! The flow network as the transport of replays.

use phaseflow_collect::Error;

use super::message_routes::MessageRoutes;
use super::transport::Transport;
use crate::engine::Picoseconds;
use crate::flow::{Delay, FlowNetwork, FlowOptions, Loss, Pair};
use crate::topology::{HostId, LinkId, Topology};

/// Messages share links max-min fairly. A pair of hosts without a route is treated like one host.
pub struct Shared<'a> {
    network: FlowNetwork<'a>,
    /// Of the router.
    failure: Option<Error>,
}

impl<'a> Shared<'a> {
    /// An empty network.
    pub fn new(topology: &'a Topology, routes: MessageRoutes, options: &FlowOptions) -> Self {
        Self { network: FlowNetwork::new(topology, Box::new(routes), options), failure: None }
    }

    /// Messages from `src` to `dst` that start from now on take another route than those before.
    pub fn route_changes(&mut self, src: HostId, dst: HostId) {
        self.network.route_changes(src, dst);
    }

    /// Links have failed: [`FlowNetwork::fail`].
    pub fn fail(&mut self, now: Picoseconds, topology: &'a Topology) {
        if let Err(error) = self.network.fail(now, topology) {
            self.failure.get_or_insert(error);
        }
    }

    /// Attributes delays of messages; to be called before the first one.
    pub fn attribute_delays(&mut self) {
        self.network.attribute_delays();
    }

    /// Records the bytes that links carry for each job; to be called before the first message.
    pub fn record_owner_traffic(&mut self) {
        self.network.record_owner_traffic();
    }

    /// The flow network.
    pub fn network(&self) -> &FlowNetwork<'a> {
        &self.network
    }

    /// Bytes that links carried for a job since the last call: [`FlowNetwork::take_owner_traffic`].
    pub fn take_owner_traffic(&mut self, job: u32) -> Vec<(LinkId, f64)> {
        self.network.take_owner_traffic(job)
    }

    /// Drops the traffic of a job that sends no more messages.
    pub fn forget_owner_traffic(&mut self, job: u32) {
        self.network.forget_owner_traffic(job);
    }
}

impl Transport for Shared<'_> {
    fn start(&mut self, now: Picoseconds, src: HostId, dst: HostId, bytes: u64, key: u32) {
        if let Err(error) = self.network.start(now, (src, dst), bytes, None, key) {
            self.failure.get_or_insert(error);
        }
    }

    fn next(&mut self, _: Picoseconds) -> Option<Picoseconds> {
        self.network.next()
    }

    fn belong(&mut self, job: u32, ranks: Pair) {
        self.network.belong(job, ranks);
    }

    fn attributes_delays(&self) -> bool {
        self.network.attributes_delays()
    }

    fn take_delays(&mut self, key: u32) -> Vec<Delay> {
        self.network.take_delays(key)
    }

    fn competing_pairs(&self, losses: &[Loss]) -> Vec<Option<Pair>> {
        self.network.competing_pairs(losses)
    }

    fn forget(&mut self, before: Picoseconds) {
        self.network.forget(before);
    }

    fn failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// Unreachable: only the packet model sums in the network.
    fn contribute(&mut self, _: Picoseconds, _: u32, _: u32, _: u64, _: u32) {}

    fn advance(&mut self, to: Picoseconds, finished: &mut Vec<u32>) {
        self.network.advance(to, |key, _| finished.push(key));
    }
}
