//! Reading a trace archive in one pass.

use std::io::BufRead;

use super::header::{FORMAT, VERSION};
use super::record::{Call, MOST_RANKS, Mark, Rank, check_ranks};
use super::writer::MessageSize;
use super::{Details, Header, MessageBlock, Operation, Summary};
use crate::archive::columns::{BlockReader, LARGEST_BYTES, UNKNOWN};
use crate::archive::{ArchiveReader, MemberInfo, SUMMARY};
use crate::{At, Cell, Error, Result, sum_of_bytes};

/// Reads a trace front to back; memory is that of one block.
pub struct TraceReader<R: BufRead> {
    archive: ArchiveReader<R>,
    header: Header,
    summary: Option<Summary>,
    bytes: Vec<u8>,
    messages: MessageBlock,
    calls: Vec<Call>,
    marks: Vec<Mark>,
    cells: Vec<Cell>,
    sizes: Vec<MessageSize>,
    last_ns: [i64; 3],
    seen: Summary,
    /// True if blocks of messages were skipped.
    passed: bool,
    details: Details,
}

/// The next piece of a trace, valid until the one after it is read.
#[derive(Debug)]
pub enum Block<'a> {
    /// Messages in trace order.
    Messages(&'a MessageBlock),
    /// Calls in ascending enter time.
    Calls(&'a [Call]),
    /// Marks in ascending time.
    Marks(&'a [Mark]),
    /// Cells of an aggregate trace's matrix.
    Matrix(&'a [Cell]),
    /// Histogram of message sizes of an aggregate trace.
    Sizes(&'a [MessageSize]),
}

impl<R: BufRead> TraceReader<R> {
    /// Opens a trace archive, gzip'ed or not.
    ///
    /// # Errors
    /// Input that is no trace archive of a known version.
    pub fn open(input: R) -> Result<Self> {
        Self::from_archive(ArchiveReader::open(input)?)
    }

    /// Continues with an archive whose header is already read.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_archive(archive: ArchiveReader<R>) -> Result<Self> {
        let header = archive.header(FORMAT, VERSION)?;
        Ok(Self {
            archive,
            header,
            summary: None,
            bytes: Vec::new(),
            messages: MessageBlock::default(),
            calls: Vec::new(),
            marks: Vec::new(),
            cells: Vec::new(),
            sizes: Vec::new(),
            last_ns: [i64::MIN; 3],
            seen: Summary::default(),
            passed: false,
            details: Details::ALL,
        })
    }

    /// Skips the optional columns of messages except operations; they read as unknown. This halves
    /// the time of reading.
    #[must_use]
    pub fn without_details(self) -> Self {
        self.with_details(Details::default())
    }

    /// Columns of messages that are read from now on.
    pub fn set_details(&mut self, details: Details) {
        self.details = details;
    }

    /// Reads only these `details` of messages, besides the required columns.
    #[must_use]
    pub fn with_details(self, details: Details) -> Self {
        Self { details, ..self }
    }

    /// The kind of the trace.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The summary; `None` before [`next_block`](Self::next_block) has returned `None`.
    pub fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }

    /// The next block, `None` at the end.
    ///
    /// # Errors
    /// A damaged or truncated archive, times that run backwards, counts that do not agree with the
    /// summary.
    pub fn next_block(&mut self) -> Result<Option<Block<'_>>> {
        self.next_block_where(|_, _| true)
    }

    /// The next block, `None` at the end. `wanted` gets the times of the first and last message of
    /// a block; if it returns false, the block is skipped in a fraction of the time.
    ///
    /// # Errors
    /// As for [`next_block`](Self::next_block); of skipped blocks only damage and descending times,
    /// not sums.
    pub fn next_block_where(
        &mut self,
        mut wanted: impl FnMut(i64, i64) -> bool,
    ) -> Result<Option<Block<'_>>> {
        while self.summary.is_none() {
            let Some(member) = self.archive.next_member()? else {
                return Err(Error::data(format!("ends without `{SUMMARY}`: the archive is truncated")));
            };
            if member.name == SUMMARY {
                let summary = self.archive.json(&member)?;
                self.check(&summary).at(|| SUMMARY)?;
                if let Some(member) = self.archive.next_member()? {
                    return Err(Error::data(format!(
                        "has `{}` after `{SUMMARY}`, which ends a trace",
                        member.name
                    )));
                }
                self.summary = Some(summary);
                break;
            }
            let kind = member.name.split('/').next();
            if matches!(kind, Some("messages" | "calls" | "marks" | "sizes")) {
                // Its errors have their place already.
                self.archive.bytes_into(&member, LARGEST_BYTES, &mut self.bytes)?;
            }
            match kind {
                Some("messages") if self.messages(&mut wanted).at(|| &member.name)? => {
                    return Ok(Some(Block::Messages(&self.messages)));
                }
                Some("calls") => return self.calls().at(|| &member.name).map(Some),
                Some("marks") => return self.marks().at(|| &member.name).map(Some),
                Some("matrix") => {
                    read_cells(&mut self.archive, &member, &mut self.bytes, &mut self.cells)?;
                    for cell in &self.cells {
                        self.seen.messages = self.seen.messages.saturating_add(cell.messages);
                        self.seen.bytes = self.seen.bytes.saturating_add(cell.bytes);
                        self.seen.ranks = self.seen.ranks.max(cell.src.0.max(cell.dst.0).saturating_add(1));
                    }
                    return Ok(Some(Block::Matrix(&self.cells)));
                }
                Some("sizes") => return self.sizes().at(|| &member.name).map(Some),
                _ => {} // passed over, or a later version's member
            }
        }
        Ok(None)
    }

    /// Reads a block of messages; false if it is skipped.
    fn messages(&mut self, mut wanted: impl FnMut(i64, i64) -> bool) -> Result<bool> {
        let details = self.details;
        let known =
            self.messages.decode_if(&self.bytes, |first, last| wanted(first, last).then_some(details))?;
        let order = self.ascending_messages();
        if !known && order.is_err() {
            // The senders are in a skipped column.
            self.messages.decode(&self.bytes, Details::default())?;
            self.ascending_messages()?;
        }
        self.last_ns[0] = order?;
        if !known {
            self.passed = true;
            return Ok(false);
        }
        let columns = self.messages.columns();
        self.seen.messages += self.messages.len() as u64;
        self.seen.bytes = self.seen.bytes.saturating_add(sum_of_bytes(&columns.bytes));
        for ranks in [&columns.src, &columns.dst] {
            let after_highest = ranks.iter().fold(0, |most: u32, rank| most.max(rank.saturating_add(1)));
            self.seen.ranks = self.seen.ranks.max(after_highest);
        }
        Ok(true)
    }

    /// Checks that the times of the block ascend; returns the last one.
    fn ascending_messages(&self) -> Result<i64> {
        let columns = self.messages.columns();
        ascending(self.last_ns[0], &columns.send_post_ns, |row| columns.src.get(row).copied())
    }

    fn calls(&mut self) -> Result<Block<'_>> {
        self.calls.clear();
        decode_calls(&self.bytes, &mut self.calls)?;
        let enter: Vec<i64> = self.calls.iter().map(|call| call.enter_ns).collect();
        let rank = |row: usize| self.calls.get(row).map(|call| call.rank.0);
        self.last_ns[1] = ascending(self.last_ns[1], &enter, rank)?;
        self.seen.calls += self.calls.len() as u64;
        Ok(Block::Calls(&self.calls))
    }

    fn marks(&mut self) -> Result<Block<'_>> {
        let block = BlockReader::new(&self.bytes)?;
        let (mut time, mut rank, mut level) = <(Vec<i64>, Vec<u32>, Vec<i32>)>::default();
        block.required(1, "time_ns", &mut time)?;
        block.required(2, "rank", &mut rank)?;
        block.required(3, "level", &mut level)?;
        check_ranks(&[&rank])?;
        self.last_ns[2] = ascending(self.last_ns[2], &time, |row| rank.get(row).copied())?;
        self.seen.marks += time.len() as u64;
        self.marks.clear();
        self.marks.extend((0..block.rows()).map(|i| Mark {
            time_ns: time[i],
            rank: Rank(rank[i]),
            level: level[i],
        }));
        Ok(Block::Marks(&self.marks))
    }

    fn sizes(&mut self) -> Result<Block<'_>> {
        let block = BlockReader::new(&self.bytes)?;
        let (mut rank, mut received, mut bytes, mut messages) =
            <(Vec<u32>, Vec<u8>, Vec<u64>, Vec<u64>)>::default();
        block.required(1, "rank", &mut rank)?;
        block.required(2, "received", &mut received)?;
        block.required(3, "bytes", &mut bytes)?;
        block.required(4, "messages", &mut messages)?;
        self.sizes.clear();
        self.sizes.extend((0..block.rows()).map(|i| MessageSize {
            rank: rank[i],
            received: received[i] != 0,
            bytes: bytes[i],
            messages: messages[i],
        }));
        Ok(Block::Sizes(&self.sizes))
    }

    fn check(&self, summary: &Summary) -> Result<()> {
        let counts = [
            ("messages", summary.messages, self.seen.messages),
            ("bytes", summary.bytes, self.seen.bytes),
            ("calls", summary.calls, self.seen.calls),
            ("marks", summary.marks, self.seen.marks),
        ];
        for (what, expected, found) in counts {
            if expected != found && !self.passed {
                return Err(Error::data(format!("says {what} {expected}, the archive holds {found}")));
            }
        }
        if summary.ranks > MOST_RANKS {
            return Err(Error::data(format!("says ranks {}, expected at most {MOST_RANKS}", summary.ranks)));
        }
        if self.seen.ranks > summary.ranks {
            return Err(Error::data(format!(
                "says ranks {}, but rank {} occurs",
                summary.ranks,
                self.seen.ranks - 1
            )));
        }
        Ok(())
    }
}

