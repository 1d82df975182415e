//! Outputs of commands: complete files or none. Devices and pipes are written directly.

use std::fs::{File, TryLockError};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use phaseflow_collect::{At, Error, Result};
use tempfile::TempPath;

use crate::drafts;

/// Bytes written at once.
const BUFFER: usize = 256 << 10;

/// Shortest time between two writes to the disk: a power failure loses at most this time of work.
const SYNC: Duration = Duration::from_secs(5);

/// A file that appears under its name only when it is complete, or standard output.
#[derive(Debug)]
pub struct Output {
    sink: Sink,
    /// True if the name asks for gzip: `.gz` or `.tgz`.
    gzip: bool,
}

#[derive(Debug)]
enum Sink {
    Standard(Held<io::Stdout>),
    /// [`is_stream`], and its name.
    Stream(Held<File>, PathBuf),
    File(Draft),
}

/// An output that cannot be withdrawn. It gets no bytes of a command that fails within the first
/// [`BUFFER`] bytes, or before the output is [saved](Output::save) if it is [held](Output::hold).
#[derive(Debug)]
struct Held<W> {
    out: W,
    bytes: Vec<u8>,
    is_held: bool,
}

impl<W: Write> Held<W> {
    fn new(out: W) -> Self {
        Self { out, bytes: Vec::new(), is_held: false }
    }

    /// All of it goes out.
    fn release(&mut self) -> io::Result<()> {
        self.is_held = false;
        self.out.write_all(&self.bytes)?;
        self.bytes.clear();
        self.out.flush()
    }
}

impl<W: Write> Write for Held<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_held && self.bytes.len() + bytes.len() > BUFFER {
            self.out.write_all(&self.bytes)?;
            self.bytes.clear();
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// No effect: bytes are written when the buffer is full, or at the end.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that is being written.
#[derive(Debug)]
struct Draft {
    out: BufWriter<File>,
    /// Where it is.
    at: TempPath,
    /// Its final path.
    to: PathBuf,
    /// Time of the last write to the disk.
    synced: Instant,
}

impl Draft {
    /// Gives a complete file its name.
    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()?;
        std::fs::rename(&self.at, &self.to)?;
        // There is nothing to clean up.
        self.at.disable_cleanup(true);
        drafts::forget(&self.at);
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        drafts::forget(&self.at);
    }
}

/// True for a device or a named pipe.
pub fn is_stream(path: &Path) -> bool {
    path.exists() && !path.is_file()
}

/// The name of `path` until it is complete, if its parts are of use: `results.tar.gz.partial`.
pub fn partial_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

/// What an earlier command left of the output `path`: the file of its [partial name](partial_name),
/// or else the finished one.
pub fn left(path: &Path) -> Option<PathBuf> {
    [partial_name(path), path.into()].into_iter().find(|name| name.exists())
}

/// Refuses an output that another command writes.
///
/// # Errors
/// The file of the [partial name](partial_name) is being written.
pub fn nobody_writes(path: &Path) -> Result<()> {
    let partial = partial_name(path);
    let locked =
        File::open(&partial).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)));
    if locked {
        return Err(Error::data("is being written by another command").at(partial.display()));
    }
    Ok(())
}

