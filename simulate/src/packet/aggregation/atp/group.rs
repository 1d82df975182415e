//! A job: its workers and servers, their switches, and its sums.
//!
//! ```text
//!   worker ─┐                         first level: bitmap0 has a bit for each worker of the rack
//!   worker ─┴─ switch ──┐
//!   worker ─── switch ──┴─ switch ─── server
//!                worker ─────┘        second level: bitmap1, a bit per rack and per worker there
//! ```

use std::collections::VecDeque;

use phaseflow_collect::{Error, Result};

use super::header::{LANES, PAYLOAD, SECOND};
use super::index::{Pool, Share};
use super::numbers::Stretch;
use super::server::{Expected, Slots};
use super::tree::{Trees, switch_of};
use super::worker::Worker;
use crate::packet::aggregation::values::Vector;
use crate::packet::aggregation::{ELEMENT_BYTES, Group as Members};
use crate::packet::arena::NONE;
use crate::packet::chance::mix;
use crate::packet::fabric::Fabric;
use crate::topology::{HostId, LinkId, NodeId, Topology};

/// A job while it runs.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) job: u32,
    pub(super) hosts: Vec<HostId>,
    pub(super) workers: Vec<Worker>,
    /// Packet `seq` is summed by server `seq` modulo their number.
    pub(super) servers: Vec<Server>,
    /// By server, then worker.
    pub(super) headings: Vec<Heading>,
    /// By worker, then server: the wire, and whether the member waits for it.
    pub(super) wires: Vec<(LinkId, bool)>,
    pub(super) slots: Slots,
    pub(super) trees: Trees,
    /// The aggregators that it may use.
    pub(super) share: Share,
    /// Unused aggregators, after the first request for one (code).
    pub(super) pool: Option<Pool>,
    /// Sums that some workers lack, oldest first.
    reductions: VecDeque<Reduction>,
    /// Number of the oldest of these.
    oldest: u32,
    /// Packets of all sums so far.
    end: u32,
    /// By worker: vectors that it added.
    added: Vec<u32>,
}

/// A server of a job.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub(super) host: HostId,
    pub(super) switch: NodeId,
    pub(super) expected: Expected,
    /// The root of its multicast tree.
    pub(super) root: u32,
    /// The packet to send: kind, number and flags.
    pub(super) queue: VecDeque<(u8, u32, u16)>,
}

/// Header fields of packets from a worker to a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heading {
    /// bitmap0 and bitmap1.
    pub(super) bitmaps: [u32; 2],
    /// fanInDegree0 and fanInDegree1.
    pub(super) fan_ins: u32,
    /// [`SECOND`] for workers beside the server.
    pub(super) flags: u16,
    /// The way behind the first link.
    pub(super) route: u32,
}

/// One sum of vectors.
#[derive(Clone, Copy, Debug)]
struct Reduction {
    /// Its packets.
    first: u32,
    end: u32,
    bytes: u64,
    /// Workers that have it.
    done: u32,
}

/// Most bits of a bitmap (paper).
const MOST: usize = 32;

