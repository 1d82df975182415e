//! The format of a recording, byte by byte.
//!
//! One process writes one file, `JOB.RANK.HOST.PID.pfr`, through a shared mapping that is reserved
//! ahead. The design has two aims: a record costs a few nanoseconds, and a process that dies at any
//! instruction loses no written record. Slots are therefore fixed, filled front to back and
//! completed in place; there is no trailer, and nothing is written at the end that readers need.
//! All numbers are little endian.
//!
//! # The file
//!
//! A [header](at) of 4096 bytes, then chunks of 16384 bytes. The last chunk may be truncated, and
//! reserved chunks that are not begun are zero.
//!
//! # A chunk
//!
//! | byte | type | meaning |
//! |---|---|---|
//! | 0 | u32 | [`CHUNK_MAGIC`]; 0 in a chunk that was never begun |
//! | 4 | u32 | lane: the thread that owns the chunk, or [`CONTROL_LANE`] |
//! | 8 | u32 | number of the chunk within its lane, from 0 |
//! | 12 | u32 | zero |
//! | 16 | u64 | clock ticks when the chunk was begun |
//! | 24 | u64 | `CLOCK_MONOTONIC` at that moment, ns |
//! | 32 | u64 | unsuccessful tests and probes while this was the lane's chunk |
//! | 40 | 24 bytes | zero |
//! | 64 | 510 slots | records; the first slot of kind 0 ends the chunk |
//!
//! The chunks of a lane, in the order of their numbers, are the records of one thread in program
//! order. Communicators are in the control lane, so a reader finds all of them from chunk headers
//! and control chunks.
//!
//! # A slot
//!
//! Four u64 words, 32 bytes. The top byte of word 0 is the [kind](Kind); it is written last. A
//! *time* is 56 bits of clock ticks relative to the header's [`at::BASE`], 0 for unknown. A *rank*
//! is 24 bits, world rank, [`NO_RANK`] for unknown, for none, and for a process of another
//! `MPI_COMM_WORLD`. Byte counts of 40 bits stop at [`MOST_BYTES`].
//!
//! | kind | word 0 below the kind |
//! |---|---|
//! | [`Kind::Send`], `Receive`, `Put`, `Get`, `Accumulate` | post time |
//! | [`Kind::Call`] | enter time |
//! | [`Kind::Mark`] | time |
//! | [`Kind::Counts`] | index of the first, u32; number of counts (1 to 3) << 48 |
//! | [`Kind::Communicator`] | its number, 24 bits |
//! | [`Kind::Runs`] | group, u32; number of runs (1 or 2) << 48 |
//!
//! The other words by kind, where messages are the five kinds of the first row:
//!
//! | kind | word 1 | word 2 | word 3 |
//! |---|---|---|---|
//! | messages | complete time, op << 56 | bytes, peer << 40 | tag i32, comm << 32, [flags] << 56 |
//! | call | leave time, op << 56 | bytes, root << 40 | number, comm << 32, flags << 56 |
//! | mark | 0 | 0 | level as i32 |
//! | counts | bytes for a peer | the next | the next |
//! | communicator | identity | group u32; remote << 32 | 0, op << 32, flags << 56 |
//! | runs | first u32, stride << 32 | count u32, first << 32 | stride i32, count << 32 |
//!
//! *op* is an [operation](super::Operation), *comm* a communicator of this file, *number* that of
//! requests or communicators of a call, *remote* the remote group or [`NO_GROUP`].
//!
//! - A **message** in a complete state has a complete time. A receive without one has the bytes of
//!   its buffer; its peer and tag may be unknown (rank [`NO_RANK`], tag −1). Its operation is 0 for
//!   a message of the program itself, and sendrecv for one of `MPI_Sendrecv`, which has no record
//!   of its own. Otherwise it is the operation that it is part of. With [`flags::INSIDE`] the last
//!   call before it in its lane encloses it. The communicator is a number of this file, 0 is
//!   `MPI_COMM_WORLD`. A send that is complete when its starting call returns has its post time as
//!   complete time. Of receives that are started in direct succession, up to seven may have the
//!   post time of the one before them.
//! - A **call**'s bytes are this rank's own part: its contribution, and for scatter and
//!   reduce_scatter the bytes that it receives. In alltoall(v, w) they are the bytes to all ranks;
//!   in collectives over neighbours those to each neighbour, but 0 in their alltoallv and
//!   alltoallw, whose sizes are not recorded. Across an intercommunicator the root's own side names
//!   no root and has 0, except that a bcast's root has all. `Counts` follow a call of alltoallv or
//!   alltoallw that was recorded without its messages: the bytes for peer i of the communicator,
//!   from i = the first. With [`flags::PERSISTENT`] alone a call prepares a collective. Without
//!   recorded messages, each start is the same call with [`flags::NONBLOCKING`] too.
//! - A **communicator**'s identity is the same number on all its members and another one for any
//!   other communicator. A window is a communicator too, flagged [`flags::WINDOW`]. The ranks of a
//!   **group** are its runs in order, each `first, first + stride, …`; group 0 is the world, `0, 1,
//!   … size−1`, and has none.

