//! A worker: algorithm 4 of the paper, over one stream of packets for all its vectors.
//!
//! Packets of all vectors have consecutive numbers. Slots are thus used in turn, and their versions
//! alternate across vectors, as in the repository. Packet p + window is sent when the result of p
//! has arrived: a chain for each place in the window. A vector's last packet and last message are
//! padded; an empty vector is one packet.

use std::collections::VecDeque;

use super::check::Check;
use super::order::Order;
use super::reduction::Reduction;
use super::settings::{Framing, Numbers, Settings, TIMEOUTS_TO_DOUBLE};
use super::waiting::{Chain, Line};
use super::{CHILD, LEVEL, PLACE, QUEUE, TIMEOUT, UP, WIRE};
use crate::engine::Picoseconds;
use crate::packet::aggregation::GIVE_UP_AFTER;
use crate::packet::aggregation::tree::Branch;
use crate::packet::aggregation::vectors::NOWHERE;
use crate::packet::{Fabric, Packet, Timer};
use crate::topology::LinkId;

/// A worker of a group.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    pub(super) group: u32,
    /// Number in the group.
    number: u32,
    /// Number among all workers, which its timers and packets carry.
    id: u32,
    /// The link to its switch.
    pub(super) wire: LinkId,
    level: u32,
    child: u32,
    pub(super) chains: Vec<Chain>,
    ready: Line,
    waiting: Line,
    /// The message that is being sent.
    under_way: Option<UnderWay>,
    reductions: VecDeque<Reduction>,
    /// Vectors added so far, and packets of them.
    pub(super) added: u32,
    end: u32,
    timeout: Picoseconds,
    timeouts: u32,
    has_alarm: bool,
    waits_for_wire: bool,
    /// By chain, with RDMA.
    orders: Vec<Order>,
    pub(super) resent: u64,
    /// Reduction and packet at which it gave up.
    gave_up: Option<(u32, u32)>,
    /// True if it has stopped its resends until other workers add a vector.
    is_parked: bool,
}

#[derive(Clone, Copy, Debug)]
struct UnderWay {
    chain: u32,
    first: u32,
    position: u32,
    is_resent: bool,
}

impl Worker {
    pub(super) fn new(
        settings: &Settings,
        (group, number, id): (u32, u32, u32),
        branch: Branch,
        level: u32,
    ) -> Self {
        let chains = settings.chains();
        let chain = |number| Chain { chunk: number * settings.message, ..Chain::default() };
        let is_rdma = settings.framing == Framing::Rdma;
        Self {
            group,
            number,
            id,
            wire: branch.up,
            level,
            child: branch.number,
            chains: (0..chains).map(chain).collect(),
            ready: Line::new(chains),
            waiting: Line::new(chains),
            under_way: None,
            reductions: VecDeque::new(),
            added: 0,
            end: 0,
            timeout: settings.timeout,
            timeouts: 0,
            has_alarm: false,
            waits_for_wire: false,
            orders: vec![Order::default(); if is_rdma { chains as usize } else { 0 }],
            resent: 0,
            gave_up: None,
            is_parked: false,
        }
    }

    /// Its number in the group.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Releases all memory; later packets and timers are ignored.
    pub(super) fn close(&mut self) {
        self.chains = Vec::new();
        self.orders = Vec::new();
        self.reductions = VecDeque::new();
        (self.ready, self.waiting, self.under_way) = (Line::new(0), Line::new(0), None);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.chains.is_empty()
    }

    /// Sends a vector as soon as it can.
    pub(super) fn add(
        &mut self,
        fabric: &mut Fabric<'_>,
        settings: &Settings,
        reduction: Reduction,
        check: Option<&mut Check>,
    ) {
        let (first, last) = (reduction.first, reduction.first + reduction.chunks);
        self.added += 1;
        self.end = last;
        self.reductions.push_back(reduction);
        for chunk in (first..last.min(first + settings.window)).step_by(settings.message as usize) {
            self.consider(settings, settings.chain(chunk), chunk);
        }
        self.feed(fabric, settings, check, false);
    }

    /// Lets chains send after a change.
    #[inline]
    fn consider(&mut self, settings: &Settings, chain: u32, chunk: u32) {
        let state = &self.chains[chain as usize];
        if state.chunk != chunk || state.is_sent || chunk >= self.end || self.gave_up.is_some() {
            return;
        }
        if settings.numbers == Numbers::Float {
            let Some(reduction) = self.reductions.get(self.reduction_of(chunk)) else { return };
            if chunk - reduction.first >= reduction.lead {
                let ahead = chunk - reduction.lead;
                if self.chains[settings.chain(ahead) as usize].chunk <= ahead {
                    return;
                }
            }
        }
        self.ready.push(chain);
    }

