//! Connections of all hosts over one protocol. Messages from one host to another arrive in order.
//!
//! A host makes a packet when its wire is free, from its connections in turn. A packet thus exists
//! only in the network, and memory does not depend on the bytes to send. Replies precede data.

use phaseflow_collect::{Error, Result};
use rustc_hash::FxHashMap;

use super::messages::{Message, Messages};
use super::{Offer, Transport};
use crate::engine::Picoseconds;
use crate::packet::Carrier;
use crate::packet::arena::{NONE, Packet};
use crate::packet::fabric::Fabric;
use crate::packet::program::Program;
use crate::packet::timer::Timer;
use crate::topology::{HostId, LinkId};

/// Kind of packets: data.
const DATA: u8 = 0;
/// Kind of packets: a reply.
const REPLY: u8 = 1;

/// Kind of timers: the wire is free.
const WIRE_FREE: u8 = 0;
/// Kind of timers: the pace of a sender.
const PACE: u8 = 1;
/// Kind of timers: the deadline of a sender.
const DEADLINE: u8 = 2;
/// Kind of timers: the deadline of a receiver's reply.
const REPLY_DUE: u8 = 3;

/// The connections of all hosts over one protocol; see the module for the sharing of wires.
#[derive(Debug)]
pub struct Stack<T: Transport> {
    transport: T,
    connections: FxHashMap<(u32, u32), u32>,
    sources: Vec<Source<T::Sender>>,
    sinks: Vec<Sink<T::Receiver>>,
    messages: Messages,
    /// By link; only those that leave hosts are used.
    wires: Vec<Wire>,
    delivered: Vec<u32>,
}

/// A connection at its source.
#[derive(Debug)]
struct Source<S> {
    sender: S,
    /// Packets before this one are ready.
    end: u32,
    dst: u32,
    route: u32,
    /// First link of the route.
    wire: u32,
    /// Oldest message that is not acknowledged, or that of the last packet sent, or the youngest:
    /// ids or [`NONE`].
    oldest: u32,
    cursor: u32,
    youngest: u32,
    /// True in the list of its wire, and its successor there.
    is_ready: bool,
    next_ready: u32,
    /// A timer for its next packet is pending.
    is_paced: bool,
    /// Time of the next deadline timer.
    timer: Picoseconds,
}

/// A connection at its destination.
#[derive(Debug)]
struct Sink<R> {
    receiver: R,
    src: u32,
    /// Route of replies.
    route: u32,
    /// Oldest message that is not delivered, or [`NONE`].
    oldest: u32,
    /// A timer for a delayed reply is pending.
    is_timed: bool,
}

impl<R> Sink<R> {
    /// An empty reply of a connection.
    fn reply(&self, id: u32, seq: u32) -> Packet {
        Packet { route: self.route, dst: self.src, flow: id, seq, kind: REPLY, ..Packet::default() }
    }
}

/// The connections that wait for a wire, in turn.
#[derive(Clone, Copy, Debug)]
struct Wire {
    first: u32,
    last: u32,
    /// A timer for the end of the current packet is pending.
    is_called: bool,
    /// A packet is made this long before the wire is free.
    ahead: Picoseconds,
}

impl<T: Transport> Stack<T> {
    /// No connections yet.
    pub fn new(fabric: &Fabric<'_>, transport: T) -> Self {
        let topology = fabric.topology();
        let wire = |link: u32| {
            // A Gbit/s is a bit in a nanosecond.
            let ahead = transport.host_queue() as f64 * 8.0 / topology.link(LinkId(link)).capacity * 1000.0;
            Wire { first: NONE, last: NONE, is_called: false, ahead: ahead as Picoseconds }
        };
        let wires = (0..topology.link_count() as u32).map(wire).collect();
        Self {
            transport,
            connections: FxHashMap::default(),
            sources: Vec::new(),
            sinks: Vec::new(),
            messages: Messages::default(),
            wires,
            delivered: Vec::new(),
        }
    }

    fn connect(&mut self, fabric: &mut Fabric<'_>, src: HostId, dst: HostId) -> u32 {
        if let Some(known) = self.connections.get(&(src.0, dst.0)) {
            return *known;
        }
        let id = self.sources.len() as u32;
        self.connections.insert((src.0, dst.0), id);
        let (route, back) = (fabric.route(src, dst), if T::REPLIES { fabric.route(dst, src) } else { NONE });
        let wire = fabric.first_link(route);
        let (sender, receiver) = self.transport.open(fabric.topology().link(wire).capacity);
        self.sources.push(Source {
            sender,
            end: 0,
            dst: dst.0,
            route,
            wire: wire.0,
            oldest: NONE,
            cursor: NONE,
            youngest: NONE,
            is_ready: false,
            next_ready: NONE,
            is_paced: false,
            timer: Picoseconds::MAX,
        });
        self.sinks.push(Sink { receiver, src: src.0, route: back, oldest: NONE, is_timed: false });
        id
    }

