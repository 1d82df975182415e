//! Writing a trace archive in one pass.

use std::io::Write;

use super::record::{Call, Mark, Message};
use super::{Header, Kind, MessageBlock, Summary, Tally, UnmatchedReceives};
use crate::archive::ArchiveWriter;
use crate::archive::columns::{BlockWriter, LARGEST_BLOCK, Transform, UNKNOWN};
use crate::{Error, Result, TrafficMatrix};

/// Messages in the first block. Each block has twice as many as the previous one, up to the
/// largest. A reader of a pipe thus gets the beginning soon, with nine small blocks per trace. A
/// trace of 768 000 messages has 1 % more bytes with half, 0.05 % fewer with double.
const FIRST_BLOCK: usize = 256;

/// Writes a timed or ordered trace. Memory: one block of each kind.
///
/// Each kind of record has its own order; a call or mark must precede the messages that are written
/// after it.
#[derive(Debug)]
pub struct TraceWriter<W: Write> {
    archive: ArchiveWriter<W>,
    messages: MessageBlock,
    /// The next single message, before it is added to `messages`.
    single: MessageBlock,
    calls: Vec<Call>,
    marks: Vec<Mark>,
    blocks: [u32; 3],
    /// Messages in the block being filled.
    block_rows: usize,
    tally: Tally,
    /// Time and source of the last message.
    last_message: (i64, u32),
    last_call_ns: i64,
    last_mark_ns: i64,
    /// Time of the last message that is in the archive already.
    written_ns: i64,
    buffer: Vec<u8>,
}

/// Facts of a source beyond its records; unknown by default.
#[derive(Clone, Debug, Default)]
pub struct RunFacts {
    /// Number of ranks; otherwise the highest that occurs decides.
    pub ranks: Option<u32>,
    /// Start and end of the run; otherwise the first and last time that occurs.
    pub span_ns: Option<(i64, i64)>,
    /// Length of a run of which only sums are known.
    pub duration_ns: Option<u64>,
    /// Messages with one recorded end.
    pub unmatched: Option<u64>,
    /// Receives without a known send.
    pub unmatched_receives: UnmatchedReceives,
    /// Bound of the error between the ranks' clocks.
    pub clock_error_ns: Option<u64>,
    /// The records have positions instead of times: [`Kind::Ordered`].
    pub is_ordered: bool,
}

/// Number of messages of one size that a rank sent or received: PFProf's histograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageSize {
    /// Whose histogram.
    pub rank: u32,
    /// Received instead of sent.
    pub received: bool,
    /// Size of the message.
    pub bytes: u64,
    /// How many.
    pub messages: u64,
}

impl<W: Write> TraceWriter<W> {
    /// Starts a timed trace from `source`.
    ///
    /// # Errors
    /// An error of the output.
    pub fn new(out: W, gzip: bool, source: &str) -> Result<Self> {
        Self::of_kind(out, gzip, Kind::Timed, source)
    }

    /// Starts a timed or ordered trace from `source`.
    ///
    /// # Errors
    /// An error of the output.
    pub fn of_kind(out: W, gzip: bool, kind: Kind, source: &str) -> Result<Self> {
        Ok(Self {
            archive: ArchiveWriter::new(out, gzip, &Header::new(kind, source))?,
            messages: MessageBlock::default(),
            single: MessageBlock::default(),
            calls: Vec::new(),
            marks: Vec::new(),
            blocks: [0; 3],
            block_rows: FIRST_BLOCK,
            tally: Tally::default(),
            last_message: (i64::MIN, 0),
            last_call_ns: i64::MIN,
            last_mark_ns: i64::MIN,
            written_ns: i64::MIN,
            buffer: Vec::new(),
        })
    }

    /// Appends a message; [`messages`](Self::messages) is faster for many.
    ///
    /// # Errors
    /// As [`messages`](Self::messages).
    pub fn message(&mut self, message: &Message) -> Result<()> {
        let mut single = std::mem::take(&mut self.single);
        single.clear();
        single.push(message);
        let outcome = self.messages(&single);
        self.single = single;
        outcome
    }

