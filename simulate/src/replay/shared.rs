//! The network of the flow model as what carries the messages of replays.

use phaseflow_collect::Result;

use super::transport::Transport;
use crate::engine::Picoseconds;
use crate::flow::{FlowNetwork, FlowOptions, Hold, Loss, Pair};
use crate::routing::{RouteRequest, Router, Routes};
use crate::topology::{HostId, LinkId, Topology};

/// Messages share links max-min fairly. Every pair of hosts needs its [route](Self::route) before
/// its first message.
pub struct Shared<'a> {
    network: FlowNetwork<'a>,
}

impl<'a> Shared<'a> {
    /// An empty network.
    pub fn new(topology: &'a Topology, options: &FlowOptions) -> Self {
        Self { network: FlowNetwork::new(topology, Box::new(SetRoutes), options) }
    }

    /// Messages from `src` to `dst` that start from now on go through `links`.
    pub fn route(&mut self, src: HostId, dst: HostId, links: &[LinkId]) {
        self.network.set_route(src, dst, links);
    }

    /// Tells what held messages up; none is on its way yet.
    pub fn tell_holds(&mut self) {
        self.network.tell_holds();
    }

    /// Tells what links carried for each job; none is on its way yet.
    pub fn tell_carried(&mut self) {
        self.network.tell_carried();
    }

    /// What flows make of the links.
    pub fn network(&self) -> &FlowNetwork<'a> {
        &self.network
    }

    /// Bytes that links carried for a job since this was asked last: [`FlowNetwork::take_carried`].
    pub fn take_carried(&mut self, job: u32) -> Vec<(LinkId, f64)> {
        self.network.take_carried(job)
    }

    /// Nobody will ask what links carried for a job any more, which sends nothing either.
    pub fn forget_carried(&mut self, job: u32) {
        self.network.forget_carried(job);
    }
}

impl Transport for Shared<'_> {
    fn start(&mut self, now: Picoseconds, src: HostId, dst: HostId, bytes: u64, key: u32) {
        // Only routers fail, and this one does not.
        let _ = self.network.start(now, (src, dst), bytes, None, key);
    }

    fn next(&mut self, _: Picoseconds) -> Option<Picoseconds> {
        self.network.next()
    }

    fn belong(&mut self, job: u32, ranks: Pair) {
        self.network.belong(job, ranks);
    }

    fn tells_holds(&self) -> bool {
        self.network.tells_holds()
    }

    fn take_holds(&mut self, key: u32) -> Vec<Hold> {
        self.network.take_holds(key)
    }

    fn rivals(&self, losses: &[Loss]) -> Vec<Option<Pair>> {
        self.network.rivals(losses)
    }

    fn forget(&mut self, before: Picoseconds) {
        self.network.forget(before);
    }

    /// Never asked: only packets can be summed on their way.
    fn contribute(&mut self, _: Picoseconds, _: u32, _: u32, _: u64, _: u32) {}

    fn advance(&mut self, to: Picoseconds, finished: &mut Vec<u32>) {
        self.network.advance(to, |key, _| finished.push(key));
    }
}

/// Routes are set; a pair that has none is as near as if it were one host.
struct SetRoutes;

impl Router for SetRoutes {
    fn route(&mut self, request: &RouteRequest<'_>, routes: &mut Routes) -> Result<()> {
        request.demands.iter().for_each(|_| routes.end_route());
        Ok(())
    }

    fn repeats(&self) -> bool {
        true
    }
}
