//! The matching of receives to sends.
//!
//! Messages from one rank to another with one communicator and tag do not overtake each other (MPI
//! 4.1, section 3.5), and the first posted receive matches the first sent message. So the n-th send
//! of a (communicator, source, destination, tag) belongs to the n-th matching receive in the order
//! of posting. Receives of any source or tag have their match at completion.
//!
//! A receive may be posted long before its message is sent or long after. [`Receives`] reads a
//! rank's receives ahead of the merge up to the one that is needed, at most [`MOST_AHEAD`], and
//! keeps the others. A send without a receive within this limit is *owed* one; its times are lost,
//! but it counts as received.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::{Event, Lane, Process, Wanted};
use crate::Result;
use crate::trace::{UnmatchedReceive, UnmatchedReceives};

/// Most receives of one rank that are kept: 4 MB.
pub(super) const MOST_AHEAD: usize = 1 << 16;

/// The envelope of a send and its receive, besides the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Envelope {
    pub(super) communicator: u32,
    pub(super) src: u32,
    pub(super) tag: i32,
}

/// A receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::import) struct Received {
    pub(in crate::import) post_ns: i64,
    pub(in crate::import) complete_ns: Option<i64>,
    /// `None` if it was not seen to complete.
    pub(in crate::import) bytes: Option<u64>,
    /// Number of the receive in its rank, from 1; set when it is read.
    pub(in crate::import) position: u64,
    /// Not of the program's own making.
    pub(in crate::import) is_internal: bool,
}

/// The source of a receive, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::import) struct Source {
    pub(in crate::import) communicator: u32,
    pub(in crate::import) src: Option<u32>,
    pub(in crate::import) tag: Option<i32>,
}

/// Unmatched messages at the end.
#[derive(Default)]
pub(super) struct Left {
    /// Receives that completed.
    pub(super) unsent: u64,
    /// Sends.
    pub(super) owed: u64,
    /// Receives that completed without telling what they took.
    pub(super) anonymous: u64,
    /// These receives, and those of the program's own that did not complete.
    pub(super) unmatched: UnmatchedReceives,
}

/// The outcome of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// It was received.
    Found(Received),
    /// Perhaps far ahead.
    Owed,
    /// Never, as far as the recordings tell.
    None,
}

/// The receives of one rank that have no send yet.
pub(super) struct Receives<'a, P: Process + 'a> {
    process: &'a P,
    ahead: Ahead<P::Lane<'a>>,
    waiting: Waiting,
    most_ahead: usize,
}

/// The receives of all threads.
struct Ahead<L> {
    /// With the next receive of each, where there are several to compare.
    lanes: Vec<(L, Option<(Source, Received)>)>,
    /// Receives read so far.
    count: u64,
    left: Left,
}

/// Receives that were passed over, in lists by envelope.
#[derive(Default)]
struct Waiting {
    lists: FxHashMap<Envelope, List>,
    nodes: Vec<Node>,
    /// A list of nodes that are not in use.
    free: Option<u32>,
    /// Number of those that are kept.
    count: usize,
    /// Sends that are owed a receive.
    owed: u64,
}

/// Receives in the order of their posts, or sends that wait for one; never both.
#[derive(Clone, Copy, Default)]
struct List {
    ends: Option<(u32, u32)>,
    owed: u32,
}

#[derive(Clone, Copy)]
struct Node {
    received: Received,
    next: Option<u32>,
}

impl<'a, P: Process> Receives<'a, P> {
    /// # Errors
    /// An error of the operating system.
    pub(super) fn new(process: &'a P, most_ahead: usize) -> Result<Self> {
        let mut lanes: Vec<_> =
            process.lanes(Wanted::Receives)?.into_iter().map(|lane| (lane, None)).collect();
        if lanes.len() > 1 {
            for (lane, head) in &mut lanes {
                *head = next_receive(lane, process)?;
            }
        }
        let ahead = Ahead { lanes, count: 0, left: Left::default() };
        Ok(Self { process, ahead, waiting: Waiting::default(), most_ahead })
    }

    /// The receive of the next send with an envelope.
    ///
    /// # Errors
    /// An error of the operating system.
    pub(super) fn take(&mut self, envelope: Envelope) -> Result<Match> {
        if let Some(received) = self.waiting.take(envelope) {
            return Ok(Match::Found(received));
        }
        while self.waiting.count < self.most_ahead {
            match self.ahead.next(self.process)? {
                None => return Ok(Match::None),
                Some((found, _)) if self.waiting.pay(found) => {}
                Some((found, received)) if found == envelope => return Ok(Match::Found(received)),
                Some((found, received)) => self.waiting.keep(found, received),
            }
        }
        self.waiting.owe(envelope);
        Ok(Match::Owed)
    }

