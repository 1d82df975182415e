//! Messages over a network of packets.

use phaseflow_collect::Result;

use super::aggregation::Aggregation;
use super::fabric::Fabric;
use super::program::Program;
use crate::engine::Picoseconds;
use crate::topology::HostId;

/// A carrier: a program that carries messages from host to host.
pub trait Carrier: Program {
    /// A message of `bytes` leaves `src` for `dst`, another host, now.
    ///
    /// # Errors
    /// More packets than can be numbered.
    fn start(
        &mut self,
        fabric: &mut Fabric<'_>,
        src: HostId,
        dst: HostId,
        bytes: u64,
        key: u32,
    ) -> Result<()>;

    /// Keys of messages that have arrived; the reader removes them.
    fn delivered(&mut self) -> &mut Vec<u32>;

    /// Packets that were sent more than once.
    fn retransmits(&self) -> u64;

    /// The aggregation in the network, if any.
    fn aggregation(&mut self) -> Option<&mut dyn Aggregation> {
        None
    }
}

/// A message from one host to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Earliest time of its departure.
    pub start: Picoseconds,
    /// Sending host.
    pub src: HostId,
    /// Receiving host, never the sending one.
    pub dst: HostId,
    /// Its size.
    pub bytes: u64,
}

/// A network, and a program that carries messages over it.
#[derive(Debug)]
pub struct Simulation<'a, C> {
    /// The network.
    pub fabric: Fabric<'a>,
    /// Its hosts.
    pub carrier: C,
}

impl<C: Carrier> Simulation<'_, C> {
    /// Sends a message now; its arrival is reported by `key`.
    ///
    /// # Errors
    /// As [`Carrier::start`].
    pub fn start(&mut self, src: HostId, dst: HostId, bytes: u64, key: u32) -> Result<()> {
        self.carrier.start(&mut self.fabric, src, dst, bytes, key)
    }

    /// Advances until messages arrive, at most to `until` (inclusive), and appends their keys.
    /// False if no event is left before either.
    pub fn run(&mut self, until: Picoseconds, delivered: &mut Vec<u32>) -> bool {
        loop {
            if !self.carrier.delivered().is_empty() {
                delivered.append(self.carrier.delivered());
                return true;
            }
            if until != Picoseconds::MAX && self.fabric.next_time().is_none_or(|time| time > until) {
                self.fabric.wait_until(until);
                return self.fabric.pending() > 0;
            }
            if !self.fabric.step(&mut self.carrier) {
                return false;
            }
        }
    }

    /// Advances to `to` (inclusive), and appends the keys of the messages that have arrived by
    /// then, in order of arrival. [`Fabric::next_time`] is a lower bound of the next event's time.
    pub fn advance(&mut self, to: Picoseconds, delivered: &mut Vec<u32>) {
        loop {
            let before = delivered.len();
            if !self.run(to, delivered) || delivered.len() == before {
                return;
            }
        }
    }

    /// Carries messages, ordered by start, at most until `limit`. Returns the arrival time of each,
    /// `None` without arrival.
    ///
    /// # Errors
    /// As [`Carrier::start`].
    pub fn carry(
        &mut self,
        messages: &[Message],
        limit: Option<Picoseconds>,
    ) -> Result<Vec<Option<Picoseconds>>> {
        let limit = limit.unwrap_or(Picoseconds::MAX);
        let mut arrivals = vec![None; messages.len()];
        let mut delivered = Vec::new();
        let mut next = 0;
        loop {
            while let Some(message) = messages.get(next).filter(|message| message.start <= self.fabric.now())
            {
                self.start(message.src, message.dst, message.bytes, next as u32)?;
                next += 1;
            }
            let start = messages.get(next).map_or(Picoseconds::MAX, |message| message.start);
            let goes_on = self.run(start.min(limit), &mut delivered);
            for key in delivered.drain(..) {
                arrivals[key as usize] = Some(self.fabric.now());
            }
            let is_over = !goes_on && start == Picoseconds::MAX;
            if is_over || limit <= self.fabric.now().min(start) {
                return Ok(arrivals);
            }
        }
    }
}
