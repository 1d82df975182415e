//! Reading an archive member by member, from any stream.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{CHECKSUM, HEADER, checksum};
use crate::{At, Error, Result};

/// Largest text member, bytes: hundreds of times our largest headers and summaries. A larger claim
/// is damage or an attack.
const LARGEST_JSON: u64 = 64 << 20;

/// Largest padding of an archive, bytes: tar pads to its blocking factor, 20 blocks of 512 bytes by
/// default.
const LARGEST_PADDING: u64 = 1 << 20;

/// Bytes of the read buffer below gzip and tar: four reads of a pipe, whose capacity on Linux is 64
/// KiB.
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
    /// Bytes of the current member that are not read yet, padding included.
    left: u64,
    padding: u64,
    /// Checksum of the current member, if the archive has checksums.
    checksum: Option<[u8; 12]>,
    /// Name of the current member.
    name: String,
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
/// An error of the stream.
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
    /// Input without tar or header, or an error of the stream.
    pub fn open(mut input: R) -> Result<Self> {
        let gzip = sniff_gzip(&mut input)?;
        let input = if gzip {
            Inflated::Gzip(Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(input))))
        } else {
            Inflated::Plain(input)
        };
        let mut reader =
            Self { input, left: 0, padding: 0, checksum: None, name: String::new(), header: Vec::new() };
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

    /// The format that the header names.
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
            return Err(wrong_stage(&line.format, format));
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

    /// Goes to the next member, skipping what is left of the current one; `None` at the end of the
    /// archive.
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
            // Reading to the end checks gzip's trailer, and the writer of a pipe gets no broken
            // pipe.
            io::copy(&mut (&mut self.input).take(LARGEST_PADDING), &mut io::sink())?;
            return Ok(None);
        }
        let header = tar::Header::from_byte_slice(&block);
        let sum: u32 =
            block[..148].iter().chain(&[b' '; 8]).chain(&block[156..]).map(|byte| u32::from(*byte)).sum();
        if !header.cksum().is_ok_and(|stored| stored == sum) {
            let whose = match self.name.as_str() {
                "" => "a member's header".into(),
                name => format!("the header after `{name}`"),
            };
            let problem = format!("is not a tar archive, or damaged: {whose} has a wrong checksum");
            return Err(Error::data(problem));
        }
        let name = String::from_utf8_lossy(&header.path_bytes()).into_owned();
        let size = header.entry_size().map_err(|error| Error::data(error.to_string()).at(&name))?;
        self.left = size;
        self.name.clone_from(&name);
        // Archives of earlier versions and of other programs have no checksums.
        self.checksum = block[CHECKSUM].try_into().ok().filter(|sum: &[u8; 12]| {
            sum[..8].iter().all(u8::is_ascii_hexdigit) && sum[8..].iter().all(|byte| *byte == 0)
        });
        self.padding = size.next_multiple_of(512) - size;
        Ok(Some(MemberInfo { name, size }))
    }

    /// Reads the current member whole.
    ///
    /// # Errors
    /// A member that claims more than `largest` bytes, or a stream that ends before the claim is
    /// met.
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
        // The buffer is overwritten. It grows at most to twice the bytes that are present, whatever
        // size is claimed.
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
        // Bytes that were read before are checked already.
        match self.checksum.take() {
            Some(expected) if expected != checksum(bytes) => {
                let text = |sum: [u8; 12]| String::from_utf8_lossy(&sum[..8]).into_owned();
                let (found, expected) = (text(checksum(bytes)), text(expected));
                let problem =
                    format!("has the checksum {found}, expected {expected}: the archive is damaged");
                Err(Error::data(problem).at(&member.name))
            }
            _ => Ok(()),
        }
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

/// Formats of archives, what they are called, and the command that writes each.
const STAGES: [(&str, &str, &str); 3] = [
    ("phaseflow.trace", "a trace archive", "pf-collect"),
    ("phaseflow.phases", "a phase archive", "pf-segment"),
    ("phaseflow.results", "a result archive", "pf-simulate"),
];

/// The error for an archive of another format, with the commands that convert it.
fn wrong_stage(found: &str, expected: &str) -> Error {
    let stage = |format: &str| STAGES.iter().position(|stage| stage.0 == format);
    let (Some(at), Some(to)) = (stage(found), stage(expected)) else {
        return Error::data(format!("holds `{found}`, expected `{expected}`")).at(HEADER);
    };
    let (name, wanted) = (STAGES[at].1, STAGES[to].1);
    if at < to {
        let commands: Vec<&str> = STAGES[at + 1..=to].iter().map(|stage| stage.2).collect();
        return Error::data(format!("is {name}; run {} first", commands.join(" and ")));
    }
    let reader = STAGES.get(at + 1).map_or("pf-report", |next| next.2);
    Error::data(format!("is {name}, expected {wanted}; {reader} reads it"))
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
    fn a_flipped_bit_of_content_is_noticed_where_there_is_a_checksum() {
        let bytes = sample(false);
        let summary = bytes.windows(12).position(|name| name == b"summary.json").unwrap();
        let read = |bytes: &[u8]| -> Result<()> {
            let mut reader = ArchiveReader::open(bytes)?;
            while let Some(member) = reader.next_member()? {
                reader.bytes(&member, 1000)?;
            }
            Ok(())
        };
        let mut flipped = bytes.clone();
        // {"n":2} becomes {"n":3}.
        flipped[summary + 512 + 5] ^= 1;
        let error = read(&flipped).unwrap_err().to_string();
        let [found, expected] = [b"{\"n\":3}\n", b"{\"n\":2}\n"].map(|text| crc32fast::hash(text));
        assert_eq!(
            error,
            format!(
                "summary.json: has the checksum {found:08x}, expected {expected:08x}: the archive is damaged"
            )
        );
        // An archive without checksums is read all the same: the header's own sum has to fit.
        let block = &mut flipped[summary..summary + 512];
        block[500..512].fill(0);
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        read(&flipped).unwrap();
        flipped[summary + 20] ^= 1;
        assert_eq!(
            read(&flipped).unwrap_err().to_string(),
            "is not a tar archive, or damaged: the header after `unknown` has a wrong checksum"
        );
    }

    #[test]
    fn every_cut_is_noticed() {
        for gzip in [false, true] {
            let bytes = sample(gzip);
            // The second zero block of a plain tar repeats the first.
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
