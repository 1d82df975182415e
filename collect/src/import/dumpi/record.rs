//! A record of DUMPI: a call of one function.
//!
//! `u16 function, u8 mask, [u16 thread], [CPU time], [wall time], [counters], arguments`. Each time
//! is the start and stop of the call as `u16` seconds and `u32` nanoseconds; the mask says what is
//! there.

use super::functions::{FUNCTIONS, Field, Function, Kind, MOST_FIELDS};

/// Bits of the mask.
const STATUSES: u8 = 0b11;
const CPU_TIME: u8 = 1 << 2;
const WALL_TIME: u8 = 1 << 3;
const THREAD: u8 = 1 << 6;
const COUNTERS: u8 = 1 << 7;

/// The stream's end instead of a function; writers before version 1 may have other numbers for it.
const FIRST_NO_FUNCTION: u16 = 293;

/// A moment of one clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Seconds since the bias of the clock, modulo 2¹⁶.
    pub(super) s: u16,
    pub(super) ns: u32,
}

/// When a call began and returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: Stamp,
    pub(super) stop: Stamp,
}

/// The outcome of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) bytes: i32,
    pub(super) source: i32,
    pub(super) cancelled: bool,
    pub(super) error: u8,
    /// `None` before version 0.6.3.
    pub(super) tag: Option<i32>,
}

/// What differs between versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(pub(super) [u8; 3]);

impl Version {
    /// Bytes of a status.
    fn status(self) -> usize {
        if self >= Self([0, 6, 3]) { 14 } else { 10 }
    }
}

/// Where the parts of a record are, from its first byte on.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    functions: &'static [Function],
    version: Version,
    /// Bytes of a status in this version.
    status: usize,
    pub(super) function: u16,
    mask: u8,
    /// Where the arguments begin.
    arguments: u32,
    /// Where those of the first fields are, from there on; empty if the record is too short for
    /// them.
    fixed: &'static [u32],
    /// Of each other field; 0 for those that are not there.
    at: [u32; MOST_FIELDS],
    /// Bytes of the record.
    pub(super) length: usize,
}

/// What keeps a record from being read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It needs this many bytes at least; what was read.
    More(usize, &'static str),
    /// The stream's end.
    End,
    /// A function without records.
    Unknown(u16),
    /// A count below 0, of this field.
    Negative(&'static str, i32),
}

/// Reads forward through the bytes of a record.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    field: &'static str,
}

impl Cursor<'_> {
    #[inline]
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let found = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>());
        let found = found.ok_or(Stop::More(self.at + N, self.field))?;
        self.at += N;
        Ok(*found)
    }

    #[inline]
    fn skip(&mut self, bytes: usize) -> Result<(), Stop> {
        let end = self.at.saturating_add(bytes);
        if end > self.bytes.len() {
            return Err(Stop::More(end, self.field));
        }
        self.at = end;
        Ok(())
    }

    fn u8(&mut self) -> Result<u8, Stop> {
        self.take().map(|[byte]| byte)
    }

    #[inline]
    fn u16(&mut self) -> Result<u16, Stop> {
        self.take().map(u16::from_be_bytes)
    }

    #[inline]
    fn i32(&mut self) -> Result<i32, Stop> {
        self.take().map(i32::from_be_bytes)
    }

    fn count(&mut self) -> Result<usize, Stop> {
        let count = self.i32()?;
        usize::try_from(count).map_err(|_| Stop::Negative(self.field, count))
    }

    /// An array of entries of one size, after its count.
    #[inline]
    fn array(&mut self, size: usize) -> Result<(), Stop> {
        let count = self.count()?;
        self.skip(count.saturating_mul(size))
    }
}

/// Bytes of the thread, the CPU time and the wall-clock time that a mask says there are.
const fn sizes(mask: u8) -> [usize; 3] {
    const fn size(mask: u8, bit: u8, bytes: usize) -> usize {
        if mask & bit == 0 { 0 } else { bytes }
    }
    [size(mask, THREAD, 2), size(mask, CPU_TIME, 12), size(mask, WALL_TIME, 12)]
}

/// Bytes of the function and the mask.
const HEAD: usize = 3;

/// Bytes in front of the arguments by mask, without those of counters.
const HEADS: [u8; 256] = {
    let mut heads = [0; 256];
    let mut mask = 0;
    while mask < heads.len() {
        let [thread, cpu, wall] = sizes(mask as u8);
        heads[mask] = (HEAD + thread + cpu + wall) as u8;
        mask += 1;
    }
    heads
};

