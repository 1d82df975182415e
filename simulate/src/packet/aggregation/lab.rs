//! `switchml-lab`: the aggregation of a course at VU Amsterdam, by one programmable software
//! switch.
//!
//! Kozub, Anderson and Liedtke, *Switches Do Dream Of Machine Learning!* (lab report). At most
//! eight workers at one switch send chunks of 63 integers, each one chunk at a time; 63, as a
//! register has 2048 bits and a word of it counts. The switch broadcasts the sum.
//!
//! - `variant=basic`: one pool and a counter. A lost packet is a deadlock; a duplicate is added
//!   twice.
//! - `variant=fault-tolerant` (default): packets have the worker's rank and the number of the
//!   chunk; there are two pools, for even and odd chunks, with a bit for each worker. A pool with
//!   another number than that of a packet is old, and is reset. A worker without the sum of its
//!   chunk for a second sends the chunk again.
//!
//! A worker that receives the sum of another chunk than its own counts it as invalid and sends its
//! own chunk again at once (section 3 of the report; `invalid=resend`). Every duplicate of a
//! complete chunk is answered by a broadcast. One duplicate thus makes all workers resend, which
//! causes further duplicates: with loss, copies fill the links and the sum stalls. With
//! `invalid=ignore` only time-outs recover losses.
//!
//! Vectors have an even number of chunks: the assignment guarantees it, here they are padded.
//! Numbers ascend across vectors, so a new chunk never finds a pool with its number. Sizes:
//! Ethernet 14, with UDP IPv4 20 and UDP 8 more, and 252 bytes of integers; the header's widths are
//! not stated: 8 bits for the rank and 32 for the number. Right over links that keep their order.
//! When it is the wrong choice: with one chunk in flight a round trip sums 252 bytes.
//!
//! The switch adds the chunk as one number of 2016 bits, the first element in the highest; a carry
//! changes the element before. `carries=on` does the same, by default elements are independent.
//! That addition is only right for numbers whose sums fit 32 bits without a sign.

use std::collections::VecDeque;

use phaseflow_collect::choice::{Choice, unknown_name};
use phaseflow_collect::{Error, Result};
use rustc_hash::FxHashSet;

use super::tree::Tree;
use super::values::Vector;
use super::vectors::{NOWHERE, Vectors};
use super::{AGGREGATION_KIND, Aggregation, AggregationReport, ELEMENT_BYTES, GIVE_UP_AFTER, Group};
use crate::engine::Picoseconds;
use crate::packet::arena::NONE;
use crate::packet::header_bytes::{ETHERNET, IPV4, UDP};
use crate::packet::transport::choice::time;
use crate::packet::{Fabric, Packet, Timer, Verdict, wire_bytes};
use crate::topology::{HostId, LinkId, NodeId};

/// Integers of a chunk: a register of 2048 bits holds 64, and one counts (the report).
const CHUNK: u32 = 63;
/// Most workers: the bits of the report's WORK_RECEIVED.
const MOST_WORKERS: usize = 8;
/// Time-out of a worker's socket: 1 s (the report).
const TIMEOUT_PS: Picoseconds = 1_000_000_000_000;
/// Bytes of the header: rank and number of the chunk.
const HEADER: u32 = 1 + 4;

/// Kind of packets: a worker's chunk.
const UP: u8 = AGGREGATION_KIND;
/// Kind of packets: a sum.
const DOWN: u8 = AGGREGATION_KIND + 1;
/// Kind of timers: the wire is free.
const WIRE: u8 = AGGREGATION_KIND;
/// Kind of timers: a worker's time-out.
const TIMEOUT: u8 = AGGREGATION_KIND + 1;
/// Word of a packet: the worker's number in its group. `flow` is the group, or the destination
/// worker.
const RANK: usize = 0;
/// Word of a packet: the index of its vector.
const PLACE: usize = 1;

/// The protocol: all its workers and switches.
#[derive(Debug)]
pub struct Lab {
    is_basic: bool,
    has_carries: bool,
    /// A sum of another chunk makes a worker send its own again.
    resends_at_once: bool,
    wire_bytes: u32,
    timeout: Picoseconds,
    seed: u64,
    verify: bool,
    worker_groups: Vec<WorkerGroup>,
    workers: Vec<Worker>,
    taken: FxHashSet<NodeId>,
    delivered: Vec<u32>,
    report: AggregationReport,
}