impl Output {
    /// Opens `path`, or standard output for `-` and `None`. A file is written beside its final
    /// place under another name, and removed unless it is [finished](Self::finish).
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
            return Ok(Self { sink: Sink::Standard(Held::new(io::stdout())), gzip: false });
        };
        if path.is_dir() {
            return Err(Error::data("is a directory, expected a file to write").at(path.display()));
        }
        let gzip = path.extension().is_some_and(|extension| extension == "gz" || extension == "tgz");
        // A rename onto /dev/null would replace it for all programs.
        if is_stream(path) {
            let stream = File::options().write(true).open(path).at(|| path.display())?;
            return Ok(Self { sink: Sink::Stream(Held::new(stream), path.into()), gzip });
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".phaseflow-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Permissions of a created file, by the user's umask.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder).at(|| path.display())?;
        let (file, at) = file.into_parts();
        drafts::add(&at);
        let out = BufWriter::with_capacity(BUFFER, file);
        Ok(Self { sink: Sink::File(Draft { out, at, to: path.into(), synced: Instant::now() }), gzip })
    }

    /// Gives a file its [partial name](partial_name) until it is finished; an existing file of that
    /// name is replaced.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn show(&mut self) -> Result<()> {
        let Sink::File(draft) = &mut self.sink else { return Ok(()) };
        let partial = partial_name(&draft.to);
        draft.out.flush().at(|| partial.display())?;
        // Locks the file against other commands; file systems without locks are accepted.
        let _ = draft.out.get_ref().try_lock();
        std::fs::rename(&draft.at, &partial).at(|| partial.display())?;
        drafts::forget(&draft.at);
        draft.at = TempPath::try_from_path(&partial).at(|| partial.display())?;
        // By the path that the handle has, which is absolute.
        drafts::add(&draft.at);
        Ok(())
    }

    /// Marks the output so far as useful: a file stays under its present name for any end of the
    /// command. It is flushed to the operating system, and to the disk unless that was done
    /// recently.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn save(&mut self) -> Result<()> {
        let released = match &mut self.sink {
            Sink::Standard(held) => held.release(),
            Sink::Stream(held, _) => held.release(),
            Sink::File(draft) => draft.out.flush(),
        };
        released.map_err(|error| self.named(error))?;
        let Sink::File(draft) = &mut self.sink else { return Ok(()) };
        draft.at.disable_cleanup(true);
        drafts::forget(&draft.at);
        if draft.synced.elapsed() >= SYNC {
            draft.out.get_ref().sync_data().at(|| draft.to.display())?;
            draft.synced = Instant::now();
        }
        Ok(())
    }

    /// Standard output and devices, which cannot be withdrawn, get no bytes before the first
    /// [save](Self::save).
    pub fn hold(&mut self) {
        match &mut self.sink {
            Sink::Standard(held) => held.is_held = true,
            Sink::Stream(held, _) => held.is_held = true,
            Sink::File(_) => {}
        }
    }

    /// An error of writing, with the name of the output alone.
    fn named(&self, error: io::Error) -> io::Error {
        if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::Interrupted) {
            return error;
        }
        let error = Error::from(error);
        let error = match &self.sink {
            Sink::Standard(_) => error.at("standard output"),
            Sink::Stream(_, path) => error.at(path.display()),
            Sink::File(draft) => error.at(draft.to.display()),
        };
        error.placed().into()
    }

    /// True if the name asks for gzip.
    pub fn gzip(&self) -> bool {
        self.gzip
    }

    /// Completes the output: all bytes are written, and a file gets its name.
    ///
    /// # Errors
    /// An error of the operating system; then there is no file of its name.
    pub fn finish(mut self) -> Result<()> {
        let written = match &mut self.sink {
            Sink::Standard(held) => held.release(),
            Sink::Stream(held, _) => held.release(),
            Sink::File(draft) => draft.finish(),
        };
        Ok(written.map_err(|error| self.named(error))?)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.sink {
            Sink::Standard(held) => held.write(bytes),
            Sink::Stream(held, _) => held.write(bytes),
            Sink::File(draft) => draft.out.write(bytes),
        };
        written.map_err(|error| self.named(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = match &mut self.sink {
            Sink::Standard(held) => held.flush(),
            Sink::Stream(held, _) => held.flush(),
            Sink::File(draft) => draft.out.flush(),
        };
        flushed.map_err(|error| self.named(error))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::FileTypeExt;
    use std::process::Command;

    /// Root may write beside /dev/null, and must not get a file in its place. (With a pipe, in case
    /// it does.)
    #[test]
    fn what_is_no_file_stays_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read(pipe).unwrap()
        });
        let mut output = Output::create(Some(&pipe), true).unwrap();
        output.write_all(b"all of it").unwrap();
        output.show().unwrap();
        output.save().unwrap();
        output.finish().unwrap();
        assert_eq!(reader.join().unwrap(), b"all of it");
        assert!(pipe.metadata().unwrap().file_type().is_fifo());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
