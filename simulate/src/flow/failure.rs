//! Links that fail while flows are under way.

use phaseflow_collect::Result;

use super::max_min::ClassId;
use super::network::{FlowNetwork, Waiting};
use super::order::{Connections, Order};
use super::paths::NONE;
use super::progress::Flow;
use crate::engine::Picoseconds;
use crate::topology::{HostId, LinkId, NodeId, Topology};

impl<'a> FlowNetwork<'a> {
    /// Links have failed, so that from `now` on the network is `topology`, whose nodes and links
    /// have the numbers that they had. The router is asked again for all pairs. A flow under way
    /// over a link that is down goes on over another route with the bytes that it has not sent;
    /// other flows under way keep their route.
    ///
    /// The model has no detection time, no retransmission and no second latency: a real network
    /// adds those.
    ///
    /// # Errors
    /// Those of the [router](crate::routing::Router::route).
    pub fn fail(&mut self, now: Picoseconds, topology: &'a Topology) -> Result<()> {
        self.now = self.now.max(now);
        self.clock = self.clock.max(self.now as f64);
        self.topology = topology;
        for path in self.paths.part_all() {
            self.forget_path(path);
        }
        let failure = Failure::new(topology);
        self.divert_waiting(&failure)?;
        self.divert_sharing(&failure)?;
        self.share_out();
        Ok(())
    }

    /// Gives other routes to flows that do not share links yet.
    fn divert_waiting(&mut self, failure: &Failure) -> Result<()> {
        let mut waiting = std::mem::take(&mut self.waiting);
        let mut connections = std::mem::replace(&mut self.connections, Connections::new(Order::None));
        for flow in waiting.values_mut().flatten().chain(connections.waiting_mut()) {
            let links = self.sharing.links(self.paths[flow.path].route);
            let Some((src, dst)) = failure.hosts_cut_off(links) else { continue };
            let takes_part = !self.load.is_empty();
            if takes_part {
                self.expect(flow, -1.0);
            }
            let path = self.path(src, dst, flow.bytes)?;
            self.drop_path(std::mem::replace(&mut flow.path, path));
            if takes_part {
                self.expect(flow, 1.0);
            }
        }
        (self.waiting, self.connections) = (waiting, connections);
        Ok(())
    }

    /// Gives other routes to flows that share links.
    fn divert_sharing(&mut self, failure: &Failure) -> Result<()> {
        let mut diverted = Vec::new();
        for class in 0..self.progress.len() as u32 {
            if self.sharing.count(ClassId(class)) == 0 {
                continue;
            }
            if let Some(hosts) = failure.hosts_cut_off(self.sharing.route(ClassId(class))) {
                let rest = self.end_class(class);
                diverted.extend(rest.into_iter().map(|flow| (hosts, flow)));
            }
        }
        for ((src, dst), mut flow) in diverted {
            flow.path = self.path(src, dst, flow.bytes)?;
            if let Some(delays) = &mut self.delays {
                let first = self.sharing.links(self.paths[flow.path].route).first().copied();
                delays.begin(flow.key, flow.path, (self.clock, self.clock), first);
            }
            self.share(&flow);
        }
        Ok(())
    }

    /// Ends a class before its flows have finished; what is left of each has no path.
    fn end_class(&mut self, class: u32) -> Vec<Waiting> {
        let cap = self.sharing.cap(ClassId(class));
        let links = self.sharing.route(ClassId(class)).to_vec();
        let flows = self.progress[class as usize].take_all(self.clock);
        let last = flows.len() - 1;
        self.finishing.remove(class);
        let mut rest = Vec::with_capacity(flows.len());
        for (i, (flow, got)) in flows.into_iter().enumerate() {
            // Less than a byte is sent again.
            let got = (got as u64).min(flow.bytes);
            self.usage.end(&links, got, self.clock);
            if let Some(owner_traffic) = &mut self.owner_traffic {
                owner_traffic.finish(flow.key, &links, got);
            }
            if let Some(delays) = &mut self.delays {
                delays.divert(class, &Flow { bytes: got, ..flow }, &links, i == last, self.clock);
            }
            self.sharing.leave(ClassId(class));
            if i == last && self.paths[flow.path].class == class {
                self.paths[flow.path].class = NONE;
            }
            self.drop_path(flow.path);
            let Flow { bytes, key, connection, .. } = flow;
            rest.push(Waiting { bytes: bytes - got, since: self.clock, cap, path: NONE, key, connection });
        }
        rest
    }
}

/// Which links are down.
struct Failure {
    /// By link.
    is_down: Vec<bool>,
    /// By link: the hosts at its beginning and at its end, if they are hosts.
    ends: Vec<(Option<HostId>, Option<HostId>)>,
}

impl Failure {
    fn new(topology: &Topology) -> Self {
        let mut hosts = vec![None; topology.node_count()];
        for host in (0..topology.host_count() as u32).map(HostId) {
            hosts[topology.host(host).0 as usize] = Some(host);
        }
        let links = || (0..topology.link_count() as u32).map(LinkId);
        let host = |node: NodeId| hosts[node.0 as usize];
        Self {
            is_down: topology.links_down(),
            ends: links().map(|link| (host(topology.src(link)), host(topology.dst(link)))).collect(),
        }
    }

    /// The hosts of a route, if one of its links is down. The memory of a host, behind the links of
    /// the topology, never is.
    fn hosts_cut_off(&self, route: &[u32]) -> Option<(HostId, HostId)> {
        let is_down = |link: &u32| self.is_down.get(*link as usize).is_some_and(|is_down| *is_down);
        if !route.iter().any(is_down) {
            return None;
        }
        let (first, last) = (*route.first()? as usize, *route.last()? as usize);
        self.ends[first].0.zip(self.ends[last].1)
    }
}
