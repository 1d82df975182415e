//! The state of the network: packets, ports, queues and pending events.

mod event_loop;
mod failure;
mod link_statistics;
mod port_queues;

use phaseflow_collect::Result;

use crate::engine::Picoseconds;
use crate::topology::{HostId, LinkId, NodeId, Topology};

use super::arena::{Arena, ECN_CAPABLE, ECN_MARKED, Event, NONE, Packet, Step};
use super::calendar::Calendar;
use super::chance::Chance;
use super::histogram::Histograms;
use super::link_counters::{FaultCounters, LinkCounters};
use super::options::{FabricOptions, Marking};
use super::port::Port;
use super::queue::PortQueues;
use super::routes::{END, HASH, MOVED, Routes, SPRAY};
use super::timer::Timer;

/// Links, switches and the packets in them.
#[derive(Debug)]
pub struct Fabric<'a> {
    topology: &'a Topology,
    now: Picoseconds,
    pub(super) arena: Arena,
    calendar: Calendar,
    pub(super) ports: Vec<Port>,
    pub(super) counters: Vec<LinkCounters>,
    /// Empty where links have no faults.
    pub(super) fault_counters: Vec<FaultCounters>,
    pub(super) queues: Histograms,
    routes: Routes,
    /// Queues of packets, if shared memory or pauses need them.
    pub(super) port_queues: Option<PortQueues>,
    marking: Marking,
    chance: Chance,
    /// Duplicates that are not reported to the program yet.
    copies: Vec<u32>,
    hops: u64,
    /// A sum of prefetched values, so that the compiler keeps the reads.
    warm: u32,
    #[cfg(test)]
    last: (Picoseconds, bool),
    #[cfg(test)]
    pub(super) ties: u32,
}

impl<'a> Fabric<'a> {
    /// An idle network.
    pub fn new(topology: &'a Topology, options: &FabricOptions) -> Self {
        let mut host_of = vec![None; topology.node_count()];
        for host in 0..topology.host_count() as u32 {
            host_of[topology.host(HostId(host)).0 as usize] = Some(host);
        }
        let links = || (0..topology.link_count() as u32).map(LinkId);
        let port = |link: LinkId| {
            let mut port = Port::new(topology, link, host_of[topology.dst(link).0 as usize]);
            // The queue of a host is part of its program, which sends when the wire is free.
            if topology.is_switch(topology.src(link)) {
                let own = options.buffer.filter(|_| options.shared.is_none());
                port.capacity = own.map_or(Picoseconds::MAX, |bytes| port.serialization(bytes));
                port.mark =
                    options.marking.map_or(Picoseconds::MAX, |marking| port.serialization(marking.from));
            }
            port
        };
        let chance = Chance::new(topology, options);
        Self {
            topology,
            now: 0,
            arena: Arena::default(),
            calendar: Calendar::default(),
            ports: links().map(port).collect(),
            counters: links().map(|_| LinkCounters::default()).collect(),
            fault_counters: if chance.is_needed() {
                vec![FaultCounters::default(); topology.link_count()]
            } else {
                Vec::new()
            },
            queues: Histograms::new(topology.link_count()),
            routes: Routes::new(options.paths, options.seed),
            port_queues: PortQueues::new(topology, options),
            marking: options.marking.unwrap_or_default(),
            chance,
            copies: Vec::new(),
            hops: 0,
            warm: 0,
            #[cfg(test)]
            last: (0, false),
            #[cfg(test)]
            ties: 0,
        }
    }

