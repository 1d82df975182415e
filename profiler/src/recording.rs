//! The reader of one process's file: all communicators first, then records chunk by chunk.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::format::{
    CHUNK, CHUNK_HEADER, CHUNK_MAGIC, CONTROL_LANE, HEADER, Kind, NO_GROUP, Run, SLOT, Slot, flags,
};
use crate::{Header, Operation, Pair, Record, u32_at, u64_at};

/// Bytes with random access: a file, or memory.
pub trait Source {
    /// Reads from `offset` into `buffer`, up to the end of the bytes; returns the number of bytes.
    ///
    /// # Errors
    /// An error of the operating system.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
}

impl Source for File {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match self.read_at(&mut buffer[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }
}

impl Source for [u8] {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|start| self.get(start..)).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

impl Source for Vec<u8> {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.as_slice().read(offset, buffer)
    }
}

/// A communicator or window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Communicator {
    /// The same number in the recordings of all members, another one for any other communicator.
    pub identity: u64,
    /// World ranks of its members as runs; of the own side of an intercommunicator.
    pub members: Vec<Run>,
    /// World ranks of the other side of an intercommunicator.
    pub remote: Option<Vec<Run>>,
    /// The operation for which MPI made it; [`Operation::PointToPoint`] for the program's own.
    pub made_by: Operation,
    /// It stands for a window.
    pub is_window: bool,
}

impl Communicator {
    /// World rank of a member; `None` beyond the last and for processes of another
    /// `MPI_COMM_WORLD`.
    pub fn world_rank(&self, rank: u32) -> Option<u32> {
        let mut left = rank;
        for run in &self.members {
            if left < run.count {
                let rank = i64::from(run.first) + i64::from(run.stride) * i64::from(left);
                return u32::try_from(rank).ok().filter(|rank| *rank != crate::format::NO_RANK);
            }
            left -= run.count;
        }
        None
    }

    /// Number of members of the own side.
    pub fn size(&self) -> u64 {
        self.members.iter().map(|run| u64::from(run.count)).sum()
    }
}

/// The records of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Numbers of its chunks in the file, in order.
    chunks: Vec<u32>,
    /// Unsuccessful `MPI_Test*`, `MPI_Iprobe`, `MPI_Improbe`.
    pub polls: u64,
}

/// One process's recording.
#[derive(Debug)]
pub struct Recording<S> {
    source: S,
    header: Header,
    communicators: BTreeMap<u32, Communicator>,
    lanes: Vec<Lane>,
    last_pair: Option<Pair>,
}

/// Number of consecutive unused chunks after which the search ends: each thread can leave one, so
/// it has to exceed the number of threads.
const MOST_UNUSED: u32 = 1024;

impl<S: Source> Recording<S> {
    /// Reads the header, the places of all chunks, and the communicators. Memory: 4 bytes for every
    /// 16 KiB of recording.
    ///
    /// # Errors
    /// Input that is no recording, or an error of the operating system.
    pub fn new(source: S) -> io::Result<Self> {
        let mut bytes = vec![0; HEADER];
        let count = source.read(0, &mut bytes)?;
        let header = Header::read(&bytes[..count])?;
        let mut lanes: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
        let mut polls: BTreeMap<u32, u64> = BTreeMap::new();
        let mut last_pair: Option<Pair> = None;
        let mut unused = 0;
        for chunk in 0..u32::MAX {
            let mut head = [0; CHUNK_HEADER];
            if source.read(place(chunk), &mut head)? < head.len() || unused == MOST_UNUSED {
                break;
            }
            if u32_at(&head, 0) != CHUNK_MAGIC {
                unused += 1;
                continue;
            }
            unused = 0;
            let lane = u32_at(&head, 4);
            lanes.entry(lane).or_default().push((u32_at(&head, 8), chunk));
            let sum = polls.entry(lane).or_default();
            *sum = sum.saturating_add(u64_at(&head, 32));
            let pair = Pair { ticks: u64_at(&head, 16), monotonic_ns: u64_at(&head, 24), realtime_ns: 0 };
            if last_pair.is_none_or(|last| last.ticks < pair.ticks) {
                last_pair = Some(pair);
            }
        }
        let mut recording =
            Self { source, header, communicators: BTreeMap::new(), lanes: Vec::new(), last_pair };
        let mut in_order = |lane: u32, mut chunks: Vec<(u32, u32)>| {
            chunks.sort_unstable();
            let polls = polls.remove(&lane).unwrap_or(0);
            Lane { chunks: chunks.into_iter().map(|(_, chunk)| chunk).collect(), polls }
        };
        let control = lanes.remove(&CONTROL_LANE).map(|chunks| in_order(CONTROL_LANE, chunks));
        recording.lanes = lanes.into_iter().map(|(lane, chunks)| in_order(lane, chunks)).collect();
        if let Some(control) = control {
            recording.communicators = recording.read_communicators(&control)?;
        }
        Ok(recording)
    }

