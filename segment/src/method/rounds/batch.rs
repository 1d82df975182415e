//! Messages that wait until it is known which window they belong to.

use std::ops::Range;

use phaseflow_collect::archive::columns::UNKNOWN;
use phaseflow_collect::trace::MessageBlock;

use crate::first_pass::tags::{Tags, key};

/// Messages in one order, whatever the order in which a source hands over those of equal time.
///
/// They are sorted by time, then source, destination, bytes, kind, tag.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) times: Vec<i64>,
    pub(super) src: Vec<u32>,
    pub(super) dst: Vec<u32>,
    pub(super) bytes: Vec<u64>,
    /// Operations, or numbers of [tags](crate::first_pass::tags).
    pub(super) kinds: Vec<u8>,
    /// [Keys](key) of tags where they are to be watched; empty if there are none.
    pub(super) tags: Vec<i64>,
}

impl Batch {
    /// Number of messages.
    pub(super) fn len(&self) -> usize {
        self.times.len()
    }

    /// Appends some rows of a block; without `tags`, their own tags are kept. Rows from the
    /// returned one on may still change place when more come.
    pub(super) fn push(&mut self, block: &MessageBlock, rows: Range<usize>, tags: Option<&Tags>) -> usize {
        let (first, end) = (self.len(), self.len() + rows.len());
        let columns = block.columns();
        self.times.extend_from_slice(&columns.send_post_ns[rows.clone()]);
        self.src.extend_from_slice(&columns.src[rows.clone()]);
        self.dst.extend_from_slice(&columns.dst[rows.clone()]);
        self.bytes.extend_from_slice(&columns.bytes[rows.clone()]);
        match (tags, block.operations()) {
            (Some(tags), _) => self.kinds.extend(rows.clone().map(|row| tags.kind(block, row))),
            (None, Some(codes)) => self.kinds.extend(codes[rows.clone()].iter().map(|code| *code as u8)),
            (None, None) => self.kinds.resize(end, 0),
        }
        match block.tags().filter(|_| tags.is_none()) {
            Some(own) => {
                self.tags.resize(first, UNKNOWN);
                let kinds = &self.kinds[first..];
                self.tags.extend(own[rows].iter().zip(kinds).map(|(tag, kind)| key(*kind, *tag)));
            }
            None if self.tags.is_empty() => {}
            None => self.tags.resize(end, UNKNOWN),
        }
        let open = self.group_start(self.len());
        self.sort(self.group_start(first), open);
        open
    }

    /// Puts the last rows in order when no more come.
    pub(super) fn close(&mut self) {
        let end = self.len();
        self.sort(self.group_start(end), end);
    }

    /// Forgets the rows before `end`.
    pub(super) fn drain(&mut self, end: usize) {
        self.times.drain(..end);
        self.src.drain(..end);
        self.dst.drain(..end);
        self.bytes.drain(..end);
        self.kinds.drain(..end);
        self.tags.drain(..end.min(self.tags.len()));
    }

    /// The first row with the time and source of the row before `row`.
    fn group_start(&self, row: usize) -> usize {
        let Some(last) = row.checked_sub(1) else { return 0 };
        let same =
            |other: &usize| self.times[*other] == self.times[last] && self.src[*other] == self.src[last];
        (0..last).rev().take_while(same).last().unwrap_or(last)
    }

    /// Sorts messages of equal time and source among `from..to`.
    fn sort(&mut self, from: usize, to: usize) {
        let mut row = from + 1;
        while let Some(next) = self.next_backwards(row, to) {
            row = next + 1;
            if self.kind(next) < self.kind(next - 1) {
                let start = self.group_start(next);
                let (src, time) = (self.src[next], self.times[next]);
                row = (row..to).find(|r| self.times[*r] != time || self.src[*r] != src).unwrap_or(to);
                let mut kinds: Vec<_> = (start..row).map(|row| self.kind(row)).collect();
                kinds.sort_unstable();
                for (row, (dst, bytes, kind, tag)) in (start..row).zip(kinds) {
                    (self.dst[row], self.bytes[row], self.kinds[row]) = (dst, bytes, kind);
                    if let Some(own) = self.tags.get_mut(row) {
                        *own = tag;
                    }
                }
            }
        }
    }

    /// The first row in `row..to` whose time and source equal the row before it and whose
    /// destination is no higher.
    fn next_backwards(&self, row: usize, to: usize) -> Option<usize> {
        let rows = row.checked_sub(1)?..to;
        let times = self.times.get(rows.clone())?.windows(2);
        let both = times.zip(self.src[rows.clone()].windows(2)).zip(self.dst[rows].windows(2));
        let mut both =
            both.map(|((times, src), dst)| times[0] == times[1] && src[0] == src[1] && dst[1] <= dst[0]);
        both.position(|backwards| backwards).map(|before| row + before)
    }

    fn kind(&self, row: usize) -> (u32, u64, u8, i64) {
        let tag = self.tags.get(row).copied().unwrap_or(UNKNOWN);
        (self.dst[row], self.bytes[row], self.kinds[row], tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phaseflow_collect::trace::{Message, Rank};

    #[test]
    fn equal_times_come_in_one_order_however_they_are_grouped() {
        let message =
            |t, src, dst| Message { send_post_ns: t, src: Rank(src), dst: Rank(dst), ..Message::default() };
        let orders = [
            [message(0, 0, 1), message(0, 0, 2), message(0, 0, 3), message(0, 1, 0), message(1, 0, 3)],
            [message(0, 0, 3), message(0, 0, 1), message(0, 0, 2), message(0, 1, 0), message(1, 0, 3)],
            [message(0, 0, 2), message(0, 0, 3), message(0, 0, 1), message(0, 1, 0), message(1, 0, 3)],
        ];
        for order in orders {
            for cut in 0..=order.len() {
                let mut batch = Batch::default();
                for part in [&order[..cut], &order[cut..]] {
                    let mut block = MessageBlock::default();
                    part.iter().for_each(|message| block.push(message));
                    batch.push(&block, 0..block.len(), None);
                }
                batch.close();
                assert_eq!(batch.dst, [1, 2, 3, 0, 3], "cut at {cut}");
            }
        }
    }
}