    /// Appends messages; the blocks of the archive do not depend on their grouping here.
    ///
    /// # Errors
    /// A message before the last one by time, or by source at the same time; more than 2⁶³−1 bytes
    /// in all; an error of the output.
    pub fn messages(&mut self, block: &MessageBlock) -> Result<()> {
        let columns = block.columns();
        for (time, src) in columns.send_post_ns.iter().zip(&columns.src) {
            if (*time, *src) < self.last_message {
                let (last, from) = self.last_message;
                let problem = format!(
                    "message at {time} ns from rank {src} comes after one at {last} ns from rank {from}"
                );
                return Err(Error::data(problem));
            }
            self.last_message = (*time, *src);
        }
        self.tally.messages(block)?;
        let mut start = 0;
        while start < block.len() {
            let end = block.len().min(start + self.block_rows - self.messages.len());
            self.messages.append(block, start..end);
            start = end;
            if self.messages.len() == self.block_rows {
                self.block_rows = LARGEST_BLOCK.min(self.block_rows * 2);
                self.flush_messages()?;
            }
        }
        Ok(())
    }

    /// Appends a call.
    ///
    /// # Errors
    /// A time before that of the last call or of a message in the archive, or an error of the
    /// output.
    pub fn call(&mut self, call: &Call) -> Result<()> {
        let last = self.last_call_ns.max(self.written_ns);
        if call.enter_ns < last {
            return Err(Error::data(format!(
                "call at {} ns comes after a record at {last} ns",
                call.enter_ns
            )));
        }
        self.last_call_ns = call.enter_ns;
        self.tally.calls(std::slice::from_ref(call))?;
        self.calls.push(*call);
        if self.calls.len() == LARGEST_BLOCK {
            self.flush_calls()?;
        }
        Ok(())
    }

    /// Appends a mark.
    ///
    /// # Errors
    /// A time before that of the last mark or of a message in the archive, or an error of the
    /// output.
    pub fn mark(&mut self, mark: &Mark) -> Result<()> {
        let last = self.last_mark_ns.max(self.written_ns);
        if mark.time_ns < last {
            return Err(Error::data(format!(
                "mark at {} ns comes after a record at {last} ns",
                mark.time_ns
            )));
        }
        self.last_mark_ns = mark.time_ns;
        self.tally.marks(std::slice::from_ref(mark))?;
        self.marks.push(*mark);
        if self.marks.len() == LARGEST_BLOCK {
            self.flush_marks()?;
        }
        Ok(())
    }

    /// Ends the trace; returns its summary and the output.
    ///
    /// # Errors
    /// Facts that contradict the records, or an error of the output.
    pub fn finish(mut self, facts: &RunFacts) -> Result<(Summary, W)> {
        self.flush_messages()?;
        self.flush_calls()?;
        self.flush_marks()?;
        let summary = self.tally.finish(facts)?;
        let out = self.archive.finish(&summary)?;
        Ok((summary, out))
    }

    fn member(&mut self, kind: usize, bytes: Vec<u8>) -> Result<()> {
        let name = format!("{}/{:06}", ["messages", "calls", "marks"][kind], self.blocks[kind]);
        self.blocks[kind] += 1;
        self.archive.member(&name, &bytes)?;
        self.buffer = bytes;
        Ok(())
    }

    fn flush_messages(&mut self) -> Result<()> {
        if self.messages.is_empty() {
            return Ok(());
        }
        // Pending calls and marks are not later than the last message, so they precede this block.
        self.flush_calls()?;
        self.flush_marks()?;
        let bytes = self.messages.encode(std::mem::take(&mut self.buffer));
        self.written_ns = self.messages.columns().send_post_ns.last().copied().unwrap_or(self.written_ns);
        self.messages.clear();
        self.member(0, bytes)
    }

    fn flush_calls(&mut self) -> Result<()> {
        if self.calls.is_empty() {
            return Ok(());
        }
        let calls = std::mem::take(&mut self.calls);
        let bytes = encode_calls(&calls, std::mem::take(&mut self.buffer));
        self.member(1, bytes)
    }

    fn flush_marks(&mut self) -> Result<()> {
        if self.marks.is_empty() {
            return Ok(());
        }
        let marks = std::mem::take(&mut self.marks);
        let mut block = BlockWriter::new(marks.len(), std::mem::take(&mut self.buffer));
        block
            .column(1, Transform::Delta, marks.iter().map(|m| m.time_ns))
            .column(2, Transform::Plain, marks.iter().map(|m| i64::from(m.rank.0)))
            .column(3, Transform::Plain, marks.iter().map(|m| i64::from(m.level)));
        self.member(2, block.finish())
    }
}