impl Group {
    /// `window` is the largest of its workers.
    ///
    /// # Errors
    /// A group without workers or servers, or with more than fit into bitmaps; hosts with several
    /// switches, or that cannot be reached.
    pub(super) fn new(
        topology: &Topology,
        members: &Members,
        window: u32,
        share: Share,
        seed: u64,
        mut worker: impl FnMut() -> Worker,
    ) -> Result<Self> {
        let at = |what: &str| Err(Error::data(format!("ATP: job {} {what}", members.job)));
        if members.workers.is_empty() {
            return at("has no workers");
        }
        if members.servers.is_empty() {
            return at("has no servers");
        }
        let seed = mix(seed ^ u64::from(members.job));
        let racks = members.workers.iter().map(|host| switch_of(topology, *host));
        let racks = racks.collect::<Result<Vec<NodeId>>>()?;
        let mut trees = Trees::default();
        let (mut servers, mut headings) = (Vec::new(), Vec::new());
        for host in members.servers.iter().copied() {
            let switch = switch_of(topology, host)?;
            let Some(expected) = head(switch, &racks, &mut headings) else {
                return at(&format!(
                    "has more than {MOST} workers in a rack, or racks, or both together beside a server"
                ));
            };
            let root = trees.grow(topology, switch, &members.workers, seed ^ u64::from(host.0))?;
            servers.push(Server { host, switch, expected, root, queue: VecDeque::new() });
        }
        // One word per port suffices if no port has several workers.
        let has_racks =
            servers.iter().any(|server| server.expected.workers.iter().any(|workers| *workers != 1));
        let ports = servers.iter().map(|server| server.expected.workers.len()).max().unwrap_or(0);
        let wire = |host: &HostId| {
            let links = topology.outgoing(topology.host(*host));
            let chosen = (mix(seed ^ u64::from(host.0)) as usize).checked_rem(links.len());
            (chosen.and_then(|chosen| links.get(chosen)).copied().unwrap_or(LinkId(NONE)), false)
        };
        Ok(Self {
            job: members.job,
            hosts: members.workers.clone(),
            workers: members.workers.iter().map(|_| worker()).collect(),
            wires: members.workers.iter().chain(&members.servers).map(wire).collect(),
            servers,
            headings,
            slots: Slots::new(window, if has_racks { ports } else { 0 }),
            trees,
            share,
            pool: None,
            reductions: VecDeque::new(),
            oldest: 0,
            end: 0,
            added: vec![0; members.workers.len()],
        })
    }

    /// The server of a packet.
    #[inline]
    pub(super) fn server_of(&self, seq: u32) -> usize {
        // Most jobs have one server, and a division is slow.
        if self.servers.len() == 1 { 0 } else { seq as usize % self.servers.len() }
    }

    /// Sets the routes of packets of a worker.
    pub(super) fn find_routes(&mut self, fabric: &mut Fabric<'_>, worker: usize) {
        for (server, headings) in self.servers.iter().zip(self.headings.chunks_mut(self.hosts.len())) {
            headings[worker].route = fabric.route(self.hosts[worker], server.host) + 1;
        }
    }

    /// A worker adds a vector; returns where its packets end.
    ///
    /// # Errors
    /// Another length than others have added, or more packets than can be numbered.
    pub(super) fn add(&mut self, worker: usize, bytes: u64) -> Result<u32> {
        let number = self.added[worker];
        let known = self.reductions.get((number - self.oldest) as usize);
        let job = self.job;
        let end = match known {
            Some(known) if known.bytes != bytes => {
                return Err(Error::data(format!(
                    "ATP: worker {worker} of job {job} adds {bytes} bytes, others {} bytes",
                    known.bytes
                )));
            }
            Some(known) => known.end,
            None => {
                let packets = bytes.div_ceil(PAYLOAD).max(1);
                let end = u32::try_from(packets).ok().and_then(|packets| self.end.checked_add(packets));
                let Some(end) = end.filter(|end| *end < NONE) else {
                    return Err(Error::data(format!("ATP: job {job} has more than 2^32 packets")));
                };
                self.reductions.push_back(Reduction { first: self.end, end, bytes, done: 0 });
                self.end = end;
                end
            }
        };
        self.added[worker] += 1;
        Ok(end)
    }

    /// A worker has the sum whose packets end there.
    pub(super) fn finish(&mut self, end: u32) {
        if let Some(reduction) = self.reductions.iter_mut().find(|reduction| reduction.end == end) {
            reduction.done += 1;
        }
        while self.reductions.front().is_some_and(|oldest| oldest.done as usize == self.hosts.len()) {
            self.reductions.pop_front();
            self.oldest += 1;
        }
    }

