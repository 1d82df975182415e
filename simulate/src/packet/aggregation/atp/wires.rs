//! Wires of hosts: who waits for which, in turn.

use std::collections::VecDeque;

use crate::engine::Picoseconds;
use crate::packet::timer::Timer;
use crate::topology::LinkId;

/// By link; only those that leave hosts have waiting members.
#[derive(Clone, Debug, Default)]
pub(super) struct Wires {
    wires: Vec<Wire>,
}

#[derive(Clone, Debug, Default)]
struct Wire {
    /// Jobs and members of them.
    queue: VecDeque<(u32, u32)>,
    /// A timer for the end of the current packet is on its way.
    is_called: bool,
}

impl Wires {
    /// Sets the number of links.
    pub(super) fn resize(&mut self, links: usize) {
        self.wires.resize_with(links, Wire::default);
    }

    pub(super) fn queue(&mut self, link: LinkId, member: (u32, u32)) {
        if let Some(wire) = self.wires.get_mut(link.0 as usize) {
            wire.queue.push_back(member);
        }
    }

    pub(super) fn first(&self, link: LinkId) -> Option<(u32, u32)> {
        self.wires.get(link.0 as usize)?.queue.front().copied()
    }

    pub(super) fn pop(&mut self, link: LinkId) {
        if let Some(wire) = self.wires.get_mut(link.0 as usize) {
            wire.queue.pop_front();
        }
    }

    /// The timer for when the wire is free; `None` if it is on its way, or if the wire is paused,
    /// which tells by itself when it goes on.
    pub(super) fn call(&mut self, link: LinkId, free_at: Picoseconds, kind: u8) -> Option<Timer> {
        let wire = self.wires.get_mut(link.0 as usize)?;
        let is_needed = free_at < Picoseconds::MAX && !std::mem::replace(&mut wire.is_called, true);
        is_needed.then_some(Timer { kind, words: [link.0, 0] })
    }

    /// The timer has run down.
    pub(super) fn called(&mut self, link: LinkId) {
        if let Some(wire) = self.wires.get_mut(link.0 as usize) {
            wire.is_called = false;
        }
    }
}