impl Layout {
    /// For records of a version.
    pub(super) fn new(version: Version) -> Self {
        Self {
            functions: &FUNCTIONS,
            version,
            status: version.status(),
            function: 0,
            mask: 0,
            arguments: 0,
            fixed: &[],
            at: [0; MOST_FIELDS],
            length: 0,
        }
    }

    /// Finds the parts of a record of a plain function; false for all others, for one with
    /// counters, and where the bytes do not suffice. [`find`](Self::find) reads those.
    #[inline(always)]
    pub(super) fn find_plain(&mut self, bytes: &[u8]) -> bool {
        let Some([a, b, mask]) = bytes.first_chunk() else { return false };
        self.function = u16::from_be_bytes([*a, *b]);
        let Some(function) = self.functions.get(usize::from(self.function)) else { return false };
        self.mask = *mask;
        if !function.is_plain || self.mask & COUNTERS != 0 {
            return false;
        }
        let arguments = usize::from(HEADS[usize::from(self.mask)]);
        let (fixed, bytes_of_all) = &function.fixed;
        (self.arguments, self.fixed) = (arguments as u32, fixed);
        let mut at = arguments + bytes_of_all;
        for number in fixed.len()..function.fields.len() {
            let size = match function.fields[number].kind {
                Kind::Statuses if self.mask & STATUSES == 0 => {
                    self.at[number] = 0;
                    continue;
                }
                Kind::Statuses => self.status,
                Kind::Ints => 4,
                Kind::Handles => 2,
                _ => 1,
            };
            let Some(count) = bytes.get(at..).and_then(|rest| rest.first_chunk()) else { return false };
            let Ok(count) = usize::try_from(i32::from_be_bytes(*count)) else { return false };
            self.at[number] = at as u32;
            at = size.saturating_mul(count).saturating_add(at + 4);
        }
        self.length = at;
        at <= bytes.len()
    }

    /// Finds the parts of the record that `bytes` begin with; `is_all` if the stream ends with
    /// them.
    pub(super) fn find(&mut self, bytes: &[u8], is_all: bool) -> Result<(), Stop> {
        let mut cursor = Cursor { bytes, at: 0, field: "the function" };
        self.function = cursor.u16()?;
        if self.function >= FIRST_NO_FUNCTION {
            return Err(Stop::End);
        }
        let function = &self.functions[usize::from(self.function)];
        if !function.is_recorded {
            return Err(Stop::Unknown(self.function));
        }
        cursor.field = "the times";
        self.mask = cursor.u8()?;
        cursor.skip(sizes(self.mask).iter().sum())?;
        if self.mask & COUNTERS != 0 {
            cursor.field = "the performance counters";
            let counters = usize::from(cursor.u8()?);
            cursor.skip(16 * counters)?;
        }
        self.arguments = cursor.at as u32;
        // Most fields have one size each, and stand first.
        let (places, bytes_of_all) = &function.fixed;
        self.fixed = places;
        if cursor.at + bytes_of_all > bytes.len() {
            self.fixed = &[];
        } else {
            cursor.at += bytes_of_all;
        }
        if self.fixed.len() < function.fields.len() {
            self.others(&mut cursor, function, is_all)?;
        }
        self.length = cursor.at;
        Ok(())
    }

    /// Finds the fields after the first ones.
    #[inline]
    fn others(&mut self, cursor: &mut Cursor<'_>, function: &Function, is_all: bool) -> Result<(), Stop> {
        let mut role = None;
        for (number, field) in function.fields.iter().enumerate().skip(self.fixed.len()) {
            cursor.field = field.name;
            self.at[number] = 0;
            if field.at_root && !*role.get_or_insert_with(|| self.is_root(cursor.bytes, function)) {
                continue;
            }
            let start = cursor.at;
            if self.field(cursor, field, is_all)? {
                self.at[number] = start as u32;
            }
        }
        Ok(())
    }

    /// Where a field is; 0 if it is not there.
    #[inline]
    fn place(&self, number: usize) -> usize {
        match self.fixed.get(number) {
            Some(place) => (self.arguments + place) as usize,
            None => self.at[number] as usize,
        }
    }

