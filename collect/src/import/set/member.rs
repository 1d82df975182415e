//! A file of a set, wherever it is: read from any position, inflated if it is gzip'ed.
//!
//! A run has thousands of files, more than a process may have open. So a file named by its path is
//! opened for each buffer that is read, and closed again.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;

use crate::Result;
use crate::import::input::PREFIX;

/// Bytes of a gzip'ed file that are read at once.
const STORED_BUFFER: usize = 32 << 10;

/// A file of a set.
#[derive(Clone, Debug)]
pub(in crate::import) struct Member {
    name: String,
    content: Content,
    start: u64,
    /// Stored bytes.
    length: u64,
    is_gzip: bool,
}

#[derive(Clone, Debug)]
enum Content {
    Path(PathBuf),
    /// A tar, or a temporary file.
    Opened(Arc<File>),
}

impl Member {
    /// A regular file.
    ///
    /// # Errors
    /// An error of the operating system.
    pub(super) fn of_file(name: String, path: &Path) -> Result<Self> {
        let length = std::fs::metadata(path)?.len();
        Self { name, content: Content::Path(path.into()), start: 0, length, is_gzip: false }.sniffed()
    }

    /// `length` bytes of an open file, from `start` on.
    ///
    /// # Errors
    /// An error of the operating system.
    pub(super) fn within(name: String, file: &Arc<File>, start: u64, length: u64) -> Result<Self> {
        Self { name, content: Content::Opened(Arc::clone(file)), start, length, is_gzip: false }.sniffed()
    }

    fn sniffed(mut self) -> Result<Self> {
        let mut magic = [0; 2];
        self.is_gzip = self.read_at(&mut magic, 0)? == 2 && magic == [0x1f, 0x8b];
        Ok(self)
    }

    /// Its path as it was given, or within the directory or tar: its place in errors.
    pub(in crate::import) fn name(&self) -> &str {
        &self.name
    }

    /// The last part of the name, without `.gz`.
    pub(in crate::import) fn file_name(&self) -> &str {
        let name = self.name.rsplit('/').next().unwrap_or(&self.name);
        name.strip_suffix(".gz").unwrap_or(name)
    }

    /// The folder in the name; nothing for none.
    #[allow(dead_code, reason = "formats with folders use it")]
    pub(in crate::import) fn folder(&self) -> &str {
        self.name.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Stored bytes; those before inflation if it is gzip'ed.
    #[allow(dead_code, reason = "formats with an index at the end use it")]
    pub(in crate::import) fn length(&self) -> u64 {
        self.length
    }

    /// Its bytes are gzip'ed.
    pub(in crate::import) fn is_gzip(&self) -> bool {
        self.is_gzip
    }

    /// Fills `bytes` with those stored at `offset`; returns their number, fewer only at the end.
    ///
    /// # Errors
    /// An error of the operating system.
    pub(in crate::import) fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let wanted =
            bytes.len().min(usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX));
        let opened;
        let file = match &self.content {
            Content::Path(path) => {
                opened = File::open(path)?;
                &opened
            }
            Content::Opened(file) => file.as_ref(),
        };
        let mut filled = 0;
        while filled < wanted {
            match file.read_at(&mut bytes[filled..wanted], self.start + offset + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    /// Reads it from the beginning, inflated, with a buffer of this many bytes.
    pub(in crate::import) fn reader(&self, buffer: usize) -> Box<dyn BufRead + Send> {
        let stored = Stored { member: self.clone(), offset: 0 };
        if self.is_gzip {
            let stored = BufReader::with_capacity(STORED_BUFFER, stored);
            Box::new(BufReader::with_capacity(buffer, MultiGzDecoder::new(stored)))
        } else {
            Box::new(BufReader::with_capacity(buffer, stored))
        }
    }

    /// The first bytes, inflated: at most [`PREFIX`], fewer only if it has no more.
    ///
    /// # Errors
    /// An error of the operating system, or damage of gzip.
    pub(in crate::import) fn prefix(&self) -> Result<Vec<u8>> {
        let mut prefix = Vec::new();
        self.reader(PREFIX).take(PREFIX as u64).read_to_end(&mut prefix)?;
        Ok(prefix)
    }
}

/// Reads the stored bytes of a member front to back.
struct Stored {
    member: Member,
    offset: u64,
}

impl Read for Stored {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.member.read_at(bytes, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}
