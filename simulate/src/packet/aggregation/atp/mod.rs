//! ATP: switches sum with best effort, as far as their memory goes; servers sum the rest.
//!
//! Lao, Le, Mahajan, Chen, Wu, Akella, Swift, *ATP: In-network Aggregation for Multi-tenant
//! Learning*, NSDI 2021, and the public code of its authors (in-ATP/ATP, commit `ddca27f`).
//!
//! ```text
//!  worker.rs         aggregator.rs at the       aggregator.rs at the       server.rs
//!                    worker's switch            server's switch
//!  packet of 62 ───► sum of its rack, or the ─► sum of all racks, or ────► sum of all ──┐
//!  numbers           packet, if the aggregator  the packets that came      packets      │
//!     ▲              is taken                                                           │
//!     └─────── parameter packet, copied along tree.rs; it frees the aggregators ◄───────┘
//! ```
//!
//! All jobs share the aggregators of a switch without reservations; a hash assigns one to each
//! packet (`index.rs`). A missing result has three possible causes: a lost packet of the worker,
//! one of another worker, or a sum that is divided between switch and server. In all cases each
//! worker resends, and the resent packets bypass the switch.
//!
//! The wrong choice if every sum has to be in the switch: a result always passes a server. A small
//! vector thus takes a round trip to it, and occupies its aggregators for that time. Hosts with
//! several switches are refused.
//!
//! `docs/models-atp.md` lists what is not modelled.

mod aggregator;
mod answers;
mod bits;
mod group;
mod header;
mod index;
mod numbers;
mod options;
mod sending;
mod server;
mod switches;
#[cfg(test)]
mod tests;
mod tree;
mod vectors;
mod window;
mod wires;
mod worker;

use phaseflow_collect::choice::Choice;
use phaseflow_collect::{Error, Result};

use self::aggregator::Table;
use self::group::Group;
use self::header::{ASK, GRADIENT, PARAMETER};
use self::index::Share;
use self::options::Options;
use self::vectors::Vectors;
use self::window::Window;
use self::wires::Wires;
use self::worker::{Patience, Worker};
use super::{AGGREGATION_KIND, Aggregation, AggregationReport, Group as Members};
use crate::engine::Picoseconds;
use crate::packet::arena::Packet;
use crate::packet::chance::mix;
use crate::packet::fabric::Fabric;
use crate::packet::program::Verdict;
use crate::packet::timer::Timer;
use crate::topology::{HostId, LinkId, NodeId};

/// A wire may be free.
const WIRE_FREE: u8 = AGGREGATION_KIND;
/// A worker's time-out may have expired.
const SILENCE: u8 = AGGREGATION_KIND + 1;
/// A packet has passed the pipeline of a switch once more.
const PASS: u8 = AGGREGATION_KIND + 2;

/// All jobs, all switches; see the [module](self).
#[derive(Debug)]
pub struct Atp {
    options: Options,
    seed: u64,
    checks: bool,
    /// By number; numbers are not used again, as packets may outlive their job.
    groups: Vec<Option<Box<Group>>>,
    /// By node: position of its aggregators, `u32::MAX` without.
    table_of: Vec<u32>,
    tables: Vec<Table>,
    vectors: Vectors,
    wires: Wires,
    /// Packets in a pipeline, their switches, and the free places.
    held: Vec<(Packet, NodeId)>,
    free: Vec<u32>,
    /// Parts of the aggregators that a job has (static sharing).
    parts_taken: Vec<Option<u32>>,
    delivered: Vec<u32>,
    /// Counts of ended jobs, and of switches.
    past: AggregationReport,
    stuck: Option<String>,
}

impl Atp {
    /// `atp[profile=paper|code,…]`, see `docs/models-atp.md`. With `verify`, vectors are carried
    /// and all results checked.
    ///
    /// # Errors
    /// A parameter that does not exist, a value that is none, parameters that contradict each
    /// other.
    pub fn new(choice: &Choice, seed: u64, verify: bool) -> Result<Self> {
        let options = Options::new(choice)?;
        Ok(Self {
            options,
            seed: mix(seed),
            checks: verify,
            groups: Vec::new(),
            table_of: Vec::new(),
            tables: Vec::new(),
            vectors: Vectors::default(),
            wires: Wires::default(),
            held: Vec::new(),
            free: Vec::new(),
            parts_taken: vec![None; options.parts.unwrap_or(0) as usize],
            delivered: Vec::new(),
            past: AggregationReport::default(),
            stuck: None,
        })
    }

    fn patience(&self) -> Patience {
        let Options { is_code, timeout, first_timeout, .. } = self.options;
        Patience { is_code, timeout, first_timeout }
    }

    /// The aggregators that a new job may use.
    fn share(&mut self, group: u32, job: u32) -> Result<Share> {
        let Some(parts) = self.options.parts else {
            return Ok(Share { first: 0, count: self.options.aggregators });
        };
        let Some(part) = self.parts_taken.iter().position(Option::is_none) else {
            return Err(Error::usage(format!(
                "ATP: job {job} gets no aggregators, as they are divided among {parts} jobs"
            )));
        };
        self.parts_taken[part] = Some(group);
        let count = self.options.aggregators / parts;
        Ok(Share { first: part as u32 * count, count })
    }
}

