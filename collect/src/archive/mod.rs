//! The container of all PhaseFlow archives: a tar of named members, gzip'ed or not, with a
//! `header.json` first.
//!
//! An archive is written and read front to back, never unpacked. The first member names the format
//! and its version; a wrong or future one is refused with what was found and what was expected.
//! Members that a reader does not know are skipped, so a format can grow without a new version; a
//! changed meaning is a new version. The last member is `summary.json`: an archive without it is
//! truncated. docs/formats.md describes the bytes.

pub mod columns;
mod reader;
mod writer;

pub use reader::{ArchiveReader, MemberInfo, sniff_gzip};
pub use writer::ArchiveWriter;

use std::ops::Range;

/// Where in a member's tar header the checksum of its content is: the bytes that ustar leaves
/// unused.
const CHECKSUM: Range<usize> = 500..512;

/// CRC-32 of a member's content (IEEE 802.3, as in gzip) in eight hexadecimal digits, zeros after
/// it.
fn checksum(content: &[u8]) -> [u8; 12] {
    let mut text = [0; 12];
    text[..8].copy_from_slice(format!("{:08x}", crc32fast::hash(content)).as_bytes());
    text
}

/// Name of the first member.
pub const HEADER: &str = "header.json";
/// Name of the last member.
pub const SUMMARY: &str = "summary.json";