    /// Who, where, which clock.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The latest moment with the readings of two clocks.
    pub fn last_pair(&self) -> Pair {
        let latest =
            [self.header.finalize, self.last_pair].into_iter().flatten().max_by_key(|pair| pair.ticks);
        latest.unwrap_or(self.header.init)
    }

    /// Communicators and windows by their numbers.
    pub fn communicators(&self) -> &BTreeMap<u32, Communicator> {
        &self.communicators
    }

    /// What each thread recorded, in the order of their first call.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// The records of a lane in program order. Holds one chunk in memory.
    pub fn records<'a>(&'a self, lane: &'a Lane) -> Records<'a, S> {
        Records { slots: Slots::new(&self.source, lane, ALL_KINDS), base: self.header.base }
    }

    fn read_communicators(&self, control: &Lane) -> io::Result<BTreeMap<u32, Communicator>> {
        let mut groups: BTreeMap<u32, Vec<Run>> = BTreeMap::new();
        groups.insert(0, vec![Run { first: 0, stride: 1, count: self.header.size }]);
        let mut communicators = BTreeMap::new();
        let mut slots = Slots::new(&self.source, control, ALL_KINDS);
        while let Some(slot) = slots.next()? {
            let words = slot.0;
            let (low, high) = (|word: u64| word as u32, |word: u64| (word >> 32) as u32);
            match Kind::from_code(slot.code()) {
                Some(Kind::Runs) => {
                    let runs = [
                        Run {
                            first: low(words[1]),
                            stride: high(words[1]).cast_signed(),
                            count: low(words[2]),
                        },
                        Run {
                            first: high(words[2]),
                            stride: low(words[3]).cast_signed(),
                            count: high(words[3]),
                        },
                    ];
                    let held = usize::try_from(words[0] >> 48 & 0xff).unwrap_or(0).min(2);
                    groups.entry(low(words[0])).or_default().extend_from_slice(&runs[..held]);
                }
                Some(Kind::Communicator) => {
                    let group = |number: u32| groups.get(&number).cloned().unwrap_or_default();
                    let remote = high(words[2]);
                    let communicator = Communicator {
                        identity: words[1],
                        members: group(low(words[2])),
                        remote: (remote != NO_GROUP).then(|| group(remote)),
                        made_by: Operation::from_code(high(words[3]) as u8).unwrap_or(Operation::Internal),
                        is_window: slot.flags() & flags::WINDOW != 0,
                    };
                    communicators.insert(low(words[0]) & 0x00ff_ffff, communicator);
                }
                _ => {}
            }
        }
        Ok(communicators)
    }
}

fn place(chunk: u32) -> u64 {
    HEADER as u64 + u64::from(chunk) * CHUNK as u64
}

/// The slots of a lane, of some kinds, a chunk at a time.
struct Slots<'a, S: ?Sized> {
    source: &'a S,
    chunks: std::slice::Iter<'a, u32>,
    /// A bit for each code of a kind that is wanted.
    kinds: u64,
    /// The wanted slots of a chunk, copied: a merge of many lanes reads each of them rarely, and
    /// this loads little memory.
    kept: Vec<Slot>,
    next: usize,
}