/// The bytes of a member of calls, at most [`LARGEST_BLOCK`] of them; `buffer` is cleared and used.
pub fn encode_calls(calls: &[Call], buffer: Vec<u8>) -> Vec<u8> {
    let mut block = BlockWriter::new(calls.len(), buffer);
    block
        .column(1, Transform::Delta, calls.iter().map(|c| c.enter_ns))
        .column(2, Transform::Plain, calls.iter().map(|c| offset(c.leave_ns, c.enter_ns)))
        .column(3, Transform::Plain, calls.iter().map(|c| i64::from(c.rank.0)))
        .column(4, Transform::Plain, calls.iter().map(|c| i64::from(c.operation as u8)))
        .column(5, Transform::Plain, calls.iter().map(|c| c.communicator.map_or(UNKNOWN, i64::from)))
        .column(6, Transform::Plain, calls.iter().map(|c| c.root.map_or(UNKNOWN, |rank| i64::from(rank.0))))
        .column(7, Transform::Plain, calls.iter().map(|c| c.bytes.map_or(UNKNOWN, u64::cast_signed)));
    block.finish()
}

/// A time that may be unknown, relative to one that is not.
fn offset(time_ns: Option<i64>, base_ns: i64) -> i64 {
    time_ns.map_or(UNKNOWN, |time| time.wrapping_sub(base_ns))
}

/// Writes an aggregate trace: a matrix, message size histograms if the source has them, and the
/// facts of the run.
///
/// # Errors
/// A matrix with ranks beyond those of the run, or an error of the output.
pub fn write_aggregate<W: Write>(
    out: W,
    gzip: bool,
    source: &str,
    matrix: &TrafficMatrix,
    sizes: &[MessageSize],
    facts: &RunFacts,
) -> Result<(Summary, W)> {
    let mut tally = Tally::default();
    for cell in matrix.cells() {
        tally.cells(&[cell])?;
    }
    let summary = tally.finish(facts)?;
    let mut archive = ArchiveWriter::new(out, gzip, &Header::new(Kind::Aggregate, source))?;
    write_matrix(&mut archive, "matrix", matrix)?;
    for (number, chunk) in sizes.chunks(LARGEST_BLOCK).enumerate() {
        let mut block = BlockWriter::new(chunk.len(), Vec::new());
        block
            .column(1, Transform::Plain, chunk.iter().map(|s| i64::from(s.rank)))
            .column(2, Transform::Plain, chunk.iter().map(|s| i64::from(s.received)))
            .column(3, Transform::Plain, chunk.iter().map(|s| s.bytes.cast_signed()))
            .column(4, Transform::Plain, chunk.iter().map(|s| s.messages.cast_signed()));
        archive.member(&format!("sizes/{number:06}"), &block.finish())?;
    }
    let out = archive.finish(&summary)?;
    Ok((summary, out))
}

/// Appends a matrix as members `prefix/000000`, `prefix/000001`, …: columns src 1, dst 2, messages
/// 3, bytes 4.
///
/// # Errors
/// An error of the output.
pub fn write_matrix<W: Write>(
    archive: &mut ArchiveWriter<W>,
    prefix: &str,
    matrix: &TrafficMatrix,
) -> Result<()> {
    let (mut cells, mut chunk) = (matrix.cells(), Vec::new());
    for number in 0..matrix.len().div_ceil(LARGEST_BLOCK) {
        chunk.clear();
        chunk.extend(cells.by_ref().take(LARGEST_BLOCK));
        let mut block = BlockWriter::new(chunk.len(), Vec::new());
        block
            .column(1, Transform::Delta, chunk.iter().map(|c| i64::from(c.src.0)))
            .column(2, Transform::Plain, chunk.iter().map(|c| i64::from(c.dst.0)))
            .column(3, Transform::Plain, chunk.iter().map(|c| c.messages.cast_signed()))
            .column(4, Transform::Plain, chunk.iter().map(|c| c.bytes.cast_signed()));
        archive.member(&format!("{prefix}/{number:06}"), &block.finish())?;
    }
    Ok(())
}
