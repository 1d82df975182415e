//! Packets in and out of the [queues of ports](super::super::queue).

use super::super::arena::{Event, Step};
use super::super::queue::{QueuedPacket, Signal};
use super::Fabric;
use crate::engine::Picoseconds;
use crate::topology::LinkId;

impl Fabric<'_> {
    /// The packet waits in the store until its port sends it.
    pub(super) fn wait(&mut self, id: u32, link: u32, takes: Picoseconds) {
        let Step { wire, link: came_by, .. } = self.arena[id];
        let node = self.topology.src(LinkId(link));
        let signal = self
            .port_queues
            .as_mut()
            .and_then(|port_queues| port_queues.push(node, link, QueuedPacket { id, wire, came_by }, takes));
        self.signal(signal);
        self.send_next(link);
    }

    /// Sends the next packet of a port, if it is free and not paused.
    pub(super) fn send_next(&mut self, link: u32) {
        let Some(port_queues) = &mut self.port_queues else { return };
        let Some(id) = port_queues.next(link) else { return };
        let wire = self.arena[id].wire;
        let takes = self.ports[link as usize].serialization(u64::from(wire));
        port_queues.send(link, wire, takes);
        let end = self.now.saturating_add(takes);
        let step = Step { link, route: 0, wire: 0, flags: 0, kind: 0, event: Event::Port };
        let port = self.arena.insert_step(step);
        self.calendar.push(end, port);
        self.put(id, link, end);
    }

    /// The port of a link has sent a packet.
    pub(super) fn sent(&mut self, link: u32) {
        let node = self.topology.src(LinkId(link));
        let signal = self.port_queues.as_mut().and_then(|port_queues| port_queues.sent(node, link));
        self.signal(signal);
        self.send_next(link);
    }

    /// Pauses or resumes the port of a link, after the latency of the link.
    fn signal(&mut self, signal: Option<Signal>) {
        let (link, stops) = match signal {
            None => return,
            Some(Signal::Stop(link)) => (link, true),
            Some(Signal::Go(link)) => (link, false),
        };
        let step = Step { link, route: 0, wire: 0, flags: 0, kind: u8::from(stops), event: Event::Pause };
        let id = self.arena.insert_step(step);
        let latency = self.topology.link(LinkId(link)).latency_ps;
        self.calendar.push(self.now.saturating_add(latency), id);
    }
}
