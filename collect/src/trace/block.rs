//! Messages as parallel columns: what stages loop over.

use super::{Message, Operation, Rank};
use crate::Result;
use crate::archive::columns::{BlockReader, BlockWriter, Transform, UNKNOWN};

/// Column numbers of a message block; docs/formats.md lists them.
mod id {
    pub(super) const SEND_POST: u8 = 1;
    pub(super) const SRC: u8 = 2;
    pub(super) const DST: u8 = 3;
    pub(super) const BYTES: u8 = 4;
    pub(super) const TAG: u8 = 5;
    pub(super) const COMMUNICATOR: u8 = 6;
    pub(super) const OPERATION: u8 = 7;
    pub(super) const SEND_COMPLETE: u8 = 8;
    pub(super) const RECEIVE_POST: u8 = 9;
    pub(super) const RECEIVE_COMPLETE: u8 = 10;
}

/// Up to [`LARGEST_BLOCK`](crate::archive::columns::LARGEST_BLOCK) messages in trace order.
///
/// The four columns that every source has are slices of equal length. The others are behind [`get`](Self::get): each is
/// either empty (unknown for the whole block) or as long as the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageBlock {
    columns: MessageColumns,
    /// Optional columns in the order of their ids, [`UNKNOWN`] for single unknown values.
    optional: [Vec<i64>; OPTIONAL.len()],
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
            operation: value(2).and_then(|code| Operation::try_from(code).ok()).unwrap_or_default(),
            send_complete_ns: time(3),
            receive_post_ns: time(4),
            receive_complete_ns: time(5),
        }
    }

    /// All messages in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Message> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Appends a message. Order and limits are the writer's concern.
    pub fn push(&mut self, message: &Message) {
        let row = self.len();
        self.columns.send_post_ns.push(message.send_post_ns);
        self.columns.src.push(message.src.0);
        self.columns.dst.push(message.dst.0);
        self.columns.bytes.push(message.bytes);
        let offset = |time: Option<i64>| time.map(|time| time.wrapping_sub(message.send_post_ns));
        let values = [
            message.tag.map(i64::from),
            message.communicator.map(i64::from),
            Some(i64::from(message.operation as u8)).filter(|code| *code != 0),
            offset(message.send_complete_ns),
            offset(message.receive_post_ns),
            offset(message.receive_complete_ns),
        ];
        for ((column, value), id) in self.optional.iter_mut().zip(values).zip(OPTIONAL) {
            // Point-to-point is the operation of a message without one, so that column has no unknowns.
            let absent = if id == id::OPERATION { 0 } else { UNKNOWN };
            match value {
                None if column.is_empty() => {}
                None => column.push(absent),
                Some(value) => {
                    column.resize(row, absent);
                    column.push(value);
                }
            }
        }
    }

    /// Removes all messages, keeps the memory.
    pub fn clear(&mut self) {
        self.columns.send_post_ns.clear();
        self.columns.src.clear();
        self.columns.dst.clear();
        self.columns.bytes.clear();
        self.optional.iter_mut().for_each(Vec::clear);
    }

    pub(super) fn encode(&self, buffer: Vec<u8>) -> Vec<u8> {
        let mut block = BlockWriter::new(self.len(), buffer);
        block
            .column(id::SEND_POST, Transform::Delta, self.columns.send_post_ns.iter().copied())
            .column(id::SRC, Transform::Plain, self.columns.src.iter().map(|v| i64::from(*v)))
            .column(id::DST, Transform::Plain, self.columns.dst.iter().map(|v| i64::from(*v)))
            .column(id::BYTES, Transform::Plain, self.columns.bytes.iter().map(|v| v.cast_signed()));
        for (id, column) in OPTIONAL.iter().zip(&self.optional) {
            if !column.is_empty() {
                block.column(*id, Transform::Plain, column.iter().copied());
            }
        }
        block.finish()
    }

    pub(super) fn decode(&mut self, bytes: &[u8]) -> Result<()> {
        let block = BlockReader::new(bytes)?;
        block.required(id::SEND_POST, "send_post_ns", &mut self.columns.send_post_ns)?;
        block.required(id::SRC, "src", &mut self.columns.src)?;
        block.required(id::DST, "dst", &mut self.columns.dst)?;
        block.required(id::BYTES, "bytes", &mut self.columns.bytes)?;
        for (id, column) in OPTIONAL.iter().zip(&mut self.optional) {
            block.column(*id, column)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            back.decode(&block.encode(Vec::new())).unwrap();
            assert_eq!(back.iter().collect::<Vec<_>>(), order);
        }
    }
}