    /// The reduction of a packet.
    #[inline]
    fn reduction_of(&self, chunk: u32) -> usize {
        match self.reductions.front() {
            Some(front) if chunk - front.first < front.chunks => 0,
            _ => self.reductions.partition_point(|reduction| reduction.first + reduction.chunks <= chunk),
        }
    }

    /// Sends packets until the wire is busy or none is left.
    ///
    /// Several workers may share the wire. A worker that has just sent queues behind the waiting
    /// ones. The one whose turn it is sends a packet even if another was first. The wire is thus
    /// shared evenly.
    #[inline]
    pub(super) fn feed(
        &mut self,
        fabric: &mut Fabric<'_>,
        settings: &Settings,
        mut check: Option<&mut Check>,
        mut is_its_turn: bool,
    ) {
        if self.waits_for_wire {
            return;
        }
        let mut has_sent = false;
        while self.ready.first().is_some() || self.under_way.is_some() {
            let free_at = fabric.free_at(self.wire);
            if free_at > fabric.now() && !(is_its_turn && free_at < Picoseconds::MAX) {
                // A paused wire reports its end of pause.
                if free_at < Picoseconds::MAX {
                    self.waits_for_wire = true;
                    let (time, kind) = if has_sent { (fabric.now(), QUEUE) } else { (free_at, WIRE) };
                    fabric.call_at(time, Timer { kind, words: [self.id, 0] });
                }
                return;
            }
            (has_sent, is_its_turn) = (true, false);
            self.send(fabric, settings, check.as_deref_mut());
        }
    }

    /// All workers that waited for this time have been called, so it queues for the wire again.
    pub(super) fn queue(&mut self, fabric: &mut Fabric<'_>, settings: &Settings, check: Option<&mut Check>) {
        self.waits_for_wire = false;
        self.feed(fabric, settings, check, false);
    }

    /// It was called because the wire should be free.
    #[inline]
    pub(super) fn take_turn(
        &mut self,
        fabric: &mut Fabric<'_>,
        settings: &Settings,
        check: Option<&mut Check>,
    ) {
        self.waits_for_wire = false;
        self.feed(fabric, settings, check, true);
    }

    #[inline]
    fn send(&mut self, fabric: &mut Fabric<'_>, settings: &Settings, check: Option<&mut Check>) {
        // A message that has its result is not sent further.
        let under_way =
            self.under_way.take().filter(|way| self.chains[way.chain as usize].chunk == way.first);
        let Some(way) = under_way.or_else(|| {
            let chain = self.ready.first()?;
            self.ready.remove(chain);
            let Chain { chunk, is_sent, .. } = self.chains[chain as usize];
            Some(UnderWay { chain, first: chunk, position: 0, is_resent: is_sent })
        }) else {
            return;
        };
        let chunk = way.first + way.position;
        let place = check.map_or(NOWHERE, |check| {
            let reduction = &self.reductions[self.reduction_of(chunk)];
            check.contribution(reduction.piece(self.number, chunk), &reduction.exponents)
        });
        let state = &mut self.chains[way.chain as usize];
        let mut packet = Packet {
            route: fabric.hashed_route(),
            seq: chunk,
            ack: state.packets,
            wire: settings.wire(way.position),
            payload: settings.elements * super::ELEMENT_BYTES as u32,
            kind: UP,
            ..Packet::default()
        };
        packet.words[LEVEL] = self.level;
        packet.words[PLACE] = place;
        packet.words[CHILD] = self.child;
        fabric.send_on(self.wire, packet);
        self.resent += u64::from(way.is_resent);
        state.is_sent = true;
        state.packets = state.packets.wrapping_add(1);
        if way.position + 1 < settings.message {
            self.under_way = Some(UnderWay { position: way.position + 1, ..way });
            return;
        }
        state.sent_at = fabric.now();
        self.waiting.push(way.chain);
        self.set_alarm(fabric);
    }

    /// One timer per worker, for the packet with the longest wait.
    #[inline]
    fn set_alarm(&mut self, fabric: &mut Fabric<'_>) {
        if self.has_alarm {
            return;
        }
        if let Some(chain) = self.waiting.first() {
            self.has_alarm = true;
            let deadline = self.chains[chain as usize].sent_at.saturating_add(self.timeout);
            fabric.call_at(deadline, Timer { kind: TIMEOUT, words: [self.id, 0] });
        }
    }

    /// False if no packet waits for a result; the timer is then off.
    pub(super) fn needs_alarm(&mut self) -> bool {
        self.has_alarm = self.waiting.first().is_some();
        self.has_alarm
    }

