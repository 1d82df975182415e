//! What all PhaseFlow archives share: a tar of named members, gzip'ed or not, with a `header.json` first.
//!
//! An archive is written and read front to back, never unpacked. The first member names the format and its version; a
//! wrong or future one is refused with what was found and what was expected. Members that a reader does not know are
//! skipped, so a format can grow without a new version; a changed meaning is a new version. The last member is
//! `summary.json`: an archive without it was cut off. docs/formats.md describes the bytes.

pub mod columns;
mod reader;
mod writer;

pub use reader::{ArchiveReader, MemberInfo, sniff_gzip};
pub use writer::ArchiveWriter;

/// Name of the first member.
pub const HEADER: &str = "header.json";
/// Name of the last member.
pub const SUMMARY: &str = "summary.json";
