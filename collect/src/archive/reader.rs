//! Reading an archive member by member, from any stream.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::HEADER;
use crate::{At, Error, Result};

/// No header, summary or other text member of ours comes near this; a larger claim is damage or malice.
const LARGEST_JSON: u64 = 64 << 20;

/// tar pads an archive to a multiple of its blocking factor, at most a few hundred blocks.
const LARGEST_PADDING: u64 = 1 << 20;

/// Bytes read ahead of gzip and tar.
const BUFFER: usize = 256 << 10;

/// Name and size of the member the reader stands at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberInfo {
    /// Path inside the archive.
    pub name: String,
    /// Length in bytes.
    pub size: u64,
}

/// Reads one of PhaseFlow's archives front to back; memory is that of the member asked for.
pub struct ArchiveReader<R: BufRead> {
    input: Inflated<R>,
    /// Bytes of the current member, padding included, that nobody read yet.
    left: u64,
    padding: u64,
    header: Vec<u8>,
}

enum Inflated<R: BufRead> {
    Plain(R),
    Gzip(Box<BufReader<MultiGzDecoder<R>>>),
}

impl<R: BufRead> Read for Inflated<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Inflated::Plain(input) => input.read(bytes),
            Inflated::Gzip(input) => input.read(bytes),
        }
    }
}

/// True if the stream begins as gzip does. Consumes nothing.
///
/// # Errors
/// What the stream reports.
pub fn sniff_gzip(input: &mut impl BufRead) -> Result<bool> {
    Ok(input.fill_buf()?.starts_with(&[0x1f, 0x8b]))
}

#[derive(Deserialize)]
struct FormatLine {
    format: String,
    version: u32,
}

impl<R: BufRead> ArchiveReader<R> {
    /// Opens an archive, gzip'ed or not, and checks that its first member is a header.
    ///
    /// # Errors
    /// No tar, no header, or what the stream reports.
    pub fn open(mut input: R) -> Result<Self> {
        let gzip = sniff_gzip(&mut input)?;
        let input = if gzip {
            Inflated::Gzip(Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(input))))
        } else {
            Inflated::Plain(input)
        };
        let mut reader = Self { input, left: 0, padding: 0, header: Vec::new() };
        match reader.next_member()? {
            Some(member) if member.name == HEADER => reader.header = reader.bytes(&member, LARGEST_JSON)?,
            Some(member) => {
                return Err(Error::data(format!(
                    "begins with `{}`, expected `{HEADER}`: not a PhaseFlow archive",
                    member.name
                )));
            }
            None => {
                return Err(Error::data(format!(
                    "is empty, expected a PhaseFlow archive that begins with `{HEADER}`"
                )));
            }
        }
        Ok(reader)
    }

    /// The format that the header names, whatever it is.
    ///
    /// # Errors
    /// A header that is not JSON with `format` and `version`.
    pub fn format(&self) -> Result<String> {
        Ok(self.format_line()?.format)
    }

    /// The header, if it is of `format` and of a version up to `version`.
    ///
    /// # Errors
    /// Another format, a later version, or a header without the fields of `H`.
    pub fn header<H: DeserializeOwned>(&self, format: &str, version: u32) -> Result<H> {
        let line = self.format_line()?;
        if line.format != format {
            return Err(Error::data(format!("holds `{}`, expected `{format}`", line.format)).at(HEADER));
        }
        if line.version == 0 || line.version > version {
            let found = line.version;
            let problem = format!("is version {found} of {format}, this program reads up to {version}");
            return Err(Error::data(problem).at(HEADER));
        }
        parse_json(&self.header).at(|| HEADER)
    }

    fn format_line(&self) -> Result<FormatLine> {
        parse_json(&self.header).at(|| HEADER)
    }

    /// Goes to the next member, skipping what is left of the current one; `None` at the end of the archive.
    ///
    /// # Errors
    /// A header block that is not tar's, or a stream that ends inside a member.
    pub fn next_member(&mut self) -> Result<Option<MemberInfo>> {
        let skip = self.left + self.padding;
        if io::copy(&mut (&mut self.input).take(skip), &mut io::sink())? < skip {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        self.left = 0;
        self.padding = 0;
        let mut block = [0; 512];
        self.input.read_exact(&mut block)?;
        if block.iter().all(|byte| *byte == 0) {
            // Reading on to the end checks gzip's trailer and lets the writer of a pipe finish in peace.
            io::copy(&mut (&mut self.input).take(LARGEST_PADDING), &mut io::sink())?;
            return Ok(None);
        }
        let header = tar::Header::from_byte_slice(&block);
        let sum: u32 =
            block[..148].iter().chain(&[b' '; 8]).chain(&block[156..]).map(|byte| u32::from(*byte)).sum();
        if !header.cksum().is_ok_and(|stored| stored == sum) {
            return Err(Error::data(
                "is not a tar archive, or damaged: a member's header has a wrong checksum",
            ));
        }
        let name = String::from_utf8_lossy(&header.path_bytes()).into_owned();
        let size = header.entry_size().map_err(|error| Error::data(error.to_string()).at(&name))?;
        self.left = size;
        self.padding = size.next_multiple_of(512) - size;
        Ok(Some(MemberInfo { name, size }))
    }

    /// Reads the current member whole.
    ///
    /// # Errors
    /// A member that claims more than `largest` bytes, or a stream that ends before the claim is met.
    pub fn bytes(&mut self, member: &MemberInfo, largest: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.bytes_into(member, largest, &mut bytes)?;
        Ok(bytes)
    }

    /// As [`bytes`](Self::bytes), into a buffer that is cleared first and can be used again.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes).
    pub fn bytes_into(&mut self, member: &MemberInfo, largest: u64, bytes: &mut Vec<u8>) -> Result<()> {
        if member.size > largest {
            bytes.clear();
            let problem =
                format!("claims {} bytes, a member of this kind has at most {largest}", member.size);
            return Err(Error::data(problem).at(&member.name));
        }
        // What was there is written over; a claim is believed no further than twice as far as there were bytes for it.
        let (mut read, end) = (0, self.left as usize);
        while read < end {
            let next = end.min(bytes.len().max(2 * read).max(BUFFER));
            bytes.resize(next, 0);
            self.input
                .read_exact(&mut bytes[read..next])
                .map_err(|error| match error.kind() {
                    io::ErrorKind::UnexpectedEof => io::Error::from(io::ErrorKind::UnexpectedEof),
                    _ => error,
                })
                .at(|| &member.name)?;
            self.left -= (next - read) as u64;
            read = next;
        }
        bytes.truncate(end);
        Ok(())
    }

    /// Reads the current member as JSON.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes), and text that is not JSON of this shape.
    pub fn json<T: DeserializeOwned>(&mut self, member: &MemberInfo) -> Result<T> {
        let bytes = self.bytes(member, LARGEST_JSON)?;
        parse_json(&bytes).at(|| &member.name)
    }
}

