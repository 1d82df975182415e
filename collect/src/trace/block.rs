//! Blocks of messages as parallel columns.

use std::ops::Range;

use super::record::check_ranks;
use super::{Message, Operation, Rank};
use crate::Result;
use crate::archive::columns::{BlockReader, BlockWriter, Transform, UNKNOWN};

/// Column numbers of a message block; docs/formats.md lists them.
mod id {
    /// Time of the send post, nanoseconds.
    pub(super) const SEND_POST: u8 = 1;
    /// Source rank.
    pub(super) const SRC: u8 = 2;
    /// Destination rank.
    pub(super) const DST: u8 = 3;
    /// Bytes.
    pub(super) const BYTES: u8 = 4;
    /// MPI tag.
    pub(super) const TAG: u8 = 5;
    /// Number of the communicator.
    pub(super) const COMMUNICATOR: u8 = 6;
    /// Code of the operation.
    pub(super) const OPERATION: u8 = 7;
    /// Completion of the send, nanoseconds after its post.
    pub(super) const SEND_COMPLETE: u8 = 8;
    /// Post of the receive, likewise.
    pub(super) const RECEIVE_POST: u8 = 9;
    /// Completion of the receive, likewise.
    pub(super) const RECEIVE_COMPLETE: u8 = 10;
}

/// Up to [`LARGEST_BLOCK`](crate::archive::columns::LARGEST_BLOCK) messages in trace order.
///
/// The four columns that every source has are slices of equal length. The others are behind
/// [`get`](Self::get): each is either empty (unknown for the whole block) or as long as the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageBlock {
    columns: MessageColumns,
    /// Optional columns in the order of their ids, [`UNKNOWN`] for single unknown values.
    optional: [Vec<i64>; OPTIONAL.len()],
    /// True if times were skipped at reading.
    lacks_times: bool,
}

/// The columns that every message has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageColumns {
    /// Send post times.
    pub send_post_ns: Vec<i64>,
    /// Senders.
    pub src: Vec<u32>,
    /// Receivers.
    pub dst: Vec<u32>,
    /// Payloads.
    pub bytes: Vec<u64>,
}

/// Ids of the optional columns. The three times are stored relative to the send post.
const OPTIONAL: [u8; 6] =
    [id::TAG, id::COMMUNICATOR, id::OPERATION, id::SEND_COMPLETE, id::RECEIVE_POST, id::RECEIVE_COMPLETE];

/// Columns that are read besides times, ranks, bytes and operations; none by default. Skipped
/// columns read as unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Tags.
    pub tags: bool,
    /// Arrivals of messages.
    pub arrivals: bool,
    /// Communicators, and when receives were posted and sends were complete.
    pub others: bool,
}

impl Details {
    /// Everything that the trace knows.
    pub const ALL: Self = Self { tags: true, arrivals: true, others: true };

    /// True if the column `id` is wanted.
    fn want(self, column: u8) -> bool {
        match column {
            id::OPERATION => true,
            id::TAG => self.tags,
            id::RECEIVE_COMPLETE => self.arrivals,
            _ => self.others,
        }
    }
}

/// The stored value of a missing field. A message without an operation is point-to-point, so that
/// column has no unknowns.
fn absent(column: usize) -> i64 {
    if OPTIONAL[column] == id::OPERATION { 0 } else { UNKNOWN }
}

impl MessageBlock {
    /// Number of messages.
    pub fn len(&self) -> usize {
        self.columns.src.len()
    }

    /// True without messages.
    pub fn is_empty(&self) -> bool {
        self.columns.src.is_empty()
    }

    /// The columns that every message has.
    pub fn columns(&self) -> &MessageColumns {
        &self.columns
    }

    /// Operations, if any message of the block is known to belong to one; codes of [`Operation`].
    pub fn operations(&self) -> Option<&[i64]> {
        Some(&self.optional[2][..]).filter(|column| !column.is_empty())
    }

    /// Tags, `UNKNOWN` where not known, if any is.
    pub fn tags(&self) -> Option<&[i64]> {
        Some(&self.optional[0][..]).filter(|column| !column.is_empty())
    }

    /// Nanoseconds from the send post to the receive's completion, `UNKNOWN` where not known, if
    /// any is.
    pub fn arrivals(&self) -> Option<&[i64]> {
        Some(&self.optional[5][..]).filter(|column| !column.is_empty())
    }

    /// True if times of sending and receiving are known but were skipped at reading.
    pub fn lacks_times(&self) -> bool {
        self.lacks_times
    }

    /// When sends were complete, receives posted and complete: nanoseconds after the send post,
    /// `UNKNOWN` where not known; empty where none is.
    pub fn more_times(&self) -> [&[i64]; 3] {
        [&self.optional[3], &self.optional[4], &self.optional[5]]
    }

