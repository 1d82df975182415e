//! Records of one file of OTF2, front to back in constant memory.
//!
//! A file is a sequence of chunks. A chunk begins with `03`, its order of bytes (`42` little, `23`
//! big endian), and the numbers of its first and last record; zeros fill it up. A record is its
//! type, its length (a byte; 255: eight more follow) and fields. In files of events, `05` and eight
//! bytes set the time of the records that follow; events with one compressed integer have no
//! length, as the integer says its own. `02` ends the file.

use super::fields::Fields;
use crate::import::set::Member;
use crate::{Error, Result};

/// Bytes that are read at once, some 5000 records; each location of a trace has such a buffer.
const BUFFER: usize = 64 << 10;

/// Largest record, bytes: a group of all ranks of the largest run, five bytes each.
const LARGEST_RECORD: usize = 5 * crate::trace::MOST_RANKS as usize + 1024;

const END_OF_CHUNK: u8 = 0;
const END_OF_BUFFER: u8 = 1;
const END_OF_FILE: u8 = 2;
const CHUNK: u8 = 3;
const TIME: u8 = 5;
/// Attributes of the event that follows.
const ATTRIBUTES: u8 = 6;

/// Little and big endian, as chunks say it.
pub(super) const LITTLE: u8 = 0x42;
pub(super) const BIG: u8 = 0x23;

/// Types of events whose one field is a compressed integer: ENTER, LEAVE, those of requests,
/// and OpenMP's forks and tasks.
#[inline]
fn is_single(kind: u8) -> bool {
    matches!(kind, 12 | 13 | 16 | 17 | 20 | 21 | 24 | 28..=30)
}

/// A record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    pub(super) kind: u8,
    pub(super) fields: Fields<'a>,
    /// Its time in ticks; 0 in files of definitions.
    pub(super) ticks: u64,
    /// Where it begins in the file.
    pub(super) offset: u64,
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Definitions,
    Events,
}

/// Reads the records of a file.
#[derive(Debug)]
pub(super) struct Records {
    member: Member,
    holds: Holds,
    buffer: Vec<u8>,
    /// Where the next byte is in the buffer, and the end of what was read.
    at: usize,
    end: usize,
    /// Where the buffer begins in the file.
    offset: u64,
    is_big: bool,
    /// A chunk has begun.
    is_begun: bool,
    is_ended: bool,
    ticks: u64,
}

/// What stands before the fields of a record.
struct Head {
    kind: u8,
    /// Of type and length.
    size: usize,
    length: usize,
}

impl Records {
    pub(super) fn new(member: &Member, holds: Holds) -> Self {
        Self {
            member: member.clone(),
            holds,
            buffer: Vec::new(),
            at: 0,
            end: 0,
            offset: 0,
            is_big: false,
            is_begun: false,
            is_ended: false,
            ticks: 0,
        }
    }

    /// The place of the next byte in the file.
    pub(super) fn position(&self) -> u64 {
        self.offset + self.at as u64
    }