    /// Puts a connection into the list of its wire after a change, if it can send.
    #[inline]
    fn consider(&mut self, fabric: &mut Fabric<'_>, id: u32) {
        let source = &mut self.sources[id as usize];
        if source.is_ready {
            return;
        }
        match self.transport.offer(&source.sender, fabric.now(), source.end) {
            Offer::Packet(_) => {
                let wire = source.wire;
                self.queue(id);
                self.feed(fabric, wire);
            }
            Offer::At(time) => self.pace(fabric, id, time),
            Offer::Nothing => {}
        }
    }

    /// Considers a connection again at a time.
    fn pace(&mut self, fabric: &mut Fabric<'_>, id: u32, time: Picoseconds) {
        if !std::mem::replace(&mut self.sources[id as usize].is_paced, true) {
            fabric.call_at(time, Timer { kind: PACE, words: [id, 0] });
        }
    }

    #[inline]
    fn queue(&mut self, id: u32) {
        let source = &mut self.sources[id as usize];
        source.is_ready = true;
        source.next_ready = NONE;
        let wire = &mut self.wires[source.wire as usize];
        let last = std::mem::replace(&mut wire.last, id);
        if last == NONE {
            wire.first = id;
        } else {
            self.sources[last as usize].next_ready = id;
        }
    }

    /// Sends packets on a wire until it is busy or no connection can send.
    #[inline]
    fn feed(&mut self, fabric: &mut Fabric<'_>, link: u32) {
        loop {
            let wire = &mut self.wires[link as usize];
            let id = wire.first;
            if id == NONE {
                return;
            }
            let free_at = fabric.free_at(LinkId(link));
            if free_at > fabric.now().saturating_add(wire.ahead) {
                // A paused wire reports its end of pause.
                if free_at < Picoseconds::MAX && !std::mem::replace(&mut wire.is_called, true) {
                    fabric.call_at(free_at - wire.ahead, Timer { kind: WIRE_FREE, words: [link, 0] });
                }
                return;
            }
            let source = &mut self.sources[id as usize];
            wire.first = source.next_ready;
            if wire.first == NONE {
                wire.last = NONE;
            }
            source.is_ready = false;
            if let Offer::Packet(seq) = self.transport.offer(&source.sender, fabric.now(), source.end) {
                self.send(fabric, id, seq);
            }
            // It may have more packets, and goes to the end of the list.
            let source = &self.sources[id as usize];
            match self.transport.offer(&source.sender, fabric.now(), source.end) {
                Offer::Packet(_) => self.queue(id),
                Offer::At(time) => self.pace(fabric, id, time),
                Offer::Nothing => {}
            }
        }
    }

    #[inline]
    fn send(&mut self, fabric: &mut Fabric<'_>, id: u32, seq: u32) {
        let source = &mut self.sources[id as usize];
        // Retransmissions may belong to an older message than the last packet did.
        if source.cursor == NONE || seq < self.messages[source.cursor].first {
            source.cursor = source.oldest;
        }
        while seq >= self.messages[source.cursor].end() {
            source.cursor = self.messages[source.cursor].next;
        }
        let payload = self.messages[source.cursor].payload(seq, self.transport.payload());
        let mut packet = Packet {
            route: source.route,
            dst: source.dst,
            flow: id,
            seq,
            wire: self.transport.wire(payload),
            payload,
            kind: DATA,
            ..Packet::default()
        };
        self.transport.send(&mut source.sender, fabric.now(), &mut packet);
        fabric.send(packet);
        self.watch(fabric, id);
    }

    /// Sets a timer for the sender's deadline.
    #[inline]
    fn watch(&mut self, fabric: &mut Fabric<'_>, id: u32) {
        let source = &mut self.sources[id as usize];
        let deadline = self.transport.deadline(&source.sender);
        if deadline < source.timer {
            source.timer = deadline;
            fabric.call_at(deadline, Timer { kind: DEADLINE, words: [id, 0] });
        }
    }

    #[inline]
    fn take_data(&mut self, fabric: &mut Fabric<'_>, packet: &Packet) {
        let id = packet.flow;
        let sink = &mut self.sinks[id as usize];
        let mut reply = sink.reply(id, packet.seq);
        let has_reply = self.transport.receive(&mut sink.receiver, fabric.now(), packet, &mut reply);
        let received = self.transport.received(&sink.receiver);
        while sink.oldest != NONE && self.messages[sink.oldest].end() <= received {
            let message = self.messages[sink.oldest];
            self.delivered.push(message.key);
            sink.oldest = message.next;
        }
        if !has_reply {
            self.watch_reply(fabric, id);
        } else if T::REPLIES {
            fabric.send(reply);
        } else {
            self.take_reply(fabric, &reply);
        }
    }

    /// Sets a timer for a delayed reply.
    #[inline]
    fn watch_reply(&mut self, fabric: &mut Fabric<'_>, id: u32) {
        if !T::DELAYS_REPLIES {
            return;
        }
        let sink = &mut self.sinks[id as usize];
        let deadline = self.transport.reply_deadline(&sink.receiver);
        if deadline < Picoseconds::MAX && !std::mem::replace(&mut sink.is_timed, true) {
            fabric.call_at(deadline, Timer { kind: REPLY_DUE, words: [id, 0] });
        }
    }

