//! Where a command writes to: whole files or nothing.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use phaseflow_collect::{At, Error, Result};
use tempfile::NamedTempFile;

/// Bytes written at once.
const BUFFER: usize = 256 << 10;

/// A file that appears under its name only when it is complete, or standard output.
#[derive(Debug)]
pub struct Output {
    sink: Sink,
    /// True if the name asks for gzip: `.gz` or `.tgz`.
    gzip: bool,
}

#[derive(Debug)]
enum Sink {
    Standard(BufWriter<io::Stdout>),
    File(BufWriter<NamedTempFile>, PathBuf),
}

impl Output {
    /// Opens `path`, or standard output for `-` and `None`. The file is written beside its final place under another name
    /// and removed again if it is never [finished](Self::finish).
    ///
    /// # Errors
    /// A directory that cannot be written; binary data for a terminal.
    pub fn create(path: Option<&Path>, binary: bool) -> Result<Self> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            if binary && io::stdout().is_terminal() {
                return Err(Error::usage(
                    "will not write an archive to a terminal; use -o FILE or pipe it on",
                ));
            }
            return Ok(Self {
                sink: Sink::Standard(BufWriter::with_capacity(BUFFER, io::stdout())),
                gzip: false,
            });
        };
        if path.is_dir() {
            return Err(Error::data("is a directory, expected a file to write").at(path.display()));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".phaseflow-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As any created file: the user's umask takes away what it takes away.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder).at(|| path.display())?;
        let gzip = path.extension().is_some_and(|extension| extension == "gz" || extension == "tgz");
        Ok(Self { sink: Sink::File(BufWriter::with_capacity(BUFFER, file), path.into()), gzip })
    }

    /// True if the name asks for gzip.
    pub fn gzip(&self) -> bool {
        self.gzip
    }

    /// Completes the output: everything is written, a file gets its name.
    ///
    /// # Errors
    /// What the operating system says; then there is no file.
    pub fn finish(self) -> Result<()> {
        match self.sink {
            Sink::Standard(mut out) => Ok(out.flush()?),
            Sink::File(out, path) => {
                let file = out.into_inner().map_err(io::IntoInnerError::into_error).at(|| path.display())?;
                file.persist(&path).map_err(|error| error.error).at(|| path.display())?;
                Ok(())
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Standard(out) => out.write(bytes),
            Sink::File(out, _) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Standard(out) => out.flush(),
            Sink::File(out, _) => out.flush(),
        }
    }
}