/// First bytes of a recording.
pub const MAGIC: [u8; 8] = *b"PFRECORD";
/// Version written, and the only one read.
pub const VERSION: u32 = 1;
/// Bytes before the first chunk.
pub const HEADER: usize = 4096;
/// Bytes of a chunk.
pub const CHUNK: usize = 16384;
/// Bytes of a chunk before its slots.
pub const CHUNK_HEADER: usize = 64;
/// Bytes of a slot.
pub const SLOT: usize = 32;
/// First bytes of a chunk.
pub const CHUNK_MAGIC: u32 = u32::from_le_bytes(*b"PFCH");
/// The lane of communicators and groups.
pub const CONTROL_LANE: u32 = u32::MAX;
/// No, an unknown or a foreign rank.
pub const NO_RANK: u32 = (1 << 24) - 1;
/// No remote group.
pub const NO_GROUP: u32 = u32::MAX;
/// Largest byte count of a message or call; more is written as this.
pub const MOST_BYTES: u64 = (1 << 40) - 1;
/// Extension of a recording's file name.
pub const EXTENSION: &str = "pfr";

/// Offsets of the header's fields, bytes.
pub mod at {
    /// 8 bytes, [`MAGIC`](super::MAGIC).
    pub const MAGIC: usize = 0;
    /// u32, [`VERSION`](super::VERSION).
    pub const VERSION: usize = 8;
    /// u32, [`SLOT`](super::SLOT).
    pub const SLOT: usize = 12;
    /// u32, [`CHUNK`](super::CHUNK).
    pub const CHUNK: usize = 16;
    /// u32, rank in the process's own `MPI_COMM_WORLD`.
    pub const RANK: usize = 20;
    /// u32, size of that.
    pub const SIZE: usize = 24;
    /// u32, process id.
    pub const PID: usize = 28;
    /// u8, 1: messages below the collectives (PML), 2: calls only (PMPI).
    pub const LEVEL: usize = 32;
    /// u8, 1: time stamp counter, 2: `CLOCK_MONOTONIC` in nanoseconds.
    pub const CLOCK: usize = 33;
    /// u8, 1: Open MPI, 2: MPICH and its kin, 3: the standard ABI.
    pub const LIBRARY: usize = 34;
    /// u8, the provided thread level, 0 single to 3 multiple.
    pub const THREADS: usize = 35;
    /// u32, 0: running or died, 1: reached `MPI_Finalize`, 2: recording stopped early, the disk was
    /// full.
    pub const STATE: usize = 36;
    /// u64, the same for all processes of one `MPI_COMM_WORLD`, another one for any other.
    pub const JOB: usize = 40;
    /// u64, the same for processes whose clock ticks are the same.
    pub const HOST: usize = 48;
    /// u64, bit 0: one-sided operations also appear as messages (Open MPI's osc/pt2pt).
    pub const FLAGS: usize = 56;
    /// Two times {clock ticks, `CLOCK_MONOTONIC` ns, `CLOCK_REALTIME` ns} u64: at `MPI_Init`, at
    /// `MPI_Finalize` or 0.
    pub const PAIRS: usize = 64;
    /// Two times {own ticks, ticks of rank 0 at the same moment, error bound in own ticks} u64: at
    /// `MPI_Init`, at `MPI_Finalize`; zeros where not measured. One process of each host measures.
    pub const SYNCS: usize = 112;
    /// u64, ticks that times are relative to.
    pub const BASE: usize = 160;
    /// 64 bytes, host name.
    pub const HOST_NAME: usize = 192;
    /// 128 bytes, first line of `MPI_Get_library_version`.
    pub const LIBRARY_NAME: usize = 256;
    /// 128 bytes, what the launcher calls the job.
    pub const JOB_NAME: usize = 384;
    /// 128 bytes, name of the program.
    pub const PROGRAM: usize = 512;
}

