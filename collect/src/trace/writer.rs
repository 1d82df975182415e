//! Writing a trace archive in one pass.

use std::io::Write;

use super::record::{Call, Mark, Message};
use super::{Header, Kind, MessageBlock, Summary};
use crate::archive::ArchiveWriter;
use crate::archive::columns::{BlockWriter, LARGEST_BLOCK, Transform, UNKNOWN};
use crate::{Error, Result, TrafficMatrix};

/// Writes a timed trace; records come in ascending time, whatever their kind. Memory: one block of each kind.
#[derive(Debug)]
pub struct TraceWriter<W: Write> {
    archive: ArchiveWriter<W>,
    messages: MessageBlock,
    calls: Vec<Call>,
    marks: Vec<Mark>,
    blocks: [u32; 3],
    summary: Summary,
    /// Time and, for messages, source of the last record.
    last: (i64, u32),
    span: Option<(i64, i64)>,
    buffer: Vec<u8>,
}

/// What a source knows beyond its records; the default is that it knows nothing.
#[derive(Clone, Debug, Default)]
pub struct RunFacts {
    /// Number of ranks; otherwise the highest that occurs decides.
    pub ranks: Option<u32>,
    /// Start and end of the run; otherwise the first and last time that occurs.
    pub span_ns: Option<(i64, i64)>,
    /// Length of a run of which only sums are known.
    pub duration_ns: Option<u64>,
    /// Messages whose other end was not seen.
    pub unmatched: Option<u64>,
    /// Bound of the error between the ranks' clocks.
    pub clock_error_ns: Option<u64>,
}

