//! Queues of output ports that hold packets one by one.
//!
//! They serve ports for which the departure of a packet is unknown at its arrival: ports that share
//! the memory of their switch, and ports that the next switch can pause.
//!
//! A packet occupies memory of a switch from its arrival until its last bit is on the wire. It
//! counts for its incoming link (pauses) and for its outgoing port (shares).
//!
//! *Shared memory*: a port may hold α times the free memory (Choudhury and Hahne, *Dynamic queue
//! length thresholds for shared-memory packet switches*, 1998). *Pauses* (priority flow control,
//! IEEE 802.1Qbb, with one priority): when the packets that arrived by a link exceed `stop` bytes,
//! the port at its other end is paused; it resumes when they are down to `go`. The pause frame
//! takes the latency of the link, but no capacity. Packets in flight until then need memory above
//! `stop`, the headroom; packets beyond it are dropped and counted as drops.

use super::arena::NONE;
use super::options::FabricOptions;
use crate::engine::Picoseconds;
use crate::topology::{LinkId, NodeId, Topology};

/// All queues; see the [module](self).
#[derive(Clone, Debug, Default)]
pub(super) struct PortQueues {
    /// By record: the next one in its queue.
    behind: Vec<u32>,
    /// By record: the link by which it arrived, or [`NONE`].
    came_by: Vec<u32>,
    /// By link.
    lines: Vec<PortQueue>,
    /// By node: bytes in its memory; of a host always 0.
    used: Vec<u64>,
    /// By link: bytes in the memory of the switch that it leads to.
    held: Vec<u64>,
    /// By link: true if its port is paused.
    stopped: Vec<bool>,
    /// Memory of a switch, and α.
    shared: Option<(u64, f64)>,
    /// `stop` and `go`.
    pauses: Option<(u64, u64)>,
    /// By node.
    is_switch: Vec<bool>,
}

/// The queue of one port.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortQueue {
    first: u32,
    last: u32,
    /// Serialization time of the waiting packets, without the one in transmission.
    pub(super) waiting: Picoseconds,
    /// Bytes that wait or are in transmission.
    bytes: u64,
    /// Size of the packet in transmission, and the link by which it arrived.
    sending: Option<(u32, u32)>,
    /// Start of its pause.
    paused: Option<Picoseconds>,
    /// How often it was.
    pub(super) pauses: u64,
    /// Its total duration.
    pub(super) paused_ps: Picoseconds,
}

/// An empty queue.
const EMPTY: PortQueue = PortQueue {
    first: NONE,
    last: NONE,
    waiting: 0,
    bytes: 0,
    sending: None,
    paused: None,
    pauses: 0,
    paused_ps: 0,
};

/// Whom to tell what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// The port of this link stops.
    Stop(u32),
    /// The port of this link resumes.
    Go(u32),
}

/// A packet that joins a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueuedPacket {
    /// Number of its record.
    pub(super) id: u32,
    /// Bytes on the wire.
    pub(super) wire: u32,
    /// The link by which it arrived, or [`NONE`].
    pub(super) came_by: u32,
}

impl PortQueues {
    /// `None` if the options need no queues of packets.
    pub(super) fn new(topology: &Topology, options: &FabricOptions) -> Option<Self> {
        let shared = options.shared.and_then(|alpha| options.buffer.map(|bytes| (bytes, alpha)));
        let pauses = options.pause.map(|pause| (pause.stop, pause.go));
        if shared.is_none() && pauses.is_none() {
            return None;
        }
        let (nodes, links) = (topology.node_count(), topology.link_count());
        Some(Self {
            lines: vec![EMPTY; links],
            used: vec![0; nodes],
            held: vec![0; links],
            stopped: vec![false; links],
            shared,
            pauses,
            is_switch: (0..nodes as u32).map(|node| topology.is_switch(NodeId(node))).collect(),
            ..Self::default()
        })
    }

    /// Counts pauses anew.
    pub(super) fn forget(&mut self) {
        self.lines.iter_mut().for_each(|line| (line.pauses, line.paused_ps) = (0, 0));
    }

    /// True if ports can be paused.
    pub(super) fn pauses(&self) -> bool {
        self.pauses.is_some()
    }

    /// The queue of a link.
    pub(super) fn line(&self, link: u32) -> &PortQueue {
        &self.lines[link as usize]
    }