/// Reads a member that [`write_matrix`](super::writer::write_matrix) wrote; `cells` is cleared
/// first.
///
/// # Errors
/// A damaged member.
pub fn read_cells<R: BufRead>(
    archive: &mut ArchiveReader<R>,
    member: &MemberInfo,
    bytes: &mut Vec<u8>,
    cells: &mut Vec<Cell>,
) -> Result<()> {
    archive.bytes_into(member, LARGEST_BYTES, bytes)?;
    let read = |cells: &mut Vec<Cell>| -> Result<()> {
        let block = BlockReader::new(bytes)?;
        let (mut src, mut dst, mut messages, mut volume) =
            <(Vec<u32>, Vec<u32>, Vec<u64>, Vec<u64>)>::default();
        block.required(1, "src", &mut src)?;
        block.required(2, "dst", &mut dst)?;
        block.required(3, "messages", &mut messages)?;
        block.required(4, "bytes", &mut volume)?;
        check_ranks(&[&src, &dst])?;
        cells.clear();
        cells.extend((0..block.rows()).map(|i| Cell {
            src: Rank(src[i]),
            dst: Rank(dst[i]),
            messages: messages[i],
            bytes: volume[i],
        }));
        Ok(())
    };
    read(cells).at(|| &member.name)
}

fn known<T: TryFrom<i64>>(column: &[i64], row: usize) -> Option<T> {
    column.get(row).copied().filter(|value| *value != UNKNOWN).and_then(|value| T::try_from(value).ok())
}

