//! The events of all locations in one stream, in the order of time: sends and receives are paired,
//! calls and messages leave in the order of their beginnings.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use rustc_hash::FxHashMap;

use super::collectives::{Collectives, Ending};
use super::definitions::Definitions;
use super::lane::{Event, Lane, OneSided, Received};
use super::remarks::Remarks;
use crate::import::held::{Held, Record};
use crate::import::pairing::{Envelope, Queues};
use crate::trace::{Call, Message, Operation, Rank, Sink, UnmatchedReceive, UnmatchedReceives};
use crate::{At, Result};

/// Most sends and receives that wait for their other sides: 40 MB. Beyond, they stay unmatched.
const MOST_UNPAIRED: usize = 1 << 20;

/// Requests of a location after which those that are over are looked for.
const MANY_REQUESTS: usize = 1 << 12;

/// A location with its place in errors.
pub(super) struct Source {
    pub(super) lane: Lane,
    pub(super) rank: u32,
    pub(super) name: String,
}

/// What is open at a location.
#[derive(Default)]
struct Open {
    /// Numbers of held records: the blocking send, the collective.
    send: Option<u64>,
    collective: Option<u64>,
    /// By request: sends and non-blocking collectives.
    requests: FxHashMap<u64, u64>,
    /// By window and matching id.
    one_sided: FxHashMap<(u32, u64), u64>,
}

/// Merges the events of all locations.
pub(super) struct Merge<'a> {
    definitions: &'a Definitions,
    sources: Vec<Source>,
    open: Vec<Open>,
    held: Held,
    /// Numbers of sends without a receive.
    sends: Queues<Envelope, u64>,
    /// Receives without a send.
    receives: Queues<Envelope, Received>,
    collectives: Collectives,
    remarks: Remarks,
}

impl<'a> Merge<'a> {
    pub(super) fn new(definitions: &'a Definitions, sources: Vec<Source>, collectives: Collectives) -> Self {
        let open = sources.iter().map(|_| Open::default()).collect();
        Self {
            definitions,
            sources,
            open,
            held: Held::default(),
            sends: Queues::default(),
            receives: Queues::default(),
            collectives,
            remarks: Remarks::default(),
        }
    }

    /// Passes all records to a sink.
    ///
    /// # Errors
    /// Damage or truncation with rank, file and byte; an error of the sink.
    pub(super) fn run(mut self, sink: &mut dyn Sink) -> Result<Remarks> {
        let mut heads = Vec::with_capacity(self.sources.len());
        let mut order = BinaryHeap::with_capacity(self.sources.len());
        for place in 0..self.sources.len() {
            let head = self.next(place)?;
            order.extend(head.map(|(ticks, _)| Reverse((ticks, place))));
            heads.push(head);
        }
        while let Some(mut least) = order.peek_mut() {
            let place = least.0.1;
            let next = self.next(place)?;
            match next {
                Some((ticks, _)) => least.0.0 = ticks,
                None => drop(PeekMut::pop(least)),
            }
            if let Some((ticks, event)) = std::mem::replace(&mut heads[place], next) {
                self.event(place, ticks, event, sink)?;
            }
        }
        self.finish(sink)
    }

    #[inline]
    fn next(&mut self, place: usize) -> Result<Option<(u64, Event)>> {
        let source = &mut self.sources[place];
        source.lane.next().at(|| format!("rank {}", source.rank)).at(|| &source.name)
    }

    fn event(&mut self, place: usize, ticks: u64, event: Event, sink: &mut dyn Sink) -> Result<()> {
        let time_ns = self.definitions.clock.ns(ticks);
        match event {
            Event::Send { .. } => self.send(place, time_ns, &event, sink),
            Event::Left => match self.open[place].send.take() {
                Some(number) => self.sent(number, Some(time_ns), sink),
                None => Ok(()),
            },
            Event::Sent { request } => match self.open[place].requests.remove(&request) {
                Some(number) => self.sent(number, Some(time_ns), sink),
                None => Ok(()),
            },
            Event::Dropped { request } => match self.open[place].requests.remove(&request) {
                Some(number) => self.sent(number, None, sink),
                None => Ok(()),
            },
            Event::Received(received) => self.received(place, &received, sink),
            Event::Begun { request } => self.begun(place, time_ns, request, sink),
            Event::Ended { collective, request } => {
                let open = &mut self.open[place];
                let number = match request {
                    Some(request) => open.requests.remove(&request),
                    None => open.collective.take(),
                };
                let rank = self.sources[place].rank;
                let ending = Ending { number, rank, leave_ns: time_ns, collective };
                self.collectives.ended(&ending, self.definitions, &mut self.held, sink)
            }
            Event::Posted { .. } => self.posted(place, time_ns, &event, sink),
            Event::Completed { window, matching, is_remote } => {
                let open = &mut self.open[place].one_sided;
                let number = if is_remote {
                    open.get(&(window, matching)).copied()
                } else {
                    open.remove(&(window, matching))
                };
                number.map_or(Ok(()), |number| self.completed(number, time_ns, is_remote, sink))
            }
        }
    }