    /// Message `i`.
    ///
    /// # Panics
    /// If `i` is not below [`len`](Self::len).
    pub fn get(&self, i: usize) -> Message {
        let value = |column: usize| self.optional[column].get(i).copied().filter(|value| *value != UNKNOWN);
        let time =
            |column: usize| value(column).map(|offset| self.columns.send_post_ns[i].wrapping_add(offset));
        Message {
            send_post_ns: self.columns.send_post_ns[i],
            src: Rank(self.columns.src[i]),
            dst: Rank(self.columns.dst[i]),
            bytes: self.columns.bytes[i],
            tag: value(0).and_then(|tag| i32::try_from(tag).ok()),
            communicator: value(1).and_then(|number| u32::try_from(number).ok()),
            operation: value(2)
                .and_then(|code| Operation::from_code(u8::try_from(code).ok()?))
                .unwrap_or_default(),
            send_complete_ns: time(3),
            receive_post_ns: time(4),
            receive_complete_ns: time(5),
        }
    }

    /// The longest times by which what is known of a message, as sent and received, is before and
    /// after its post: not negative.
    pub fn reach_ns(&self) -> (i64, i64) {
        // The unknown value is the least number; wrapping makes it the greatest, so neither bound
        // includes it.
        let (mut below, mut latest) = (-1, 0);
        for column in &self.optional[3..6] {
            for offset in column {
                below = offset.wrapping_sub(1).min(below);
                latest = (*offset).max(latest);
            }
        }
        ((below + 1).saturating_neg(), latest)
    }

    /// All messages in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Message> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }

    /// First and last time of the block, completions included; `None` if it is empty. Posts are in
    /// ascending order.
    pub fn span_ns(&self) -> Option<(i64, i64)> {
        let posts = &self.columns.send_post_ns;
        let (first, last) = (*posts.first()?, *posts.last()?);
        let mut span = (first, last);
        for offsets in [&self.optional[3], &self.optional[5]] {
            for (post, offset) in posts.iter().zip(offsets).filter(|(_, offset)| **offset != UNKNOWN) {
                let time = post.wrapping_add(*offset);
                span = (span.0.min(time), span.1.max(time));
            }
        }
        Some(span)
    }

    /// Appends a message; the writer checks order and limits.
    pub fn push(&mut self, message: &Message) {
        let row = self.len();
        self.columns.send_post_ns.push(message.send_post_ns);
        self.columns.src.push(message.src.0);
        self.columns.dst.push(message.dst.0);
        self.columns.bytes.push(message.bytes);
        let offset = |time: Option<i64>| time.map(|time| time.wrapping_sub(message.send_post_ns));
        self.set(0, row, message.tag.map(i64::from));
        self.set(1, row, message.communicator.map(i64::from));
        self.set(2, row, Some(i64::from(message.operation as u8)).filter(|code| *code != 0));
        self.set(3, row, offset(message.send_complete_ns));
        self.set(4, row, offset(message.receive_post_ns));
        self.set(5, row, offset(message.receive_complete_ns));
    }

    /// Sets the value of the new last `row` in an optional column.
    #[inline]
    fn set(&mut self, column: usize, row: usize, value: Option<i64>) {
        let values = &mut self.optional[column];
        match value {
            None if values.is_empty() => {}
            None => values.push(absent(column)),
            Some(value) => {
                if values.len() < row {
                    values.resize(row, absent(column));
                }
                values.push(value);
            }
        }
    }

    /// Appends the messages `rows` of another block.
    ///
    /// # Panics
    /// If `other` has fewer rows.
    pub fn append(&mut self, other: &MessageBlock, rows: Range<usize>) {
        if rows.is_empty() {
            return;
        }
        let row = self.len();
        self.columns.send_post_ns.extend_from_slice(&other.columns.send_post_ns[rows.clone()]);
        self.columns.src.extend_from_slice(&other.columns.src[rows.clone()]);
        self.columns.dst.extend_from_slice(&other.columns.dst[rows.clone()]);
        self.columns.bytes.extend_from_slice(&other.columns.bytes[rows.clone()]);
        for (column, (mine, theirs)) in self.optional.iter_mut().zip(&other.optional).enumerate() {
            if let Some(values) = theirs.get(rows.clone()) {
                mine.resize(row, absent(column));
                mine.extend_from_slice(values);
            } else if !mine.is_empty() {
                mine.resize(row + rows.len(), absent(column));
            }
        }
    }

    /// Moves the zero of the clock to `zero_ns`.
    pub fn count_from(&mut self, zero_ns: i64) {
        // The other times are relative to these.
        self.columns.send_post_ns.iter_mut().for_each(|time| *time = time.wrapping_sub(zero_ns));
    }

    /// Removes all messages, keeps the memory.
    pub fn clear(&mut self) {
        self.columns.send_post_ns.clear();
        self.columns.src.clear();
        self.columns.dst.clear();
        self.columns.bytes.clear();
        self.optional.iter_mut().for_each(Vec::clear);
    }

