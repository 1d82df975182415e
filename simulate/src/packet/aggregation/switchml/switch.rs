//! The slots of a switch: algorithm 3 of the paper, as a level of a tree.
//!
//! A pool is a slot in one of its two versions: the bitmap and number of its children that have
//! added, and the sum. The other version keeps the last result for children that missed it, until
//! they add to the next version.

use super::order::Order;
use super::settings::{Framing, Settings};
use super::{CHILD, DOWN, LEVEL, PLACE, UP};
use crate::packet::aggregation::tree::{End, Junction};
use crate::packet::aggregation::vectors::{NOWHERE, Vectors};
use crate::packet::arena::NONE;
use crate::packet::{Fabric, Packet};
use crate::topology::{HostId, LinkId, NodeId};

/// The state of a switch for a group.
#[derive(Clone, Debug)]
pub(super) struct Level {
    pub(super) group: u32,
    node: NodeId,
    parent: Option<Parent>,
    children: Vec<Child>,
    /// Version 0 of all slots, then version 1.
    pools: Vec<Pool>,
    /// By pool: a bit for each child, in words.
    seen: Vec<u64>,
    words: usize,
    /// By pool, if results are checked: its sum.
    sums: Vec<i32>,
    /// By child and chain, with RDMA.
    orders: Vec<Order>,
    /// By child and chain, with RDMA: how many packets were sent.
    sent: Vec<u32>,
    #[cfg(test)]
    pub(super) multicasts: u64,
}

#[derive(Clone, Copy, Debug)]
struct Parent {
    link: LinkId,
    level: u32,
    /// Which of its children this switch is.
    number: u32,
}

#[derive(Clone, Copy, Debug)]
struct Child {
    link: LinkId,
    /// Number of a worker, or of a level.
    id: u32,
    /// The worker's host.
    host: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pool {
    /// Children that have added, modulo all.
    count: u32,
    /// The sum is that of all workers: at the root when it is complete, below when the parent has
    /// sent it.
    has_result: bool,
    /// With `safe`: the phase it is in, from 1.
    phase: u32,
}

/// The aggregator of a contribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asks {
    Nothing,
    /// It was the last one.
    Onward,
    /// A duplicate of a complete sum.
    Again,
}

impl Level {
    /// The level of a junction of a group's tree. `first_worker` and `first_level` are the group's;
    /// `hosts` its workers'; `width` is that of vectors, 0 if nothing is checked.
    pub(super) fn new(
        settings: &Settings,
        junction: &Junction,
        (group, first_worker, first_level): (u32, u32, u32),
        hosts: &[HostId],
        width: usize,
    ) -> Self {
        let pools = 2 * settings.slots as usize;
        let words = junction.children.len().div_ceil(64);
        let is_rdma = settings.framing == Framing::Rdma;
        let queue_pairs = if is_rdma { junction.children.len() * settings.chains() as usize } else { 0 };
        let children = junction.children.iter().map(|child| match child.end {
            End::Worker(number) => {
                Child { link: child.down, id: first_worker + number, host: hosts[number as usize].0 }
            }
            End::Switch(number) => Child { link: child.down, id: first_level + number, host: NONE },
        });
        Self {
            group,
            node: junction.node,
            parent: junction.branch.map(|branch| Parent {
                link: branch.up,
                level: first_level + branch.parent,
                number: branch.number,
            }),
            children: children.collect(),
            pools: vec![Pool::default(); pools],
            seen: vec![0; pools * words],
            words,
            sums: vec![0; pools * width],
            orders: vec![Order::default(); queue_pairs],
            sent: vec![0; queue_pairs],
            #[cfg(test)]
            multicasts: 0,
        }
    }

    pub(super) fn node(&self) -> NodeId {
        self.node
    }

    /// Releases all memory; later packets are ignored.
    pub(super) fn close(&mut self) {
        self.pools = Vec::new();
        self.seen = Vec::new();
        self.sums = Vec::new();
        self.children = Vec::new();
        (self.orders, self.sent) = (Vec::new(), Vec::new());
    }

    /// A packet has reached the switch.
    #[inline]
    pub(super) fn take(
        &mut self,
        fabric: &mut Fabric<'_>,
        settings: &Settings,
        packet: &Packet,
        vectors: Option<&mut Vectors>,
    ) {
        if self.pools.is_empty() {
            return;
        }
        if packet.kind == UP {
            self.add(fabric, settings, packet, vectors);
        } else {
            self.take_result(fabric, settings, packet, vectors);
        }
    }