/// How often a rank sent or received messages of one size: PFProf's histograms.
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
    /// What the output reports.
    pub fn new(out: W, gzip: bool, source: &str) -> Result<Self> {
        Ok(Self {
            archive: ArchiveWriter::new(out, gzip, &Header::new(Kind::Timed, source))?,
            messages: MessageBlock::default(),
            calls: Vec::new(),
            marks: Vec::new(),
            blocks: [0; 3],
            summary: Summary::default(),
            last: (i64::MIN, 0),
            span: None,
            buffer: Vec::new(),
        })
    }

    /// Appends a message.
    ///
    /// # Errors
    /// A time before that of the last record, a source before that of the last message of the same time, more than
    /// 2⁶³−1 bytes in all, or what the output reports.
    pub fn message(&mut self, message: &Message) -> Result<()> {
        let at = (message.send_post_ns, message.src.0);
        if at < self.last {
            let (time, src) = self.last;
            return Err(Error::data(format!(
                "message at {} ns from rank {} comes after one at {time} ns from rank {src}",
                at.0, at.1
            )));
        }
        self.last = at;
        let bytes = self.summary.bytes.checked_add(message.bytes).filter(|sum| i64::try_from(*sum).is_ok());
        self.summary.bytes =
            bytes.ok_or_else(|| Error::data("all messages together have more than 2^63-1 bytes"))?;
        self.summary.messages += 1;
        self.rank(message.src.0.max(message.dst.0))?;
        self.time(message.send_post_ns);
        for time in [message.send_complete_ns, message.receive_complete_ns].into_iter().flatten() {
            self.time(time);
        }
        self.messages.push(message);
        if self.messages.len() == LARGEST_BLOCK {
            self.flush_messages()?;
        }
        Ok(())
    }

    /// Appends a call.
    ///
    /// # Errors
    /// A time before that of the last record, or what the output reports.
    pub fn call(&mut self, call: &Call) -> Result<()> {
        self.order("call", call.enter_ns)?;
        self.summary.calls += 1;
        self.rank(call.rank.0)?;
        self.time(call.enter_ns);
        self.time(call.leave_ns);
        self.calls.push(*call);
        if self.calls.len() == LARGEST_BLOCK {
            self.flush_calls()?;
        }
        Ok(())
    }

    /// Appends a mark.
    ///
    /// # Errors
    /// A time before that of the last record, or what the output reports.
    pub fn mark(&mut self, mark: &Mark) -> Result<()> {
        self.order("mark", mark.time_ns)?;
        self.summary.marks += 1;
        self.rank(mark.rank.0)?;
        self.time(mark.time_ns);
        self.marks.push(*mark);
        if self.marks.len() == LARGEST_BLOCK {
            self.flush_marks()?;
        }
        Ok(())
    }

    /// Ends the trace; the summary that it got and the output.
    ///
    /// # Errors
    /// Facts that contradict the records, or what the output reports.
    pub fn finish(mut self, facts: &RunFacts) -> Result<(Summary, W)> {
        self.flush_messages()?;
        self.flush_calls()?;
        self.flush_marks()?;
        if let Some(ranks) = facts.ranks {
            if ranks < self.summary.ranks {
                return Err(Error::data(format!(
                    "rank {} occurs, the trace has {ranks} ranks",
                    self.summary.ranks - 1
                )));
            }
            self.summary.ranks = ranks;
        }
        let (start, end) = match (facts.span_ns, self.span) {
            (None, None) => (None, None),
            (None, Some((start, end))) => (Some(start), Some(end)),
            (Some((start, end)), seen) => {
                let (first, last) = seen.unwrap_or((start, end));
                (Some(start.min(first)), Some(end.max(last)))
            }
        };
        self.summary.start_ns = start;
        self.summary.end_ns = end;
        self.summary.duration_ns = start.zip(end).map(|(start, end)| end.abs_diff(start));
        self.summary.unmatched = facts.unmatched;
        self.summary.clock_error_ns = facts.clock_error_ns;
        let out = self.archive.finish(&self.summary)?;
        Ok((self.summary, out))
    }

    fn order(&mut self, what: &str, time: i64) -> Result<()> {
        if time < self.last.0 {
            return Err(Error::data(format!(
                "{what} at {time} ns comes after a record at {} ns",
                self.last.0
            )));
        }
        if time > self.last.0 {
            self.last = (time, 0);
        }
        Ok(())
    }

    fn rank(&mut self, rank: u32) -> Result<()> {
        if rank >= self.summary.ranks {
            self.summary.ranks = rank
                .checked_add(1)
                .ok_or_else(|| Error::data(format!("rank {rank} is beyond the largest, {}", u32::MAX - 1)))?;
        }
        Ok(())
    }

    fn time(&mut self, time: i64) {
        let (start, end) = self.span.unwrap_or((time, time));
        self.span = Some((start.min(time), end.max(time)));
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
        // What is pending is not later than the last message: it has to stand before this block.
        self.flush_calls()?;
        self.flush_marks()?;
        let bytes = self.messages.encode(std::mem::take(&mut self.buffer));
        self.messages.clear();
        self.member(0, bytes)
    }

    fn flush_calls(&mut self) -> Result<()> {
        if self.calls.is_empty() {
            return Ok(());
        }
        let calls = std::mem::take(&mut self.calls);
        let mut block = BlockWriter::new(calls.len(), std::mem::take(&mut self.buffer));
        block
            .column(1, Transform::Delta, calls.iter().map(|c| c.enter_ns))
            .column(2, Transform::Plain, calls.iter().map(|c| c.leave_ns.wrapping_sub(c.enter_ns)))
            .column(3, Transform::Plain, calls.iter().map(|c| i64::from(c.rank.0)))
            .column(4, Transform::Plain, calls.iter().map(|c| i64::from(c.operation as u8)))
            .column(5, Transform::Plain, calls.iter().map(|c| c.communicator.map_or(UNKNOWN, i64::from)))
            .column(
                6,
                Transform::Plain,
                calls.iter().map(|c| c.root.map_or(UNKNOWN, |rank| i64::from(rank.0))),
            )
            .column(7, Transform::Plain, calls.iter().map(|c| c.bytes.map_or(UNKNOWN, u64::cast_signed)));
        self.member(1, block.finish())
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

/// Writes an aggregate trace: a matrix, message size histograms if the source has them, and what it knows of the run.
///
/// # Errors
/// A matrix with ranks beyond those of the run, or what the output reports.
pub fn write_aggregate<W: Write>(
    out: W,
    gzip: bool,
    source: &str,
    matrix: &TrafficMatrix,
    sizes: &[MessageSize],
    facts: &RunFacts,
) -> Result<(Summary, W)> {
    let ranks = facts.ranks.unwrap_or(matrix.ranks());
    if matrix.ranks() > ranks {
        return Err(Error::data(format!("rank {} occurs, the trace has {ranks} ranks", matrix.ranks() - 1)));
    }
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
    let summary = Summary {
        ranks,
        messages: matrix.messages(),
        bytes: matrix.bytes(),
        duration_ns: facts.duration_ns,
        unmatched: facts.unmatched,
        ..Summary::default()
    };
    let out = archive.finish(&summary)?;
    Ok((summary, out))
}

/// Appends a matrix as members `prefix/000000`, `prefix/000001`, …: columns src 1, dst 2, messages 3, bytes 4.
///
/// # Errors
/// What the output reports.
pub fn write_matrix<W: Write>(
    archive: &mut ArchiveWriter<W>,
    prefix: &str,
    matrix: &TrafficMatrix,
) -> Result<()> {
    let cells: Vec<_> = matrix.cells().collect();
    for (number, chunk) in cells.chunks(LARGEST_BLOCK).enumerate() {
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
