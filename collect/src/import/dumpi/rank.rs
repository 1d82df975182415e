//! A rank of a DUMPI run: its records as events.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::calls::{self, Bytes};
use super::clock::Clock;
use super::communicators::Communicators;
use super::functions::number as n;
use super::index::Index;
use super::making;
use super::record::{Record, Status};
use super::stream::Records;
use super::types::Types;
use crate::import::ranks::{
    self, Advance, Completion, Event, Expandable, Leaving, NO_COMMUNICATOR, Pending, Received, Source,
    Wanted, finish,
};
use crate::import::set::Member;
use crate::trace::{Call, Message, Operation, Rank};
use crate::{Error, Result};

/// A rank's file, and what is known of the run.
pub(super) struct Process {
    pub(super) rank: u32,
    pub(super) member: Member,
    pub(super) index: Index,
    pub(super) communicators: Arc<Communicators>,
    /// Added to its times, to put them on the run's time line.
    pub(super) offset_ns: i64,
    /// Bytes that are read at once.
    pub(super) buffer: usize,
}

impl Process {
    /// The rank in the run of a rank in a communicator with this number.
    #[inline]
    fn member(&self, communicator: u32, peer: i32) -> Option<u32> {
        self.communicators.peer(communicator, self.rank, u32::try_from(peer).ok()?)
    }

    /// A completion with what a status says of a receive on a communicator with this number.
    #[inline]
    fn completion(&self, time_ns: i64, communicator: u32, status: Option<Status>) -> Completion {
        let Some(status) = status else { return Completion { time_ns, ..Completion::default() } };
        Completion {
            time_ns,
            src: self.member(communicator, status.source),
            tag: status.tag.filter(|tag| *tag >= 0),
            bytes: u64::try_from(status.bytes).ok(),
            // A receive from MPI_PROC_NULL completes without a source.
            cancelled: status.cancelled || status.source < 0,
        }
    }
}

impl ranks::Process for Process {
    type Lane<'a> = Lane<'a>;

    fn rank(&self) -> u32 {
        self.rank
    }

    fn file(&self) -> &str {
        self.member.name()
    }

    fn lanes(&self, wanted: Wanted) -> Result<Vec<Lane<'_>>> {
        Ok(vec![Lane::new(self, wanted)])
    }

    fn members(&self, communicator: u32, _all: &[Self]) -> Option<Vec<u32>> {
        self.communicators.members(communicator)
    }
}

/// A send or receive that is started again and again.
#[derive(Clone, Copy)]
enum Persistent {
    Send { dst: i32, bytes: Option<u64>, tag: i32, comm: u16 },
    Receive { source: i32, tag: i32, comm: u16 },
}

/// The events of a rank, in the order of its records.
pub(super) struct Lane<'a> {
    records: Records,
    state: State<'a>,
}

/// What a rank knows on its way through its records.
struct State<'a> {
    process: &'a Process,
    wanted: Wanted,
    clock: Clock,
    types: Types,
    pending: Pending,
    persistent: FxHashMap<i32, Persistent>,
    /// The numbers of this rank's handles of communicators.
    comms: FxHashMap<u16, u32>,
    /// Communicators of windows.
    windows: FxHashMap<u16, u16>,
    /// Calls so far that make a communicator.
    made: usize,
}

impl<'a> Lane<'a> {
    fn new(process: &'a Process, wanted: Wanted) -> Self {
        let Process { rank, member, index, .. } = process;
        let comms = [(making::COMM_WORLD, 0), (making::COMM_SELF, Communicators::of_self(*rank))];
        Self {
            records: Records::new(member, *rank, index, process.buffer),
            state: State {
                process,
                wanted,
                clock: Clock::new(index.biases.1, process.offset_ns),
                types: Types::new(&index.sizes),
                pending: Pending::default(),
                persistent: FxHashMap::default(),
                comms: comms.into_iter().collect(),
                windows: FxHashMap::default(),
                made: 0,
            },
        }
    }
}

impl Advance for Lane<'_> {
    fn pending(&mut self) -> &mut Pending {
        &mut self.state.pending
    }

    #[inline]
    fn advance(&mut self) -> Result<bool> {
        let Some(record) = self.records.next()? else { return Ok(false) };
        self.state.take(&record)?;
        Ok(true)
    }

    fn back_ns(&self) -> u64 {
        self.state.pending.back_ns()
    }
}

/// Start and stop of a call, nanoseconds.
type Times = (i64, i64);

/// Where a function has the fields of a message.
#[derive(Clone, Copy)]
struct Places {
    count: usize,
    datatype: usize,
    peer: usize,
    tag: usize,
    comm: usize,
}