    #[inline]
    fn add(
        &mut self,
        fabric: &mut Fabric<'_>,
        settings: &Settings,
        packet: &Packet,
        mut vectors: Option<&mut Vectors>,
    ) {
        let child = packet.words[CHILD];
        let pool = settings.pool(packet.seq);
        let asks = if self.is_in_order(settings, child, packet) {
            self.count(settings, child, pool, packet, vectors.as_deref_mut())
        } else {
            Asks::Nothing
        };
        if let Some(vectors) = vectors.as_deref_mut() {
            vectors.release(packet.words[PLACE]);
        }
        let is_root = self.parent.is_none();
        let pool = &mut self.pools[pool as usize];
        match asks {
            Asks::Nothing => {}
            Asks::Onward if is_root => {
                pool.has_result = true;
                self.multicast(fabric, settings, packet, vectors);
            }
            Asks::Again if pool.has_result => {
                let place = self.copy(settings, packet.seq, 1, vectors);
                self.send_down(fabric, settings, child, packet, place);
            }
            // After a loss at the parent or of its result, the parent answers as to a worker.
            Asks::Onward | Asks::Again => self.send_up(fabric, settings, packet, vectors),
        }
    }

    /// The paper's algorithm up to its answer.
    #[inline]
    fn count(
        &mut self,
        settings: &Settings,
        child: u32,
        pool: u32,
        packet: &Packet,
        vectors: Option<&mut Vectors>,
    ) -> Asks {
        let at = pool as usize;
        let (word, bit) = ((child / 64) as usize, 1 << (child % 64));
        if settings.is_safe {
            let phase = packet.seq / settings.slots + 1;
            if phase < self.pools[at].phase {
                return Asks::Nothing;
            }
            if phase > self.pools[at].phase {
                self.pools[at] = Pool { phase, ..Pool::default() };
                self.seen[at * self.words..(at + 1) * self.words].fill(0);
            }
        }
        let seen = &mut self.seen[at * self.words + word];
        let state = &mut self.pools[at];
        if *seen & bit != 0 {
            return if state.count == 0 { Asks::Again } else { Asks::Nothing };
        }
        *seen |= bit;
        let is_first = state.count == 0;
        state.count += 1;
        if is_first {
            state.has_result = false;
        }
        let is_last = state.count as usize == self.children.len();
        if is_last {
            state.count = 0;
        }
        if !settings.is_safe {
            let other =
                if at < self.pools.len() / 2 { at + self.pools.len() / 2 } else { at - self.pools.len() / 2 };
            self.seen[other * self.words + word] &= !bit;
        }
        if let Some(vectors) = vectors {
            let vector = vectors.at(packet.words[PLACE]);
            let sum = &mut self.sums[at * vector.len()..(at + 1) * vector.len()];
            if is_first {
                sum.copy_from_slice(vector);
            } else if let ([sum @ .., exponent], [vector @ .., other]) = (sum, vector) {
                sum.iter_mut().zip(vector).for_each(|(sum, number)| *sum = sum.wrapping_add(*number));
                *exponent = (*exponent).max(*other);
            }
        }
        if is_last { Asks::Onward } else { Asks::Nothing }
    }

    /// The parent's result is kept and forwarded once; a child that misses it requests it.
    fn take_result(
        &mut self,
        fabric: &mut Fabric<'_>,
        settings: &Settings,
        packet: &Packet,
        mut vectors: Option<&mut Vectors>,
    ) {
        let at = settings.pool(packet.seq) as usize;
        let pool = &mut self.pools[at];
        let is_current = !settings.is_safe || pool.phase == packet.seq / settings.slots + 1;
        let is_news = pool.count == 0 && !pool.has_result && is_current;
        if is_news {
            pool.has_result = true;
        }
        if let Some(vectors) = vectors.as_deref_mut() {
            if is_news {
                let vector = vectors.at(packet.words[PLACE]);
                self.sums[at * vector.len()..(at + 1) * vector.len()].copy_from_slice(vector);
            }
            vectors.release(packet.words[PLACE]);
        }
        if is_news {
            self.multicast(fabric, settings, packet, vectors);
        }
    }

