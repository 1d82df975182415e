//! Run directories made by hand, of processes that share a nanosecond clock.

#![allow(unreachable_pub, reason = "tests and benches include this file")]

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use phaseflow_profiler::format::{
    self, CHUNK, CHUNK_HEADER, CHUNK_MAGIC, CONTROL_LANE, EXTENSION, HEADER, NO_GROUP, SLOT, Slot, at,
};

/// Slots in a chunk.
const SLOTS: usize = (CHUNK - CHUNK_HEADER) / SLOT;

/// One process's recording as it is written: `MPI_COMM_WORLD` is communicator 0, one thread.
pub struct Process {
    file: BufWriter<File>,
    /// Slots written to the lane.
    slots: usize,
}

impl Process {
    /// A recording of rank `rank` of `size` at the level of messages (`calls_only`: of calls),
    /// finalized at `end`.
    pub fn new(directory: &Path, rank: u32, size: u32, calls_only: bool, end: u64) -> Self {
        let path = directory.join(format!("job.{rank}.host.{}.{EXTENSION}", 1000 + rank));
        let mut bytes = vec![0; HEADER];
        let mut put =
            |offset: usize, value: &[u8]| bytes[offset..offset + value.len()].copy_from_slice(value);
        put(0, &format::MAGIC);
        for (offset, value) in [
            (at::VERSION, format::VERSION),
            (at::SLOT, SLOT as u32),
            (at::CHUNK, CHUNK as u32),
            (at::RANK, rank),
            (at::SIZE, size),
            (at::STATE, 1),
        ] {
            put(offset, &value.to_le_bytes());
        }
        put(at::LEVEL, &[if calls_only { 2 } else { 1 }, 2, 1, 0]);
        put(at::JOB, &7_u64.to_le_bytes());
        put(at::HOST, &9_u64.to_le_bytes());
        // Ticks are nanoseconds; all processes start at 1000.
        for (i, value) in [1000_u64, 1000, 1000, 1000 + end, 1000 + end, 1000 + end].into_iter().enumerate() {
            put(at::PAIRS + i * 8, &value.to_le_bytes());
        }
        put(at::BASE, &1000_u64.to_le_bytes());
        put(at::PROGRAM, b"generated");
        let mut file = BufWriter::with_capacity(1 << 16, File::create(path).unwrap());
        file.write_all(&bytes).unwrap();
        let mut process = Self { file, slots: 0 };
        process.chunk(CONTROL_LANE, 0);
        process.file.write_all(&bytes_of(&Slot::communicator(0, 42, 0, NO_GROUP, 0, 0))).unwrap();
        process.file.write_all(&vec![0; CHUNK - CHUNK_HEADER - SLOT]).unwrap();
        process
    }

    fn chunk(&mut self, lane: u32, number: u32) {
        let mut head = [0; CHUNK_HEADER];
        for (offset, value) in [(0, CHUNK_MAGIC), (4, lane), (8, number)] {
            head[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
        }
        self.file.write_all(&head).unwrap();
    }

    /// Appends a slot to the lane.
    pub fn push(&mut self, slot: Slot) {
        if self.slots.is_multiple_of(SLOTS) {
            self.chunk(0, (self.slots / SLOTS) as u32);
        }
        self.file.write_all(&bytes_of(&slot)).unwrap();
        self.slots += 1;
    }

    /// Ends the file as a process does that reached `MPI_Finalize`.
    pub fn finish(mut self) {
        let rest = (SLOTS - self.slots % SLOTS) % SLOTS;
        self.file.write_all(&vec![0; rest * SLOT]).unwrap();
        self.file.flush().unwrap();
    }

    /// Ends it as a process does that died before.
    #[allow(dead_code, reason = "benches do not die")]
    pub fn die(mut self) {
        self.file.seek(SeekFrom::Start(at::STATE as u64)).unwrap();
        self.file.write_all(&[0; 4]).unwrap();
        self.file.flush().unwrap();
    }
}

fn bytes_of(slot: &Slot) -> [u8; SLOT] {
    let mut bytes = [0; SLOT];
    for (place, word) in bytes.chunks_exact_mut(8).zip(slot.0) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// A completed message slot: `operation` 0.
pub fn message(kind: format::Kind, post: u64, complete: u64, bytes: u64, peer: u32, tag: i32) -> Slot {
    let mut slot = Slot::new(kind, post, 0, bytes, peer, tag, 0, 0);
    slot.0[1] |= complete;
    slot
}
