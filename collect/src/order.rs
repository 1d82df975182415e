//! External sort of messages into trace order.
//!
//! An archive is written in one pass in time order, so a message is written only when no earlier
//! one can follow. Files are read twice: the order is checked first (`import::text`), and ordered
//! files are streamed. For pipes and files out of order, [`Sorter`] is an external merge sort. Runs
//! of 2²⁰ messages are sorted in memory and, if there are several, written to an anonymous
//! temporary file. At the end all runs are merged. A run that continues the previous one (a pipe in
//! order) is appended to it, without comparisons at the merge.
//!
//! Memory is one run, and while merging a buffer per run out of a fixed budget: independent of the
//! number of messages up to some 10⁹, then 4 KiB per 10⁶ more. The order is stable: messages of
//! equal time and source stay in the order of the input.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use crate::Result;
use crate::trace::{Message, Operation, Rank};

/// Messages in a run: 40 MiB in memory. Three million messages in random order take 3 % less
/// processor time with half, 10 % more with double, within the noise of the measurement.
const RUN: usize = 1 << 20;

/// Bytes of all read buffers of the merge: 4 KiB each for 4096 runs, some 10⁹ messages. Half and
/// double: within 3 %.
const MERGE_BUDGET: usize = 16 << 20;

/// Bytes of a message in the temporary file.
const STORED: usize = 30;

/// Makes temporary files, in a folder of the caller's choice; they are deleted when closed.
pub type Scratch = fn() -> io::Result<File>;

/// A message with the fields of text formats, half the size of a [`Message`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Posted {
    pub(crate) t_ns: i64,
    pub(crate) bytes: u64,
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) tag: Option<i32>,
    pub(crate) operation: Operation,
}

impl Posted {
    /// The key of the order of traces.
    pub(crate) fn key(&self) -> (i64, u32) {
        (self.t_ns, self.src)
    }

    pub(crate) fn message(&self) -> Message {
        Message {
            send_post_ns: self.t_ns,
            src: Rank(self.src),
            dst: Rank(self.dst),
            bytes: self.bytes,
            tag: self.tag,
            operation: self.operation,
            ..Message::default()
        }
    }

    fn store(&self) -> [u8; STORED] {
        let mut bytes = [0; STORED];
        bytes[0..8].copy_from_slice(&self.t_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.src.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.dst.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.tag.unwrap_or(0).to_le_bytes());
        bytes[28] = u8::from(self.tag.is_some());
        bytes[29] = self.operation as u8;
        bytes
    }

    fn load(bytes: &[u8; STORED]) -> Self {
        fn field<const N: usize>(bytes: &[u8; STORED], at: usize) -> [u8; N] {
            std::array::from_fn(|i| bytes[at + i])
        }
        Self {
            t_ns: i64::from_le_bytes(field(bytes, 0)),
            bytes: u64::from_le_bytes(field(bytes, 8)),
            src: u32::from_le_bytes(field(bytes, 16)),
            dst: u32::from_le_bytes(field(bytes, 20)),
            tag: (bytes[28] != 0).then(|| i32::from_le_bytes(field(bytes, 24))),
            operation: Operation::from_code(bytes[29]).unwrap_or_default(),
        }
    }
}

/// Sorts any number of messages in bounded memory.
pub(crate) struct Sorter {
    scratch: Scratch,
    run_length: usize,
    current: Vec<Posted>,
    spilled: Option<Spilled>,
}

/// Sorted runs one after the other in a temporary file.
struct Spilled {
    file: BufWriter<File>,
    /// Length of each run in messages.
    runs: Vec<u64>,
    /// Key of the last message of the last run.
    last: (i64, u32),
}

impl Sorter {
    pub(crate) fn new(scratch: Scratch) -> Self {
        Self { scratch, run_length: RUN, current: Vec::new(), spilled: None }
    }

    /// # Errors
    /// A temporary file that cannot be made or written.
    pub(crate) fn push(&mut self, message: Posted) -> Result<()> {
        if self.current.len() == self.run_length {
            self.spill()?;
        }
        self.current.push(message);
        Ok(())
    }

    /// Passes all messages on in trace order.
    ///
    /// # Errors
    /// An error of `each`, or a temporary file that cannot be written or read.
    pub(crate) fn drain(mut self, mut each: impl FnMut(Posted) -> Result<()>) -> Result<()> {
        if self.spilled.is_some() {
            self.spill()?;
        }
        match self.spilled {
            None => {
                self.current.sort_by_key(Posted::key);
                self.current.into_iter().try_for_each(each)
            }
            Some(Spilled { file, runs, .. }) => {
                self.current = Vec::new(); // make room for the merge
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                merge(&file, &runs, &mut each)
            }
        }
    }