    #[inline]
    fn is_in_order(&mut self, settings: &Settings, child: u32, packet: &Packet) -> bool {
        if self.orders.is_empty() {
            return true;
        }
        let queue_pair = child * settings.chains() + settings.chain(packet.seq);
        self.orders[queue_pair as usize].takes(packet.ack, packet.seq % settings.message)
    }

    /// A copy of the sum in the pool of a packet, for `readers` readers.
    #[inline]
    fn copy(&self, settings: &Settings, chunk: u32, readers: u32, vectors: Option<&mut Vectors>) -> u32 {
        let Some(vectors) = vectors else { return NOWHERE };
        let width = self.sums.len() / self.pools.len();
        let start = settings.pool(chunk) as usize * width;
        vectors.insert_copy(&self.sums[start..start + width], readers)
    }

    #[inline]
    fn multicast(
        &mut self,
        fabric: &mut Fabric<'_>,
        settings: &Settings,
        packet: &Packet,
        vectors: Option<&mut Vectors>,
    ) {
        #[cfg(test)]
        {
            self.multicasts += 1;
        }
        let place = self.copy(settings, packet.seq, self.children.len() as u32, vectors);
        for child in 0..self.children.len() as u32 {
            self.send_down(fabric, settings, child, packet, place);
        }
    }

    #[inline]
    fn send_down(
        &mut self,
        fabric: &mut Fabric<'_>,
        settings: &Settings,
        child: u32,
        packet: &Packet,
        place: u32,
    ) {
        let mut ack = 0;
        if !self.sent.is_empty() {
            let sent = &mut self.sent[(child * settings.chains() + settings.chain(packet.seq)) as usize];
            (ack, *sent) = (*sent, sent.wrapping_add(1));
        }
        let Child { link, id, host } = self.children[child as usize];
        let mut result =
            Packet { route: fabric.hashed_route(), dst: host, flow: id, ack, kind: DOWN, ..*packet };
        result.words[LEVEL] = id;
        result.words[PLACE] = place;
        fabric.send_on(link, result);
    }

    fn send_up(
        &self,
        fabric: &mut Fabric<'_>,
        settings: &Settings,
        packet: &Packet,
        vectors: Option<&mut Vectors>,
    ) {
        let Some(Parent { link, level, number }) = self.parent else { return };
        let mut onward = *packet;
        onward.words[LEVEL] = level;
        onward.words[PLACE] = self.copy(settings, packet.seq, 1, vectors);
        onward.words[CHILD] = number;
        fabric.send_on(link, onward);
    }

    /// That the count is the number of children seen, modulo all (test).
    #[cfg(test)]
    pub(super) fn counts_agree(&self) -> bool {
        self.pools.iter().zip(self.seen.chunks(self.words)).all(|(pool, seen)| {
            let seen = seen.iter().map(|word| word.count_ones()).sum::<u32>();
            pool.count == seen % self.children.len() as u32 || pool.count == 0
        })
    }

    /// That of the two versions of a slot one is complete, or untouched, while the other is added
    /// to, and that it is kept until all children have added to that one; in memory of constant
    /// size. Holds without `safe` (test).
    #[cfg(test)]
    pub(super) fn versions_take_turns(&self, settings: &Settings) -> bool {
        let half = self.pools.len() / 2;
        let slot_holds = |slot: usize| {
            let seen = |pool: usize| {
                (0..self.children.len()).map(move |child| (pool * self.words + child / 64, child % 64))
            };
            let bits = |pool: usize| seen(pool).map(|(word, bit)| self.seen[word] >> bit & 1 != 0);
            let both: Vec<(bool, bool)> = bits(slot).zip(bits(slot + half)).collect();
            let is_kept =
                |other: fn(&(bool, bool)) -> bool| both.iter().all(|(a, b)| a | b) || !both.iter().any(other);
            let (first, second) = (self.pools[slot].count > 0, self.pools[slot + half].count > 0);
            both.iter().all(|(a, b)| !(a & b))
                && !(first && second)
                && (!first || is_kept(|(_, b)| *b))
                && (!second || is_kept(|(a, _)| *a))
        };
        self.pools.len() == 2 * settings.slots as usize && (0..half).all(slot_holds)
    }
}
