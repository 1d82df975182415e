//! The events of one location that concern messages, in order.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::clock::Correction;
use super::fields::Fields;
use super::local::{Ids, Local};
use super::records::{Holds, Records};
use crate::import::set::Member;
use crate::{At, Result};

/// Most receives of a location that are posted at one time; beyond, the oldest one is taken for
/// lost. EZTrace leaves out the completion of most.
const MOST_POSTED: usize = 1 << 16;

/// Types of events.
mod kind {
    pub(super) const ENTER: u8 = 12;
    pub(super) const LEAVE: u8 = 13;
    pub(super) const SEND: u8 = 14;
    pub(super) const ISEND: u8 = 15;
    pub(super) const ISEND_COMPLETE: u8 = 16;
    pub(super) const IRECV_REQUEST: u8 = 17;
    pub(super) const RECV: u8 = 18;
    pub(super) const IRECV: u8 = 19;
    pub(super) const REQUEST_TEST: u8 = 20;
    pub(super) const REQUEST_CANCELLED: u8 = 21;
    pub(super) const COLLECTIVE_BEGIN: u8 = 22;
    pub(super) const COLLECTIVE_END: u8 = 23;
    pub(super) const RMA_COLLECTIVE_BEGIN: u8 = 37;
    pub(super) const RMA_COLLECTIVE_END: u8 = 38;
    pub(super) const RMA_PUT: u8 = 46;
    pub(super) const RMA_GET: u8 = 47;
    pub(super) const RMA_ATOMIC: u8 = 48;
    pub(super) const RMA_OP_TEST: u8 = 51;
    pub(super) const RMA_COMPLETE_REMOTE: u8 = 52;
    pub(super) const COLLECTIVE_REQUEST: u8 = 85;
    pub(super) const COLLECTIVE_COMPLETE: u8 = 86;
}

/// The name of an event's type in errors.
fn name(kind: u8) -> &'static str {
    match kind {
        kind::SEND => "MPI_SEND",
        kind::ISEND => "MPI_ISEND",
        kind::ISEND_COMPLETE => "MPI_ISEND_COMPLETE",
        kind::IRECV_REQUEST => "MPI_IRECV_REQUEST",
        kind::RECV => "MPI_RECV",
        kind::IRECV => "MPI_IRECV",
        kind::REQUEST_CANCELLED => "MPI_REQUEST_CANCELLED",
        kind::COLLECTIVE_END => "MPI_COLLECTIVE_END",
        kind::RMA_COLLECTIVE_END => "RMA_COLLECTIVE_END",
        kind::RMA_PUT => "RMA_PUT",
        kind::RMA_GET => "RMA_GET",
        kind::RMA_ATOMIC => "RMA_ATOMIC",
        kind::COLLECTIVE_REQUEST | kind::COLLECTIVE_COMPLETE => "NON_BLOCKING_COLLECTIVE",
        _ => "RMA_OP_COMPLETE",
    }
}

/// What happens at a location. Communicators and windows have global ids, peers are their members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A message is sent; without a request the send is complete when its function is left.
    Send { peer: u32, communicator: u32, tag: i32, bytes: u64, request: Option<u64> },
    /// A send is complete.
    Sent { request: u64 },
    /// A request was cancelled or given to something else.
    Dropped { request: u64 },
    /// The function is left in which there was a send.
    Left,
    /// A message was received; in the order in which receives are posted.
    Received(Received),
    /// A collective begins; `request` if it is non-blocking.
    Begun { request: Option<u64> },
    /// A collective ends.
    Ended { collective: Collective, request: Option<u64> },
    /// A one-sided operation is posted.
    Posted { operation: OneSided, window: u32, peer: u32, sent: u64, received: u64, matching: u64 },
    /// One is complete: at the origin, or at the target.
    Completed { window: u32, matching: u64, is_remote: bool },
}

/// One-sided operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OneSided {
    Put,
    Get,
    Atomic,
}

/// A received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Received {
    pub(super) peer: u32,
    pub(super) communicator: u32,
    pub(super) tag: i32,
    pub(super) bytes: u64,
    pub(super) post: u64,
    pub(super) complete: u64,
    /// Number of the receive at its location, from 1.
    pub(super) position: u64,
}

/// A collective as its end tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Collective {
    /// As OTF2 numbers operations.
    pub(super) operation: u8,
    /// The communicator; or the window, if it is one of windows.
    pub(super) communicator: u32,
    pub(super) is_of_window: bool,
    pub(super) root: u32,
    pub(super) sent: u64,
    pub(super) received: u64,
}