    #[inline]
    fn send(&mut self, place: usize, time_ns: i64, event: &Event, sink: &mut dyn Sink) -> Result<()> {
        let Event::Send { peer, communicator, tag, bytes, request } = *event else { return Ok(()) };
        let src = self.sources[place].rank;
        let Some(dst) = self.definitions.peer(communicator, src, peer) else {
            self.remarks.to_nobody += 1;
            return Ok(());
        };
        let message = Message {
            send_post_ns: time_ns,
            src: Rank(src),
            dst: Rank(dst),
            bytes,
            tag: Some(tag),
            communicator: Some(communicator),
            ..Message::default()
        };
        // The completion of the send, and its receive.
        let number = self.held.message(message, 2, sink)?;
        let open = &mut self.open[place];
        let before = match request {
            Some(request) => {
                tidy(&mut open.requests, &self.held);
                open.requests.insert(request, number)
            }
            None => open.send.replace(number),
        };
        // A request that comes again without its completion: it is unknown.
        if let Some(before) = before {
            self.held.settle(before, sink)?;
        }
        let envelope = Envelope { communicator, src, dst, tag };
        match self.receives.pop(&envelope) {
            Some(received) => self.paired(number, bytes, time_ns, &received, sink),
            None if self.sends.len() < MOST_UNPAIRED => {
                self.sends.push(envelope, number);
                Ok(())
            }
            None => {
                self.remarks.unpaired += 1;
                self.held.settle(number, sink)
            }
        }
    }

    fn sent(&mut self, number: u64, time_ns: Option<i64>, sink: &mut dyn Sink) -> Result<()> {
        match self.held.get_mut(number) {
            Some(Record::Message(message)) => message.send_complete_ns = time_ns,
            Some(Record::Call(call)) => call.leave_ns = time_ns,
            None => {}
        }
        self.held.settle(number, sink)
    }

    #[inline]
    fn received(&mut self, place: usize, received: &Received, sink: &mut dyn Sink) -> Result<()> {
        let dst = self.sources[place].rank;
        let Some(src) = self.definitions.peer(received.communicator, dst, received.peer) else {
            return Ok(());
        };
        let envelope = Envelope { communicator: received.communicator, src, dst, tag: received.tag };
        if let Some(number) = self.sends.pop(&envelope) {
            let sent = match self.held.get_mut(number) {
                Some(Record::Message(message)) => Some((message.bytes, message.send_post_ns)),
                _ => None,
            };
            return match sent {
                Some((bytes, time_ns)) => self.paired(number, bytes, time_ns, received, sink),
                None => {
                    self.remarks.late += 1;
                    Ok(())
                }
            };
        }
        if self.receives.len() < MOST_UNPAIRED {
            self.receives.push(envelope, *received);
        } else {
            self.unmatched(dst, src, received);
        }
        Ok(())
    }

    /// A send has its receive.
    fn paired(
        &mut self,
        number: u64,
        bytes: u64,
        time_ns: i64,
        received: &Received,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let clock = &self.definitions.clock;
        let complete_ns = clock.ns(received.complete);
        if let Some(Record::Message(message)) = self.held.get_mut(number) {
            message.receive_post_ns = Some(clock.ns(received.post));
            message.receive_complete_ns = Some(complete_ns);
        }
        self.remarks.unlike += u64::from(bytes != received.bytes);
        if complete_ns < time_ns {
            self.remarks.early += 1;
            self.remarks.early_ns = self.remarks.early_ns.max(complete_ns.abs_diff(time_ns));
        }
        self.held.settle(number, sink)
    }