    /// True if the memory of `node` has room for a packet to `link`.
    pub(super) fn has_room(&self, node: NodeId, link: u32, wire: u32) -> bool {
        let (Some((memory, alpha)), true) = (self.shared, self.is_switch[node.0 as usize]) else {
            return true;
        };
        let free = memory.saturating_sub(self.used[node.0 as usize]);
        let queue = self.lines[link as usize].bytes + u64::from(wire);
        u64::from(wire) <= free && queue as f64 <= alpha * free as f64
    }

    /// A packet joins the queue of a link at `node`.
    pub(super) fn push(
        &mut self,
        node: NodeId,
        link: u32,
        packet: QueuedPacket,
        takes: Picoseconds,
    ) -> Option<Signal> {
        let QueuedPacket { id, wire, came_by } = packet;
        if self.behind.len() <= id as usize {
            self.behind.resize(id as usize + 1, NONE);
            self.came_by.resize(id as usize + 1, NONE);
        }
        self.behind[id as usize] = NONE;
        self.came_by[id as usize] = came_by;
        let line = &mut self.lines[link as usize];
        line.waiting = line.waiting.saturating_add(takes);
        line.bytes += u64::from(wire);
        let last = std::mem::replace(&mut line.last, id);
        if last == NONE {
            line.first = id;
        } else {
            self.behind[last as usize] = id;
        }
        if !self.is_switch[node.0 as usize] {
            return None;
        }
        self.used[node.0 as usize] += u64::from(wire);
        debug_assert!(
            self.shared.is_none_or(|(memory, _)| self.used[node.0 as usize] <= memory),
            "more than the memory"
        );
        let held = self.held.get_mut(came_by as usize)?;
        *held += u64::from(wire);
        let (stop, _) = self.pauses?;
        let stops = *held > stop && !std::mem::replace(&mut self.stopped[came_by as usize], *held > stop);
        stops.then_some(Signal::Stop(came_by))
    }

    /// The packet that a link sends next, if it is idle and not paused.
    pub(super) fn next(&self, link: u32) -> Option<u32> {
        let line = &self.lines[link as usize];
        (line.sending.is_none() && line.paused.is_none() && line.first != NONE).then_some(line.first)
    }

    /// Begins the transmission of the packet of [`next`](Self::next).
    pub(super) fn send(&mut self, link: u32, wire: u32, takes: Picoseconds) {
        let line = &mut self.lines[link as usize];
        let id = line.first as usize;
        line.first = self.behind[id];
        if line.first == NONE {
            line.last = NONE;
        }
        line.waiting = line.waiting.saturating_sub(takes);
        line.sending = Some((wire, self.came_by[id]));
    }

    /// Ends the transmission of a packet.
    pub(super) fn sent(&mut self, node: NodeId, link: u32) -> Option<Signal> {
        let line = &mut self.lines[link as usize];
        let (wire, came_by) = line.sending.take()?;
        line.bytes -= u64::from(wire);
        if !self.is_switch[node.0 as usize] {
            return None;
        }
        self.used[node.0 as usize] -= u64::from(wire);
        let held = self.held.get_mut(came_by as usize)?;
        *held -= u64::from(wire);
        let (_, go) = self.pauses?;
        let goes = *held <= go && std::mem::replace(&mut self.stopped[came_by as usize], *held > go);
        goes.then_some(Signal::Go(came_by))
    }

    /// By record: true for packets that wait for their transmission.
    pub(super) fn are_waiting(&self) -> Vec<bool> {
        let mut are_waiting = vec![false; self.behind.len()];
        for line in &self.lines {
            let mut id = line.first as usize;
            while let Some(behind) = self.behind.get(id) {
                are_waiting[id] = true;
                id = *behind as usize;
            }
        }
        are_waiting
    }

    /// A port stops, or goes on.
    pub(super) fn pause(&mut self, link: u32, stops: bool, now: Picoseconds) {
        let line = &mut self.lines[link as usize];
        if stops {
            line.pauses += 1;
            line.paused = Some(now);
        } else if let Some(since) = line.paused.take() {
            line.paused_ps += now - since;
        }
    }

    /// True if the port is paused.
    pub(super) fn is_paused(&self, link: u32) -> bool {
        self.lines[link as usize].paused.is_some()
    }

    /// Links whose ports are paused and have packets; without other events a deadlock.
    pub(super) fn stuck(&self) -> impl Iterator<Item = LinkId> {
        let stuck = |(link, line): (usize, &PortQueue)| {
            (line.paused.is_some() && line.first != NONE).then_some(LinkId(link as u32))
        };
        self.lines.iter().enumerate().filter_map(stuck)
    }
}
