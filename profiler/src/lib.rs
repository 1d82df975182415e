//! The record format: what pf-profile's recorder writes in every MPI process and pf-collect reads.
//!
//! A run directory holds one file a process: a [`Header`] of 256 bytes, then [`Record`]s of 40 bytes each. The
//! recorder maps the file into memory, far longer than it needs, and never unmaps it; whatever was written before a crash
//! is there after it. So nothing may depend on an orderly end: there is no trailer and no count, and the [`kind`](Kind) of a
//! record is its first byte and is written last. A slot of kind 0 was never finished (or never begun) and is skipped; a
//! piece of a slot at the end of the file is ignored.
//!
//! A message is one slot, taken when it is posted and completed in place. Times are ticks of the process's own clock;
//! the header tells how to make nanoseconds of them, and how far this clock was from that of rank 0.
//!
//! All numbers are little endian. Offsets of the header:
//!
//! | bytes | field |
//! |---|---|
//! | 0..8 | `PFRECORD` |
//! | 8..12 | version, 1 |
//! | 12..16, 16..20 | rank in `MPI_COMM_WORLD`, its size |
//! | 20..24 | process id |
//! | 24 | level: 0 below the collectives (PML), 1 MPI calls (PMPI) |
//! | 32..56, 56..80 | clock readings at Init and at Finalize: ticks, `CLOCK_MONOTONIC` ns, `CLOCK_REALTIME` ns; all 0: not reached |
//! | 80..96, 96..112 | clock of rank 0 minus this one, ns, and the round trip it was measured with, ns, at Init and Finalize; round trip 0: not measured |
//! | 112..120 | ticks per second; 0: ticks are `CLOCK_MONOTONIC` ns |
//! | 120..128 | polls (Test, Iprobe) that found nothing |
//! | 128..192, 192..256 | job id, host name: UTF-8, filled up with 0 |
//!
//! Offsets of a record: 0 kind, 1 operation (the codes of the trace archive), 2 flags, 3 thread, 4..8 tag, 8..12 peer, 12..16
//! communicator, 16..24 bytes, 24..32 post or enter, 32..40 completion or leave. [`Members`](Record::Members) differ: 1
//! how many, 4..8 communicator, 8..40 eight ranks.

use std::fmt;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 256;
/// Bytes of a record.
pub const RECORD_BYTES: usize = 40;
/// Version written; readers accept no other.
pub const VERSION: u32 = 1;
/// A rank that is not known or does not exist.
pub const NO_RANK: u32 = u32::MAX;

const MAGIC: [u8; 8] = *b"PFRECORD";

/// One reading of all clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockReading {
    /// The clock that records use.
    pub ticks: u64,
    /// `CLOCK_MONOTONIC`.
    pub monotonic_ns: i64,
    /// `CLOCK_REALTIME`.
    pub realtime_ns: i64,
}

/// How far this process's clock is from that of rank 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockOffset {
    /// Clock of rank 0 minus this one.
    pub offset_ns: i64,
    /// Round trip of the measurement, the bound of its error; 0 if there was none.
    pub round_trip_ns: u64,
}

/// What a process says of itself. Index 0 of the pairs is MPI_Init, 1 is MPI_Finalize, where a killed process never came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the module's table describes each")]
pub struct Header {
    pub rank: u32,
    pub size: u32,
    pub pid: u32,
    pub level: u8,
    pub clock: [ClockReading; 2],
    pub offset: [ClockOffset; 2],
    pub ticks_per_second: u64,
    pub polls: u64,
    /// At most 64 bytes; more are cut off.
    pub job: String,
    /// At most 64 bytes; more are cut off.
    pub host: String,
}

/// What a slot holds: its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
#[repr(u8)]
pub enum Kind {
    Send = 1,
    Receive = 2,
    PersistentSend = 3,
    PersistentReceive = 4,
    /// Put, Get or Accumulate, as the operation says.
    OneSided = 5,
    /// An MPI call.
    Call = 6,
    /// `MPI_Pcontrol`.
    Mark = 7,
}

