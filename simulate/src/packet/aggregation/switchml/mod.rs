//! `switchml`: switches sum streams of small packets in a pool of slots.
//!
//! Sapio et al., *Scaling Distributed Machine Learning with In-Network Aggregation*, NSDI 2021,
//! algorithms 3 and 4 (1 and 2 are these without loss), and its public code. A worker has one
//! packet in flight per slot, and reuses a slot as soon as it has the result. Each slot exists
//! twice, so that a result stays until all workers have it.
//!
//! ```text
//! worker ── UP: chunk, child ──► Level (a switch) ──► ... ──► root: sum of all
//!        ◄── DOWN: chunk ───────                 ◄── multicast
//! ```
//!
//! It is right as long as packets of a link stay in order. A duplicate that the worker's next
//! packets of its slot overtake is added to a later sum, which gives wrong numbers or a deadlock.
//! The option `safe`, which no published program has, prevents it. The wrong choice: with more
//! slots than the memory of the switch holds, with changing jobs (slots are divided beforehand),
//! over paths that reorder.

mod check;
mod order;
mod reduction;
mod settings;
mod switch;
#[cfg(test)]
mod tests;
mod waiting;
mod worker;

use std::collections::VecDeque;

use phaseflow_collect::choice::Choice;
use phaseflow_collect::{Error, Result};
use rustc_hash::FxHashMap;

use self::check::Check;
use self::reduction::Reduction;
use self::settings::{Numbers, Settings};
use self::switch::Level;
use self::worker::Worker;
use super::tree::Tree;
use super::{AGGREGATION_KIND, Aggregation, AggregationReport, ELEMENT_BYTES, Group};
use crate::engine::Picoseconds;
use crate::packet::arena::NONE;
use crate::packet::{Fabric, Packet, Timer, Verdict};
use crate::topology::{HostId, LinkId, NodeId};

/// Kind of packets: to a switch.
const UP: u8 = AGGREGATION_KIND;
/// Kind of packets: from a parent or root.
const DOWN: u8 = AGGREGATION_KIND + 1;
/// Kind of timers: the wire is free.
const WIRE: u8 = AGGREGATION_KIND;
/// Kind of timers: a worker queues for its wire.
const QUEUE: u8 = AGGREGATION_KIND + 1;
/// Kind of timers: a worker's time-out.
const TIMEOUT: u8 = AGGREGATION_KIND + 2;
/// Word of a packet: the destination level. Its number is `seq`, that on its queue pair `ack`;
/// `flow` is the destination worker.
const LEVEL: usize = 0;
/// Word of a packet: the child of that level that sends.
const CHILD: usize = 1;
/// Word of a packet: the index of its vector.
const PLACE: usize = 2;

/// The protocol: all its workers and switches.
#[derive(Debug)]
pub struct SwitchMl {
    settings: Settings,
    seed: u64,
    verify: bool,
    worker_groups: Vec<WorkerGroup>,
    workers: Vec<Worker>,
    /// By link: the workers of open groups that send on it.
    senders: FxHashMap<LinkId, Vec<u32>>,
    levels: Vec<Level>,
    /// By switch: number of groups with slots there.
    taken: FxHashMap<NodeId, u32>,
    delivered: Vec<u32>,
    /// Of groups that are closed.
    past: AggregationReport,
}

/// A group.
#[derive(Debug)]
struct WorkerGroup {
    job: u32,
    workers: std::ops::Range<u32>,
    levels: std::ops::Range<u32>,
    /// Incomplete reductions: bytes, first packet, and the workers that have added.
    open: VecDeque<(u64, u32, u32)>,
    /// Number of complete reductions, and of their packets.
    settled: u32,
    settled_end: u32,
    /// Packets of all reductions.
    end: u32,
    check: Option<Check>,
}

impl WorkerGroup {
    /// True if all workers have added to the oldest reduction, which is then complete.
    fn settle(&mut self) -> bool {
        let workers = self.workers.len() as u32;
        if self.open.front().is_none_or(|(.., added)| *added < workers) {
            return false;
        }
        self.open.pop_front();
        self.settled += 1;
        self.settled_end = self.open.front().map_or(self.end, |(_, first, _)| *first);
        true
    }
}

