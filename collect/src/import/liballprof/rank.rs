//! A rank of a liballprof run: its lines as events.

use std::io::{BufRead, Read};

use rustc_hash::FxHashMap;

use super::line::{Comm, Line};
use crate::import::mpi_names;
use crate::import::ranks::{
    self, Advance, Completion, Event, Expandable, Leaving, Pending, Received, Source, Wanted,
};
use crate::import::set::Member;
use crate::trace::{Call, Message, Operation, Rank};
use crate::{At, Error, Result};

/// Longest line, bytes: a million counts of an alltoallv are four lists of 8 MB.
const LONGEST_LINE: usize = 64 << 20;

/// Number of `MPI_COMM_SELF` of all ranks in the trace; its messages stay within each rank.
const SELF: u32 = 1;

/// A rank's file.
pub(super) struct Process {
    pub(super) rank: u32,
    /// Ranks of the run.
    pub(super) ranks: u32,
    pub(super) member: Member,
    pub(super) host: String,
    /// Added to its times, to put them on the run's time line.
    pub(super) offset_ns: i64,
    /// Bytes that are read at once.
    pub(super) buffer: usize,
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

    fn members(&self, communicator: u32, all: &[Self]) -> Option<Vec<u32>> {
        Some(if communicator == 0 { (0..all.len() as u32).collect() } else { vec![self.rank] })
    }
}

/// The events of a rank, in the order of its lines.
pub(super) struct Lane<'a> {
    reader: Box<dyn BufRead + Send>,
    line: Vec<u8>,
    number: u64,
    state: State<'a>,
}

struct State<'a> {
    process: &'a Process,
    wanted: Wanted,
    pending: Pending,
    persistent: FxHashMap<i64, Event>,
    /// Bytes of a request: 8 (Open MPI), or 4 (MPICH), which an address shows that is no multiple
    /// of 8.
    request_bytes: i64,
    last_ns: i64,
}

impl<'a> Lane<'a> {
    fn new(process: &'a Process, wanted: Wanted) -> Self {
        let state = State {
            process,
            wanted,
            pending: Pending::default(),
            persistent: FxHashMap::default(),
            request_bytes: 8,
            last_ns: i64::MIN,
        };
        Self { reader: process.member.reader(process.buffer), line: Vec::new(), number: 0, state }
    }
}

impl Advance for Lane<'_> {
    fn pending(&mut self) -> &mut Pending {
        &mut self.state.pending
    }

    fn advance(&mut self) -> Result<bool> {
        self.line.clear();
        self.number += 1;
        let mut most = (&mut self.reader).take(LONGEST_LINE as u64 + 1);
        if most.read_until(b'\n', &mut self.line)? == 0 {
            return Ok(false);
        }
        let place = || format!("line {}", self.number);
        if self.line.len() > LONGEST_LINE {
            let problem = format!("is longer than {LONGEST_LINE} bytes, the most of a call");
            return Err(Error::data(problem).at(place()));
        }
        let line = self.line.trim_ascii_end();
        if line.starts_with(b"MPI_") {
            self.state.take(&Line::parse(line).at(place)?).at(place)?;
        }
        Ok(true)
    }

    fn back_ns(&self) -> u64 {
        self.state.pending.back_ns()
    }
}

/// The name of a request: its address.
fn request(line: &Line<'_>, place: usize) -> Result<i64> {
    line.number(place)
}

/// What is sent or received: count, type, peer, tag and communicator.
#[derive(Clone, Copy)]
struct Envelope {
    bytes: Option<u64>,
    peer: i64,
    tag: i64,
    comm: Comm,
}

impl Envelope {
    fn read(line: &Line<'_>, [count, datatype, peer, tag, comm]: [usize; 5]) -> Result<Self> {
        let bytes = u64::try_from(line.number(count)?).ok();
        let size = line.type_size(datatype)?;
        Ok(Self {
            bytes: bytes
                .and_then(|count| count.checked_mul(size))
                .filter(|bytes| i64::try_from(*bytes).is_ok()),
            peer: line.number(peer)?,
            tag: line.number(tag)?,
            comm: line.comm(comm)?,
        })
    }
}

/// Places of an envelope in most functions.
const USUAL: [usize; 5] = [3, 4, 5, 6, 7];