/// Bits of a message, call or communicator.
pub mod flags {
    /// A message of MPI itself: part of a collective, or of a window's or file's traffic.
    pub const INTERNAL: u8 = 1;
    /// From a persistent request.
    pub const PERSISTENT: u8 = 2;
    /// The call returns before the operation is done.
    pub const NONBLOCKING: u8 = 4;
    /// The last call before it in its lane encloses it.
    pub const INSIDE: u8 = 8;
    /// Cancelled: it did not take place.
    pub const CANCELLED: u8 = 16;
    /// The receive named no source.
    pub const ANY_SOURCE: u8 = 32;
    /// Of a communicator: it stands for a window.
    pub const WINDOW: u8 = 64;
}

/// The content of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A message from this process.
    Send = 1,
    /// A message to this process.
    Receive = 2,
    /// `MPI_Put`: from this process.
    Put = 3,
    /// `MPI_Get`: to this process.
    Get = 4,
    /// `MPI_Accumulate` and its kin: from this process.
    Accumulate = 5,
    /// An MPI call.
    Call = 16,
    /// `MPI_Pcontrol`.
    Mark = 17,
    /// Bytes for each peer of the call before.
    Counts = 18,
    /// A communicator or window.
    Communicator = 32,
    /// Members of a group.
    Runs = 33,
}

impl Kind {
    /// The kind of a code.
    pub const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            1 => Self::Send,
            2 => Self::Receive,
            3 => Self::Put,
            4 => Self::Get,
            5 => Self::Accumulate,
            16 => Self::Call,
            17 => Self::Mark,
            18 => Self::Counts,
            32 => Self::Communicator,
            33 => Self::Runs,
            _ => return None,
        })
    }
}

/// The 56 bits of a time.
pub const TIME: u64 = (1 << 56) - 1;
/// The 40 bits of a byte count.
const LOW40: u64 = (1 << 40) - 1;
/// The 24 bits of a rank.
const LOW24: u64 = (1 << 24) - 1;

/// One slot of a recording. Its kind determines the valid accessors; see the module's table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(32))]
pub struct Slot(pub [u64; 4]);

