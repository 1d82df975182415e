//! Input that can be read more than once: files by going back, pipes by keeping a copy.
//!
//! Segmentation reads a trace twice, first to find the phases and then to sum up what each of them
//! sent. A pipe gives its bytes once; [`Spool`] writes them to an anonymous temporary file while
//! they are read the first time, compressed if they came compressed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};

use phaseflow_collect::Result;

/// Bytes read at once.
const BUFFER: usize = 256 << 10;

/// Input that starts over at each call.
pub trait Rewindable {
    /// All bytes from the beginning.
    ///
    /// # Errors
    /// What the operating system says.
    fn rewind(&mut self) -> Result<Box<dyn BufRead + '_>>;
}

/// A file, or bytes in memory.
#[derive(Debug)]
pub struct Rewind<S>(pub S);

impl<S: Read + Seek> Rewindable for Rewind<S> {
    fn rewind(&mut self) -> Result<Box<dyn BufRead + '_>> {
        self.0.rewind()?;
        Ok(Box::new(BufReader::with_capacity(BUFFER, &mut self.0)))
    }
}

/// A pipe. What is read the first time can be read again, so the first time has to reach as far as
/// any later one.
#[derive(Debug)]
pub struct Spool<R> {
    input: Option<R>,
    copy: File,
}

impl<R: Read> Spool<R> {
    /// Prepares the copy; it has no name and goes away with the process.
    ///
    /// # Errors
    /// A folder for temporary files that cannot be written.
    pub fn new(input: R) -> Result<Self> {
        Ok(Self { input: Some(input), copy: tempfile::tempfile()? })
    }
}

impl<R: Read> Rewindable for Spool<R> {
    fn rewind(&mut self) -> Result<Box<dyn BufRead + '_>> {
        match self.input.take() {
            Some(input) => {
                Ok(Box::new(BufReader::with_capacity(BUFFER, Tee { input, copy: &mut self.copy })))
            }
            None => {
                self.copy.rewind()?;
                Ok(Box::new(BufReader::with_capacity(BUFFER, &mut self.copy)))
            }
        }
    }
}

/// Reads `input` and writes the same bytes to `copy`.
struct Tee<'a, R> {
    input: R,
    copy: &'a mut File,
}

impl<R: Read> Read for Tee<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(bytes)?;
        self.copy.write_all(&bytes[..read])?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_give_the_same_bytes_again_and_again() {
        let bytes: Vec<u8> = (0..1_000_000u32).map(|i| (i % 251) as u8).collect();
        let mut inputs: [Box<dyn Rewindable>; 2] =
            [Box::new(Rewind(io::Cursor::new(&bytes))), Box::new(Spool::new(&bytes[..]).unwrap())];
        for input in &mut inputs {
            for _ in 0..3 {
                let mut read = Vec::new();
                input.rewind().unwrap().read_to_end(&mut read).unwrap();
                assert!(read == bytes);
            }
        }
    }
}