/// A group, and its switch.
#[derive(Debug)]
struct WorkerGroup {
    job: u32,
    switch: NodeId,
    workers: std::ops::Range<u32>,
    is_open: bool,
    /// To each worker.
    ports: Vec<LinkId>,
    /// For even and odd chunks; the basic variant has the first one.
    pools: [Pool; 2],
    /// Incomplete reductions: bytes, and the workers that have added.
    open: VecDeque<(u64, u32)>,
    settled: u32,
    vectors: Option<Vectors>,
}

#[derive(Debug, Default)]
struct Pool {
    /// CHUNK_NUM.
    chunk: Option<u32>,
    /// WORK_RECEIVED.
    received: u8,
    /// NUM_CHUNKS_RECEIVED, in the basic variant.
    count: u8,
    sums: Vec<i32>,
}

/// A vector that a worker adds.
#[derive(Debug)]
struct Reduction {
    /// The chunk after its last one.
    end: u32,
    elements: u64,
    key: u32,
}

#[derive(Debug)]
struct Worker {
    worker_group: u32,
    rank: u32,
    wire: LinkId,
    reductions: VecDeque<Reduction>,
    added: u32,
    /// Vectors of which it has the sum, and chunks of the one after them.
    done: u32,
    position: u32,
    /// The present or next chunk, and the one after its last vector.
    chunk: u32,
    end: u32,
    state: State,
    deadline: Picoseconds,
    resends: u32,
    has_alarm: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing to send.
    Idle,
    /// The wire is not free for its chunk; true if it was sent before.
    Blocked(bool),
    /// Its chunk is on its way.
    Waiting,
    GaveUp,
}

/// Adds `vector` to `sum`: as one number, or element by element.
fn add(sum: &mut [i32], vector: &[i32], has_carries: bool) {
    let mut carry = false;
    for (sum, number) in sum.iter_mut().zip(vector).rev() {
        let (with, first) = sum.cast_unsigned().overflowing_add(number.cast_unsigned());
        let (with, second) = with.overflowing_add(u32::from(carry));
        carry = has_carries && (first || second);
        *sum = with.cast_signed();
    }
}

impl Lab {
    /// Reads
    /// `switchml-lab[variant=…,framing=…,timeout=…,invalid=…,carries=…]`; the defaults are
    /// `fault-tolerant`, `ethernet`, `1s`, `resend` and `off`.
    /// With `verify`, packets have numbers, made of `seed`, and every result is checked.
    ///
    /// # Errors
    /// A parameter that does not exist, a value that is none.
    pub fn new(choice: &Choice, seed: u64, verify: bool) -> Result<Self> {
        choice.only(&["variant", "framing", "timeout", "invalid", "carries"])?;
        let is_second = |name: &str, words: &[&str; 2]| match choice.get(name) {
            None => Ok(false),
            Some(text) if words.contains(&text) => Ok(text == words[1]),
            Some(text) => Err(unknown_name(name, text, words)),
        };
        let is_basic = is_second("variant", &["fault-tolerant", "basic"])?;
        let is_udp = is_second("framing", &["ethernet", "udp"])?;
        let headers = ETHERNET + if is_udp { IPV4 + UDP } else { 0 } + if is_basic { 0 } else { HEADER };
        Ok(Self {
            is_basic,
            has_carries: is_second("carries", &["off", "on"])?,
            resends_at_once: !is_second("invalid", &["resend", "ignore"])?,
            wire_bytes: wire_bytes(headers + CHUNK * ELEMENT_BYTES as u32),
            timeout: time(choice, "timeout", TIMEOUT_PS)?,
            seed,
            verify,
            worker_groups: Vec::new(),
            workers: Vec::new(),
            taken: FxHashSet::default(),
            delivered: Vec::new(),
            report: AggregationReport::default(),
        })
    }