const MEMBERS: u8 = 8;

/// Flag of a message inside a collective operation.
pub const INTERNAL: u8 = 1;

/// A message, call or mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it is.
    pub kind: Kind,
    /// The MPI operation: a code of the trace archive.
    pub operation: u8,
    /// [`INTERNAL`] or 0.
    pub flags: u8,
    /// Number of the thread within the process, 255 for all beyond.
    pub thread: u8,
    /// MPI tag; of a mark its level.
    pub tag: i32,
    /// The other end, or the root of a call, in world ranks; [`NO_RANK`] if there is none.
    pub peer: u32,
    /// Number of the communicator within the process.
    pub communicator: u32,
    /// Payload.
    pub bytes: u64,
    /// Ticks when it was posted, entered or set.
    pub begin: u64,
    /// Ticks when it was completed or left; 0 if it never was.
    pub end: u64,
}

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// A message, call or mark.
    Event(Event),
    /// The next up to eight world ranks of a communicator, in the order of its ranks.
    Members {
        /// Number of the communicator within the process.
        communicator: u32,
        /// How many of `ranks` count, 1 to 8.
        count: u8,
        /// The ranks.
        ranks: [u32; 8],
    },
}

/// Why bytes are no record file, or a slot no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The file does not begin as a record file does.
    NotARecordFile,
    /// A version that this program does not know.
    Version(u32),
    /// A kind that no record has.
    Kind(u8),
    /// A number of members beyond 1 to 8.
    Members(u8),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::NotARecordFile => {
                write!(f, "is not a record file: expected {HEADER_BYTES} bytes from `PFRECORD` on")
            }
            Damage::Version(found) => {
                write!(f, "is version {found} of the record format, this program reads {VERSION}")
            }
            Damage::Kind(found) => write!(f, "holds a record of kind {found}, expected 1 to {MEMBERS}"),
            Damage::Members(found) => write!(f, "holds a record of {found} members, expected 1 to 8"),
        }
    }
}

impl std::error::Error for Damage {}

impl Header {
    /// The header's bytes.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        for (at, value) in [(8, VERSION), (12, self.rank), (16, self.size), (20, self.pid)] {
            put(&mut bytes, at, value.to_le_bytes());
        }
        bytes[24] = self.level;
        for (i, (clock, offset)) in self.clock.iter().zip(&self.offset).enumerate() {
            put(&mut bytes, 32 + 24 * i, clock.ticks.to_le_bytes());
            put(&mut bytes, 40 + 24 * i, clock.monotonic_ns.to_le_bytes());
            put(&mut bytes, 48 + 24 * i, clock.realtime_ns.to_le_bytes());
            put(&mut bytes, 80 + 16 * i, offset.offset_ns.to_le_bytes());
            put(&mut bytes, 88 + 16 * i, offset.round_trip_ns.to_le_bytes());
        }
        put(&mut bytes, 112, self.ticks_per_second.to_le_bytes());
        put(&mut bytes, 120, self.polls.to_le_bytes());
        for (at, name) in [(128, &self.job), (192, &self.host)] {
            let length = (0..=name.len().min(64)).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
            bytes[at..at + length].copy_from_slice(&name.as_bytes()[..length]);
        }
        bytes
    }

    /// The header at the beginning of a file.
    ///
    /// # Errors
    /// Other bytes, or another version.
    pub fn decode(file: &[u8]) -> Result<Self, Damage> {
        let bytes: &[u8; HEADER_BYTES] = file.first_chunk().ok_or(Damage::NotARecordFile)?;
        if bytes[..8] != MAGIC {
            return Err(Damage::NotARecordFile);
        }
        let version = u32::from_le_bytes(get(bytes, 8));
        if version != VERSION {
            return Err(Damage::Version(version));
        }
        let clock = |at| ClockReading {
            ticks: u64::from_le_bytes(get(bytes, at)),
            monotonic_ns: i64::from_le_bytes(get(bytes, at + 8)),
            realtime_ns: i64::from_le_bytes(get(bytes, at + 16)),
        };
        let offset = |at| ClockOffset {
            offset_ns: i64::from_le_bytes(get(bytes, at)),
            round_trip_ns: u64::from_le_bytes(get(bytes, at + 8)),
        };
        let name = |at: usize| {
            let text = bytes[at..at + 64].split(|byte| *byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(text).into_owned()
        };
        Ok(Self {
            rank: u32::from_le_bytes(get(bytes, 12)),
            size: u32::from_le_bytes(get(bytes, 16)),
            pid: u32::from_le_bytes(get(bytes, 20)),
            level: bytes[24],
            clock: [clock(32), clock(56)],
            offset: [offset(80), offset(96)],
            ticks_per_second: u64::from_le_bytes(get(bytes, 112)),
            polls: u64::from_le_bytes(get(bytes, 120)),
            job: name(128),
            host: name(192),
        })
    }
}