    /// Passes over a field; false if it is not there.
    #[inline]
    fn field(&self, cursor: &mut Cursor<'_>, field: &Field, is_all: bool) -> Result<bool, Stop> {
        match field.kind {
            Kind::Int => cursor.skip(4)?,
            Kind::Handle => cursor.skip(2)?,
            Kind::Long => cursor.skip(8)?,
            Kind::Code => cursor.skip(1)?,
            Kind::Ints => cursor.array(4)?,
            Kind::Handles => cursor.array(2)?,
            Kind::Bytes => cursor.array(1)?,
            Kind::Statuses if self.mask & STATUSES == 0 => return Ok(false),
            Kind::Statuses => cursor.array(self.status)?,
            Kind::Rows => each(cursor, |cursor| cursor.array(4))?,
            Kind::Texts => each(cursor, |cursor| cursor.array(1))?,
            Kind::TextLists => each(cursor, |cursor| each(cursor, |cursor| cursor.array(1)))?,
            Kind::Arguments => {
                if self.version < Version([0, 6, 2]) {
                    cursor.skip(4)?;
                }
                each(cursor, |cursor| cursor.array(1))?;
            }
            Kind::IntsSince068 if self.version < Version([0, 6, 8]) => cursor.skip(4)?,
            Kind::IntsSince069 if self.version < Version([0, 6, 9]) => cursor.skip(4)?,
            Kind::IntsSince068 | Kind::IntsSince069 => cursor.array(4)?,
            Kind::GatheredType => {
                let function = &self.functions[usize::from(self.function)];
                if !self.is_root(cursor.bytes, function) && !self.begins_a_record(cursor, 2, is_all)? {
                    return Ok(false);
                }
                cursor.skip(2)?;
            }
        }
        Ok(true)
    }

    /// The caller is the root.
    fn is_root(&self, bytes: &[u8], function: &Function) -> bool {
        let int = |place: usize| int_at(bytes, self.place(place));
        function.roles.is_some_and(|(own, root)| int(own) == int(root))
    }

    /// The next record begins `past` bytes further on, by its function and mask; otherwise it
    /// begins here.
    fn begins_a_record(&self, cursor: &Cursor<'_>, past: usize, is_all: bool) -> Result<bool, Stop> {
        let next = |at: usize| match cursor.bytes.get(at..) {
            Some([a, b, mask, ..]) => {
                Ok(*mask == self.mask && u16::from_be_bytes([*a, *b]) < FIRST_NO_FUNCTION)
            }
            // The mark of the end is all that is left.
            Some([a, b]) if is_all => Ok(u16::from_be_bytes([*a, *b]) >= FIRST_NO_FUNCTION),
            _ if is_all => Ok(false),
            _ => Err(Stop::More(at + 3, cursor.field)),
        };
        Ok(next(cursor.at + past)? || !next(cursor.at)?)
    }
}

/// An array of entries of varying size, after its count.
fn each(cursor: &mut Cursor<'_>, one: impl Fn(&mut Cursor<'_>) -> Result<(), Stop>) -> Result<(), Stop> {
    // Each takes 4 bytes at least, so a count beyond the bytes ends soon.
    for _ in 0..cursor.count()? {
        one(cursor)?;
    }
    Ok(())
}

/// Bytes at a place; one comparison tells whether they are there.
#[inline]
fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.first_chunk().copied()
}

#[inline]
fn int_at(bytes: &[u8], at: usize) -> i32 {
    bytes_at(bytes, at).map_or(0, i32::from_be_bytes)
}

/// A start and a stop.
#[inline]
fn span_at(bytes: &[u8], at: usize) -> Option<Span> {
    let bytes: [u8; 12] = bytes_at(bytes, at)?;
    let stamp = |at: usize| Stamp {
        s: u16::from_be_bytes([bytes[at], bytes[at + 1]]),
        ns: u32::from_be_bytes([bytes[at + 2], bytes[at + 3], bytes[at + 4], bytes[at + 5]]),
    };
    Some(Span { start: stamp(0), stop: stamp(6) })
}

/// A record with its arguments by their places in the layout of its function.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    layout: &'a Layout,
    bytes: &'a [u8],
}

impl<'a> Record<'a> {
    /// The record that `layout` was found for.
    #[inline]
    pub(super) fn new(layout: &'a Layout, bytes: &'a [u8]) -> Self {
        Self { layout, bytes }
    }

    /// The function's number.
    #[inline]
    pub(super) fn function(&self) -> u16 {
        self.layout.function
    }

    /// Its bytes.
    #[cfg(test)]
    pub(super) fn length(&self) -> usize {
        self.layout.length
    }