/// Appends the calls of an archive member.
///
/// # Errors
/// A damaged block, or a value outside its column's range.
pub fn decode_calls(bytes: &[u8], calls: &mut Vec<Call>) -> Result<()> {
    let block = BlockReader::new(bytes)?;
    let (mut enter, mut leave, mut rank, mut operation) =
        <(Vec<i64>, Vec<i64>, Vec<u32>, Vec<u8>)>::default();
    let (mut communicator, mut root, mut volume) = <(Vec<i64>, Vec<i64>, Vec<i64>)>::default();
    block.required(1, "enter_ns", &mut enter)?;
    block.required(2, "leave_ns", &mut leave)?;
    block.required(3, "rank", &mut rank)?;
    block.required(4, "operation", &mut operation)?;
    check_ranks(&[&rank])?;
    block.column(5, &mut communicator)?;
    block.column(6, &mut root)?;
    block.column(7, &mut volume)?;
    calls.reserve(block.rows());
    for i in 0..block.rows() {
        let unknown = || Error::data(format!("row {i}: no operation has the code {}", operation[i]));
        calls.push(Call {
            enter_ns: enter[i],
            leave_ns: Some(leave[i]).filter(|v| *v != UNKNOWN).map(|v| enter[i].wrapping_add(v)),
            rank: Rank(rank[i]),
            operation: Operation::from_code(operation[i]).ok_or_else(unknown)?,
            communicator: known(&communicator, i),
            root: known(&root, i).map(Rank),
            bytes: known(&volume, i),
        });
    }
    Ok(())
}

/// Checks that `times` ascend from `last` on; the new last. The rank of a row is named where it is
/// known.
fn ascending(last: i64, times: &[i64], rank: impl Fn(usize) -> Option<u32>) -> Result<i64> {
    let first = times.first().is_none_or(|first| last <= *first);
    // The sign of what `next` is less than `time` by, overflow or not (Warren, Hacker's Delight,
    // section 2-12); the loop has no exit, so it is vectorized.
    let descends = |time: i64, next: i64| {
        let difference = next.wrapping_sub(time);
        difference ^ ((next ^ time) & (difference ^ next))
    };
    let pairs = times.iter().zip(times.get(1..).unwrap_or_default());
    if first && pairs.fold(0, |sign, (time, next)| sign | descends(*time, *next)) >= 0 {
        return Ok(times.last().copied().unwrap_or(last));
    }
    let mut before = last;
    for (row, time) in times.iter().enumerate() {
        if *time < before {
            let of_rank = rank(row).map_or(String::new(), |rank| format!(" of rank {rank}"));
            return Err(Error::data(format!(
                "row {row}: time {time} ns{of_rank} is before {before} ns of the row before it"
            )));
        }
        before = *time;
    }
    Ok(before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn times_ascend_however_far_they_are_apart(
            times in prop::collection::vec(prop_oneof![
                prop::sample::select(vec![i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX]),
                any::<i64>(),
            ], 0..6),
            last in prop::sample::select(vec![i64::MIN, 0]),
            sorted in any::<bool>(),
        ) {
            let mut times = times;
            if sorted {
                times.sort_unstable();
            }
            let all: Vec<i64> = std::iter::once(last).chain(times.iter().copied()).collect();
            prop_assert_eq!(ascending(last, &times, |_| None).ok(), all.last().copied().filter(|_| all.is_sorted()));
        }
    }
}