    /// The bytes of an archive member; `buffer` is cleared and used.
    pub fn encode(&self, buffer: Vec<u8>) -> Vec<u8> {
        let mut block = BlockWriter::new(self.len(), buffer);
        block
            .column(id::SEND_POST, Transform::Delta, self.columns.send_post_ns.iter().copied())
            .column(id::SRC, Transform::Plain, self.columns.src.iter().map(|v| i64::from(*v)))
            .column(id::DST, Transform::Plain, self.columns.dst.iter().map(|v| i64::from(*v)))
            .column(id::BYTES, Transform::Plain, self.columns.bytes.iter().map(|v| v.cast_signed()));
        for (number, (id, column)) in OPTIONAL.iter().zip(&self.optional).enumerate() {
            if column.iter().any(|value| *value != absent(number)) {
                block.column(*id, Transform::Plain, column.iter().copied());
            }
        }
        block.finish()
    }

    /// Reads an archive member.
    ///
    /// # Errors
    /// A damaged block, or a value outside its column's range.
    pub fn decode(&mut self, bytes: &[u8], details: Details) -> Result<()> {
        self.decode_if(bytes, |_, _| Some(details))?;
        Ok(())
    }

    /// Reads an archive member if it is `wanted`: the function gets the times of its first and last
    /// message, and returns the columns to read, or `None` to skip the block. Returns false for a
    /// skipped block, which has no messages. A block without messages is not skipped.
    ///
    /// # Errors
    /// As for [`decode`](Self::decode); of a skipped block only errors of its times.
    pub(super) fn decode_if(
        &mut self,
        bytes: &[u8],
        wanted: impl FnOnce(i64, i64) -> Option<Details>,
    ) -> Result<bool> {
        let block = BlockReader::new(bytes)?;
        let times = &mut self.columns.send_post_ns;
        block.required(id::SEND_POST, "send_post_ns", times)?;
        let details = match (times.first(), times.last()) {
            (Some(first), Some(last)) => wanted(*first, *last),
            _ => Some(Details::default()),
        };
        let Some(details) = details else {
            // The caller checks the times.
            self.columns.src.clear();
            return Ok(false);
        };
        block.required(id::SRC, "src", &mut self.columns.src)?;
        block.required(id::DST, "dst", &mut self.columns.dst)?;
        check_ranks(&[&self.columns.src, &self.columns.dst])?;
        block.required(id::BYTES, "bytes", &mut self.columns.bytes)?;
        self.lacks_times = false;
        for (id, column) in OPTIONAL.iter().zip(&mut self.optional) {
            if details.want(*id) {
                block.column(*id, column)?;
            } else {
                column.clear();
                self.lacks_times |= *id >= id::SEND_COMPLETE && block.has(*id);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_message_of_a_block_has_takes_no_column() {
        let plain = Message { send_post_ns: 5, src: Rank(1), dst: Rank(2), bytes: 9, ..Message::default() };
        let full = Message { tag: Some(1), operation: Operation::Bcast, ..plain };
        let mut both = MessageBlock::default();
        [plain, plain, full].iter().for_each(|message| both.push(message));
        let (mut cut, mut pushed) = (MessageBlock::default(), MessageBlock::default());
        cut.append(&both, 0..2);
        [plain, plain].iter().for_each(|message| pushed.push(message));
        assert_eq!(cut.encode(Vec::new()), pushed.encode(Vec::new()));
    }

    #[test]
    fn optional_values_come_back_wherever_they_start() {
        let plain = Message { send_post_ns: 5, src: Rank(1), dst: Rank(2), bytes: 9, ..Message::default() };
        let full = Message {
            tag: Some(-12),
            communicator: Some(3),
            operation: Operation::Allreduce,
            send_complete_ns: Some(8),
            receive_post_ns: Some(-4),
            receive_complete_ns: Some(11),
            ..plain
        };
        for order in [[plain, full, plain], [full, plain, full], [plain, plain, plain]] {
            let mut block = MessageBlock::default();
            order.iter().for_each(|message| block.push(message));
            let mut back = MessageBlock::default();
            back.push(&full); // what was there before must not shine through
            back.decode(&block.encode(Vec::new()), Details::ALL).unwrap();
            assert_eq!(back.iter().collect::<Vec<_>>(), order);
            back.decode(&block.encode(Vec::new()), Details::default()).unwrap();
            assert_eq!((back.tags(), back.operations()), (None, block.operations()));
            let arrivals = Details { arrivals: true, ..Details::default() };
            back.decode(&block.encode(Vec::new()), arrivals).unwrap();
            assert_eq!((back.tags(), back.arrivals()), (None, block.arrivals()));
            let mut joined = MessageBlock::default();
            joined.append(&block, 1..3);
            joined.append(&block, 0..1);
            assert_eq!(joined.iter().collect::<Vec<_>>(), [order[1], order[2], order[0]]);
            let mut moved = joined.clone();
            moved.count_from(2);
            let late = |time: Option<i64>| time.map(|time| time - 2);
            let expected = joined.iter().map(|message| Message {
                send_post_ns: message.send_post_ns - 2,
                send_complete_ns: late(message.send_complete_ns),
                receive_post_ns: late(message.receive_post_ns),
                receive_complete_ns: late(message.receive_complete_ns),
                ..message
            });
            assert_eq!(moved.iter().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        }
    }
}