impl SwitchMl {
    /// Reads
    /// `switchml[k=32,slots=128,timeout=1ms,profile=paper,framing=paper,message=1,jobs=1,…]`, with
    /// `memory`, `outstanding`, `numbers=int` and `safe=off`.
    /// With `verify`, packets have numbers, made of `seed`, and every result is checked.
    ///
    /// # Errors
    /// A parameter that does not exist, a value that is none, values that do not fit together.
    pub fn new(choice: &Choice, seed: u64, verify: bool) -> Result<Self> {
        Ok(Self {
            settings: Settings::new(choice)?,
            seed,
            verify,
            worker_groups: Vec::new(),
            workers: Vec::new(),
            senders: FxHashMap::default(),
            levels: Vec::new(),
            taken: FxHashMap::default(),
            delivered: Vec::new(),
            past: AggregationReport::default(),
        })
    }
}

impl Aggregation for SwitchMl {
    fn largest_packet(&self) -> u32 {
        self.settings.wire(0)
    }

    fn open(&mut self, fabric: &mut Fabric<'_>, group: &Group) -> Result<u32> {
        let number = self.worker_groups.len() as u32;
        let topology = fabric.topology();
        let wrong = |what: String| Error::data(format!("switchml: job {}: {what}", group.job));
        let workers = group.workers.len();
        if workers == 0 {
            return Err(wrong("no workers".into()));
        }
        if workers > self.settings.most_workers {
            let most = self.settings.most_workers;
            return Err(wrong(format!("{workers} workers, expected at most {most}")));
        }
        let tree = Tree::new(topology, &group.workers, number).map_err(|error| wrong(error.to_string()))?;
        if tree.switches.len() > 1 && self.settings.framing == settings::Framing::Rdma {
            return Err(wrong("framing=rdma is for workers at one switch: queue pairs end there".into()));
        }
        for junction in &tree.switches {
            if self.taken.get(&junction.node).is_some_and(|taken| *taken >= self.settings.jobs) {
                return Err(wrong(format!(
                    "slots of switch {} are divided among jobs={} jobs, all of them running; more jobs at a time need a larger number",
                    topology.node(junction.node).name,
                    self.settings.jobs
                )));
            }
        }
        let (first_worker, first_level) = (self.workers.len() as u32, self.levels.len() as u32);
        let width = if self.verify { Check::width(&self.settings) } else { 0 };
        for junction in &tree.switches {
            *self.taken.entry(junction.node).or_default() += 1;
            let ids = (number, first_worker, first_level);
            self.levels.push(Level::new(&self.settings, junction, ids, &group.workers, width));
        }
        for (worker, branch) in (0..).zip(&tree.workers) {
            let ids = (number, worker, first_worker + worker);
            self.senders.entry(branch.up).or_default().push(first_worker + worker);
            self.workers.push(Worker::new(&self.settings, ids, *branch, first_level + branch.parent));
        }
        self.worker_groups.push(WorkerGroup {
            job: group.job,
            workers: first_worker..self.workers.len() as u32,
            levels: first_level..self.levels.len() as u32,
            open: VecDeque::new(),
            settled: 0,
            settled_end: 0,
            end: 0,
            check: self.verify.then(|| Check::new(&self.settings, self.seed, number, workers as u32)),
        });
        Ok(number)
    }