    /// Sends a worker's chunk once the wire is free. The worker whose turn it is sends also if
    /// another one was first.
    fn send(&mut self, fabric: &mut Fabric<'_>, id: u32, is_its_turn: bool) {
        let worker = &mut self.workers[id as usize];
        let is_resent = worker.state == State::Waiting || worker.state == State::Blocked(true);
        let free_at = fabric.free_at(worker.wire);
        if free_at > fabric.now() && !(is_its_turn && free_at < Picoseconds::MAX) {
            worker.state = State::Blocked(is_resent);
            // A paused wire reports its end of pause.
            if free_at < Picoseconds::MAX {
                fabric.call_at(free_at, Timer { kind: WIRE, words: [id, worker.chunk] });
            }
            return;
        }
        let worker_group = &mut self.worker_groups[worker.worker_group as usize];
        let mut packet = Packet {
            route: fabric.hashed_route(),
            flow: worker.worker_group,
            seq: worker.chunk,
            wire: self.wire_bytes,
            payload: CHUNK * ELEMENT_BYTES as u32,
            kind: UP,
            ..Packet::default()
        };
        packet.words[RANK] = worker.rank;
        packet.words[PLACE] = NOWHERE;
        if let Some(vectors) = &mut worker_group.vectors {
            let place = vectors.insert(1);
            let vector = worker.vector(self.seed);
            let numbers = vectors.at_mut(place).iter_mut().zip(worker.elements());
            numbers.for_each(|(number, element)| *number = vector.integer(element));
            packet.words[PLACE] = place;
        }
        fabric.send_on(worker.wire, packet);
        self.report.retransmits += u64::from(is_resent);
        worker.state = State::Waiting;
        worker.deadline = fabric.now().saturating_add(self.timeout);
        if !self.is_basic && !worker.has_alarm {
            worker.has_alarm = true;
            fabric.call_at(worker.deadline, Timer { kind: TIMEOUT, words: [id, 0] });
        }
    }

    /// A worker sends its chunk again, unless it has done so too often.
    fn resend(&mut self, fabric: &mut Fabric<'_>, id: u32) {
        let worker = &mut self.workers[id as usize];
        worker.resends += 1;
        if worker.resends > GIVE_UP_AFTER {
            worker.state = State::GaveUp;
            return;
        }
        self.send(fabric, id, false);
    }
}

impl WorkerGroup {
    /// Processes a chunk at the switch; true if its sum is broadcast.
    fn take(&mut self, packet: &Packet, is_basic: bool, has_carries: bool) -> bool {
        let workers = self.workers.len() as u32;
        let pool = &mut self.pools[if is_basic { 0 } else { (packet.seq & 1) as usize }];
        if !is_basic && pool.chunk != Some(packet.seq) {
            (pool.chunk, pool.received) = (Some(packet.seq), 0);
            pool.sums.fill(0);
        }
        let bit = 1 << packet.words[RANK];
        let is_added = is_basic || pool.received & bit == 0;
        pool.received |= bit;
        pool.count = pool.count.wrapping_add(u8::from(is_basic));
        if let Some(vectors) = &mut self.vectors {
            let place = packet.words[PLACE];
            if is_added {
                add(&mut pool.sums, vectors.at(place), has_carries);
            }
            vectors.release(place);
        }
        if is_basic { u32::from(pool.count) == workers } else { pool.received.count_ones() == workers }
    }
}

impl Worker {
    /// Its present contribution.
    fn vector(&self, seed: u64) -> Vector {
        Vector { seed, group: self.worker_group, reduction: self.done, worker: self.rank }
    }

    /// The elements of its chunk.
    fn elements(&self) -> std::ops::Range<u64> {
        let elements = self.reductions.front().map_or(0, |reduction| reduction.elements);
        let start = (u64::from(self.position) * u64::from(CHUNK)).min(elements);
        start..(start + u64::from(CHUNK)).min(elements)
    }
}

impl Aggregation for Lab {
    fn largest_packet(&self) -> u32 {
        self.wire_bytes
    }