    /// Sends a delayed reply, if it is due.
    fn reply_late(&mut self, fabric: &mut Fabric<'_>, id: u32) {
        let sink = &mut self.sinks[id as usize];
        sink.is_timed = false;
        if self.transport.reply_deadline(&sink.receiver) > fabric.now() {
            return self.watch_reply(fabric, id);
        }
        let mut reply = sink.reply(id, 0);
        self.transport.delayed_reply(&mut sink.receiver, &mut reply);
        fabric.send(reply);
    }

    #[inline]
    fn take_reply(&mut self, fabric: &mut Fabric<'_>, reply: &Packet) {
        let id = reply.flow;
        let source = &mut self.sources[id as usize];
        self.transport.reply(&mut source.sender, fabric.now(), reply);
        let acknowledged = self.transport.acknowledged(&source.sender);
        while source.oldest != NONE && self.messages[source.oldest].end() <= acknowledged {
            let next = self.messages.remove(source.oldest);
            if source.cursor == source.oldest {
                source.cursor = next;
            }
            source.oldest = next;
        }
        if source.oldest == NONE {
            source.youngest = NONE;
        }
        self.consider(fabric, id);
        self.watch(fabric, id);
    }
}

impl<T: Transport> Program for Stack<T> {
    #[inline]
    fn receive(&mut self, fabric: &mut Fabric<'_>, _: HostId, packet: Packet) {
        if packet.kind == DATA {
            self.take_data(fabric, &packet);
        } else {
            self.take_reply(fabric, &packet);
        }
    }

    fn resumed(&mut self, fabric: &mut Fabric<'_>, link: LinkId) {
        self.feed(fabric, link.0);
    }

    #[inline]
    fn needs(&mut self, timer: Timer, at: Picoseconds) -> bool {
        let id = timer.words[0];
        match timer.kind {
            WIRE_FREE => true,
            PACE => {
                let source = &mut self.sources[id as usize];
                source.is_paced = self.transport.offer(&source.sender, at, source.end) != Offer::Nothing;
                source.is_paced
            }
            REPLY_DUE => {
                let sink = &mut self.sinks[id as usize];
                sink.is_timed = self.transport.reply_deadline(&sink.receiver) < Picoseconds::MAX;
                sink.is_timed
            }
            _ => {
                let source = &mut self.sources[id as usize];
                if source.timer > at {
                    return false;
                }
                let has_deadline = self.transport.deadline(&source.sender) < Picoseconds::MAX;
                if !has_deadline {
                    source.timer = Picoseconds::MAX;
                }
                has_deadline
            }
        }
    }

    #[inline]
    fn timer(&mut self, fabric: &mut Fabric<'_>, timer: Timer) {
        let id = timer.words[0];
        match timer.kind {
            WIRE_FREE => {
                self.wires[id as usize].is_called = false;
                self.feed(fabric, id);
            }
            PACE => {
                self.sources[id as usize].is_paced = false;
                self.consider(fabric, id);
            }
            REPLY_DUE => self.reply_late(fabric, id),
            _ => {
                let source = &mut self.sources[id as usize];
                source.timer = Picoseconds::MAX;
                if self.transport.deadline(&source.sender) <= fabric.now() {
                    self.transport.timeout(&mut source.sender, fabric.now());
                    self.consider(fabric, id);
                }
                self.watch(fabric, id);
            }
        }
    }
}

impl<T: Transport> Carrier for Stack<T> {
    fn start(
        &mut self,
        fabric: &mut Fabric<'_>,
        src: HostId,
        dst: HostId,
        bytes: u64,
        key: u32,
    ) -> Result<()> {
        let packets = bytes.div_ceil(u64::from(self.transport.payload())).max(1);
        let id = self.connect(fabric, src, dst);
        let source = &mut self.sources[id as usize];
        let end = u32::try_from(packets).ok().and_then(|packets| source.end.checked_add(packets));
        let Some(end) = end.filter(|end| *end < NONE) else {
            return Err(Error::data(format!(
                "more than 2^32 packets from host {} to host {}: a larger MTU is needed",
                src.0, dst.0
            )));
        };
        let message = Message { bytes, key, first: source.end, packets: end - source.end, next: NONE };
        source.end = end;
        let message = self.messages.insert(message);
        if source.youngest == NONE {
            source.oldest = message;
        } else {
            self.messages.append(source.youngest, message);
        }
        source.youngest = message;
        if source.cursor == NONE {
            source.cursor = message;
        }
        let sink = &mut self.sinks[id as usize];
        if sink.oldest == NONE {
            sink.oldest = message;
        }
        self.consider(fabric, id);
        Ok(())
    }

    fn delivered(&mut self) -> &mut Vec<u32> {
        &mut self.delivered
    }

    fn retransmits(&self) -> u64 {
        self.sources.iter().map(|source| self.transport.retransmits(&source.sender)).sum()
    }
}