    fn close(&mut self, _: &mut Fabric<'_>, group: u32) {
        let worker_group = &mut self.worker_groups[group as usize];
        for level in &mut self.levels[worker_group.levels.start as usize..worker_group.levels.end as usize] {
            if let Some(taken) = self.taken.get_mut(&level.node()) {
                *taken -= 1;
            }
            level.close();
        }
        // A group is closed once; further calls have no effect.
        worker_group.levels = 0..0;
        for worker in
            &mut self.workers[worker_group.workers.start as usize..worker_group.workers.end as usize]
        {
            let members = &worker_group.workers;
            self.senders.entry(worker.wire).or_default().retain(|id| !members.contains(id));
            worker.close();
        }
        if let Some(check) = worker_group.check.take() {
            self.past.checked += check.checked;
            self.past.wrong += check.wrong;
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
        let worker = &mut self.workers[(worker_group.workers.start + worker) as usize];
        let wrong = |what: String| Error::data(format!("switchml: job {}: {what}", worker_group.job));
        if worker.is_closed() {
            return Err(wrong("is over".into()));
        }
        let number = worker.added;
        let at = (number - worker_group.settled) as usize;
        let first = match worker_group.open.get(at) {
            Some((known, first, _)) if *known == bytes => *first,
            Some((known, ..)) => {
                return Err(wrong(format!(
                    "reduction {number} is of {bytes} bytes at one worker, of {known} at another"
                )));
            }
            None => worker_group.end,
        };
        let mut reduction = Reduction::new(&self.settings, number, first, bytes, key)
            .ok_or_else(|| wrong("more than 2^32 packets: more elements a packet are needed (k)".into()))?;
        if at == worker_group.open.len() {
            worker_group.end = first + reduction.chunks;
            worker_group.open.push_back((bytes, first, 0));
        }
        worker_group.open[at].2 += 1;
        if self.verify && self.settings.numbers == Numbers::Float {
            reduction.exponents = vec![0; (reduction.chunks - reduction.lead) as usize];
        }
        worker.add(fabric, &self.settings, reduction, worker_group.check.as_mut());
        if worker_group.settle() {
            for worker in
                &mut self.workers[worker_group.workers.start as usize..worker_group.workers.end as usize]
            {
                worker.resume(fabric, &self.settings, worker_group.check.as_mut());
            }
        }
        Ok(())
    }

    #[inline]
    fn receive(&mut self, fabric: &mut Fabric<'_>, _: HostId, packet: &Packet) {
        let Some(worker) = self.workers.get_mut(packet.flow as usize) else { return };
        if worker.is_closed() {
            return;
        }
        let check = self.worker_groups[worker.group as usize].check.as_mut();
        worker.take_result(fabric, &self.settings, check, packet, &mut self.delivered);
    }

    #[inline]
    fn transit(&mut self, fabric: &mut Fabric<'_>, _: NodeId, packet: &mut Packet) -> Verdict {
        if let Some(level) = self.levels.get_mut(packet.words[LEVEL] as usize) {
            let check = self.worker_groups[level.group as usize].check.as_mut();
            level.take(fabric, &self.settings, packet, check.map(|check| &mut check.vectors));
        }
        Verdict::Consume
    }

    #[inline]
    fn needs(&mut self, timer: Timer, _: Picoseconds) -> bool {
        let Some(worker) = self.workers.get_mut(timer.words[0] as usize) else { return false };
        !worker.is_closed() && (matches!(timer.kind, WIRE | QUEUE) || worker.needs_alarm())
    }

    fn timer(&mut self, fabric: &mut Fabric<'_>, timer: Timer) {
        let Some(worker) = self.workers.get_mut(timer.words[0] as usize) else { return };
        if worker.is_closed() {
            return;
        }
        let worker_group = &mut self.worker_groups[worker.group as usize];
        match timer.kind {
            WIRE => worker.take_turn(fabric, &self.settings, worker_group.check.as_mut()),
            QUEUE => worker.queue(fabric, &self.settings, worker_group.check.as_mut()),
            _ => worker.expire_timers(
                fabric,
                &self.settings,
                worker_group.check.as_mut(),
                worker_group.settled_end,
            ),
        }
    }

    fn doubled(&mut self, packet: &mut Packet) {
        let group = match self.levels.get(packet.words[LEVEL] as usize) {
            Some(level) if packet.dst == NONE => level.group,
            _ => self.workers[packet.flow as usize].group,
        };
        if let Some(check) = &mut self.worker_groups[group as usize].check {
            check.vectors.share(packet.words[PLACE]);
        }
    }

    fn resumed(&mut self, fabric: &mut Fabric<'_>, link: LinkId) {
        for id in self.senders.get(&link).into_iter().flatten() {
            let worker = &mut self.workers[*id as usize];
            let check = self.worker_groups[worker.group as usize].check.as_mut();
            worker.feed(fabric, &self.settings, check, false);
        }
    }

    fn delivered(&mut self) -> &mut Vec<u32> {
        &mut self.delivered
    }

    fn stuck(&self) -> Option<String> {
        self.workers.iter().find_map(|worker| {
            let waits_for = worker.stuck()?;
            let job = self.worker_groups[worker.group as usize].job;
            Some(format!("switchml: worker {} of job {job} waits for {waits_for}", worker.number()))
        })
    }

    fn report(&self) -> AggregationReport {
        let mut report = self.past;
        report.retransmits += self.workers.iter().map(|worker| worker.resent).sum::<u64>();
        for check in self.worker_groups.iter().filter_map(|worker_group| worker_group.check.as_ref()) {
            report.checked += check.checked;
            report.wrong += check.wrong;
        }
        report
    }
}