#[inline]
fn group(groups: &mut [Option<Box<Group>>], number: u32) -> Option<&mut Group> {
    groups.get_mut(number as usize)?.as_deref_mut()
}

impl Aggregation for Atp {
    fn largest_packet(&self) -> u32 {
        header::wire(self.options.is_code)
    }

    fn open(&mut self, fabric: &mut Fabric<'_>, members: &Members) -> Result<u32> {
        let topology = fabric.topology();
        let number = self.groups.len() as u32;
        let Options { is_by_place, window, threshold, limit, law, .. } = self.options;
        let share = self.share(number, members.job)?;
        // The job's number is 16 bits in the code.
        let indices = if is_by_place { share.places(members.job, limit) } else { Vec::new() };
        let window = Window { law, size: window, threshold, limit, answers: 0, is_marked: false, known: 0 };
        let may_be_raw = self.checks && self.options.scale.is_some();
        let worker = || Worker::new(window, indices.clone(), members.servers.len() as u32, may_be_raw);
        let group = match Group::new(topology, members, limit, share, self.seed, worker) {
            Ok(group) => group,
            Err(error) => {
                self.leave(number);
                return Err(error);
            }
        };
        for host in members.workers.iter().chain(&members.servers) {
            self.equip(fabric, tree::switch_of(topology, *host)?);
        }
        self.wires.resize(topology.link_count());
        self.groups.push(Some(Box::new(group)));
        Ok(number)
    }

    fn close(&mut self, _: &mut Fabric<'_>, number: u32) {
        let Some(group) = self.groups.get_mut(number as usize).and_then(Option::take) else { return };
        self.past.retransmits += group.workers.iter().map(|worker| worker.resends).sum::<u64>();
        group.slots.iter().for_each(|slot| self.vectors.release(slot.value));
        self.leave(number);
    }

    fn contribute(
        &mut self,
        fabric: &mut Fabric<'_>,
        number: u32,
        worker: u32,
        bytes: u64,
        key: u32,
    ) -> Result<()> {
        let member = worker as usize;
        let group = group(&mut self.groups, number).filter(|group| member < group.workers.len());
        let Some(group) = group else {
            return Err(Error::data(format!("ATP: group {number} has no worker {worker}")));
        };
        let end = group.add(member, bytes)?;
        group.find_routes(fabric, member);
        group.workers[member].extend(end, fabric.now());
        group.workers[member].keys.push_back((end, key));
        self.consider(fabric, number, member);
        Ok(())
    }

    #[inline]
    fn receive(&mut self, fabric: &mut Fabric<'_>, _: HostId, packet: &Packet) {
        match packet.kind {
            GRADIENT => self.serve(fabric, packet),
            PARAMETER | ASK => self.learn(fabric, packet),
            _ => {}
        }
    }

    #[inline]
    fn transit(&mut self, fabric: &mut Fabric<'_>, switch: NodeId, packet: &mut Packet) -> Verdict {
        if packet.kind == GRADIENT {
            return self.sum(fabric, switch, packet);
        }
        self.multicast(fabric, switch, packet);
        Verdict::Consume
    }

    fn needs(&mut self, timer: Timer, at: Picoseconds) -> bool {
        let [number, member] = timer.words;
        timer.kind != SILENCE || self.needs_silence(number, member as usize, at)
    }

    fn timer(&mut self, fabric: &mut Fabric<'_>, timer: Timer) {
        let [first, second] = timer.words;
        match timer.kind {
            WIRE_FREE => {
                self.wires.called(LinkId(first));
                self.feed(fabric, LinkId(first));
            }
            SILENCE => self.silence(fabric, first, second as usize),
            PASS => self.pass(fabric, first),
            _ => {}
        }
    }

    fn doubled(&mut self, packet: &mut Packet) {
        if packet.kind == GRADIENT {
            packet.words[3] = self.vectors.copy(packet.words[3]);
        }
    }

    fn resumed(&mut self, fabric: &mut Fabric<'_>, link: LinkId) {
        self.feed(fabric, link);
    }

    fn delivered(&mut self) -> &mut Vec<u32> {
        &mut self.delivered
    }

    fn stuck(&self) -> Option<String> {
        self.stuck.clone()
    }

    fn report(&self) -> AggregationReport {
        let workers = self.groups.iter().flatten().flat_map(|group| &group.workers);
        AggregationReport {
            retransmits: self.past.retransmits + workers.map(|worker| worker.resends).sum::<u64>(),
            fallbacks: self.tables.iter().map(|table| table.collisions).sum(),
            ..self.past
        }
    }
}

impl Atp {
    /// The parts of two jobs may coincide.
    fn leave(&mut self, group: u32) {
        self.parts_taken.iter_mut().filter(|part| **part == Some(group)).for_each(|part| *part = None);
    }
}
