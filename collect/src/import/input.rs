//! Inputs of imports: directories, files that can be read twice, and streams.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::member_format;
use crate::archive::sniff_gzip;
use crate::{Error, Result};

/// Bytes of the read buffer of imports. Half and double change the time of a CSV import by less
/// than the noise of the measurement, 10 %.
const BUFFER: usize = 256 << 10;

/// Bytes by which a format is recognized: a tar header, or the first lines of a text.
pub(super) const PREFIX: usize = 4 << 10;

/// Something to import.
pub enum Input {
    /// A directory with the files of a run.
    Directory(PathBuf),
    /// The files of a run, or one that stands for it.
    Files(Vec<PathBuf>),
    /// A regular file: can be read twice.
    File(File),
    /// A pipe: can be read once.
    Stream(Box<dyn Read>),
}

impl Input {
    /// Opens a directory, a file or a named pipe. A file of a format that has a file a rank stands
    /// for its run.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn open(path: &Path) -> Result<Self> {
        let metadata = std::fs::metadata(path)?;
        if metadata.is_dir() {
            return Ok(Input::Directory(path.into()));
        }
        let mut file = File::open(path)?;
        if metadata.is_file() && is_of_set(path, &file) {
            return Ok(Input::Files(vec![path.into()]));
        }
        if metadata.is_file() {
            file.rewind()?;
        }
        Ok(if metadata.is_file() { Input::File(file) } else { Input::Stream(Box::new(file)) })
    }
}

/// True for a file that is one of several of a run. What cannot be read is for the importer to say.
fn is_of_set(path: &Path, file: &File) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    Peeked::rewound(file).is_ok_and(|peeked| member_format(name, peeked.prefix()).is_some())
}

/// A stream with its first bytes, inflated if it is gzip'ed.
pub(super) struct Peeked {
    prefix: Vec<u8>,
    is_gzip: bool,
    rest: Box<dyn BufRead>,
}

impl Peeked {
    pub(super) fn new(input: impl Read + 'static) -> Result<Self> {
        let mut raw = BufReader::with_capacity(BUFFER, input);
        let is_gzip = sniff_gzip(&mut raw)?;
        let mut rest: Box<dyn BufRead> = if is_gzip {
            Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(raw)))
        } else {
            Box::new(raw)
        };
        let mut prefix = Vec::with_capacity(PREFIX);
        (&mut rest).take(PREFIX as u64).read_to_end(&mut prefix)?;
        Ok(Self { prefix, is_gzip, rest })
    }

    /// A stream whose first bytes are not read yet, for tests that choose the buffer.
    #[cfg(test)]
    pub(super) fn buffered(rest: impl BufRead + 'static) -> Self {
        Self { prefix: Vec::new(), is_gzip: false, rest: Box::new(rest) }
    }

    /// A file from its beginning.
    pub(super) fn rewound(file: &File) -> Result<Self> {
        let mut file = file.try_clone()?;
        file.seek(SeekFrom::Start(0))?;
        Self::new(file)
    }

    /// The first bytes, at most 4 KiB, fewer only if the stream has no more.
    pub(super) fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// It comes from a gzip'ed stream.
    pub(super) fn is_gzip(&self) -> bool {
        self.is_gzip
    }

    /// The whole stream.
    pub(super) fn into_reader(self) -> Box<dyn BufRead> {
        Box::new(Cursor::new(self.prefix).chain(self.rest))
    }
}

/// The bytes of `reader` up to its end, at most `largest`. The buffer is overwritten, and grows
/// with the bytes that are present, for any claimed size.
pub(super) fn read_bounded<'a>(
    reader: &mut dyn Read,
    largest: usize,
    buffer: &'a mut Vec<u8>,
) -> Result<&'a [u8]> {
    let mut length = 0;
    loop {
        if length == buffer.len() {
            if length > largest {
                return Err(Error::data(format!(
                    "has more than {largest} bytes, the most of a file of this kind"
                )));
            }
            buffer.resize((2 * length).clamp(PREFIX, largest + 1), 0);
        }
        match reader.read(&mut buffer[length..])? {
            0 => return Ok(&buffer[..length]),
            read => length += read,
        }
    }
}