    /// Bytes of the vector in a packet.
    #[inline]
    pub(super) fn payload(&self, seq: u32) -> u32 {
        self.reduction(seq).map_or(0, |(_, reduction)| {
            let before = u64::from(seq - reduction.first) * PAYLOAD;
            reduction.bytes.saturating_sub(before).min(PAYLOAD) as u32
        })
    }

    /// The numbers in a packet.
    pub(super) fn stretch(&self, seq: u32, seed: u64, group: u32) -> Option<Stretch> {
        let (number, reduction) = self.reduction(seq)?;
        let first = u64::from(seq - reduction.first) * LANES as u64;
        let elements =
            (reduction.bytes.div_ceil(ELEMENT_BYTES).saturating_sub(first)).min(LANES as u64) as usize;
        Some(Stretch { vector: Vector { seed, group, reduction: number, worker: 0 }, first, elements })
    }

    /// The sum that a packet belongs to, and its number.
    #[inline]
    fn reduction(&self, seq: u32) -> Option<(u32, &Reduction)> {
        let place = match self.reductions.front() {
            Some(oldest) if seq < oldest.end => 0,
            _ => self.reductions.partition_point(|reduction| reduction.end <= seq),
        };
        let reduction = self.reductions.get(place).filter(|reduction| reduction.first <= seq)?;
        Some((self.oldest + place as u32, reduction))
    }
}

/// Headings of all workers towards a server at `switch`; `None` if there are too many for the
/// bitmaps.
fn head(switch: NodeId, racks: &[NodeId], headings: &mut Vec<Heading>) -> Option<Expected> {
    // Racks in order of their first worker.
    let mut ports: Vec<(Option<NodeId>, usize)> = Vec::new();
    let mut places = Vec::new();
    for rack in racks {
        let known = ports.iter().position(|(known, _)| *rack != switch && *known == Some(*rack));
        let port = known.unwrap_or(ports.len());
        if known.is_none() {
            ports.push(((*rack != switch).then_some(*rack), 0));
        }
        places.push((port, ports[port].1));
        ports[port].1 += 1;
    }
    if ports.len() > MOST || ports.iter().any(|(_, workers)| *workers > MOST) {
        return None;
    }
    headings.extend(places.iter().map(|(port, bit)| {
        let (rack, workers) = ports[*port];
        Heading {
            bitmaps: [1 << bit, 1 << port],
            fan_ins: workers as u32 | (ports.len() as u32) << 8,
            flags: if rack.is_none() { SECOND } else { 0 },
            route: 0,
        }
    }));
    let all = |count: usize| u32::MAX >> (MOST - count);
    let workers = ports.iter().map(|(_, workers)| all(*workers)).collect();
    Some(Expected { ports: all(ports.len()), workers })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn racks_and_workers_beside_the_server_have_ports() {
        let racks = [7, 3, 7, 9, 3, 3].map(NodeId);
        let mut headings = Vec::new();
        let expected = head(NodeId(3), &racks, &mut headings).unwrap();
        assert_eq!(expected, Expected { ports: 0b11111, workers: vec![0b11, 1, 1, 1, 1] });
        let seen: Vec<_> = headings.iter().map(|h| (h.bitmaps, h.fan_ins, h.flags)).collect();
        let fan = |first: u32, second: u32| first | second << 8;
        assert_eq!(
            seen,
            [
                ([1, 1], fan(2, 5), 0),
                ([1, 2], fan(1, 5), SECOND),
                ([2, 1], fan(2, 5), 0),
                ([1, 4], fan(1, 5), 0),
                ([1, 8], fan(1, 5), SECOND),
                ([1, 16], fan(1, 5), SECOND),
            ]
        );
        assert!(head(NodeId(0), &[NodeId(1); 33], &mut Vec::new()).is_none());
        assert!(head(NodeId(1), &[NodeId(1); 33], &mut Vec::new()).is_none());
        assert!(head(NodeId(1), &[NodeId(1); 32], &mut Vec::new()).is_some());
    }
}