    /// The number of the thread.
    #[cfg(test)]
    pub(super) fn thread(&self) -> u16 {
        let bytes = self.bytes.get(HEAD..).and_then(|rest| rest.first_chunk());
        bytes.filter(|_| self.layout.mask & THREAD != 0).map_or(0, |bytes| u16::from_be_bytes(*bytes))
    }

    /// When it was, in processor time.
    #[cfg(test)]
    pub(super) fn cpu(&self) -> Option<Span> {
        let [thread, ..] = sizes(self.layout.mask);
        if self.layout.mask & CPU_TIME == 0 { None } else { span_at(self.bytes, HEAD + thread) }
    }

    /// When it was on the wall clock, if that is recorded.
    #[inline]
    pub(super) fn wall(&self) -> Option<Span> {
        let [thread, cpu, _] = sizes(self.layout.mask);
        if self.layout.mask & WALL_TIME == 0 { None } else { span_at(self.bytes, HEAD + thread + cpu) }
    }

    #[inline]
    fn at(&self, place: usize) -> usize {
        self.layout.place(place)
    }

    /// A field is there.
    #[inline]
    pub(super) fn has(&self, place: usize) -> bool {
        self.at(place) != 0
    }

    /// An int; 0 if it is not there.
    #[inline]
    pub(super) fn int(&self, place: usize) -> i32 {
        if self.has(place) { int_at(self.bytes, self.at(place)) } else { 0 }
    }

    /// A handle; 0, which is no valid handle of any kind, if it is not there.
    #[inline]
    pub(super) fn handle(&self, place: usize) -> u16 {
        if self.has(place) { bytes_at(self.bytes, self.at(place)).map_or(0, u16::from_be_bytes) } else { 0 }
    }

    /// Entries of `N` bytes after a count.
    fn entries<const N: usize>(&self, place: usize) -> impl ExactSizeIterator<Item = [u8; N]> + 'a {
        let count = usize::try_from(self.int(place)).unwrap_or(0);
        let start = if self.has(place) { self.at(place) + 4 } else { 0 };
        let bytes = self.bytes.get(start..start + N * count).unwrap_or_default();
        bytes.as_chunks::<N>().0.iter().copied()
    }

    /// The ints of an array.
    #[inline]
    pub(super) fn ints(&self, place: usize) -> impl ExactSizeIterator<Item = i32> + 'a {
        self.entries(place).map(i32::from_be_bytes)
    }

    /// The handles of an array.
    pub(super) fn handles(&self, place: usize) -> impl ExactSizeIterator<Item = u16> + 'a {
        self.entries(place).map(u16::from_be_bytes)
    }

    /// The texts of an array.
    #[cfg(test)]
    pub(super) fn texts(&self, place: usize) -> Vec<String> {
        let mut at = self.at(place) + 4;
        (0..self.int(place))
            .map(|_| {
                let length = int_at(self.bytes, at) as usize;
                at += 4 + length;
                String::from_utf8_lossy(&self.bytes[at - length..at]).into_owned()
            })
            .collect()
    }

    /// A code.
    #[cfg(test)]
    pub(super) fn code(&self, place: usize) -> u8 {
        self.bytes[self.at(place)]
    }

    /// The arrays of an array.
    pub(super) fn rows(&self, place: usize) -> Vec<Vec<i32>> {
        let mut at = self.at(place) + 4;
        let rows = 0..self.int(place);
        rows.map(|_| {
            let count = usize::try_from(int_at(self.bytes, at)).unwrap_or(0);
            let ints = self.bytes.get(at + 4..at + 4 + 4 * count).unwrap_or_default();
            at += 4 + 4 * count;
            ints.as_chunks::<4>().0.iter().map(|bytes| i32::from_be_bytes(*bytes)).collect()
        })
        .collect()
    }

    /// Statuses; none if they were ignored or not recorded.
    #[inline]
    pub(super) fn statuses(&self, place: usize) -> usize {
        usize::try_from(self.int(place)).unwrap_or(0)
    }

    /// One status.
    #[inline]
    pub(super) fn status(&self, place: usize, number: usize) -> Option<Status> {
        if number >= self.statuses(place) {
            return None;
        }
        let size = self.layout.status;
        let bytes = self.bytes.get(self.at(place) + 4 + number * size..)?.get(..size)?;
        Some(Status {
            bytes: int_at(bytes, 0),
            source: int_at(bytes, 4),
            cancelled: bytes[8] != 0,
            error: bytes[9],
            tag: (size == 14).then(|| int_at(bytes, 10)),
        })
    }
}