impl<'a, S: Source + ?Sized> Slots<'a, S> {
    fn new(source: &'a S, lane: &'a Lane, kinds: u64) -> Self {
        Self { source, chunks: lane.chunks.iter(), kinds, kept: Vec::new(), next: 0 }
    }

    #[inline]
    fn peek(&mut self) -> io::Result<Option<&Slot>> {
        while self.next >= self.kept.len() {
            let Some(chunk) = self.chunks.next() else { return Ok(None) };
            self.load(*chunk)?;
        }
        Ok(self.kept.get(self.next))
    }

    #[inline]
    fn skip(&mut self) {
        self.next += 1;
        self.prefetch();
    }

    #[inline]
    fn next(&mut self) -> io::Result<Option<Slot>> {
        let slot = self.peek()?.copied();
        self.skip();
        Ok(slot)
    }

    /// Prefetches the slot after the next one while other lanes are read; the next one is read at
    /// once.
    #[inline]
    fn prefetch(&self) {
        #[cfg(target_arch = "x86_64")]
        if let Some(next) = self.kept.get(self.next + 1) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a hint; the address is that of a slot.
            #[allow(unsafe_code, reason = "a hint to the cache, which safe code cannot give")]
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(next).cast());
            }
        }
    }

    #[inline(never)]
    fn load(&mut self, chunk: u32) -> io::Result<()> {
        let mut buffer = [0; CHUNK];
        let end = self.source.read(place(chunk), &mut buffer)?;
        let slots = buffer.get(CHUNK_HEADER..end).unwrap_or_default().as_chunks::<SLOT>().0;
        self.next = 0;
        self.kept.clear();
        for bytes in slots.iter().take_while(|bytes| bytes[7] != 0) {
            if self.kinds.checked_shr(u32::from(bytes[7])).unwrap_or(0) & 1 != 0 {
                let word = |i: usize| u64_at(bytes, i * 8);
                self.kept.push(Slot([word(0), word(1), word(2), word(3)]));
            }
        }
        Ok(())
    }
}

/// Every kind of slot.
const ALL_KINDS: u64 = u64::MAX;

/// Iterator over the records of a lane, see [`Recording::records`].
pub struct Records<'a, S: ?Sized> {
    slots: Slots<'a, S>,
    base: u64,
}

impl<S: Source + ?Sized> Records<'_, S> {
    /// Only records of these kinds; the others are skipped cheaply.
    #[must_use]
    pub fn only(mut self, kinds: &[Kind]) -> Self {
        self.slots.kinds = kinds.iter().fold(0, |bits, kind| bits | 1 << *kind as u8);
        self
    }
}

impl<S: Source + ?Sized> Records<'_, S> {
    /// Post, enter or mark time of the next record, in ticks, before it is taken; `None` at the
    /// end. [`Counts`] have no valid time.
    ///
    /// # Errors
    /// An error of the operating system.
    ///
    /// [`Counts`]: crate::Counts
    #[inline]
    pub fn peek(&mut self) -> io::Result<Option<u64>> {
        loop {
            let Some(slot) = self.slots.peek()? else { return Ok(None) };
            if Record::is_in(slot) {
                return Ok(Some(self.base.wrapping_add(slot.start())));
            }
            self.slots.skip();
        }
    }
}

impl<S: Source + ?Sized> Iterator for Records<'_, S> {
    type Item = io::Result<Record>;

    // Copies of a record between calls take longer than its construction.
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.slots.next() {
                Ok(Some(slot)) => {
                    if let Some(record) = Record::of(&slot, self.base) {
                        return Some(Ok(record));
                    }
                }
                Ok(None) => return None,
                Err(error) => {
                    self.slots.chunks = [].iter();
                    return Some(Err(error));
                }
            }
        }
    }
}
