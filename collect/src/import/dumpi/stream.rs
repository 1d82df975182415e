//! The records of a rank's file, front to back through one buffer.

use super::functions::{FUNCTIONS, number};
use super::index::Index;
use super::record::{Layout, Record, Stop};
use crate::import::set::Member;
use crate::{Error, Result};

/// Most bytes behind a record that are looked at to find its length.
const LOOK_AHEAD: u64 = 8;

/// Reads records. The buffer grows for a record that is larger, never beyond the records' bytes.
pub(super) struct Records {
    member: Member,
    rank: u32,
    buffer: Vec<u8>,
    /// Valid bytes in the buffer, and where in them the next record begins.
    filled: usize,
    at: usize,
    /// Where in the file the buffer begins, and where the records end.
    offset: u64,
    end: u64,
    layout: Layout,
    /// `MPI_Finalize` was read: writers of one time marked the end by a 0, the number of
    /// `MPI_Send`.
    is_finalized: bool,
}

impl Records {
    /// # Errors
    /// None yet: the first record is read by [`next`](Self::next).
    pub(super) fn new(member: &Member, rank: u32, index: &Index, buffer: usize) -> Self {
        let (start, end) = index.records;
        let left = usize::try_from(end - start).unwrap_or(buffer);
        Self {
            member: member.clone(),
            rank,
            buffer: vec![0; buffer.min(left)],
            filled: 0,
            at: 0,
            offset: start,
            end,
            layout: Layout::new(index.version),
            is_finalized: false,
        }
    }

    /// The next record.
    ///
    /// # Errors
    /// Damage, with the rank, the byte in the file and what was read; an error of the operating
    /// system.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Result<Option<Record<'_>>> {
        let is_plain = self.layout.find_plain(&self.buffer[self.at..self.filled]);
        if (!is_plain || self.is_finalized) && !self.find()? {
            return Ok(None);
        }
        let start = self.at;
        self.at += self.layout.length;
        Ok(Some(Record::new(&self.layout, &self.buffer[start..self.at])))
    }

    /// Finds the next record, whatever it is, and reads on for it; false at the end.
    #[cold]
    fn find(&mut self) -> Result<bool> {
        loop {
            let bytes = &self.buffer[self.at..self.filled];
            let is_all = self.offset + self.filled as u64 == self.end;
            match self.layout.find(bytes, is_all) {
                _ if self.is_finalized && bytes.starts_with(&[0, 0]) => return Ok(false),
                Ok(()) => break,
                // The mark of the end of the stream may be cut off.
                Err(Stop::End) => return Ok(false),
                Err(_) if is_all && bytes.len() < 3 => return Ok(false),
                Err(Stop::More(needed, _)) if !is_all && self.left() + LOOK_AHEAD >= needed as u64 => {
                    self.fill(needed.min(self.left() as usize))?;
                }
                Err(stop) => return Err(self.damage(&stop)),
            }
        }
        self.is_finalized |= self.layout.function == number::FINALIZE;
        Ok(true)
    }

    /// Bytes from the current record on to the end of all.
    fn left(&self) -> u64 {
        self.end - self.offset - self.at as u64
    }

    /// Reads on, so that at least `needed` bytes from the current record on are in the buffer.
    #[cold]
    fn fill(&mut self, needed: usize) -> Result<()> {
        self.buffer.copy_within(self.at..self.filled, 0);
        self.offset += self.at as u64;
        self.filled -= self.at;
        self.at = 0;
        if needed > self.buffer.len() {
            self.buffer.resize(needed, 0);
        }
        let left = usize::try_from(self.end - self.offset).unwrap_or(usize::MAX);
        let until = self.buffer.len().min(left);
        let read =
            self.member.read_at(&mut self.buffer[self.filled..until], self.offset + self.filled as u64)?;
        self.filled += read;
        if self.filled < until {
            self.end = self.offset + self.filled as u64;
        }
        Ok(())
    }

    #[cold]
    fn damage(&self, stop: &Stop) -> Error {
        let name = FUNCTIONS.get(usize::from(self.layout.function)).map_or("a function", |f| f.name);
        let problem = match stop {
            Stop::More(needed, field) => {
                let end = self.end;
                format!(
                    "reading {field} of {name}: needs {needed} bytes, the records end at byte {end}: \
                     truncated or damaged"
                )
            }
            Stop::Unknown(number) => format!("found {name} (number {number}), which has no records: damaged"),
            Stop::Negative(field, count) => {
                format!("reading {field} of {name}: found {count} entries: damaged")
            }
            Stop::End => "the stream ends".into(),
        };
        let byte = self.offset + self.at as u64;
        Error::data(problem).at(format!("byte {byte}")).at(format!("rank {}", self.rank))
    }
}
