//! The sections of a rank's file around the stream of records, which an index at the end names.
//!
//! The index is read backwards: keyvals, footer, body, header, and before them, in later versions,
//! labels of counters, addresses of functions, sizes of datatypes; the magic stands in front.

use super::MAGIC;
use super::functions::COUNTED;
use super::record::Version;
use crate::import::set::Member;
use crate::{At, Error, Result};

/// Offsets in the index of the latest version.
const MOST_OFFSETS: usize = 7;

/// Offsets in the index of the first version.
const FEWEST_OFFSETS: usize = 4;

/// The first bytes of a footer.
const FOOTER_MAGIC: u64 = 0xf007_fee7;

/// Longest header, bytes: two texts of 2¹⁶ bytes, the rest is small.
const LONGEST_HEADER: usize = 256 << 10;

/// Most sizes of datatypes: their handles have 16 bits.
const MOST_SIZES: usize = 1 << 16;

/// A rank's file, without its records.
#[derive(Clone, Debug)]
pub(super) struct Index {
    pub(super) version: Version,
    /// Seconds since 1970 at the start of the process.
    pub(super) starttime: i64,
    pub(super) hostname: String,
    /// Where the records begin and end.
    pub(super) records: (u64, u64),
    /// Seconds that are added to CPU and wall times.
    pub(super) biases: (i32, i32),
    /// Calls of each function, and of all together; empty if there is no footer.
    pub(super) calls: Vec<u32>,
    /// Calls without a record.
    pub(super) ignored: Vec<u32>,
    /// Bytes of each datatype by its handle; empty before version 0.6.6.
    pub(super) sizes: Vec<u32>,
}

impl Index {
    /// # Errors
    /// A file that is truncated or damaged; an error of the operating system.
    pub(super) fn read(member: &Member) -> Result<Self> {
        let length = member.length();
        let mut start = [0; 16];
        if member.read_at(&mut start, 0)? < start.len() || start[..8] != MAGIC {
            return Err(Error::truncated("ends before its records: the file is truncated").at("byte 0"));
        }
        let offsets = Offsets::read(member)?;
        let body = offsets.body;
        if body < 8 || body > length.saturating_sub(8) {
            return Err(Error::data(format!(
                "says that records begin at byte {body}, the file has {length}"
            ))
            .at("index"));
        }
        let mut biases = [0; 8];
        member.read_at(&mut biases, body)?;
        let bias =
            |at: usize| i32::from_be_bytes([biases[at], biases[at + 1], biases[at + 2], biases[at + 3]]);
        let (version, starttime, hostname) = read_header(member, offsets.header)?;
        let (calls, ignored) = read_footer(member, offsets.footer)?;
        let end = offsets.end_of_body();
        Ok(Self {
            version,
            starttime,
            hostname,
            records: (body + 8, end.max(body + 8)),
            biases: (bias(0), bias(4)),
            calls,
            ignored,
            sizes: read_sizes(member, offsets.sizes)?,
        })
    }

    /// How often a function was called; `None` if the file does not say.
    pub(super) fn calls(&self, function: u16) -> Option<u32> {
        self.calls.get(usize::from(function)).copied()
    }
}

/// Where the sections begin; 0 for those that are not there.
struct Offsets {
    header: u64,
    body: u64,
    footer: u64,
    keyvals: u64,
    counters: u64,
    addresses: u64,
    sizes: u64,
    /// Where the index itself begins.
    index: u64,
}

