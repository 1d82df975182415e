//! DUMPI traces (sst-dumpi): a binary file a rank, and a text file for the run.

mod functions;
mod index;
mod meta;
mod record;
mod stream;

pub(super) use self::meta::is_meta;

use super::set::{FileSet, complete, number_in};
use super::{Imported, Reading};
use crate::trace::Sink;
use crate::{Error, Result};

/// The first bytes of a rank's file, and the last ones of its index.
const MAGIC: [u8; 8] = *b"\xff\xaa\xddDUMPI";

/// True for the beginning of a rank's file.
pub(super) fn is_rank_file(prefix: &[u8]) -> bool {
    prefix.starts_with(&MAGIC)
}

/// Reads a run.
///
/// # Errors
/// A rank without its file.
pub(super) fn read(set: FileSet, reading: Reading, _sink: &mut dyn Sink) -> Result<Imported> {
    let set = set.inflated(reading.scratch)?;
    let files = set.members().iter().filter_map(|member| {
        let (rank, _) = number_in(member)?;
        Some((rank, member.name().to_string(), member))
    });
    let _files = complete(files, None)?;
    Err(Error::data("cannot be read yet"))
}
