//! `usnic-2013`, `usnic-4.1`: the reliable transport of Open MPI over Cisco's user-space adapters.
//!
//! ```text
//! message layer (ob1)   message.rs    eager, rendezvous and its pipeline, PUT, matching in order
//! fragments, segments   segment.rs    fragments of ob1; a segment is one unacknowledged packet
//! endpoints             endpoint.rs   windows, credits, reassembly
//! processes             module.rs     progress passes, in the order of the code; receive.rs
//! versions              preset.rs
//! ```
//!
//! All work is done in *progress passes*: a process polls its completion queues, timers and sends
//! once per [`Preset::pass`]; arrivals in between wait. There is one process per host. Passes
//! without work are skipped.
//!
//! The mechanisms of the code are reproduced with their flaws. The *first* duplicate
//! acknowledgement causes a resend, and duplicates are acknowledged at once; together they keep a
//! bulk flow resending after a single loss. Tiny fragments overtake the queue, and resends make
//! credits negative. Not modelled: start-up (address resolution, connectivity checks), registration
//! and copying of memory, computation that delays polling, several adapters, arbitration between
//! the two channels of the adapter (packets leave in the order of posting). Fast receive, which
//! changes times within a pass only, is not modelled either.

mod endpoint;
mod message;
mod module;
mod preset;
mod receive;
mod retransmission;
mod segment;
#[cfg(test)]
mod tests;

use phaseflow_collect::{Error, Result};
use rustc_hash::FxHashMap;

use super::super::Carrier;
use super::super::arena::{PROGRAM_FLAGS, Packet};
use super::super::fabric::Fabric;
use super::super::program::Program;
use super::super::timer::Timer;
use crate::engine::Picoseconds;
use crate::topology::HostId;
use endpoint::Endpoint;
use message::Message;
use module::Module;
use segment::{Fragment, Pool, Segment};

pub(in crate::packet) use preset::MOST_WINDOW;
pub use preset::Preset;

/// Packet kinds are channels.
const DATA: u8 = 0;
const COMMAND: u8 = 1;

/// The packet acknowledges.
const HAS_ACK: u16 = PROGRAM_FLAGS;
/// The packet is nothing but an acknowledgement.
const ONLY_ACK: u16 = PROGRAM_FLAGS << 1;
/// The packet is a part of a larger fragment.
const CHUNK: u16 = PROGRAM_FLAGS << 2;

/// All processes; see the [module](self).
#[derive(Debug)]
pub struct Usnic {
    preset: Preset,
    /// By host.
    modules: Vec<Module>,
    endpoints: Vec<Endpoint>,
    /// By pair of hosts: the endpoint of the first one.
    pairs: FxHashMap<(u32, u32), u32>,
    fragments: Pool<Fragment>,
    segments: Pool<Segment>,
    messages: Pool<Message>,
    delivered: Vec<u32>,
    counts: Counts,
}

/// Counts of events so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets sent again after a duplicate acknowledgement.
    pub fast_resends: u64,
    /// Packets sent again after a time-out.
    pub timeouts: u64,
    /// Packets sent again: of both kinds, less those acknowledged while they waited.
    pub resends: u64,
    /// Packets that had arrived before, or beyond the window.
    pub duplicates: u64,
    /// Acknowledgements that travelled alone.
    pub acknowledgements: u64,
    /// Packets that found the receive ring full.
    pub overruns: u64,
    /// The largest number of unacknowledged packets of an endpoint.
    pub most_in_flight: u64,
}

impl Usnic {
    /// Processes that have not communicated yet.
    ///
    /// # Errors
    /// An MTU below the headers and a byte; a network that pauses links, which the model of the
    /// adapter's completions does not include.
    pub fn new(fabric: &Fabric<'_>, preset: Preset) -> Result<Self> {
        let least = preset.reserved + preset.chunk_header + 1;
        if preset.mtu < least || preset.mtu > u32::from(u16::MAX) {
            return Err(Error::usage(format!(
                "usNIC: MTU is {}, expected {least} to 65535 bytes",
                preset.mtu
            )));
        }
        if fabric.pauses() {
            return Err(Error::usage("usNIC over a network with pauses is not modelled"));
        }
        let preset = Preset { pass: preset.pass.max(1), ..preset };
        let hosts = fabric.topology().host_count() as u32;
        Ok(Self {
            modules: (0..hosts).map(|host| Module::new(host, &preset)).collect(),
            preset,
            endpoints: Vec::new(),
            pairs: FxHashMap::default(),
            fragments: Pool::default(),
            segments: Pool::default(),
            messages: Pool::default(),
            delivered: Vec::new(),
            counts: Counts::default(),
        })
    }

    /// Counts of events so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The endpoint of `src` for `dst`; both ends are made at once.
    fn connect(&mut self, fabric: &mut Fabric<'_>, src: u32, dst: u32) -> u32 {
        if let Some(known) = self.pairs.get(&(src, dst)) {
            return *known;
        }
        let id = self.endpoints.len() as u32;
        for (end, (host, peer)) in [(src, dst), (dst, src)].into_iter().enumerate() {
            let route = fabric.route(HostId(host), HostId(peer));
            self.endpoints.push(Endpoint::new((host, peer), id + 1 - end as u32, route, &self.preset));
            self.pairs.insert((host, peer), id + end as u32);
        }
        id
    }
}

impl Program for Usnic {
    fn receive(&mut self, fabric: &mut Fabric<'_>, host: HostId, packet: Packet) {
        let room = self.preset.data_credits as usize;
        let module = &mut self.modules[host.0 as usize];
        let ring = if packet.kind == COMMAND { &mut module.command_ring } else { &mut module.data_ring };
        if ring.len() >= room {
            self.counts.overruns += 1;
            return;
        }
        ring.push_back(packet);
        self.schedule_pass(fabric, host.0, fabric.now());
    }

    fn needs(&mut self, timer: Timer, at: Picoseconds) -> bool {
        self.modules[timer.words[0] as usize].next_pass == at
    }

    fn timer(&mut self, fabric: &mut Fabric<'_>, timer: Timer) {
        self.pass(fabric, timer.words[0]);
    }
}

impl Carrier for Usnic {
    fn start(
        &mut self,
        fabric: &mut Fabric<'_>,
        src: HostId,
        dst: HostId,
        bytes: u64,
        key: u32,
    ) -> Result<()> {
        let endpoint = self.connect(fabric, src.0, dst.0);
        self.send_message(fabric, endpoint, bytes, key);
        Ok(())
    }

    fn delivered(&mut self) -> &mut Vec<u32> {
        &mut self.delivered
    }

    fn retransmits(&self) -> u64 {
        self.counts.resends
    }
}