    /// The next record whose kind is wanted; those of other kinds and lists of attributes are
    /// passed over.
    ///
    /// # Errors
    /// Damage or truncation, with the byte; an error of the operating system.
    #[inline]
    pub(super) fn next(&mut self, is_wanted: impl Fn(u8) -> bool) -> Result<Option<Record<'_>>> {
        loop {
            let Some(head) = self.head()? else { return Ok(None) };
            let offset = self.position();
            if !self.fill(head.size + head.length)? {
                return Err(self.truncated(offset, &format!("a record of type {}", head.kind)));
            }
            let start = self.at + head.size;
            self.at = start + head.length;
            if is_wanted(head.kind) {
                let fields = Fields { rest: &self.buffer[start..self.at], is_big: self.is_big };
                return Ok(Some(Record { kind: head.kind, fields, ticks: self.ticks, offset }));
            }
        }
    }

    /// Type and length of the next record, after what stands between records; `None` at the end.
    #[inline]
    fn head(&mut self) -> Result<Option<Head>> {
        loop {
            if self.end - self.at < 18 {
                self.fill(18)?;
            }
            let Some((&kind, rest)) = self.buffer[self.at..self.end].split_first() else {
                return if self.is_ended {
                    Ok(None)
                } else {
                    Err(self.truncated(self.position(), "a record"))
                };
            };
            if self.is_ended {
                return Ok(None);
            }
            match kind {
                TIME if self.holds == Holds::Events => {
                    let mut fields = Fields { rest, is_big: self.is_big };
                    let Ok(ticks) = fields.eight() else {
                        return Err(self.truncated(self.position(), "a time"));
                    };
                    self.ticks = ticks;
                    self.at += 9;
                }
                CHUNK => self.chunk()?,
                _ if !self.is_begun => return Err(self.no_chunk(kind)),
                END_OF_CHUNK => self.skip_zeros(),
                END_OF_BUFFER | END_OF_FILE => self.is_ended = true,
                ATTRIBUTES if self.holds == Holds::Events => {
                    let head = self.length(kind)?;
                    let offset = self.position();
                    if !self.fill(head.size + head.length)? {
                        return Err(self.truncated(offset, "attributes of an event"));
                    }
                    self.at += head.size + head.length;
                }
                _ => return self.length(kind).map(Some),
            }
        }
    }

    /// The length of the record at hand.
    #[inline]
    fn length(&self, kind: u8) -> Result<Head> {
        let mut fields = Fields { rest: &self.buffer[self.at + 1..self.end], is_big: self.is_big };
        let cut = |_| self.truncated(self.position(), &format!("the length of a record of type {kind}"));
        let length = u64::from(fields.byte().map_err(cut)?);
        if self.holds == Holds::Events && is_single(kind) {
            // The byte belongs to the integer; 255 means that it is undefined.
            return Ok(Head { kind, size: 1, length: if length == 0xff { 1 } else { 1 + length as usize } });
        }
        if length < 0xff {
            return Ok(Head { kind, size: 2, length: length as usize });
        }
        let length = fields.eight().map_err(cut)?;
        match usize::try_from(length) {
            Ok(length) if length <= LARGEST_RECORD => Ok(Head { kind, size: 10, length }),
            _ => Err(Error::data(format!(
                "a record of type {kind} claims {length} bytes, expected at most {LARGEST_RECORD}"
            ))
            .at(format!("byte {}", self.position()))),
        }
    }

    /// The head of a chunk.
    fn chunk(&mut self) -> Result<()> {
        let offset = self.position();
        let Some(head) = self.buffer[self.at..self.end].first_chunk::<18>() else {
            return Err(self.truncated(offset, "the head of a chunk"));
        };
        self.is_big = match head[1] {
            LITTLE => false,
            BIG => true,
            other => {
                let problem =
                    format!("a chunk has the order of bytes {other:#04x}, expected {LITTLE:#x} or {BIG:#x}");
                return Err(Error::data(problem).at(format!("byte {offset}")));
            }
        };
        self.is_begun = true;
        self.at += 18;
        Ok(())
    }

    /// The end of a chunk is filled with zeros.
    fn skip_zeros(&mut self) {
        let rest = &self.buffer[self.at..self.end];
        self.at += rest.iter().position(|byte| *byte != END_OF_CHUNK).unwrap_or(rest.len());
    }

    /// Sees to it that this many bytes are in the buffer; false if the file ends before.
    #[inline]
    fn fill(&mut self, bytes: usize) -> Result<bool> {
        if self.end - self.at >= bytes {
            return Ok(true);
        }
        self.refill(bytes)
    }

    #[cold]
    fn refill(&mut self, bytes: usize) -> Result<bool> {
        self.buffer.copy_within(self.at..self.end, 0);
        self.offset += self.at as u64;
        self.end -= self.at;
        self.at = 0;
        // What a record claims is not allocated before the file is known to have it.
        let left = self.member.length().saturating_sub(self.offset);
        let room = (bytes.max(BUFFER) as u64).min(left) as usize;
        if room > self.buffer.len() {
            self.buffer.resize(room, 0);
        }
        let read = self.member.read_at(&mut self.buffer[self.end..], self.offset + self.end as u64)?;
        self.end += read;
        Ok(self.end >= bytes)
    }

    #[cold]
    fn truncated(&self, offset: u64, what: &str) -> Error {
        let end = self.offset + self.end as u64;
        Error::truncated(format!("ends at byte {end} within {what}: the file is truncated"))
            .at(format!("byte {offset}"))
    }

    #[cold]
    fn no_chunk(&self, found: u8) -> Error {
        Error::data(format!("found {found:#04x}, expected the head of a chunk (03)"))
            .at(format!("byte {}", self.position()))
    }
}