/// serde_json's message says line and column already.
fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| Error::data(format!("is not the expected JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::super::ArchiveWriter;
    use super::*;
    use serde_json::json;

    fn sample(gzip: bool) -> Vec<u8> {
        let mut writer =
            ArchiveWriter::new(Vec::new(), gzip, &json!({"format": "phaseflow.test", "version": 1})).unwrap();
        writer.member("a.bin", &[7; 600]).unwrap();
        writer.member("unknown", b"?").unwrap();
        writer.finish(&json!({"n": 2})).unwrap()
    }

    #[test]
    fn members_come_back_gzipped_or_not() {
        for gzip in [false, true] {
            let bytes = sample(gzip);
            let mut reader = ArchiveReader::open(&bytes[..]).unwrap();
            let header: serde_json::Value = reader.header("phaseflow.test", 1).unwrap();
            assert_eq!(header["version"], 1);
            let member = reader.next_member().unwrap().unwrap();
            assert_eq!(reader.bytes(&member, 1000).unwrap(), [7; 600]);
            reader.next_member().unwrap().unwrap(); // skipped unread
            let summary = reader.next_member().unwrap().unwrap();
            assert_eq!(reader.json::<serde_json::Value>(&summary).unwrap(), json!({"n": 2}));
            assert_eq!(reader.next_member().unwrap(), None);
        }
    }

    #[test]
    fn another_format_or_a_later_version_is_refused() {
        let bytes = sample(false);
        let reader = ArchiveReader::open(&bytes[..]).unwrap();
        let error = reader.header::<serde_json::Value>("phaseflow.trace", 1).unwrap_err();
        assert_eq!(error.to_string(), "header.json: holds `phaseflow.test`, expected `phaseflow.trace`");
        let later = ArchiveWriter::new(Vec::new(), false, &json!({"format": "phaseflow.test", "version": 9}));
        let later = later.unwrap().finish(&json!({})).unwrap();
        let error = ArchiveReader::open(&later[..])
            .unwrap()
            .header::<serde_json::Value>("phaseflow.test", 1)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "header.json: is version 9 of phaseflow.test, this program reads up to 1"
        );
    }

    #[test]
    fn every_cut_is_noticed() {
        for gzip in [false, true] {
            let bytes = sample(gzip);
            // A plain tar's second zero block says nothing that the first has not said.
            for cut in 0..bytes.len() - if gzip { 0 } else { 512 } {
                let outcome = ArchiveReader::open(&bytes[..cut]).and_then(|mut reader| {
                    while let Some(member) = reader.next_member()? {
                        reader.bytes(&member, 1000)?;
                    }
                    Ok(())
                });
                assert!(outcome.is_err(), "cut at {cut} of {} went unnoticed, gzip {gzip}", bytes.len());
            }
        }
    }

    #[test]
    fn a_claim_beyond_the_limit_is_refused_before_reading() {
        let bytes = sample(false);
        let mut reader = ArchiveReader::open(&bytes[..]).unwrap();
        let member = reader.next_member().unwrap().unwrap();
        let error = reader.bytes(&member, 599).unwrap_err();
        assert_eq!(error.to_string(), "a.bin: claims 600 bytes, a member of this kind has at most 599");
    }
}