impl Record {
    /// The slot's bytes. Whoever writes them where others read stores the first one last.
    pub fn encode(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        match self {
            Record::Event(event) => {
                bytes[..4].copy_from_slice(&[event.kind as u8, event.operation, event.flags, event.thread]);
                put(&mut bytes, 4, event.tag.to_le_bytes());
                put(&mut bytes, 8, event.peer.to_le_bytes());
                put(&mut bytes, 12, event.communicator.to_le_bytes());
                put(&mut bytes, 16, event.bytes.to_le_bytes());
                put(&mut bytes, 24, event.begin.to_le_bytes());
                put(&mut bytes, 32, event.end.to_le_bytes());
            }
            Record::Members { communicator, count, ranks } => {
                bytes[..2].copy_from_slice(&[MEMBERS, *count]);
                put(&mut bytes, 4, communicator.to_le_bytes());
                for (i, rank) in ranks.iter().enumerate() {
                    put(&mut bytes, 8 + 4 * i, rank.to_le_bytes());
                }
            }
        }
        bytes
    }

    /// The record of a slot; `None` if it was never finished.
    ///
    /// # Errors
    /// Bytes that no version of the recorder writes.
    pub fn decode(bytes: &[u8; RECORD_BYTES]) -> Result<Option<Self>, Damage> {
        let kind = match bytes[0] {
            0 => return Ok(None),
            1 => Kind::Send,
            2 => Kind::Receive,
            3 => Kind::PersistentSend,
            4 => Kind::PersistentReceive,
            5 => Kind::OneSided,
            6 => Kind::Call,
            7 => Kind::Mark,
            MEMBERS => {
                let count = bytes[1];
                if !(1..=8).contains(&count) {
                    return Err(Damage::Members(count));
                }
                let ranks = std::array::from_fn(|i| u32::from_le_bytes(get(bytes, 8 + 4 * i)));
                let communicator = u32::from_le_bytes(get(bytes, 4));
                return Ok(Some(Record::Members { communicator, count, ranks }));
            }
            other => return Err(Damage::Kind(other)),
        };
        Ok(Some(Record::Event(Event {
            kind,
            operation: bytes[1],
            flags: bytes[2],
            thread: bytes[3],
            tag: i32::from_le_bytes(get(bytes, 4)),
            peer: u32::from_le_bytes(get(bytes, 8)),
            communicator: u32::from_le_bytes(get(bytes, 12)),
            bytes: u64::from_le_bytes(get(bytes, 16)),
            begin: u64::from_le_bytes(get(bytes, 24)),
            end: u64::from_le_bytes(get(bytes, 32)),
        })))
    }
}

/// The records of a whole file, unfinished slots left out.
pub fn records(file: &[u8]) -> impl Iterator<Item = Result<Record, Damage>> + '_ {
    let slots = file.get(HEADER_BYTES..).unwrap_or_default().as_chunks().0;
    slots.iter().filter_map(|slot| Record::decode(slot).transpose())
}

fn put<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&value);
}

