//! Sending of workers and servers: packets of all jobs take turns on the wire of their host.

use super::group::Group;
use super::header::{self, COLLISION, ECN, GRADIENT, OVERFLOW, RESEND};
use super::numbers::Numbers;
use super::server::Slot;
use super::worker::Next;
use super::{Atp, WIRE_FREE, group};
use crate::packet::arena::{ECN_CAPABLE, NONE, Packet};
use crate::packet::fabric::Fabric;
use crate::topology::LinkId;

/// Largest integer in the code's profile; packets with larger ones are sent as floats. The code's
/// limit of 213 at the factor 10⁶ avoids overflow with ten workers: 10 · 213·10⁶ is below 2³¹.
const CODE_MOST: i32 = 213_000_000;

impl Atp {
    /// A member of a job may have something to send.
    #[inline]
    pub(super) fn consider(&mut self, fabric: &mut Fabric<'_>, number: u32, member: usize) {
        let Some(group) = group(&mut self.groups, number) else { return };
        let (wire, waits) = group.wires[member];
        if !waits && has_packet(group, member) {
            group.wires[member].1 = true;
            self.wires.queue(wire, (number, member as u32));
            self.feed(fabric, wire);
        }
    }

    /// Sends packets on a wire until it is busy or no member has one; members take turns.
    pub(super) fn feed(&mut self, fabric: &mut Fabric<'_>, wire: LinkId) {
        while let Some((number, member)) = self.wires.first(wire) {
            let free_at = fabric.free_at(wire);
            if free_at > fabric.now() {
                if let Some(timer) = self.wires.call(wire, free_at, WIRE_FREE) {
                    fabric.call_at(free_at, timer);
                }
                return;
            }
            self.wires.pop(wire);
            let member = member as usize;
            if let Some(packet) = self.next_packet(fabric, number, member) {
                fabric.send_on(wire, packet);
            }
            let Some(group) = group(&mut self.groups, number) else { continue };
            let has_more = has_packet(group, member);
            group.wires[member].1 = has_more;
            if has_more {
                self.wires.queue(wire, (number, member as u32));
            }
            if member < group.workers.len() {
                self.watch(fabric, number, member);
            }
        }
    }

    /// What a worker or server sends next.
    #[inline]
    fn next_packet(&mut self, fabric: &Fabric<'_>, number: u32, member: usize) -> Option<Packet> {
        let group = group(&mut self.groups, number)?;
        let Some(worker) = group.workers.get_mut(member) else {
            let server = member - group.workers.len();
            let (kind, seq, flags) = group.servers[server].queue.pop_front()?;
            let size = header::wire(self.options.is_code);
            return parameter(group, number, server, (kind, seq, flags), (fabric.hashed_route(), size));
        };
        let next = worker.offer()?;
        worker.sent(next);
        Some(self.gradient(number, member, next))
    }

    /// A worker's packet.
    #[inline]
    pub(super) fn gradient(&mut self, number: u32, member: usize, next: Next) -> Packet {
        let Some(group) = group(&mut self.groups, number) else { return Packet::default() };
        let Next { seq, is_resend, mut is_raw } = next;
        let mut value = NONE;
        if self.checks
            && let Some(stretch) = group.stretch(seq, self.seed, number)
        {
            let numbers = Numbers { scale: self.options.scale, workers: group.hosts.len() as u32 };
            let integers = numbers.integers(&stretch, member as u32);
            let is_large = |lane: &i32| lane.unsigned_abs() > CODE_MOST.unsigned_abs();
            is_raw |= self.options.is_code && numbers.scale.is_some() && integers.iter().any(is_large);
            let block = if is_raw { numbers.floats(&stretch, member as u32) } else { integers };
            value = self.vectors.insert(block);
        }
        let server = group.server_of(seq);
        let heading = group.headings[server * group.hosts.len() + member];
        let mut flags = ECN_CAPABLE | heading.flags;
        if is_resend {
            flags |= RESEND;
        }
        if is_raw {
            flags |= OVERFLOW;
        }
        let indices = &group.workers[member].indices;
        let index = match indices.len() {
            0 => group.share.hash(self.seed, number, seq),
            places => indices[seq as usize % places],
        };
        Packet {
            route: heading.route,
            dst: group.servers[server].host.0,
            flow: number,
            seq,
            ack: heading.fan_ins,
            wire: header::wire(self.options.is_code),
            payload: group.payload(seq),
            kind: GRADIENT,
            flags,
            words: [heading.bitmaps[0], heading.bitmaps[1], index, value],
        }
    }
}

#[inline]
fn has_packet(group: &mut Group, member: usize) -> bool {
    let workers = group.workers.len();
    match group.workers.get_mut(member) {
        Some(worker) => worker.offer().is_some(),
        None => !group.servers[member - workers].queue.is_empty(),
    }
}

/// The packet of a server; `None` if the sum is dropped because all workers have it. Switches use
/// the tree, not `route`.
#[inline]
fn parameter(
    group: &mut Group,
    number: u32,
    server: usize,
    (kind, seq, mut flags): (u8, u32, u16),
    (route, wire): (u32, u32),
) -> Option<Packet> {
    let payload = group.payload(seq);
    let Slot { index, renamed, is_marked, .. } = *group.slots.get(seq)?;
    flags |= ECN_CAPABLE;
    if is_marked {
        flags |= ECN;
    }
    if renamed != NONE {
        flags |= COLLISION;
    }
    Some(Packet {
        route,
        dst: group.servers[server].host.0,
        flow: number,
        seq,
        ack: 0,
        wire,
        payload,
        kind,
        flags,
        words: [renamed, group.servers[server].root, index, NONE],
    })
}