impl Offsets {
    fn read(member: &Member) -> Result<Self> {
        let length = member.length();
        let mut bytes = [0; 8 * (MOST_OFFSETS + 1)];
        let start = length.saturating_sub(bytes.len() as u64);
        let found = member.read_at(&mut bytes, start)?;
        // Words end where the file does.
        let odd = found % 8;
        let start = start + odd as u64;
        let words = bytes[odd..found].as_chunks::<8>().0;
        // The first word of a file is the same magic.
        let first = usize::from(start == 0);
        let magic = (first..words.len().saturating_sub(FEWEST_OFFSETS)).find(|at| words[*at] == MAGIC);
        let Some(magic) = magic else {
            let place = format!("byte {length}");
            return Err(Error::truncated(
                "ends without an index: the file is truncated, or its program did not call MPI_Finalize",
            )
            .at(place));
        };
        // From the end: the offsets that a version lacks are those in front.
        let offset = |from_end: usize| {
            let at = (words.len() - 1).checked_sub(from_end).filter(|at| *at > magic);
            at.map_or(0, |at| u64::from_be_bytes(words[at]))
        };
        Ok(Self {
            keyvals: offset(0),
            footer: offset(1),
            body: offset(2),
            header: offset(3),
            counters: offset(4),
            addresses: offset(5),
            sizes: offset(6),
            index: start + 8 * magic as u64,
        })
    }

    /// Records end where the next section begins.
    fn end_of_body(&self) -> u64 {
        let sections =
            [self.header, self.footer, self.keyvals, self.counters, self.addresses, self.sizes, self.index];
        sections.into_iter().filter(|at| *at > self.body).min().unwrap_or(self.index)
    }
}

/// A part of the file in memory.
struct Section {
    bytes: Vec<u8>,
    at: usize,
    start: u64,
    name: &'static str,
}

impl Section {
    fn read(member: &Member, start: u64, most: usize, name: &'static str) -> Result<Self> {
        let left = member.length().saturating_sub(start);
        let mut bytes = vec![0; most.min(usize::try_from(left).unwrap_or(most))];
        let found = member.read_at(&mut bytes, start)?;
        bytes.truncate(found);
        Ok(Self { bytes, at: 0, start, name })
    }

    fn take(&mut self, count: usize) -> Result<&[u8]> {
        let place = self.start + self.at as u64;
        let end = self.at.saturating_add(count);
        let Some(bytes) = self.bytes.get(self.at..end) else {
            let problem = format!("reading the {}: the file ends: it is truncated", self.name);
            return Err(Error::truncated(problem).at(format!("byte {place}")));
        };
        self.at = end;
        Ok(bytes)
    }

    fn number<const N: usize>(&mut self) -> Result<u64> {
        Ok(self.take(N)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn text(&mut self) -> Result<String> {
        let length = self.number::<2>()?;
        Ok(String::from_utf8_lossy(self.take(length as usize)?).into_owned())
    }
}

fn read_header(member: &Member, offset: u64) -> Result<(Version, i64, String)> {
    if offset == 0 {
        return Ok((Version([0; 3]), 0, String::new()));
    }
    let mut section = Section::read(member, offset, LONGEST_HEADER, "header")?;
    let version = section.take(3)?;
    let version = Version([version[0], version[1], version[2]]);
    let starttime = section.number::<8>()?.cast_signed();
    Ok((version, starttime, section.text()?))
}

fn read_footer(member: &Member, offset: u64) -> Result<(Vec<u32>, Vec<u32>)> {
    if offset == 0 {
        return Ok((Vec::new(), Vec::new()));
    }
    let mut section = Section::read(member, offset, 8 + 8 * COUNTED, "footer")?;
    let found = section.number::<8>()?;
    if found != FOOTER_MAGIC {
        let problem = format!("found {found:#x}, expected the footer's {FOOTER_MAGIC:#x}: damaged");
        return Err(Error::data(problem).at(format!("byte {offset}")));
    }
    let mut counts =
        || -> Result<Vec<u32>> { (0..COUNTED).map(|_| Ok(section.number::<4>()? as u32)).collect() };
    Ok((counts()?, counts()?))
}

fn read_sizes(member: &Member, offset: u64) -> Result<Vec<u32>> {
    if offset == 0 {
        return Ok(Vec::new());
    }
    let mut section = Section::read(member, offset, 4 + 4 * MOST_SIZES, "sizes of datatypes")?;
    let count = section.number::<4>()? as usize;
    if count > MOST_SIZES {
        let problem = format!("found {count} sizes of datatypes, expected at most {MOST_SIZES}: damaged");
        return Err(Error::data(problem)).at(|| format!("byte {offset}"));
    }
    (0..count).map(|_| Ok(section.number::<4>()? as u32)).collect()
}