/// A receive that is posted.
struct Posted {
    request: Option<u64>,
    post: u64,
    position: u64,
    state: State,
}

enum State {
    Waits,
    Complete(Received),
    /// It received nothing, as far as the trace tells.
    Lost,
}

/// Reads the events of a location.
pub(super) struct Lane {
    records: Records,
    communicators: Ids,
    windows: Ids,
    clock: Correction,
    /// Time of the last event; times do not descend.
    last: u64,
    /// When the last function was entered.
    entered: u64,
    /// A blocking send whose function is not left yet.
    has_open_send: bool,
    receives: Receives,
    /// Events whose time is before that of the event before them.
    pub(super) descents: u64,
}

/// The receives of a location in the order of posting, until the oldest one is complete.
#[derive(Default)]
struct Receives {
    posted: VecDeque<Posted>,
    /// Number of the first of them.
    first: u64,
    /// The receive of each request.
    requests: FxHashMap<u64, u64>,
    /// Receives so far.
    count: u64,
    /// Receives whose completion is not in the trace.
    lost: u64,
}

impl Lane {
    pub(super) fn new(member: &Member, local: Local) -> Self {
        Self {
            records: Records::new(member, Holds::Events),
            communicators: local.communicators,
            windows: local.windows,
            clock: local.clock,
            last: 0,
            entered: 0,
            has_open_send: false,
            receives: Receives::default(),
            descents: 0,
        }
    }

    /// Receives whose completion is not in the trace.
    pub(super) fn lost(&self) -> u64 {
        self.receives.lost
    }

    /// The next event and its time in ticks of the trace's clock.
    ///
    /// # Errors
    /// Damage or truncation, with the byte and the event.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<(u64, Event)>> {
        loop {
            if let Some(received) = self.receives.next() {
                return Ok(Some((self.last, Event::Received(received))));
            }
            let has_open_send = self.has_open_send;
            let is_wanted = |kind: u8| match kind {
                kind::LEAVE => has_open_send,
                kind::ENTER..=kind::REQUEST_CANCELLED => kind != kind::REQUEST_TEST,
                kind::COLLECTIVE_BEGIN | kind::COLLECTIVE_END => true,
                kind::RMA_COLLECTIVE_BEGIN | kind::RMA_COLLECTIVE_END => true,
                kind::RMA_PUT..=kind::RMA_COMPLETE_REMOTE => kind != kind::RMA_OP_TEST,
                kind::COLLECTIVE_REQUEST | kind::COLLECTIVE_COMPLETE => true,
                _ => false,
            };
            let Some(record) = self.records.next(is_wanted)? else { return Ok(self.end()) };
            if record.kind == kind::ENTER {
                self.entered = record.ticks;
                continue;
            }
            let (kind, offset) = (record.kind, record.offset);
            let time = self.clock.apply(record.ticks);
            if time < self.last {
                self.descents += 1;
            }
            self.last = self.last.max(time);
            let event = match kind {
                kind::LEAVE => {
                    self.has_open_send = false;
                    Ok(Some(Event::Left))
                }
                kind::IRECV_REQUEST | kind::RECV | kind::IRECV | kind::REQUEST_CANCELLED => {
                    let post = self.clock.apply(self.entered).min(self.last);
                    let times = (post, self.last);
                    self.receives.event(kind, record.fields, &self.communicators, times)
                }
                _ => {
                    let ids = (&self.communicators, &self.windows);
                    decode(kind, record.fields, ids)
                }
            };
            let event = event.at(|| format!("byte {offset}: event {}", name(kind)))?;
            if let Some(event) = event {
                self.has_open_send |= matches!(event, Event::Send { request: None, .. });
                return Ok(Some((self.last, event)));
            }
        }
    }

    /// At the end of the file, receives that wait have lost their message.
    fn end(&mut self) -> Option<(u64, Event)> {
        for posted in &mut self.receives.posted {
            if matches!(posted.state, State::Waits) {
                posted.state = State::Lost;
            }
        }
        self.receives.next().map(|received| (self.last, Event::Received(received)))
    }
}

impl Receives {
    /// The oldest receive, if it is complete.
    #[inline]
    fn next(&mut self) -> Option<Received> {
        loop {
            let oldest = self.posted.front()?;
            if matches!(oldest.state, State::Waits) && self.posted.len() <= MOST_POSTED {
                return None;
            }
            let oldest = self.posted.pop_front()?;
            self.first += 1;
            match oldest.state {
                State::Complete(received) => return Some(received),
                State::Waits => {
                    let request = oldest.request.unwrap_or_default();
                    self.requests.remove(&request);
                    self.lost += 1;
                }
                State::Lost => self.lost += 1,
            }
        }
    }