    /// The network.
    pub fn topology(&self) -> &'a Topology {
        self.topology
    }

    /// The time.
    pub fn now(&self) -> Picoseconds {
        self.now
    }

    /// Packets and timers that are pending.
    pub fn pending(&self) -> usize {
        self.calendar.len()
    }

    /// Number of transmissions of packets on links so far.
    pub fn hops(&self) -> u64 {
        self.hops
    }

    /// The largest number of packets and timers that were pending at once; each takes 64 bytes.
    pub fn most_pending(&self) -> usize {
        self.arena.peak()
    }

    /// True if switches may pause links.
    pub fn pauses(&self) -> bool {
        self.port_queues.as_ref().is_some_and(PortQueues::pauses)
    }

    /// Packets that are in the network.
    pub fn packets(&self) -> usize {
        self.arena.packets_used()
    }

    /// Lower bound of the time of the next event: it counts timers that may not be needed any more.
    pub fn next_time(&mut self) -> Option<Picoseconds> {
        if self.calendar.is_done() {
            self.turn();
        }
        self.calendar.next_time()
    }

    /// Advances the time without events, at most to the next event.
    pub(super) fn wait_until(&mut self, time: Picoseconds) {
        self.now = self.now.max(time);
    }

    /// Sets the links of packets from `src` to `dst` from now on.
    ///
    /// # Errors
    /// Links that are no path from `src` to `dst`.
    pub fn set_route(&mut self, src: HostId, dst: HostId, links: &[LinkId]) -> Result<()> {
        self.routes.set(self.topology, (src, dst), links)
    }

    /// The route from one host to another one, for [`Packet::route`].
    pub fn route(&mut self, src: HostId, dst: HostId) -> u32 {
        self.routes.of(self.topology, src, dst)
    }

    /// A route on which each switch chooses the next link to [`Packet::dst`]; packets of a flow
    /// stay in order. For packets that programs at switches [send](Self::send_on).
    pub fn hashed_route(&self) -> u32 {
        self.routes.hashed()
    }

    /// The links by which a switch may send to a host on a shortest path; none if it is no switch.
    pub fn ways(&self, switch: NodeId, to: HostId) -> &'a [LinkId] {
        let into = self.topology.incoming(switch).first();
        let Some(number) = into.and_then(|link| self.topology.switch_after(*link)) else { return &[] };
        let paths = self.topology.paths_to(to);
        let onward = paths.candidates(number);
        if onward.is_empty() { paths.deliveries(number) } else { onward }
    }

    /// The first link of a route between hosts.
    pub fn first_link(&self, route: u32) -> LinkId {
        LinkId(self.routes.at(self.routes.follow(route)))
    }

    /// The time at which the serializer of a link is idle.
    #[inline]
    pub fn free_at(&self, link: LinkId) -> Picoseconds {
        let free_at = self.ports[link.0 as usize].free_at;
        match &self.port_queues {
            None => free_at,
            Some(port_queues) if port_queues.is_paused(link.0) => Picoseconds::MAX,
            Some(port_queues) => free_at.max(self.now).saturating_add(port_queues.line(link.0).waiting),
        }
    }

    /// Puts a packet into the queue of the first link of its route.
    #[inline]
    pub fn send(&mut self, packet: Packet) {
        let link = self.routes.at(packet.route);
        let id = self.arena.insert(Packet { route: packet.route + 1, ..packet });
        self.join(id, link);
    }

    /// Puts a packet into the queue of any link; from there it continues along its route.
    #[inline]
    pub fn send_on(&mut self, link: LinkId, packet: Packet) {
        let id = self.arena.insert(packet);
        self.join(id, link.0);
    }

    /// Calls the program back at a time, which is not before now.
    #[inline]
    pub fn call_at(&mut self, time: Picoseconds, timer: Timer) {
        let Timer { kind, words: [a, b] } = timer;
        let step = Step { link: a, route: b, wire: 0, flags: 0, kind, event: Event::Timer };
        let id = self.arena.insert_step(step);
        self.calendar.push(time.max(self.now), id);
    }

    /// Advances the calendar; false if it is empty.
    fn turn(&mut self) -> bool {
        let turned = self.calendar.turn();
        // Records and ports are prefetched together, so their memory latencies overlap.
        for id in self.calendar.batch() {
            let step = &self.arena[id];
            if step.event == Event::Arrival {
                let at_host = self.ports[step.link as usize].host != NONE;
                let next = self.ports.get(self.routes.at(step.route) as usize);
                self.warm ^=
                    if at_host { self.arena.ends(id).1 } else { next.map_or(0, |port| port.packets as u32) };
            }
        }
        turned
    }

    /// The next link of a packet that is at a switch.
    #[inline]
    fn onward(&mut self, id: u32) -> u32 {
        let step = &mut self.arena[id];
        let mut link = self.routes.at(step.route);
        if (MOVED..HASH).contains(&link) {
            step.route = self.routes.follow(step.route);
            link = self.routes.at(step.route);
            // The new route may leave the host by another link than the packet did.
            let here = self.topology.dst(LinkId(step.link));
            if link < MOVED && self.topology.src(LinkId(link)) != here {
                step.route = self.routes.hashed();
                link = HASH;
            }
        }
        if link < MOVED {
            step.route += 1;
            return link;
        }
        if link == END {
            return END;
        }
        let (from, route) = (step.link, step.route);
        if link == SPRAY {
            return self.sprayed(from, route);
        }
        let (dst, flow) = self.arena.ends(id);
        let what = u64::from(flow) << 32 | u64::from(dst);
        self.routes.choose(self.topology, LinkId(from), HostId(dst), what)
    }

    /// The next link of a packet that is sprayed, arriving now over `from`. No two packets arrive
    /// at the same time over the same link, so time and link identify the packet, independent of
    /// other links.
    #[inline]
    fn sprayed(&self, from: u32, route: u32) -> u32 {
        let dst = HostId(self.routes.at(route + 1));
        self.routes.choose(self.topology, LinkId(from), dst, self.now ^ u64::from(from) << 40)
    }

    /// The packet joins the queue of a link: it is dropped, or its arrival at the other end is
    /// scheduled.
    #[inline]
    fn join(&mut self, id: u32, link: u32) {
        let port = &mut self.ports[link as usize];
        let step = &mut self.arena[id];
        let mut backlog = port.backlog(self.now);
        let takes = port.serialization(u64::from(step.wire));
        let mut has_room = true;
        if let Some(port_queues) = &self.port_queues {
            backlog = backlog.saturating_add(port_queues.line(link).waiting);
            has_room = port_queues.has_room(self.topology.src(LinkId(link)), link, step.wire);
        }
        if takes > port.capacity.saturating_sub(backlog) || !has_room {
            self.counters[link as usize].drop(step.wire);
            self.arena.remove(id);
            return;
        }
        if backlog > port.mark
            && step.flags & ECN_CAPABLE != 0
            && self.marking.marks(|| port.bytes_in(backlog), || self.chance.share(link, port.packets))
        {
            step.flags |= ECN_MARKED;
            self.counters[link as usize].marks += 1;
        }
        self.queues.add(link, backlog);
        port.packets += 1;
        port.bytes += u64::from(step.wire);
        self.hops += 1;
        if self.port_queues.is_some() {
            self.wait(id, link, takes);
        } else {
            self.put(id, link, self.now.saturating_add(backlog).saturating_add(takes));
        }
    }

    /// The packet's last bit will be on the wire at `end`.
    #[inline]
    fn put(&mut self, id: u32, link: u32, end: Picoseconds) {
        let port = &mut self.ports[link as usize];
        port.free_at = end;
        let mut time = end.saturating_add(port.latency);
        let step = &mut self.arena[id];
        step.link = link;
        if self.chance.is_needed() {
            let fault_counters = &mut self.fault_counters[link as usize];
            fault_counters.traversals += 1;
            if self.chance.loses(link, fault_counters.traversals) {
                fault_counters.lose(step.wire);
                self.arena.remove(id);
                return;
            }
            let number = fault_counters.traversals;
            if let Some(delay) = self.chance.doubles(link, number) {
                fault_counters.duplicate(step.wire);
                let packet = self.arena.packet(id);
                let copy = self.arena.insert(packet);
                self.arena[copy].link = link;
                self.calendar.push(time.saturating_add(delay), copy);
                self.copies.push(copy);
            }
            time = time.saturating_add(self.chance.delay(link, number));
        }
        self.calendar.push(time, id);
    }
}