    /// A collective begins; its call waits for its end.
    fn begun(&mut self, place: usize, time_ns: i64, request: Option<u64>, sink: &mut dyn Sink) -> Result<()> {
        let call = Call { enter_ns: time_ns, rank: Rank(self.sources[place].rank), ..Call::default() };
        let number = self.held.call(call, self.collectives.facts(), sink)?;
        let open = &mut self.open[place];
        let before = match request {
            Some(request) => {
                tidy(&mut open.requests, &self.held);
                open.requests.insert(request, number)
            }
            None => open.collective.replace(number),
        };
        // One that never ended.
        before.map_or(Ok(()), |before| self.collectives.given_up(before, &mut self.held, sink))
    }

    /// A one-sided operation: what is sent, and what is received.
    fn posted(&mut self, place: usize, time_ns: i64, event: &Event, sink: &mut dyn Sink) -> Result<()> {
        let Event::Posted { operation, window, peer, sent, received, matching } = *event else {
            return Ok(());
        };
        let own = self.sources[place].rank;
        let communicator = self.definitions.windows.get(&window).copied();
        let Some(target) = self.definitions.peer(communicator.unwrap_or(u32::MAX), own, peer) else {
            self.remarks.to_nobody += 1;
            return Ok(());
        };
        let there = Message {
            send_post_ns: time_ns,
            src: Rank(own),
            dst: Rank(target),
            bytes: sent,
            communicator,
            operation: if operation == OneSided::Put { Operation::Put } else { Operation::Accumulate },
            ..Message::default()
        };
        let back = Message {
            src: Rank(target),
            dst: Rank(own),
            bytes: received,
            operation: Operation::Get,
            ..there
        };
        let number = match operation {
            OneSided::Put => self.held.message(there, 1, sink)?,
            OneSided::Get => self.held.message(back, 1, sink)?,
            OneSided::Atomic => {
                if received > 0 {
                    self.held.message(back, 0, sink)?;
                }
                self.held.message(there, 1, sink)?
            }
        };
        let open = &mut self.open[place].one_sided;
        tidy(open, &self.held);
        match open.insert((window, matching), number) {
            Some(before) => self.held.settle(before, sink),
            None => Ok(()),
        }
    }

    /// A one-sided operation is complete at its origin, or at the target.
    fn completed(&mut self, number: u64, time_ns: i64, is_remote: bool, sink: &mut dyn Sink) -> Result<()> {
        if let Some(Record::Message(message)) = self.held.get_mut(number) {
            if is_remote || message.operation == Operation::Get {
                message.receive_complete_ns = Some(time_ns);
            } else {
                message.send_complete_ns = Some(time_ns);
            }
        }
        if is_remote { Ok(()) } else { self.held.settle(number, sink) }
    }

    fn unmatched(&mut self, dst: u32, src: u32, received: &Received) {
        self.remarks.unsent.add(UnmatchedReceive {
            rank: dst,
            position: received.position,
            src: Some(src),
            tag: Some(received.tag),
            bytes: Some(received.bytes),
        });
    }

    fn finish(mut self, sink: &mut dyn Sink) -> Result<Remarks> {
        let left: Vec<(Envelope, Received)> =
            self.receives.iter().map(|(envelope, received)| (*envelope, *received)).collect();
        for (envelope, received) in left {
            self.unmatched(envelope.dst, envelope.src, &received);
        }
        let mut remarks = self.remarks;
        remarks.unpaired += self.sends.len() as u64;
        for source in &self.sources {
            remarks.lost += source.lane.lost();
            remarks.descents += source.lane.descents;
        }
        self.collectives.finish(&mut remarks);
        self.held.finish(sink)?;
        Ok(remarks)
    }
}

/// Forgets what stands for records that have left: some tools never say that a request is complete.
fn tidy<K: Eq + std::hash::Hash>(open: &mut FxHashMap<K, u64>, held: &Held) {
    if open.len() >= MANY_REQUESTS && open.len() == open.capacity() {
        open.retain(|_, number| held.has(*number));
    }
}

impl Remarks {
    /// Receives without a send, as the summary has them.
    pub(super) fn unmatched_receives(&self) -> UnmatchedReceives {
        self.unsent.clone()
    }
}