    fn open(&mut self, fabric: &mut Fabric<'_>, group: &Group) -> Result<u32> {
        let number = self.worker_groups.len() as u32;
        let wrong = |what: String| Error::data(format!("switchml-lab: job {}: {what}", group.job));
        let workers = group.workers.len();
        if workers == 0 || workers > MOST_WORKERS {
            return Err(wrong(format!("{workers} workers, expected 1 to {MOST_WORKERS}")));
        }
        let topology = fabric.topology();
        let tree = Tree::new(topology, &group.workers, number).map_err(|error| wrong(error.to_string()))?;
        let [star] = &tree.switches[..] else {
            return Err(wrong("its workers are at several switches, expected one".into()));
        };
        if !self.taken.insert(star.node) {
            let name = &topology.node(star.node).name;
            return Err(wrong(format!("switch {name} sums for another job, and has registers for one")));
        }
        let first = self.workers.len() as u32;
        for (rank, branch) in (0..).zip(&tree.workers) {
            self.workers.push(Worker {
                worker_group: number,
                rank,
                wire: branch.up,
                reductions: VecDeque::new(),
                added: 0,
                done: 0,
                position: 0,
                chunk: 0,
                end: 0,
                state: State::Idle,
                deadline: 0,
                resends: 0,
                has_alarm: false,
            });
        }
        let width = if self.verify { CHUNK as usize } else { 0 };
        let pool = || Pool { sums: vec![0; width], ..Pool::default() };
        self.worker_groups.push(WorkerGroup {
            job: group.job,
            switch: star.node,
            workers: first..self.workers.len() as u32,
            is_open: true,
            ports: star.children.iter().map(|child| child.down).collect(),
            pools: [pool(), pool()],
            open: VecDeque::new(),
            settled: 0,
            vectors: self.verify.then(|| Vectors::new(width)),
        });
        Ok(number)
    }

    fn close(&mut self, _: &mut Fabric<'_>, group: u32) {
        let worker_group = &mut self.worker_groups[group as usize];
        if std::mem::take(&mut worker_group.is_open) {
            self.taken.remove(&worker_group.switch);
        }
        worker_group.vectors = None;
        for worker in
            &mut self.workers[worker_group.workers.start as usize..worker_group.workers.end as usize]
        {
            worker.reductions = VecDeque::new();
            worker.state = State::Idle;
        }
    }

    fn contribute(
        &mut self,
        fabric: &mut Fabric<'_>,
        group: u32,
        worker: u32,
        bytes: u64,
        key: u32,
    ) -> Result<()> {
        let worker_group = &mut self.worker_groups[group as usize];
        let id = worker_group.workers.start + worker;
        let worker = &mut self.workers[id as usize];
        let wrong = |what: String| Error::data(format!("switchml-lab: job {}: {what}", worker_group.job));
        if !worker_group.is_open {
            return Err(wrong("is over".into()));
        }
        let number = worker.added;
        let at = (number - worker_group.settled) as usize;
        match worker_group.open.get(at) {
            Some((known, _)) if *known != bytes => {
                return Err(wrong(format!(
                    "reduction {number} is of {bytes} bytes at one worker, of {known} at another"
                )));
            }
            Some(_) => {}
            None => worker_group.open.push_back((bytes, 0)),
        }
        let elements = bytes.div_ceil(ELEMENT_BYTES);
        let chunks = elements.div_ceil(u64::from(CHUNK)).max(1).next_multiple_of(2);
        let end = u32::try_from(u64::from(worker.end) + chunks).ok().filter(|end| *end < NONE);
        let end = end.ok_or_else(|| wrong("more than 2^32 chunks".into()))?;
        worker_group.open[at].1 += 1;
        worker.added += 1;
        worker.end = end;
        worker.reductions.push_back(Reduction { end, elements, key });
        if worker.state == State::Idle {
            self.send(fabric, id, false);
        }
        let worker_group = &mut self.worker_groups[group as usize];
        if worker_group.open.front().is_some_and(|(_, added)| *added == worker_group.workers.len() as u32) {
            worker_group.open.pop_front();
            worker_group.settled += 1;
            // Earlier resends had no answer, as other workers had not added yet.
            for id in worker_group.workers.clone() {
                let worker = &mut self.workers[id as usize];
                worker.resends = 0;
                if worker.state == State::GaveUp {
                    worker.state = State::Waiting;
                    self.send(fabric, id, false);
                }
            }
        }
        Ok(())
    }