    /// Resends packets whose time-out has expired. All workers have added vectors up to packet
    /// `settled`; only these packets must get a result.
    pub(super) fn expire_timers(
        &mut self,
        fabric: &mut Fabric<'_>,
        settings: &Settings,
        check: Option<&mut Check>,
        settled: u32,
    ) {
        self.has_alarm = false;
        while let Some(chain) = self.waiting.first() {
            let state = &mut self.chains[chain as usize];
            if state.sent_at.saturating_add(self.timeout) > fabric.now() {
                break;
            }
            self.waiting.remove(chain);
            let is_owed = state.chunk < settled;
            let resends = if is_owed { &mut state.resends } else { &mut state.early };
            *resends += 1;
            if *resends > GIVE_UP_AFTER {
                if is_owed {
                    return self.give_up(chain);
                }
                self.is_parked = true;
                continue;
            }
            self.ready.push(chain);
            self.timeouts += 1;
            if settings.doubles && self.timeouts.is_multiple_of(TIMEOUTS_TO_DOUBLE) {
                self.timeout = self.timeout.saturating_mul(2);
            }
        }
        self.set_alarm(fabric);
        self.feed(fabric, settings, check, false);
    }

    /// All workers have added another vector: resends that had stopped start again.
    pub(super) fn resume(&mut self, fabric: &mut Fabric<'_>, settings: &Settings, check: Option<&mut Check>) {
        if !std::mem::take(&mut self.is_parked) {
            return;
        }
        for chain in 0..self.chains.len() as u32 {
            let is_under_way = self.under_way.is_some_and(|way| way.chain == chain);
            if self.chains[chain as usize].is_sent && !self.waiting.has(chain) && !is_under_way {
                self.chains[chain as usize].early = 0;
                self.ready.push(chain);
            }
        }
        self.feed(fabric, settings, check, false);
    }

    /// Describes a packet for which it has given up.
    pub(super) fn stuck(&self) -> Option<String> {
        match self.gave_up {
            Some((reduction, packet)) => Some(format!(
                "the sum of packet {packet} of reduction {reduction}, whose packets were lost or confused"
            )),
            None if self.is_parked => {
                let reduction = self.reductions.front()?.number;
                Some(format!("others to join reduction {reduction}"))
            }
            None => None,
        }
    }

    fn give_up(&mut self, chain: u32) {
        let chunk = self.chains[chain as usize].chunk;
        let reduction = self.reductions.get(self.reduction_of(chunk));
        self.gave_up = reduction.map(|reduction| (reduction.number, chunk - reduction.first));
        let chains = self.chains.len() as u32;
        (self.ready, self.waiting, self.under_way) = (Line::new(chains), Line::new(chains), None);
    }

    /// Receives a result; appends the keys of vectors with complete sums to `delivered`.
    #[inline]
    pub(super) fn take_result(
        &mut self,
        fabric: &mut Fabric<'_>,
        settings: &Settings,
        mut check: Option<&mut Check>,
        packet: &Packet,
        delivered: &mut Vec<u32>,
    ) {
        let chain = settings.chain(packet.seq);
        let position = if settings.message == 1 { 0 } else { packet.seq % settings.message };
        let first = packet.seq - position;
        let is_in_order = self.orders.is_empty() || self.orders[chain as usize].takes(packet.ack, position);
        let state = &mut self.chains[chain as usize];
        let is_wanted = is_in_order && state.chunk == first && state.is_sent && self.gave_up.is_none();
        let is_unchecked = is_wanted && state.checked >> position & 1 == 0;
        if is_unchecked {
            state.checked |= 1 << position;
        }
        let at = if is_wanted { self.reduction_of(packet.seq) } else { 0 };
        if let Some(check) = check.as_deref_mut() {
            let place = packet.words[PLACE];
            if let Some(reduction) = self.reductions.get_mut(at).filter(|_| is_unchecked) {
                let piece = reduction.piece(self.number, packet.seq);
                check.result(piece, place, &mut reduction.exponents);
            }
            check.vectors.release(place);
        }
        if !is_wanted || position + 1 != settings.message {
            return;
        }
        self.ready.remove(chain);
        self.waiting.remove(chain);
        let Chain { chunk, packets, sent_at, .. } = self.chains[chain as usize];
        let next = chunk + settings.window;
        self.chains[chain as usize] = Chain { chunk: next, packets, sent_at, ..Chain::default() };
        self.consider(settings, chain, next);
        if let Some(reduction) = self.reductions.get_mut(at) {
            reduction.missing -= 1;
            let lead = reduction.lead;
            if reduction.missing == 0 {
                delivered.push(reduction.key);
                while self.reductions.front().is_some_and(|front| front.missing == 0) {
                    self.reductions.pop_front();
                }
            }
            if lead != 0 && lead != settings.window {
                self.consider(settings, settings.chain(chunk + lead), chunk + lead);
            }
        }
        self.feed(fabric, settings, check, false);
    }
}