fn get<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header() -> Header {
        Header {
            rank: 3,
            size: 8,
            pid: 4711,
            level: 1,
            clock: [ClockReading { ticks: 9, monotonic_ns: 10, realtime_ns: -11 }, ClockReading::default()],
            offset: [ClockOffset { offset_ns: -12, round_trip_ns: 13 }, ClockOffset::default()],
            ticks_per_second: 2_400_000_000,
            polls: 14,
            job: "job-1".into(),
            host: "node17".into(),
        }
    }

    fn event() -> impl Strategy<Value = Event> {
        let kinds = [
            Kind::Send,
            Kind::Receive,
            Kind::PersistentSend,
            Kind::PersistentReceive,
            Kind::OneSided,
            Kind::Call,
            Kind::Mark,
        ];
        let small = (prop::sample::select(kinds.to_vec()), any::<(u8, u8, u8)>(), any::<(i32, u32, u32)>());
        (small, any::<(u64, u64, u64)>()).prop_map(
            |((kind, (operation, flags, thread), (tag, peer, communicator)), (bytes, begin, end))| Event {
                kind,
                operation,
                flags,
                thread,
                tag,
                peer,
                communicator,
                bytes,
                begin,
                end,
            },
        )
    }

    proptest! {
        #[test]
        fn records_come_back(event in event(), communicator in any::<u32>(), count in 1u8..=8, ranks in any::<[u32; 8]>()) {
            for record in [Record::Event(event), Record::Members { communicator, count, ranks }] {
                prop_assert_eq!(Record::decode(&record.encode()), Ok(Some(record)));
            }
        }

        /// A file cut anywhere, as by a crash, gives the records before the cut.
        #[test]
        fn a_cut_loses_what_is_behind_it(events in prop::collection::vec(event(), 0..8), cut in 0usize..700) {
            let mut file = header().encode().to_vec();
            for event in &events {
                file.extend_from_slice(&Record::Event(*event).encode());
                file.extend_from_slice(&[0; RECORD_BYTES]); // a slot that another thread never finished
            }
            file.truncate(cut.max(HEADER_BYTES));
            prop_assert_eq!(Header::decode(&file), Ok(header()));
            let whole = (file.len() - HEADER_BYTES + RECORD_BYTES) / (2 * RECORD_BYTES);
            let expected: Vec<_> = events[..whole].iter().map(|event| Ok(Record::Event(*event))).collect();
            prop_assert_eq!(records(&file).collect::<Vec<_>>(), expected);
        }

        #[test]
        fn no_bytes_make_the_reader_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let _ = Header::decode(&bytes);
            records(&bytes).for_each(drop);
            if bytes.len() >= 12 {
                bytes[..12].copy_from_slice(&header().encode()[..12]);
                let _ = Header::decode(&bytes);
            }
        }
    }

    #[test]
    fn headers_come_back_and_others_are_refused() {
        let bytes = header().encode();
        assert_eq!(Header::decode(&bytes), Ok(header()));
        assert_eq!(Header::decode(&bytes[..255]), Err(Damage::NotARecordFile));
        assert_eq!(Header::decode(&[0; 400]), Err(Damage::NotARecordFile));
        let mut later = bytes;
        later[8] = 2;
        assert_eq!(Header::decode(&later), Err(Damage::Version(2)));
        assert_eq!(Damage::Version(2).to_string(), "is version 2 of the record format, this program reads 1");
        // Names too long are cut between characters.
        let long = Header { host: "ä".repeat(40), ..header() };
        assert_eq!(Header::decode(&long.encode()).unwrap().host, "ä".repeat(32));
    }

    #[test]
    fn damage_is_named() {
        let mut slot = [0; RECORD_BYTES];
        assert_eq!(Record::decode(&slot), Ok(None));
        slot[0] = 9;
        assert_eq!(Record::decode(&slot), Err(Damage::Kind(9)));
        slot[..2].copy_from_slice(&[8, 9]);
        assert_eq!(Record::decode(&slot), Err(Damage::Members(9)));
    }
}