impl Slot {
    /// A message or call.
    #[inline(always)]
    #[allow(
        clippy::too_many_arguments,
        reason = "the fields of the layout, called where a struct would cost time"
    )]
    pub const fn new(
        kind: Kind,
        start: u64,
        operation: u8,
        bytes: u64,
        rank: u32,
        value: i32,
        communicator: u32,
        flags: u8,
    ) -> Self {
        let bytes = if bytes > MOST_BYTES { MOST_BYTES } else { bytes };
        Self([
            (start & TIME) | (kind as u64) << 56,
            (operation as u64) << 56,
            bytes | (rank as u64 & LOW24) << 40,
            value.cast_unsigned() as u64 | (communicator as u64 & LOW24) << 32 | (flags as u64) << 56,
        ])
    }

    /// Bytes for up to three peers from peer `first` on.
    pub fn counts(first: u32, bytes: &[u64]) -> Self {
        let mut words = [u64::from(first), 0, 0, 0];
        let mut held = 0;
        for (word, count) in words[1..].iter_mut().zip(bytes) {
            *word = *count;
            held += 1;
        }
        words[0] |= held << 48 | (Kind::Counts as u64) << 56;
        Self(words)
    }

    /// A communicator.
    pub fn communicator(
        number: u32,
        identity: u64,
        group: u32,
        remote: u32,
        operation: u8,
        flags: u8,
    ) -> Self {
        Self([
            u64::from(number) & LOW24 | (Kind::Communicator as u64) << 56,
            identity,
            u64::from(group) | u64::from(remote) << 32,
            u64::from(operation) << 32 | u64::from(flags) << 56,
        ])
    }

    /// One or two runs of a group.
    pub fn runs(group: u32, runs: &[Run]) -> Self {
        let run = |i: usize| runs.get(i).copied().unwrap_or_default();
        let held = runs.len().min(2) as u64;
        let high = |value: u32| u64::from(value) << 32;
        Self([
            u64::from(group) | held << 48 | (Kind::Runs as u64) << 56,
            u64::from(run(0).first) | high(run(0).stride.cast_unsigned()),
            u64::from(run(0).count) | high(run(1).first),
            u64::from(run(1).stride.cast_unsigned()) | high(run(1).count),
        ])
    }

    /// The code of its kind; 0 for an unused slot.
    pub const fn code(&self) -> u8 {
        (self.0[0] >> 56) as u8
    }

    /// Post, enter or mark time.
    pub const fn start(&self) -> u64 {
        self.0[0] & TIME
    }

    /// Complete or leave time.
    pub const fn end(&self) -> u64 {
        self.0[1] & TIME
    }

    /// Code of the operation of a message or call.
    pub const fn operation(&self) -> u8 {
        (self.0[1] >> 56) as u8
    }

    /// Bytes of a message or call.
    pub const fn bytes(&self) -> u64 {
        self.0[2] & LOW40
    }

    /// Peer of a message, root of a call.
    pub const fn rank(&self) -> u32 {
        (self.0[2] >> 40) as u32
    }

    /// Tag, level or number of requests.
    pub const fn value(&self) -> i32 {
        (self.0[3] as u32).cast_signed()
    }

    /// Communicator of a message or call.
    pub const fn communicator_number(&self) -> u32 {
        (self.0[3] >> 32 & LOW24) as u32
    }

    /// [`flags`].
    pub const fn flags(&self) -> u8 {
        (self.0[3] >> 56) as u8
    }
}

/// Ranks `first, first + stride, …`, `count` of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The first rank.
    pub first: u32,
    /// Distance to the next.
    pub stride: i32,
    /// How many.
    pub count: u32,
}

impl Run {
    /// The fewest runs, greedily, that make `ranks`.
    pub fn of(ranks: &[u32]) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for rank in ranks {
            if let Some(run) = runs.last_mut() {
                let last = i64::from(run.first) + i64::from(run.stride) * i64::from(run.count - 1);
                let step = i64::from(*rank) - last;
                match i32::try_from(step) {
                    Ok(step) if run.count == 1 || step == run.stride => {
                        run.stride = step;
                        run.count += 1;
                        continue;
                    }
                    _ => {}
                }
            }
            runs.push(Run { first: *rank, stride: 0, count: 1 });
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_into_a_slot_comes_out() {
        let slot = Slot::new(Kind::Receive, 77, 13, 1 << 50, 0x00ab_cdef, -11, 0x0012_3456, flags::INSIDE);
        assert_eq!(slot.code(), Kind::Receive as u8);
        assert_eq!((slot.start(), slot.end(), slot.operation()), (77, 0, 13));
        assert_eq!((slot.bytes(), slot.rank(), slot.value()), (MOST_BYTES, 0x00ab_cdef, -11));
        assert_eq!((slot.communicator_number(), slot.flags()), (0x0012_3456, flags::INSIDE));
        assert_eq!(size_of::<Slot>(), SLOT);
    }

    #[test]
    fn regular_groups_are_one_run() {
        assert_eq!(Run::of(&[]), []);
        assert_eq!(Run::of(&[7]), [Run { first: 7, stride: 0, count: 1 }]);
        assert_eq!(Run::of(&[9, 7, 5, 3]), [Run { first: 9, stride: -2, count: 4 }]);
        let two = [Run { first: 0, stride: 1, count: 3 }, Run { first: 8, stride: 8, count: 2 }];
        assert_eq!(Run::of(&[0, 1, 2, 8, 16]), two);
    }

    #[test]
    fn kinds_have_their_codes() {
        for code in 0..=u8::MAX {
            assert!(Kind::from_code(code).is_none_or(|kind| kind as u8 == code));
        }
        const { assert!((CHUNK - CHUNK_HEADER).is_multiple_of(SLOT)) };
    }
}