    /// Reads the rest and returns the unmatched receives.
    ///
    /// # Errors
    /// An error of the operating system.
    pub(super) fn finish(mut self) -> Result<Left> {
        let rank = self.process.rank();
        while let Some((found, received)) = self.ahead.next(self.process)? {
            if !self.waiting.pay(found) {
                self.ahead.left.receive(rank, &found.into(), &received);
            }
        }
        let mut left = self.ahead.left;
        for (envelope, received) in self.waiting.kept() {
            left.receive(rank, &envelope.into(), received);
        }
        Ok(Left { owed: self.waiting.owed, ..left })
    }
}

impl<L: Lane> Ahead<L> {
    /// The receive that was posted next of those that say from whom.
    fn next(&mut self, process: &impl Process) -> Result<Option<(Envelope, Received)>> {
        while let Some((source, mut received)) = self.next_of_any(process)? {
            self.count += 1;
            received.position = self.count;
            let Source { communicator, src, tag } = source;
            if let (Some(src), Some(tag)) = (src, tag) {
                return Ok(Some((Envelope { communicator, src, tag }, received)));
            }
            if received.complete_ns.is_some() {
                self.left.anonymous += 1;
            } else {
                self.left.receive(process.rank(), &source, &received);
            }
        }
        Ok(None)
    }

    fn next_of_any(&mut self, process: &impl Process) -> Result<Option<(Source, Received)>> {
        if let [(only, _)] = &mut self.lanes[..] {
            return next_receive(only, process);
        }
        let heads = self.lanes.iter_mut().filter(|(_, head)| head.is_some());
        let posted = |head: &Option<(Source, Received)>| head.as_ref().map(|(_, received)| received.post_ns);
        let Some((lane, head)) = heads.min_by_key(|(_, head)| posted(head)) else { return Ok(None) };
        let next = next_receive(lane, process)?;
        Ok(std::mem::replace(head, next))
    }
}

/// The next receive of a thread that was not cancelled.
fn next_receive(lane: &mut impl Lane, process: &impl Process) -> Result<Option<(Source, Received)>> {
    loop {
        // Errors get their place apart, so that events are not moved for it.
        match lane.next() {
            Ok(Some((_, Event::Receive { source, received }))) => return Ok(Some((source, received))),
            Ok(Some(_)) => {}
            Ok(None) => return Ok(None),
            Err(error) => return Err(error.at(process.file())),
        }
    }
}

impl Waiting {
    fn keep(&mut self, envelope: Envelope, received: Received) {
        let node = Node { received, next: None };
        let place = match self.free {
            Some(place) => {
                self.free = std::mem::replace(&mut self.nodes[place as usize], node).next;
                place
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
        let list = self.lists.entry(envelope).or_default();
        list.ends = match list.ends {
            None => Some((place, place)),
            Some((first, last)) => {
                self.nodes[last as usize].next = Some(place);
                Some((first, place))
            }
        };
        self.count += 1;
    }

    fn take(&mut self, envelope: Envelope) -> Option<Received> {
        if self.count == 0 {
            return None;
        }
        let Entry::Occupied(mut entry) = self.lists.entry(envelope) else { return None };
        let (first, last) = entry.get().ends?;
        let node = &mut self.nodes[first as usize];
        match node.next {
            Some(next) => entry.get_mut().ends = Some((next, last)),
            // Programs may number messages by tags, so empty lists are removed.
            None => drop(entry.remove()),
        }
        node.next = self.free;
        self.free = Some(first);
        self.count -= 1;
        Some(node.received)
    }

    fn owe(&mut self, envelope: Envelope) {
        self.lists.entry(envelope).or_default().owed += 1;
        self.owed += 1;
    }

    /// Gives a receive to a send that is owed one, if there is any.
    fn pay(&mut self, envelope: Envelope) -> bool {
        if self.owed == 0 {
            return false;
        }
        let Entry::Occupied(mut entry) = self.lists.entry(envelope) else { return false };
        let list = entry.get_mut();
        if list.owed == 0 {
            return false;
        }
        list.owed -= 1;
        if list.owed == 0 {
            entry.remove();
        }
        self.owed -= 1;
        true
    }

    /// In no order.
    fn kept(&self) -> impl Iterator<Item = (Envelope, &Received)> {
        let node = |place: u32| self.nodes.get(place as usize);
        self.lists.iter().flat_map(move |(envelope, list)| {
            let first = list.ends.and_then(|(first, _)| node(first));
            let nodes = std::iter::successors(first, move |last| last.next.and_then(node));
            nodes.map(|node| (*envelope, &node.received))
        })
    }
}

impl Left {
    fn receive(&mut self, rank: u32, source: &Source, received: &Received) {
        let Received { position, bytes, is_internal, .. } = *received;
        let is_complete = received.complete_ns.is_some();
        self.unsent += u64::from(is_complete);
        if is_complete || !is_internal {
            let Source { src, tag, .. } = *source;
            self.unmatched.add(UnmatchedReceive { rank, position, src, tag, bytes });
        }
    }
}

impl From<Envelope> for Source {
    fn from(Envelope { communicator, src, tag }: Envelope) -> Self {
        Self { communicator, src: Some(src), tag: Some(tag) }
    }
}