    /// An event of a receive, between the time at which its function was entered and its own.
    fn event(
        &mut self,
        kind: u8,
        mut fields: Fields<'_>,
        communicators: &Ids,
        (post, now): (u64, u64),
    ) -> Result<Option<Event>> {
        if kind == kind::IRECV_REQUEST {
            let request = fields.unsigned()?;
            self.forget(request);
            self.requests.insert(request, self.first + self.posted.len() as u64);
            self.post(Some(request), now, State::Waits);
            return Ok(None);
        }
        if kind == kind::REQUEST_CANCELLED {
            let request = fields.unsigned()?;
            if let Some(posted) = self.take(request) {
                posted.state = State::Lost;
                return Ok(None);
            }
            return Ok(Some(Event::Dropped { request }));
        }
        let mut received = Received {
            peer: fields.id()?,
            communicator: communicators.global(fields.id()?),
            tag: fields.id()?.cast_signed(),
            bytes: fields.unsigned()?,
            post,
            complete: now,
            position: 0,
        };
        let request = if kind == kind::IRECV { Some(fields.unsigned()?) } else { None };
        if let Some(posted) = request.and_then(|request| self.take(request)) {
            (received.post, received.position) = (posted.post, posted.position);
            posted.state = State::Complete(received);
        } else {
            received.position = self.count + 1;
            self.post(None, received.post, State::Complete(received));
        }
        Ok(None)
    }

    fn post(&mut self, request: Option<u64>, post: u64, state: State) {
        self.count += 1;
        self.posted.push_back(Posted { request, post, position: self.count, state });
    }

    /// The receive of a request, which ends.
    fn take(&mut self, request: u64) -> Option<&mut Posted> {
        let number = self.requests.remove(&request)?;
        self.posted.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// A request comes again: what it stood for before is over.
    fn forget(&mut self, request: u64) {
        if let Some(posted) = self.take(request) {
            posted.state = State::Lost;
        }
    }
}

/// An event that concerns no receive.
#[inline]
fn decode(kind: u8, mut fields: Fields<'_>, ids: (&Ids, &Ids)) -> Result<Option<Event>> {
    let (communicators, windows) = ids;
    let fields = &mut fields;
    Ok(Some(match kind {
        kind::SEND | kind::ISEND => Event::Send {
            peer: fields.id()?,
            communicator: communicators.global(fields.id()?),
            tag: fields.id()?.cast_signed(),
            bytes: fields.unsigned()?,
            request: if kind == kind::ISEND { Some(fields.unsigned()?) } else { None },
        },
        kind::ISEND_COMPLETE => Event::Sent { request: fields.unsigned()? },
        kind::COLLECTIVE_BEGIN | kind::RMA_COLLECTIVE_BEGIN => Event::Begun { request: None },
        kind::COLLECTIVE_REQUEST => Event::Begun { request: Some(fields.unsigned()?) },
        kind::COLLECTIVE_END | kind::COLLECTIVE_COMPLETE => {
            let collective = Collective {
                operation: fields.byte()?,
                communicator: communicators.global(fields.id()?),
                is_of_window: false,
                root: fields.id()?,
                sent: fields.unsigned()?,
                received: fields.unsigned()?,
            };
            let request = if kind == kind::COLLECTIVE_END { None } else { Some(fields.unsigned()?) };
            Event::Ended { collective, request }
        }
        kind::RMA_COLLECTIVE_END => {
            let (operation, _level) = (fields.byte()?, fields.id()?);
            let collective = Collective {
                operation,
                communicator: windows.global(fields.id()?),
                is_of_window: true,
                root: fields.id()?,
                sent: fields.unsigned()?,
                received: fields.unsigned()?,
            };
            Event::Ended { collective, request: None }
        }
        kind::RMA_PUT | kind::RMA_GET | kind::RMA_ATOMIC => {
            let (window, peer) = (windows.global(fields.id()?), fields.id()?);
            if kind == kind::RMA_ATOMIC {
                fields.byte()?;
            }
            let bytes = fields.unsigned()?;
            let (operation, sent, received) = match kind {
                kind::RMA_PUT => (OneSided::Put, bytes, 0),
                kind::RMA_GET => (OneSided::Get, 0, bytes),
                _ => (OneSided::Atomic, bytes, fields.unsigned()?),
            };
            Event::Posted { operation, window, peer, sent, received, matching: fields.unsigned()? }
        }
        _ => Event::Completed {
            window: windows.global(fields.id()?),
            matching: fields.unsigned()?,
            is_remote: kind == kind::RMA_COMPLETE_REMOTE,
        },
    }))
}
