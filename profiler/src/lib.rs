//! Recordings of MPI programs: their reader, and the launcher of recorded programs.
//!
//! A *run directory* holds one file for each process, written by the library of `phaseflow-preload`
//! from inside the process; [`format`](mod@format) specifies it byte by byte. A [`Recording`] is
//! one file: a [`Header`], the communicators, and for each thread a stream of [`Record`]s in
//! program order. A [`Run`] is the whole directory; its [`Alignment`] puts the clocks on one time
//! line; its [`Summary`] has the sums of messages by pair.
//!
//! A process may die at any instruction: a file may end anywhere after its header, and its complete
//! records are read.
//!
//! [`launch`] has the environment and options by which `mpirun`, `mpiexec` or `srun` preload the
//! library into each process.

mod clock_alignment;
mod header;
pub mod launch;
mod record;
mod recording;
mod run;
pub mod signals;
mod summary;

pub use clock_alignment::{Alignment, Clock};
pub use header::{ClockKind, Header, Level, MpiLibrary, Pair, State, Sync};
pub use phaseflow_preload::{Operation, format};
pub use record::{Call, Counts, Direction, Mark, Message, Record};
pub use recording::{Communicator, Lane, Recording, Records, Source};
pub use run::{RecordingFile, Run};
pub use summary::{Sum, Summary};

use std::io;

/// The error for invalid content of a file.
fn invalid(problem: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem.into())
}

/// A little-endian u32; 0 beyond the end.
fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    bytes.get(offset..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// A little-endian u64; 0 beyond the end.
fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    bytes.get(offset..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The library to preload; empty on systems that have none. See `phaseflow_preload::LIBRARY`.
pub fn library() -> &'static [u8] {
    phaseflow_preload::LIBRARY
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::{CHUNK, CHUNK_HEADER, CHUNK_MAGIC, CONTROL_LANE, HEADER, Kind, Slot, at, flags};

    /// A recording made by hand: a header, then chunks of {lane, number, slots}.
    fn recording(chunks: &[(u32, u32, Vec<Slot>)]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        bytes[..8].copy_from_slice(&format::MAGIC);
        for (offset, value) in [(at::VERSION, 1_u32), (at::SLOT, 32), (at::CHUNK, 16384), (at::SIZE, 5)] {
            bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
        }
        bytes[at::BASE..at::BASE + 8].copy_from_slice(&1000_u64.to_le_bytes());
        for (lane, number, slots) in chunks {
            let start = bytes.len();
            bytes.resize(start + CHUNK, 0);
            for (offset, value) in [(0, CHUNK_MAGIC), (4, *lane), (8, *number), (32, 3)] {
                bytes[start + offset..][..4].copy_from_slice(&value.to_le_bytes());
            }
            for (i, word) in slots.iter().flat_map(|slot| slot.0).enumerate() {
                bytes[start + CHUNK_HEADER + i * 8..][..8].copy_from_slice(&word.to_le_bytes());
            }
        }
        bytes
    }

    fn send(time: u64, bytes: u64, peer: u32) -> Slot {
        Slot::new(Kind::Send, time, 0, bytes, peer, 9, 0, 0)
    }

    fn all<S: Source>(recording: &Recording<S>) -> Vec<Record> {
        recording
            .lanes()
            .iter()
            .flat_map(|lane| recording.records(lane))
            .map(|record| record.unwrap())
            .collect()
    }

    #[test]
    fn lanes_are_read_in_order_and_communicators_first() {
        let control = vec![
            Slot::communicator(0, 77, 0, format::NO_GROUP, 0, 0),
            Slot::runs(1, &format::Run::of(&[4, 2, 0])),
            Slot::communicator(1, 78, 1, 0, 37, flags::WINDOW),
        ];
        let call = Slot::new(Kind::Call, 5, Operation::Bcast as u8, 64, 2, 0, 1, flags::NONBLOCKING);
        let bytes = recording(&[
            (0, 1, vec![send(8, 3, 4)]),
            (0, 0, vec![call, Slot::counts(0, &[1, 2]), send(7, 2, 4)]),
            (CONTROL_LANE, 0, control),
            (1, 0, vec![Slot::new(Kind::Mark, 9, 0, 0, 0, -5, 0, 0)]),
        ]);
        let recording = Recording::new(bytes).unwrap();
        let communicators = recording.communicators();
        assert_eq!((communicators[&0].size(), communicators[&0].identity), (5, 77));
        let ranks = |i: u32| (0..4).map(|rank| communicators[&i].world_rank(rank)).collect::<Vec<_>>();
        assert_eq!(ranks(1), [Some(4), Some(2), Some(0), None]);
        assert!(communicators[&1].is_window && communicators[&1].remote.is_some());
        assert_eq!(recording.lanes().iter().map(|lane| lane.polls).collect::<Vec<_>>(), [6, 3]);

        let records = all(&recording);
        let Record::Call(call) = records[0] else { panic!("{records:?}") };
        assert_eq!((call.enter, call.leave, call.bytes, call.root), (1005, None, 64, Some(2)));
        assert_eq!(records[1], Record::Counts(Counts { first: 0, len: 2, bytes: [1, 2, 0] }));
        let times: Vec<_> = records[2..].iter().map(|record| format!("{record:?}")).collect();
        assert!(times[0].contains("post: 1007") && times[1].contains("post: 1008"), "{times:?}");
        assert_eq!(records[4], Record::Mark(Mark { time: 1009, level: -5 }));
    }

    #[test]
    fn a_file_cut_anywhere_keeps_what_is_whole() {
        let slots: Vec<Slot> = (1..=20).map(|i| send(i, i, 1)).collect();
        let bytes = recording(&[(0, 0, slots)]);
        for end in HEADER..HEADER + CHUNK_HEADER + 20 * 32 {
            let cut = Recording::new(bytes[..end].to_vec()).unwrap();
            let whole = end.saturating_sub(HEADER + CHUNK_HEADER) / 32;
            assert_eq!(all(&cut).len(), whole, "cut at {end}");
        }
    }

    proptest! {
        #[test]
        fn hostile_bytes_are_read_without_panic(
            noise in proptest::collection::vec(any::<u8>(), 0..2000),
            at in 0_usize..HEADER + 2 * CHUNK,
            cut in 0_usize..HEADER + 3 * CHUNK,
        ) {
            let mut bytes = recording(&[
                (CONTROL_LANE, 0, vec![Slot::communicator(0, 1, 0, 0, 0, 0)]),
                (0, 0, (1..400).map(|i| send(i, i, 1)).collect()),
            ]);
            for (place, byte) in bytes[at.min(HEADER + CHUNK)..].iter_mut().zip(noise) {
                *place = byte;
            }
            bytes.truncate(cut);
            if let Ok(recording) = Recording::new(bytes) {
                let records = all(&recording);
                prop_assert!(records.len() <= 2 * 510);
                for communicator in recording.communicators().values() {
                    let _ = (communicator.size(), communicator.world_rank(u32::MAX));
                }
                let alignment = Alignment::new([(recording.header(), recording.last_pair())]);
                if let Some(clock) = alignment.clock(recording.header()) {
                    let _ = clock.ns(u64::MAX);
                }
            }
        }
    }
}
