//! Links that fail while packets are under way.

use super::super::link_counters::FaultCounters;
use super::super::queue::PortQueues;
use super::Fabric;
use crate::engine::Picoseconds;
use crate::topology::{LinkId, Topology};

impl<'a> Fabric<'a> {
    /// Links between switches have failed, so that from `now` on the network is `topology`, whose
    /// nodes and links have the numbers that they had. Packets on a failed link or in its queue are
    /// lost, and so are those that an old route still leads there; they count as losses. Pairs
    /// whose route is cut off take the path that hashes choose, until another route is
    /// [set](Self::set_route). Routes change at once everywhere: a real network takes time to
    /// notice.
    pub fn fail(&mut self, now: Picoseconds, topology: &'a Topology) {
        self.wait_until(now);
        self.topology = topology;
        let is_down = topology.links_down();
        self.routes.fail(topology, &is_down);
        let links = topology.link_count();
        for link in (0..).map(LinkId).take(links).filter(|link| is_down[link.0 as usize]) {
            self.chance.cut(link, links);
        }
        self.fault_counters.resize(links, FaultCounters::default());
        let are_waiting = self.port_queues.as_ref().map(PortQueues::are_waiting).unwrap_or_default();
        let is_waiting = |id: u32| are_waiting.get(id as usize).is_some_and(|is_waiting| *is_waiting);
        let lost = self.routes.end();
        for id in self.arena.packet_ids() {
            let step = &mut self.arena[id];
            let is_cut = is_down.get(step.link as usize).is_some_and(|is_down| *is_down);
            // A packet that waits at a switch has passed the link by which it came; one that an
            // earlier failure took counts once.
            if is_cut && !is_waiting(id) && step.route != lost {
                self.fault_counters[step.link as usize].lose(step.wire);
                step.route = lost;
            }
        }
    }
}
