//! Messages that wait for their receives, and receives that wait for their messages.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::Begin;
use crate::import::pairing::{Envelope, Queues};

/// The communicator of those without one.
const NONE: u32 = u32::MAX;

/// A receive that waits: where it began, and what it takes; `None` is any.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) src: Option<u32>,
    pub(super) tag: Option<i32>,
    communicator: u32,
    /// In the order of all receives.
    number: u64,
}

/// A message that was sent: the position of its send, and its number in the order of all sends.
type Sent = (i64, u64);

/// Pairs sends and receives in the order in which they are performed.
#[derive(Default)]
pub(super) struct Inbox {
    sends: Queues<Envelope, Sent>,
    /// Receives of one source and tag.
    exact: Queues<Envelope, (Begin, u64)>,
    /// Receives of any source or tag, by receiver.
    wild: FxHashMap<u32, Vec<Begin>>,
    /// All receives that wait.
    waiting: BTreeMap<Begin, Waiting>,
    count: u64,
}

impl Inbox {
    /// A message is sent; returns the receive that takes it.
    pub(super) fn send(&mut self, envelope: Envelope, position: i64) -> Option<Begin> {
        self.count += 1;
        let exact = self.first_exact(&envelope);
        let wild = self.first_wild(&envelope);
        let (begin, _) = match (exact, wild) {
            (None, None) => {
                self.sends.push(envelope, (position, self.count));
                return None;
            }
            (Some(exact), None) => exact,
            (None, Some(wild)) => wild,
            (Some(exact), Some(wild)) => {
                if wild.1 < exact.1 {
                    wild
                } else {
                    exact
                }
            }
        };
        if wild.is_some_and(|wild| wild.0 == begin) {
            self.wild.entry(envelope.dst).or_default().retain(|other| *other != begin);
        } else {
            self.exact.pop(&envelope);
        }
        self.waiting.remove(&begin);
        Some(begin)
    }

    /// The oldest receive of this envelope; those that gave up are forgotten.
    fn first_exact(&mut self, envelope: &Envelope) -> Option<(Begin, u64)> {
        while let Some((begin, number)) = self.exact.peek(envelope) {
            if self.waiting.get(&begin).is_some_and(|waiting| waiting.number == number) {
                return Some((begin, number));
            }
            self.exact.pop(envelope);
        }
        None
    }

    fn first_wild(&self, envelope: &Envelope) -> Option<(Begin, u64)> {
        let all = self.wild.get(&envelope.dst)?;
        all.iter().find_map(|begin| {
            let waiting = self.waiting.get(begin)?;
            takes(waiting, envelope).then_some((*begin, waiting.number))
        })
    }

    /// A receive begins; returns the position of its message, if that was sent already.
    pub(super) fn receive(
        &mut self,
        begin: Begin,
        src: Option<u32>,
        tag: Option<i32>,
        communicator: Option<u32>,
    ) -> Option<i64> {
        self.count += 1;
        let communicator = communicator.unwrap_or(NONE);
        let waiting = Waiting { src, tag, communicator, number: self.count };
        let envelope = match (src, tag) {
            (Some(src), Some(tag)) => Some(Envelope { communicator, src, dst: begin.1, tag }),
            _ => self.oldest(begin.1, &waiting),
        };
        if let Some((position, _)) = envelope.and_then(|envelope| self.sends.pop(&envelope)) {
            return Some(position);
        }
        match envelope.filter(|_| src.is_some() && tag.is_some()) {
            Some(envelope) => self.exact.push(envelope, (begin, self.count)),
            None => self.wild.entry(begin.1).or_default().push(begin),
        }
        self.waiting.insert(begin, waiting);
        None
    }

    /// The envelope of the oldest message that a receive takes.
    fn oldest(&self, dst: u32, waiting: &Waiting) -> Option<Envelope> {
        let heads =
            self.sends.heads().filter(|(envelope, _)| envelope.dst == dst && takes(waiting, envelope));
        heads.min_by_key(|(_, sent)| sent.1).map(|(envelope, _)| *envelope)
    }

    /// The receive that began first of those that wait; it gives up.
    pub(super) fn give_up(&mut self) -> Option<(Begin, Waiting)> {
        let (begin, waiting) = self.waiting.pop_first()?;
        if (waiting.src.is_none() || waiting.tag.is_none())
            && let Some(all) = self.wild.get_mut(&begin.1)
        {
            all.retain(|other| *other != begin);
        }
        Some((begin, waiting))
    }

    /// Messages that nobody received.
    pub(super) fn unreceived(&self) -> u64 {
        self.sends.len() as u64
    }
}

fn takes(waiting: &Waiting, envelope: &Envelope) -> bool {
    waiting.communicator == envelope.communicator
        && waiting.src.is_none_or(|src| src == envelope.src)
        && waiting.tag.is_none_or(|tag| tag == envelope.tag)
}

/// The envelope of a message.
pub(super) fn envelope(src: u32, dst: u32, tag: i32, communicator: Option<u32>) -> Envelope {
    Envelope { communicator: communicator.unwrap_or(NONE), src, dst, tag }
}