    fn spill(&mut self) -> Result<()> {
        self.current.sort_by_key(Posted::key);
        let Some((first, last)) = self.current.first().zip(self.current.last()) else {
            return Ok(());
        };
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            empty => empty.insert(Spilled {
                file: BufWriter::with_capacity(1 << 20, (self.scratch)()?),
                runs: Vec::new(),
                last: (i64::MAX, u32::MAX),
            }),
        };
        let messages = self.current.len() as u64;
        match spilled.runs.last_mut() {
            Some(run) if first.key() >= spilled.last => *run += messages,
            _ => spilled.runs.push(messages),
        }
        spilled.last = last.key();
        for message in &self.current {
            spilled.file.write_all(&message.store())?;
        }
        self.current.clear();
        Ok(())
    }
}

/// Reads one run back.
struct Run {
    /// Position of the next byte behind the buffer.
    offset: u64,
    /// Bytes from there on.
    left: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl Run {
    fn next(&mut self, mut file: &File, capacity: usize) -> Result<Option<Posted>> {
        if self.at == self.buffer.len() {
            let length = self.left.min(capacity as u64);
            self.buffer.resize(length as usize, 0);
            file.seek(SeekFrom::Start(self.offset))?;
            file.read_exact(&mut self.buffer)?;
            self.offset += length;
            self.left -= length;
            self.at = 0;
        }
        let Some(bytes) = self.buffer[self.at..].first_chunk::<STORED>() else { return Ok(None) };
        self.at += STORED;
        Ok(Some(Posted::load(bytes)))
    }
}

fn merge(file: &File, lengths: &[u64], each: &mut impl FnMut(Posted) -> Result<()>) -> Result<()> {
    let capacity = (MERGE_BUDGET / lengths.len().max(1)).max(4 << 10) / STORED * STORED;
    let mut offset = 0;
    let mut runs: Vec<Run> = Vec::with_capacity(lengths.len());
    for length in lengths {
        let left = length * STORED as u64;
        runs.push(Run { offset, left, buffer: Vec::new(), at: 0 });
        offset += left;
    }
    if let [run] = &mut runs[..] {
        while let Some(message) = run.next(file, capacity)? {
            each(message)?;
        }
        return Ok(());
    }
    // Equal keys leave in the order of their runs, which is that of the input.
    let mut heads: Vec<Option<Posted>> = Vec::with_capacity(runs.len());
    let mut heap = BinaryHeap::with_capacity(runs.len());
    for (number, run) in runs.iter_mut().enumerate() {
        let head = run.next(file, capacity)?;
        heap.extend(head.map(|head| Reverse((head.key(), number))));
        heads.push(head);
    }
    while let Some(mut least) = heap.peek_mut() {
        let number = least.0.1;
        let next = runs[number].next(file, capacity)?;
        let head = std::mem::replace(&mut heads[number], next);
        match next {
            Some(next) => least.0.0 = next.key(),
            None => drop(std::collections::binary_heap::PeekMut::pop(least)),
        }
        head.map_or(Ok(()), &mut *each)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use proptest::prelude::*;

    fn sorter(run_length: usize) -> Sorter {
        Sorter { run_length, ..Sorter::new(tempfile::tempfile) }
    }

    fn drained(sorter: Sorter) -> Vec<Posted> {
        let mut out = Vec::new();
        sorter
            .drain(|message| {
                out.push(message);
                Ok(())
            })
            .unwrap();
        out
    }

    proptest! {
        #[test]
        fn any_order_becomes_that_of_a_stable_sort(
            messages in prop::collection::vec((-3i64..3, 0u32..3, any::<Option<i32>>()), 0..100),
            run_length in 1usize..40,
        ) {
            // `bytes` numbers the messages, so that stability shows.
            let messages: Vec<Posted> = messages.into_iter().enumerate().map(|(i, (t_ns, src, tag))| Posted {
                t_ns, src, tag, dst: 7, bytes: i as u64, operation: Operation::Bcast,
            }).collect();
            let mut sorter = sorter(run_length);
            for message in &messages {
                sorter.push(*message).unwrap();
            }
            let mut expected = messages;
            expected.sort_by_key(|message| (message.t_ns, message.src, message.bytes));
            prop_assert_eq!(drained(sorter), expected);
        }
    }

    fn at(t_ns: i64) -> Posted {
        Posted { t_ns, src: 0, dst: 1, bytes: 8, tag: None, operation: Operation::default() }
    }

    #[test]
    fn a_stream_in_order_is_one_run() {
        let mut sorter = sorter(10);
        for t in 0..95 {
            sorter.push(at(t)).unwrap();
        }
        assert_eq!(sorter.spilled.as_ref().unwrap().runs, [90]);
        assert_eq!(drained(sorter).len(), 95);
    }

    #[test]
    fn without_room_for_temporary_files_small_inputs_still_sort() {
        let mut sorter = Sorter { run_length: 10, ..Sorter::new(|| Err(io::ErrorKind::StorageFull.into())) };
        for t in (0..10).rev() {
            sorter.push(at(t)).unwrap();
        }
        let error: Error = sorter.push(at(0)).unwrap_err();
        assert_eq!(error.to_string(), "no storage space");
    }
}
