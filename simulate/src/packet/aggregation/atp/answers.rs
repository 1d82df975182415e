//! Received packets and time-outs at workers and servers.

use super::group::Group;
use super::header::{self, ASK, COLLISION, ECN, PARAMETER, RESEND};
use super::index::Pool;
use super::numbers::Numbers;
use super::server::Answer;
use super::worker::Worker;
use super::{Atp, SILENCE, group};
use crate::engine::Picoseconds;
use crate::packet::arena::{NONE, Packet};
use crate::packet::fabric::Fabric;
use crate::packet::timer::Timer;

impl Atp {
    /// A server receives a packet to sum.
    #[inline]
    pub(super) fn serve(&mut self, fabric: &mut Fabric<'_>, packet: &Packet) {
        let is_code = self.options.is_code;
        let Some(group) = group(&mut self.groups, packet.flow) else { return };
        let server = group.server_of(packet.seq);
        let place = &mut group.servers[server];
        let answer = group.slots.take(packet, &place.expected, &mut self.vectors, is_code);
        let kind = match answer {
            Answer::Nothing => return,
            Answer::Ask => ASK,
            Answer::Result | Answer::Again => PARAMETER,
        };
        let flags = packet.flags & (RESEND | ECN);
        place.queue.push_back((kind, packet.seq, flags));
        if answer == Answer::Result {
            complete(group, packet.seq, self.seed, is_code);
        }
        let member = group.workers.len() + server;
        self.consider(fabric, packet.flow, member);
    }

    /// A worker receives a result.
    #[inline]
    pub(super) fn learn(&mut self, fabric: &mut Fabric<'_>, packet: &Packet) {
        let patience = self.patience();
        let member = packet.words[1] as usize;
        let Some(group) = group(&mut self.groups, packet.flow) else { return };
        let Some(worker) = group.workers.get_mut(member) else { return };
        let now = fabric.now();
        if packet.kind == ASK {
            worker.ask(packet.seq, now);
        } else if worker.take(packet.seq, header::is_marked(packet), now, patience) {
            if packet.flags & COLLISION != 0 {
                adopt(worker, packet);
            }
            if self.checks {
                self.check(packet.flow, packet.seq);
            }
            self.deliver(packet.flow, member);
        }
        self.consider(fabric, packet.flow, member);
        self.watch(fabric, packet.flow, member);
    }

    /// Reports the vectors whose sums a worker has.
    #[inline]
    fn deliver(&mut self, number: u32, member: usize) {
        let Some(group) = group(&mut self.groups, number) else { return };
        while let Some((end, key)) = group.workers[member].keys.front().copied() {
            if end > group.workers[member].expected {
                return;
            }
            group.workers[member].keys.pop_front();
            group.finish(end);
            self.delivered.push(key);
        }
    }

    /// Compares a result with the right sum. All copies are of one vector, so it is compared once
    /// and counted for each.
    fn check(&mut self, number: u32, seq: u32) {
        let Some(group) = group(&mut self.groups, number) else { return };
        let Some(stretch) = group.stretch(seq, self.seed, number) else { return };
        let numbers = Numbers { scale: self.options.scale, workers: group.hosts.len() as u32 };
        self.past.checked += stretch.elements as u64;
        let Some(slot) = group.slots.get(seq).filter(|slot| slot.is_complete) else {
            self.past.wrong += stretch.elements as u64;
            return;
        };
        if slot.wrong == NONE {
            let sum = self.vectors.get(slot.value);
            slot.wrong = sum.map_or(stretch.elements as u32, |sum| numbers.wrong(&stretch, sum, slot.is_raw));
        }
        self.past.wrong += u64::from(slot.wrong);
    }

    /// Sets the timer of a worker's time-out.
    #[inline]
    pub(super) fn watch(&mut self, fabric: &mut Fabric<'_>, number: u32, member: usize) {
        let patience = self.patience();
        let Some(group) = group(&mut self.groups, number) else { return };
        let Some(worker) = group.workers.get_mut(member) else { return };
        if let Some(deadline) = worker.deadline(patience)
            && deadline < worker.timer
        {
            worker.timer = deadline;
            fabric.call_at(deadline, Timer { kind: SILENCE, words: [number, member as u32] });
        }
    }

    /// False if a worker's timer is not needed: it waits for nothing, or has a later timer. The
    /// timer is then off.
    pub(super) fn needs_silence(&mut self, number: u32, member: usize, at: Picoseconds) -> bool {
        let patience = self.patience();
        let worker = group(&mut self.groups, number).and_then(|group| group.workers.get_mut(member));
        let Some(worker) = worker.filter(|worker| worker.timer <= at) else { return false };
        let waits = worker.deadline(patience).is_some();
        if !waits {
            worker.timer = Picoseconds::MAX;
        }
        waits
    }

    /// A worker's timer has run down.
    pub(super) fn silence(&mut self, fabric: &mut Fabric<'_>, number: u32, member: usize) {
        let (patience, now) = (self.patience(), fabric.now());
        let Some(group) = group(&mut self.groups, number) else { return };
        let Some(worker) = group.workers.get_mut(member) else { return };
        worker.timer = Picoseconds::MAX;
        if worker.deadline(patience).is_some_and(|deadline| deadline <= now) {
            worker.lose_patience(now, patience);
            if worker.has_given_up && self.stuck.is_none() {
                let (job, seq) = (group.job, worker.expected);
                let host = &fabric.topology().node(fabric.topology().host(group.hosts[member])).name;
                self.stuck = Some(format!(
                    "ATP: worker {member} of job {job} at {host} has given up waiting for the sum in packet {seq}"
                ));
            }
        }
        self.consider(fabric, number, member);
        self.watch(fabric, number, member);
    }
}

/// Ends a sum; after a collision, its place in the window gets another aggregator (code).
fn complete(group: &mut Group, seq: u32, seed: u64, is_code: bool) {
    let Group { slots, pool, share, workers, job, .. } = group;
    let Some(slot) = slots.get(seq).filter(|slot| is_code && slot.has_collided) else { return };
    let used = workers.first().map_or(&[][..], |worker| &worker.indices);
    let pool = pool.get_or_insert_with(|| Pool::new(*share, used, seed ^ u64::from(*job)));
    slot.renamed = pool.rename(slot.index).unwrap_or(NONE);
}

/// A worker uses another aggregator for a place in its window, unless it has it for another place.
fn adopt(worker: &mut Worker, packet: &Packet) {
    let (new, places) = (packet.words[0], worker.indices.len());
    if places > 0 && !worker.indices.contains(&new) {
        worker.indices[packet.seq as usize % places] = new;
    }
}