/// Those of `MPI_Send`, `MPI_Recv` and most others.
const USUAL: Places = Places { count: 0, datatype: 1, peer: 2, tag: 3, comm: 4 };

/// A receive of which nothing is known yet but whom it is posted for.
fn posted(source: Source) -> Event {
    let received = Received { post_ns: 0, complete_ns: None, bytes: None, position: 0, is_internal: false };
    Event::Receive { source, received }
}

impl State<'_> {
    /// Makes events of a record.
    #[inline]
    fn take(&mut self, record: &Record<'_>) -> Result<()> {
        let Some(span) = record.wall() else {
            return Err(Error::data(
                "has no wall-clock times, expected a trace that was recorded with timestamps wall or full",
            ));
        };
        let times = self.clock.unroll(&span);
        match record.function() {
            n::SEND | n::BSEND | n::SSEND | n::RSEND => self.send(record, USUAL, times),
            n::RECV => self.receive(record, USUAL, Some(5), times),
            // What starts a transfer is no call of a trace.
            n::ISEND | n::IBSEND | n::ISSEND | n::IRSEND => {
                self.start_send(record, times);
                return Ok(());
            }
            n::IRECV => {
                self.start_receive(record, times);
                return Ok(());
            }
            n::SENDRECV => {
                let receive = Places { count: 4, datatype: 5, peer: 6, tag: 7, comm: 8 };
                self.send(record, Places { comm: 8, ..USUAL }, times);
                self.receive(record, receive, Some(9), times);
            }
            n::SENDRECV_REPLACE => {
                self.send(record, Places { comm: 6, ..USUAL }, times);
                self.receive(record, Places { peer: 4, tag: 5, comm: 6, ..USUAL }, Some(7), times);
            }
            n::WAIT..=n::TESTSOME if record.function() != n::REQUEST_FREE => {
                self.completions(record, times.1);
            }
            n::REQUEST_FREE => self.release(record.int(0)),
            n::CANCEL => self.cancel(record.int(0)),
            n::SEND_INIT..=n::RECV_INIT => self.prepare(record),
            n::START => self.start(record.int(0), times.0),
            n::STARTALL => record.ints(1).for_each(|request| self.start(request, times.0)),
            n::PUT | n::GET | n::ACCUMULATE => self.one_sided(record, times),
            n::WIN_CREATE => {
                self.windows.insert(record.handle(4), record.handle(3));
            }
            _ => {
                if let Some(handle) = making::made(record) {
                    self.make(handle);
                } else {
                    self.types.learn(record);
                }
            }
        }
        if self.wanted != Wanted::Receives {
            self.call(record, times);
        }
        Ok(())
    }

    /// The number of a communicator in the run.
    #[inline]
    fn communicator(&self, handle: u16) -> Option<u32> {
        if handle == making::COMM_WORLD { Some(0) } else { self.comms.get(&handle).copied() }
    }

    /// The number of a communicator, and the rank in the run of a rank in it.
    #[inline]
    fn peer(&self, handle: u16, peer: i32) -> Option<(u32, u32)> {
        let number = self.communicator(handle)?;
        Some((number, self.process.member(number, peer)?))
    }

    fn make(&mut self, handle: u16) {
        let number = self.process.communicators.made_by(self.process.rank, self.made);
        self.made += 1;
        match number {
            Some(number) => self.comms.insert(handle, number),
            None => self.comms.remove(&handle),
        };
    }

    /// A message to a rank of a communicator; `None` if nobody is to receive it.
    #[inline]
    fn message(
        &self,
        comm: u16,
        dst: i32,
        bytes: Option<u64>,
        tag: i32,
        operation: Operation,
    ) -> Option<Event> {
        // MPI_PROC_NULL is the number that the MPI library has for it, below 0 in all of them.
        if dst < 0 {
            return None;
        }
        let Some((communicator, dst)) = self.peer(comm, dst) else { return Some(Event::Foreign) };
        let message = Message {
            src: Rank(self.process.rank),
            dst: Rank(dst),
            bytes: bytes.unwrap_or(0),
            tag: Some(tag),
            communicator: Some(communicator),
            operation,
            ..Message::default()
        };
        Some(Event::Message(Leaving { message, is_received: true, is_sized: bytes.is_some() }))
    }

    fn send(&mut self, record: &Record<'_>, places: Places, (start_ns, stop_ns): Times) {
        if self.wanted != Wanted::Leading {
            return;
        }
        let bytes = self.types.bytes(record.int(places.count), record.handle(places.datatype));
        let (dst, tag) = (record.int(places.peer), record.int(places.tag));
        let operation = match record.function() {
            n::SENDRECV | n::SENDRECV_REPLACE => Operation::Sendrecv,
            _ => Operation::PointToPoint,
        };
        let event = self.message(record.handle(places.comm), dst, bytes, tag, operation);
        if let Some(mut event) = event {
            if let Event::Message(leaving) = &mut event {
                leaving.message.send_complete_ns = Some(stop_ns);
            }
            self.pending.push(start_ns, event);
        }
    }

    #[inline]
    fn start_send(&mut self, record: &Record<'_>, (start_ns, _): Times) {
        if self.wanted != Wanted::Leading {
            return;
        }
        let bytes = self.types.bytes(record.int(0), record.handle(1));
        let event =
            self.message(record.handle(4), record.int(2), bytes, record.int(3), Operation::PointToPoint);
        if let Some(event) = event {
            self.pending.push_open(start_ns, event, i64::from(record.int(5)));
        }
    }

    /// What a receive asks for; `None` from nobody.
    #[inline]
    fn asked(&self, comm: u16, source: i32, tag: i32) -> Option<Source> {
        // MPI_ANY_SOURCE is −1; with MPICH MPI_PROC_NULL is that too, which its status tells.
        if source < -1 {
            return None;
        }
        let peer = self.peer(comm, source);
        Some(Source {
            communicator: self.communicator(comm).unwrap_or(NO_COMMUNICATOR),
            src: peer.map(|(_, src)| src),
            tag: (tag >= 0).then_some(tag),
        })
    }

    fn receive(
        &mut self,
        record: &Record<'_>,
        places: Places,
        status: Option<usize>,
        (start_ns, stop_ns): Times,
    ) {
        if self.wanted != Wanted::Receives {
            return;
        }
        let comm = record.handle(places.comm);
        let Some(source) = self.asked(comm, record.int(places.peer), record.int(places.tag)) else { return };
        let status = status.and_then(|place| record.status(place, 0));
        let number = self.communicator(comm).unwrap_or(NO_COMMUNICATOR);
        let completion = self.process.completion(stop_ns, number, status);
        self.pending.push_complete(start_ns, posted(source), &completion);
    }

    #[inline]
    fn start_receive(&mut self, record: &Record<'_>, (start_ns, _): Times) {
        if self.wanted != Wanted::Receives {
            return;
        }
        let (comm, request) = (record.handle(4), record.int(5));
        if let Some(source) = self.asked(comm, record.int(2), record.int(3)) {
            self.pending.push_open(start_ns, posted(source), i64::from(request));
        }
    }

    /// A request is complete. Its status is read for receives alone: that of a send is undefined.
    #[inline]
    fn complete(&mut self, request: i32, time_ns: i64, status: impl FnOnce() -> Option<Status>) {
        let Some(event) = self.pending.close(i64::from(request)) else { return };
        let completion = match event {
            Event::Receive { source, .. } => self.process.completion(time_ns, source.communicator, status()),
            _ => Completion { time_ns, ..Completion::default() },
        };
        finish(event, &completion);
    }

    /// The requests that a wait or test found complete.
    #[inline]
    fn completions(&mut self, record: &Record<'_>, time_ns: i64) {
        let flag = |place| record.int(place) != 0;
        match record.function() {
            n::WAIT => self.complete(record.int(0), time_ns, || record.status(1, 0)),
            n::TEST if flag(1) => self.complete(record.int(0), time_ns, || record.status(2, 0)),
            n::WAITANY => self.one_of(record, record.int(2), (3, 0), time_ns),
            n::TESTANY if flag(3) => self.one_of(record, record.int(2), (4, 0), time_ns),
            n::WAITALL => self.all_of(record, 2, time_ns),
            n::TESTALL if flag(2) => self.all_of(record, 3, time_ns),
            n::WAITSOME | n::TESTSOME => {
                for (number, index) in record.ints(3).enumerate() {
                    self.one_of(record, index, (4, number), time_ns);
                }
            }
            _ => {}
        }
    }

    /// The request at an index; where its status is, and its number there.
    fn one_of(&mut self, record: &Record<'_>, index: i32, (statuses, number): (usize, usize), time_ns: i64) {
        let index = usize::try_from(index).ok();
        if let Some(request) = index.and_then(|index| record.ints(1).nth(index)) {
            self.complete(request, time_ns, || record.status(statuses, number));
        }
    }

    fn all_of(&mut self, record: &Record<'_>, statuses: usize, time_ns: i64) {
        for (number, request) in record.ints(1).enumerate() {
            self.complete(request, time_ns, || record.status(statuses, number));
        }
    }

    fn release(&mut self, request: i32) {
        self.pending.release(i64::from(request));
        self.persistent.remove(&request);
    }

    /// A receive that is to be cancelled did not take place, unless its status says otherwise.
    /// Where statuses are not recorded, this is all that is known.
    fn cancel(&mut self, request: i32) {
        if self.wanted == Wanted::Receives
            && self.process.index.calls(n::TEST_CANCELLED).is_none_or(|calls| calls == 0)
            && let Some(Event::Receive { source, .. }) = self.pending.opened(i64::from(request))
        {
            (source.src, source.tag) = (None, None);
        }
    }

    fn prepare(&mut self, record: &Record<'_>) {
        let (peer, tag, comm) = (record.int(2), record.int(3), record.handle(4));
        let persistent = if record.function() == n::RECV_INIT {
            Persistent::Receive { source: peer, tag, comm }
        } else {
            let bytes = self.types.bytes(record.int(0), record.handle(1));
            Persistent::Send { dst: peer, bytes, tag, comm }
        };
        self.persistent.insert(record.int(5), persistent);
    }

    fn start(&mut self, request: i32, start_ns: i64) {
        let event = match self.persistent.get(&request) {
            Some(Persistent::Send { dst, bytes, tag, comm }) if self.wanted == Wanted::Leading => {
                self.message(*comm, *dst, *bytes, *tag, Operation::PointToPoint)
            }
            Some(Persistent::Receive { source, tag, comm }) if self.wanted == Wanted::Receives => {
                self.asked(*comm, *source, *tag).map(posted)
            }
            _ => None,
        };
        if let Some(event) = event {
            self.pending.push_open(start_ns, event, i64::from(request));
        }
    }

    /// A put, get or accumulate: one message, which its target does not receive.
    fn one_sided(&mut self, record: &Record<'_>, (start_ns, stop_ns): Times) {
        if self.wanted != Wanted::Leading {
            return;
        }
        let (window, operation) = match record.function() {
            n::PUT => (record.handle(6), Operation::Put),
            n::GET => (record.handle(6), Operation::Get),
            _ => (record.handle(7), Operation::Accumulate),
        };
        let comm = self.windows.get(&window).copied().unwrap_or(0);
        let bytes = self.types.bytes(record.int(0), record.handle(1));
        let Some(mut event) = self.message(comm, record.int(2), bytes, 0, operation) else { return };
        if let Event::Message(leaving) = &mut event {
            leaving.is_received = false;
            let message = &mut leaving.message;
            message.tag = None;
            if operation == Operation::Get {
                (message.src, message.dst) = (message.dst, message.src);
                message.receive_complete_ns = Some(stop_ns);
            } else {
                message.send_complete_ns = Some(stop_ns);
            }
        }
        self.pending.push(start_ns, event);
    }

    /// The call itself, where it communicates or waits.
    fn call(&mut self, record: &Record<'_>, (start_ns, stop_ns): Times) {
        let Some(kind) = calls::kind(record) else { return };
        if self.wanted == Wanted::Collectives && !kind.is_collective() {
            return;
        }
        let communicator = kind.comm.and_then(|place| self.communicator(record.handle(place)));
        let bytes = match kind.bytes {
            Bytes::None => None,
            Bytes::Own(own) => {
                let size = communicator.and_then(|number| self.process.communicators.size(number));
                let place = || {
                    communicator
                        .and_then(|number| self.process.communicators.place(number, self.process.rank))
                };
                own.count(record, &self.types, size, &place)
            }
        };
        let root = kind.root.and_then(|place| self.peer(record.handle(kind.comm?), record.int(place)));
        let call = Call {
            enter_ns: start_ns,
            leave_ns: Some(stop_ns),
            rank: Rank(self.process.rank),
            operation: kind.operation,
            communicator,
            root: root.map(|(_, root)| Rank(root)),
            bytes,
        };
        let collective = match communicator {
            _ if !kind.is_collective() => Expandable::No,
            Some(number) => Expandable::On(number),
            None => Expandable::Unknown,
        };
        self.pending.push(start_ns, Event::Call { call, collective });
        if self.wanted == Wanted::Collectives {
            for counts in calls::counts(record, &self.types).chunks(3) {
                let mut three = [0; 3];
                three[..counts.len()].copy_from_slice(counts);
                self.pending.push(start_ns, Event::Counts(three, counts.len()));
            }
        }
    }
}
