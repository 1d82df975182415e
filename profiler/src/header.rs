//! The header of a recording: process, host and clock.

use std::io;

use crate::format::{self, at};
use crate::{invalid, u32_at, u64_at};

/// The recorded data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Every message, those inside collectives included.
    Messages,
    /// Calls, and the messages that the program itself sent.
    Calls,
}

/// The unit of ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockKind {
    /// Time stamp counter.
    Tsc,
    /// `CLOCK_MONOTONIC`, nanoseconds.
    Monotonic,
}

/// Families of MPI implementations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MpiLibrary {
    /// Open MPI.
    OpenMpi,
    /// MPICH and those made from it.
    Mpich,
    /// Any that offers the ABI of MPI 5.
    StandardAbi,
}

/// The end of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The process is still running, or died before `MPI_Finalize`.
    EndedEarly,
    /// It reached `MPI_Finalize`.
    Finalized,
    /// The disk was full; the program continued without recording.
    OutOfSpace,
}

/// Three clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The recording's clock.
    pub ticks: u64,
    /// `CLOCK_MONOTONIC`.
    pub monotonic_ns: u64,
    /// `CLOCK_REALTIME`; 0 where not taken.
    pub realtime_ns: u64,
}

/// One measurement of this host's clock against that of rank 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sync {
    /// Own ticks.
    pub own: u64,
    /// Rank 0's ticks at the same moment.
    pub reference: u64,
    /// Bound of the error, in own ticks.
    pub error: u64,
}

/// A recording's header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Rank in the process's `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Size of that.
    pub size: u32,
    /// Process id.
    pub pid: u32,
    /// The recorded data.
    pub level: Level,
    /// The unit of ticks.
    pub clock: ClockKind,
    /// The MPI implementation.
    pub library: MpiLibrary,
    /// Provided thread level: 0 single, 1 funneled, 2 serialized, 3 multiple.
    pub threads: u8,
    /// The end of the recording.
    pub state: State,
    /// The same for all processes of one `MPI_COMM_WORLD`.
    pub job: u64,
    /// The same for all processes that share a clock.
    pub host: u64,
    /// One-sided operations also appear as messages, on the communicators of their windows.
    pub one_sided_as_messages: bool,
    /// Clocks at `MPI_Init`.
    pub init: Pair,
    /// Clocks at `MPI_Finalize`.
    pub finalize: Option<Pair>,
    /// Measurements at `MPI_Init` and `MPI_Finalize`, if this process was the one of its host to
    /// measure.
    pub syncs: [Option<Sync>; 2],
    /// Ticks that the slots' times are relative to.
    pub base: u64,
    /// Host name.
    pub host_name: String,
    /// The name of the MPI library.
    pub library_name: String,
    /// The launcher's name of the job.
    pub job_name: String,
    /// Name of the program.
    pub program: String,
}

impl Header {
    /// Reads a header.
    ///
    /// # Errors
    /// Input that is no recording, or one of another version.
    pub fn read(bytes: &[u8]) -> io::Result<Self> {
        if bytes.len() < format::HEADER {
            return Err(invalid(format!(
                "ends after {} bytes, expected a header of {}",
                bytes.len(),
                format::HEADER
            )));
        }
        if !bytes.starts_with(&format::MAGIC) {
            return Err(invalid("is no recording: it does not start with PFRECORD"));
        }
        let word = |offset| u32_at(bytes, offset);
        let expect = |what: &str, found: u32, expected: u32| {
            let problem = || invalid(format!("{what} {found}, expected {expected}"));
            if found == expected { Ok(()) } else { Err(problem()) }
        };
        expect("format version", word(at::VERSION), format::VERSION)?;
        expect("slot size", word(at::SLOT), format::SLOT as u32)?;
        expect("chunk size", word(at::CHUNK), format::CHUNK as u32)?;
        let byte = |offset: usize| bytes.get(offset).copied().unwrap_or(0);
        Ok(Self {
            rank: word(at::RANK),
            size: word(at::SIZE),
            pid: word(at::PID),
            level: if byte(at::LEVEL) == 1 { Level::Messages } else { Level::Calls },
            clock: if byte(at::CLOCK) == 1 { ClockKind::Tsc } else { ClockKind::Monotonic },
            library: match byte(at::LIBRARY) {
                1 => MpiLibrary::OpenMpi,
                3 => MpiLibrary::StandardAbi,
                _ => MpiLibrary::Mpich,
            },
            threads: byte(at::THREADS),
            state: match word(at::STATE) {
                1 => State::Finalized,
                2 => State::OutOfSpace,
                _ => State::EndedEarly,
            },
            job: u64_at(bytes, at::JOB),
            host: u64_at(bytes, at::HOST),
            one_sided_as_messages: u64_at(bytes, at::FLAGS) & 1 != 0,
            init: pair(bytes, at::PAIRS),
            finalize: Some(pair(bytes, at::PAIRS + 24)).filter(|pair| pair.ticks != 0),
            syncs: [at::SYNCS, at::SYNCS + 24].map(|offset| sync(bytes, offset)),
            base: u64_at(bytes, at::BASE),
            host_name: text(bytes, at::HOST_NAME, 64),
            library_name: text(bytes, at::LIBRARY_NAME, 128),
            job_name: text(bytes, at::JOB_NAME, 128),
            program: text(bytes, at::PROGRAM, 128),
        })
    }
}

fn pair(bytes: &[u8], offset: usize) -> Pair {
    Pair {
        ticks: u64_at(bytes, offset),
        monotonic_ns: u64_at(bytes, offset + 8),
        realtime_ns: u64_at(bytes, offset + 16),
    }
}

fn sync(bytes: &[u8], offset: usize) -> Option<Sync> {
    let own = u64_at(bytes, offset);
    let sync = Sync { own, reference: u64_at(bytes, offset + 8), error: u64_at(bytes, offset + 16) };
    (own != 0).then_some(sync)
}

fn text(bytes: &[u8], offset: usize, room: usize) -> String {
    let field = bytes.get(offset..offset + room).unwrap_or_default();
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(room);
    String::from_utf8_lossy(field.get(..end).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(bytes: &[u8]) -> String {
        Header::read(bytes).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_recording_is_refused() {
        assert_eq!(problem(b"PFRECORD"), "ends after 8 bytes, expected a header of 4096");
        assert_eq!(problem(&[0; 4096]), "is no recording: it does not start with PFRECORD");
        let mut bytes = format::MAGIC.to_vec();
        bytes.resize(format::HEADER, 0);
        bytes[at::VERSION] = 9;
        assert_eq!(problem(&bytes), "format version 9, expected 1");
        bytes[at::VERSION] = 1;
        assert_eq!(problem(&bytes), "slot size 0, expected 32");
    }
}
