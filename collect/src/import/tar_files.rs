//! The regular files of a tar. Names and sizes in it are untrusted: they cause no allocation and no
//! write.

use std::io::{self, Read};

use tar::Entry;

use super::input::read_bounded;
use crate::{At, Error, Result};

/// Longest member name, bytes; tar stores long names as members of their own.
const LONGEST_NAME: usize = 64 << 10;

/// Calls `each` with the name and content of every regular file.
///
/// # Errors
/// A damaged tar, a name that leaves the archive, or an error of `each`.
pub(super) fn tar_files<'a, R: Read>(
    entries: tar::Entries<'a, R>,
    each: &mut dyn FnMut(&str, &mut Entry<'a, R>) -> Result<()>,
) -> Result<()> {
    let (mut long_name, mut buffer) = (None, Vec::new());
    // Raw: the tar crate itself would hold extension members of any size in memory.
    for entry in entries.raw(true) {
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        if kind.is_gnu_longname() {
            let name = read_bounded(&mut entry, LONGEST_NAME, &mut buffer).at(|| "a long member name")?;
            long_name = name.split(|byte| *byte == 0).next().map(<[u8]>::to_vec);
            continue;
        }
        if kind.is_pax_local_extensions() {
            let text = read_bounded(&mut entry, LONGEST_NAME, &mut buffer);
            let text = text.at(|| "an extended member header")?;
            let path = tar::PaxExtensions::new(text).flatten().find(|field| field.key_bytes() == b"path");
            long_name = path.map(|field| field.value_bytes().to_vec()).or(long_name);
            continue;
        }
        let name: Vec<u8> = long_name.take().unwrap_or_else(|| entry.path_bytes().into_owned());
        let name = String::from_utf8_lossy(&name).into_owned();
        if name.starts_with('/') || name.split('/').any(|part| part == "..") {
            return Err(Error::data(format!("member name {name} leaves the archive")));
        }
        if kind.is_file() {
            each(&name, &mut entry)?;
        }
    }
    Ok(())
}

/// A stream whose end is an error: a tar marks its own end, so a read beyond it shows truncation.
pub(super) struct Endless<R>(pub(super) R);

impl<R: Read> Read for Endless<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self.0.read(bytes)? {
            0 if !bytes.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            read => Ok(read),
        }
    }
}
