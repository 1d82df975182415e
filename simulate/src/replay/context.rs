//! State that all replays of one network share: the transport, the event queue, the messages in
//! flight.

use super::message_parts::Part;
use crate::engine::{EventQueue, Picoseconds};

/// The transport, the event queue and the messages in flight of all active replays.
#[derive(Debug)]
pub(super) struct Context<T> {
    pub(super) transport: T,
    pub(super) queue: EventQueue<Event>,
    pub(super) in_flight: InFlight,
    /// Boundaries that all ranks of a replay have passed and that are not reported yet.
    pub(super) crossed: Vec<Crossing>,
}

impl<T> Context<T> {
    pub(super) fn new(transport: T) -> Self {
        let (queue, in_flight) = (EventQueue::default(), InFlight::default());
        Self { transport, queue, in_flight, crossed: Vec::new() }
    }

    /// A rank of the replay in a slot continues at a time.
    pub(super) fn schedule(&mut self, time: Picoseconds, replay: u32, rank: u32) {
        self.queue.push(time, Event::Rank { replay, rank });
    }

    /// A part of a message leaves at a time.
    pub(super) fn schedule_part(&mut self, time: Picoseconds, part: InFlightMessage) {
        let key = self.in_flight.insert(part);
        self.queue.push(time, Event::Part(key));
    }
}

/// Something that happens without the network.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A rank continues with its next operation.
    Rank {
        /// Slot of the active replay.
        replay: u32,
        rank: u32,
    },
    /// A part of a message leaves: its key among those in flight.
    Part(u32),
}

/// The last rank of a replay has passed a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The [token](super::ReplayRequest::token) of the replay.
    pub token: u64,
    /// The boundary: it ends the stretch of this number.
    pub boundary: usize,
}

/// The messages in flight, by the key that the transport has for each.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    messages: Vec<InFlightMessage>,
    free: Vec<u32>,
}

/// A message in flight, or the sum that a worker waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlightMessage {
    /// Slot of the active replay.
    pub(super) replay: u32,
    /// Number of the message or sum; numbers of sums follow those of messages.
    pub(super) message: u32,
    /// The worker of a sum.
    pub(super) worker: u32,
    /// Of a message.
    pub(super) part: Part,
    /// Identifier of the replay, which may have ended meanwhile.
    pub(super) token: u64,
}

impl InFlight {
    /// Adds a message; returns its key.
    pub(super) fn insert(&mut self, message: InFlightMessage) -> u32 {
        match self.free.pop() {
            Some(key) => {
                self.messages[key as usize] = message;
                key
            }
            None => {
                self.messages.push(message);
                (self.messages.len() - 1) as u32
            }
        }
    }

    /// The message of a key, which becomes free.
    pub(super) fn remove(&mut self, key: u32) -> InFlightMessage {
        self.free.push(key);
        self.messages[key as usize]
    }
}