    fn receive(&mut self, fabric: &mut Fabric<'_>, _: HostId, packet: &Packet) {
        let id = packet.flow;
        let Some(worker) = self.workers.get_mut(id as usize) else { return };
        let worker_group = &mut self.worker_groups[worker.worker_group as usize];
        let is_sent = matches!(worker.state, State::Waiting | State::Blocked(true));
        let is_mine = is_sent && (self.is_basic || packet.seq == worker.chunk);
        if let Some(vectors) = &mut worker_group.vectors {
            if is_mine {
                let vector = worker.vector(self.seed);
                for (sum, element) in vectors.at(packet.words[PLACE]).iter().zip(worker.elements()) {
                    self.report.checked += 1;
                    self.report.wrong +=
                        u64::from(*sum != vector.sum(worker_group.workers.len() as u32, element));
                }
            }
            vectors.release(packet.words[PLACE]);
        }
        if !is_mine {
            if self.resends_at_once && worker.state == State::Waiting {
                self.resend(fabric, id);
            }
            return;
        }
        worker.chunk += 1;
        worker.position += 1;
        worker.resends = 0;
        worker.state = State::Idle;
        if let Some(reduction) = worker.reductions.front()
            && reduction.end == worker.chunk
        {
            self.delivered.push(reduction.key);
            worker.reductions.pop_front();
            (worker.done, worker.position) = (worker.done + 1, 0);
        }
        if worker.chunk < worker.end {
            self.send(fabric, id, false);
        }
    }

    fn transit(&mut self, fabric: &mut Fabric<'_>, _: NodeId, packet: &mut Packet) -> Verdict {
        let Some(worker_group) =
            self.worker_groups.get_mut(packet.flow as usize).filter(|worker_group| worker_group.is_open)
        else {
            return Verdict::Consume;
        };
        if !worker_group.take(packet, self.is_basic, self.has_carries) {
            return Verdict::Consume;
        }
        let pool = &mut worker_group.pools[if self.is_basic { 0 } else { (packet.seq & 1) as usize }];
        let place = worker_group
            .vectors
            .as_mut()
            .map_or(NOWHERE, |vectors| vectors.insert_copy(&pool.sums, worker_group.ports.len() as u32));
        if self.is_basic {
            pool.count = 0;
            pool.sums.fill(0);
        }
        for (worker, port) in worker_group.workers.clone().zip(&worker_group.ports) {
            let mut sum = Packet { flow: worker, kind: DOWN, ..*packet };
            (sum.route, sum.words[PLACE]) = (fabric.hashed_route(), place);
            fabric.send_on(*port, sum);
        }
        Verdict::Consume
    }

    fn needs(&mut self, timer: Timer, _: Picoseconds) -> bool {
        let [id, chunk] = timer.words;
        let Some(worker) = self.workers.get_mut(id as usize) else { return false };
        if timer.kind == WIRE {
            return matches!(worker.state, State::Blocked(_)) && worker.chunk == chunk;
        }
        worker.has_alarm = worker.state == State::Waiting;
        worker.has_alarm
    }

    fn timer(&mut self, fabric: &mut Fabric<'_>, timer: Timer) {
        let id = timer.words[0];
        if timer.kind == WIRE {
            return self.send(fabric, id, true);
        }
        let worker = &mut self.workers[id as usize];
        worker.has_alarm = false;
        if worker.deadline > fabric.now() {
            worker.has_alarm = true;
            fabric.call_at(worker.deadline, timer);
        } else {
            self.resend(fabric, id);
        }
    }

    fn doubled(&mut self, packet: &mut Packet) {
        let worker_group =
            if packet.kind == UP { packet.flow } else { self.workers[packet.flow as usize].worker_group };
        if let Some(vectors) = &mut self.worker_groups[worker_group as usize].vectors {
            vectors.share(packet.words[PLACE]);
        }
    }

    fn resumed(&mut self, fabric: &mut Fabric<'_>, link: LinkId) {
        for id in 0..self.workers.len() as u32 {
            let worker = &self.workers[id as usize];
            if worker.wire == link && matches!(worker.state, State::Blocked(_)) {
                self.send(fabric, id, false);
            }
        }
    }

    fn delivered(&mut self) -> &mut Vec<u32> {
        &mut self.delivered
    }

    fn stuck(&self) -> Option<String> {
        let worker = self.workers.iter().find(|worker| worker.state == State::GaveUp)?;
        let job = self.worker_groups[worker.worker_group as usize].job;
        Some(format!(
            "switchml-lab: worker {} of job {job} waits for the sum of chunk {}",
            worker.rank, worker.chunk
        ))
    }

    fn report(&self) -> AggregationReport {
        self.report
    }
}

#[cfg(test)]
mod tests;