impl State<'_> {
    fn take(&mut self, line: &Line<'_>) -> Result<()> {
        let (start, stop) = line.times_ns()?;
        let shift = |time: Option<i64>| time.map(|time| time.saturating_add(self.process.offset_ns));
        // Init has no start, Finalize no stop.
        let start_ns = shift(start).or(shift(stop)).unwrap_or(self.last_ns);
        let stop_ns = shift(stop);
        self.last_ns = start_ns;
        match line.name() {
            "MPI_Send" | "MPI_Bsend" | "MPI_Ssend" | "MPI_Rsend" => {
                self.send(Envelope::read(line, USUAL)?, Operation::PointToPoint, start_ns, stop_ns);
            }
            "MPI_Recv" => self.receive(Envelope::read(line, USUAL)?, start_ns, stop_ns),
            "MPI_Sendrecv" => {
                self.send(Envelope::read(line, [3, 4, 5, 6, 12])?, Operation::Sendrecv, start_ns, stop_ns);
                self.receive(Envelope::read(line, [8, 9, 10, 11, 12])?, start_ns, stop_ns);
            }
            "MPI_Sendrecv_replace" => {
                self.send(Envelope::read(line, [3, 4, 5, 6, 9])?, Operation::Sendrecv, start_ns, stop_ns);
                self.receive(Envelope::read(line, [3, 4, 7, 8, 9])?, start_ns, stop_ns);
            }
            "MPI_Isend" | "MPI_Ibsend" | "MPI_Issend" | "MPI_Irsend" => {
                let event = self.sent(&Envelope::read(line, USUAL)?, Operation::PointToPoint);
                self.open(event, start_ns, request(line, 8)?);
            }
            "MPI_Irecv" => {
                let event = self.asked(&Envelope::read(line, USUAL)?);
                self.open(event, start_ns, request(line, 8)?);
            }
            "MPI_Send_init" | "MPI_Bsend_init" | "MPI_Ssend_init" | "MPI_Rsend_init" => {
                let event = self.sent(&Envelope::read(line, USUAL)?, Operation::PointToPoint);
                self.prepare(event, request(line, 8)?);
            }
            "MPI_Recv_init" => {
                let event = self.asked(&Envelope::read(line, USUAL)?);
                self.prepare(event, request(line, 8)?);
            }
            "MPI_Start" => self.start(request(line, 2)?, start_ns),
            "MPI_Startall" => {
                for address in self.requests(line, self.persistent.keys().copied())? {
                    self.start(address, start_ns);
                }
            }
            "MPI_Wait" => self.complete(request(line, 2)?, stop_ns.unwrap_or(start_ns)),
            "MPI_Waitall" => {
                for address in self.requests(line, self.pending.open())? {
                    self.complete(address, stop_ns.unwrap_or(start_ns));
                }
            }
            _ => {}
        }
        if self.wanted != Wanted::Receives
            && let Some(operation) = mpi_names::operation(line.name())
        {
            self.call(line, operation, start_ns, stop_ns)?;
        }
        Ok(())
    }

    /// Those of some requests that an array has: count and address.
    fn requests(&self, line: &Line<'_>, known: impl Iterator<Item = i64>) -> Result<Vec<i64>> {
        let (count, first) = (line.number(2)?, request(line, 3)?);
        let size = self.request_bytes;
        let last = first.saturating_add(count.saturating_mul(size));
        let is_one =
            |address: &i64| (first..last).contains(address) && address.wrapping_sub(first) % size == 0;
        let mut found: Vec<i64> = known.filter(is_one).collect();
        found.sort_unstable();
        Ok(found)
    }

    /// Addresses of requests tell their size.
    fn address(&mut self, request: i64) {
        if request % 8 != 0 {
            self.request_bytes = 4;
        }
    }

    /// The number of a communicator in the trace, and a rank of the run in it; `None` for those of
    /// a part of the ranks, of which the format does not say the members.
    fn peer(&self, comm: Comm, peer: i64) -> Option<(u32, u32)> {
        let peer = u32::try_from(peer).ok().filter(|peer| *peer < comm.size)?;
        let number = self.number(comm)?;
        Some((number, if number == SELF { self.process.rank } else { peer }))
    }

    fn number(&self, comm: Comm) -> Option<u32> {
        if comm.size == self.process.ranks && comm.rank == self.process.rank {
            Some(0)
        } else {
            (comm.size == 1).then_some(SELF)
        }
    }

    /// A message; `None` if nobody is to receive it.
    fn sent(&self, envelope: &Envelope, operation: Operation) -> Option<Event> {
        if envelope.peer < 0 {
            return None;
        }
        let Some((communicator, dst)) = self.peer(envelope.comm, envelope.peer) else {
            return Some(Event::Foreign);
        };
        let message = Message {
            src: Rank(self.process.rank),
            dst: Rank(dst),
            bytes: envelope.bytes.unwrap_or(0),
            tag: i32::try_from(envelope.tag).ok(),
            communicator: Some(communicator),
            operation,
            ..Message::default()
        };
        Some(Event::Message(Leaving { message, is_received: true, is_sized: envelope.bytes.is_some() }))
    }

    /// What a receive asks for; its size is what the sender says.
    fn asked(&self, envelope: &Envelope) -> Option<Event> {
        let number = self.number(envelope.comm)?;
        let src = self.peer(envelope.comm, envelope.peer).map(|(_, src)| src);
        let tag = i32::try_from(envelope.tag).ok().filter(|tag| *tag >= 0);
        let received =
            Received { post_ns: 0, complete_ns: None, bytes: None, position: 0, is_internal: false };
        Some(Event::Receive { source: Source { communicator: number, src, tag }, received })
    }

    /// An event that this lane is read for.
    fn is_wanted(&self, event: &Event) -> bool {
        match event {
            Event::Receive { .. } => self.wanted == Wanted::Receives,
            _ => self.wanted == Wanted::Leading,
        }
    }

    fn send(&mut self, envelope: Envelope, operation: Operation, start_ns: i64, stop_ns: Option<i64>) {
        let Some(mut event) = self.sent(&envelope, operation) else { return };
        if let Event::Message(leaving) = &mut event {
            leaving.message.send_complete_ns = stop_ns;
        }
        if self.is_wanted(&event) {
            self.pending.push(start_ns, event);
        }
    }

    fn receive(&mut self, envelope: Envelope, start_ns: i64, stop_ns: Option<i64>) {
        let Some(mut event) = self.asked(&envelope) else { return };
        if let Event::Receive { received, .. } = &mut event {
            received.complete_ns = stop_ns;
        }
        if self.is_wanted(&event) {
            self.pending.push(start_ns, event);
        }
    }

    fn open(&mut self, event: Option<Event>, start_ns: i64, request: i64) {
        self.address(request);
        match event.filter(|event| self.is_wanted(event)) {
            Some(event) => self.pending.push_open(start_ns, event, request),
            // The address may be that of an earlier request.
            None => self.pending.release(request),
        }
    }

    fn prepare(&mut self, event: Option<Event>, request: i64) {
        self.address(request);
        match event.filter(|event| self.is_wanted(event)) {
            Some(event) => self.persistent.insert(request, event),
            None => self.persistent.remove(&request),
        };
    }

    fn start(&mut self, request: i64, start_ns: i64) {
        if let Some(event) = self.persistent.get(&request) {
            self.pending.push_open(start_ns, *event, request);
        }
    }

    fn complete(&mut self, request: i64, time_ns: i64) {
        self.pending.complete(request, &Completion { time_ns, ..Completion::default() });
    }

    fn call(
        &mut self,
        line: &Line<'_>,
        operation: Operation,
        enter_ns: i64,
        leave_ns: Option<i64>,
    ) -> Result<()> {
        let is_collective = (Operation::Barrier..=Operation::NeighborAlltoallw).contains(&operation);
        if self.wanted == Wanted::Collectives && !is_collective {
            return Ok(());
        }
        let collective = if is_collective { super::collective::read(line, operation)? } else { None };
        let comm = collective.as_ref().map(|found| found.comm);
        let number = comm.and_then(|comm| self.number(comm));
        let root = collective.as_ref().and_then(|found| self.peer(found.comm, found.root?));
        let call = Call {
            enter_ns,
            leave_ns,
            rank: Rank(self.process.rank),
            operation,
            communicator: number,
            root: root.map(|(_, root)| Rank(root)),
            bytes: collective.as_ref().and_then(|found| found.bytes),
        };
        let expandable = match number {
            _ if !is_collective => Expandable::No,
            Some(number) => Expandable::On(number),
            None => Expandable::Unknown,
        };
        self.pending.push(enter_ns, Event::Call { call, collective: expandable });
        if self.wanted == Wanted::Collectives {
            for counts in collective.map(|found| found.counts).unwrap_or_default().chunks(3) {
                let mut three = [0; 3];
                three[..counts.len()].copy_from_slice(counts);
                self.pending.push(enter_ns, Event::Counts(three, counts.len()));
            }
        }
        Ok(())
    }
}
