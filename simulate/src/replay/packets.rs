//! The packet network as the transport of replays.

use phaseflow_collect::{Error, Result};

use super::transport::Transport;
use crate::engine::{EventQueue, Picoseconds};
use crate::packet::{Group, PacketNetwork};
use crate::topology::{HostId, LinkId};
use crate::units::PS_PER_BYTE;

/// Messages become packets. Pairs of hosts without a [route](Self::route) use the fabric's own
/// paths.
#[derive(Debug)]
pub struct Packets<'a> {
    network: PacketNetwork<'a>,
    /// Keys of messages that have arrived and are not reported yet.
    arrived: Vec<u32>,
    /// Within hosts.
    local: EventQueue<u32>,
    /// Picoseconds that a byte takes within a host.
    local_ps_per_byte: f64,
    failure: Option<Error>,
    /// True after a failure; the network does nothing more.
    is_broken: bool,
}

impl<'a> Packets<'a> {
    /// A transport over an idle network; messages within one host have a rate, or take no time.
    pub fn new(network: PacketNetwork<'a>, memory_gbps: Option<f64>) -> Self {
        Self {
            network,
            arrived: Vec::new(),
            local: EventQueue::default(),
            local_ps_per_byte: memory_gbps.map_or(0.0, |gbps| PS_PER_BYTE / gbps),
            failure: None,
            is_broken: false,
        }
    }

    /// Packets from `src` to `dst` that are sent from now on go through `links`.
    pub fn route(&mut self, src: HostId, dst: HostId, links: &[LinkId]) {
        let set = self.network.set_route(src, dst, links);
        self.note(set);
    }

    /// The outcome of the packets.
    pub fn network(&mut self) -> &mut PacketNetwork<'a> {
        &mut self.network
    }

    fn note<T>(&mut self, result: Result<T>) -> Option<T> {
        self.is_broken |= result.is_err();
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.failure.get_or_insert(error);
                None
            }
        }
    }

    /// Advances the network to `limit`, or until messages arrive.
    fn run(&mut self, limit: Picoseconds) -> Option<Picoseconds> {
        if !self.arrived.is_empty() {
            return Some(self.network.now());
        }
        // No message is sent before `limit`, so the network can advance up to it.
        let goes_on = self.network.run(limit, &mut self.arrived);
        match goes_on {
            _ if !self.arrived.is_empty() => Some(self.network.now()),
            true => self.network.next_time(),
            false => None,
        }
    }
}

impl Transport for Packets<'_> {
    fn start(&mut self, now: Picoseconds, src: HostId, dst: HostId, bytes: u64, key: u32) {
        if src == dst {
            let time = (bytes as f64 * self.local_ps_per_byte).round() as u64; // saturates
            return self.local.push(now.saturating_add(time), key);
        }
        if !self.is_broken {
            debug_assert!(
                self.network.now() <= now,
                "packets are ahead of the ranks: {} > {now}",
                self.network.now()
            );
            let started = self.network.start(src, dst, bytes, key);
            self.note(started);
        }
    }

    fn next(&mut self, limit: Picoseconds) -> Option<Picoseconds> {
        let local = self.local.peek_time();
        let network = self.run(limit.min(local.unwrap_or(Picoseconds::MAX)));
        local.into_iter().chain(network).min()
    }

    fn advance(&mut self, to: Picoseconds, finished: &mut Vec<u32>) {
        while self.run(to).is_some_and(|time| time <= to) && !self.arrived.is_empty() {
            finished.append(&mut self.arrived);
        }
        while self.local.peek_time().is_some_and(|time| time <= to) {
            finished.extend(self.local.pop().map(|(_, key)| key));
        }
    }

    fn open(&mut self, group: &Group) -> u32 {
        let opened = self.network.open(group);
        self.note(opened).unwrap_or(0)
    }

    fn close(&mut self, group: u32) {
        self.network.close(group);
    }

    fn contribute(&mut self, now: Picoseconds, group: u32, worker: u32, bytes: u64, key: u32) {
        // A group that could not be opened has no number.
        if !self.is_broken {
            debug_assert!(
                self.network.now() <= now,
                "packets are ahead of the ranks: {} > {now}",
                self.network.now()
            );
            let added = self.network.contribute(group, worker, bytes, key);
            self.note(added);
        }
    }

    fn failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    fn stuck(&mut self) -> Option<String> {
        self.network.stuck()
    }
}
