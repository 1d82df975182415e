//! A run directory: the recordings of all processes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::{Alignment, Header, Recording, Source, format, invalid};

/// Most files that are open at once: half of Linux's default limit of 1024 per process.
const MOST_OPEN: usize = 512;

/// The file of one process, opened anew for every read in runs with too many files.
#[derive(Debug)]
pub enum RecordingFile {
    /// Kept open.
    Open(File),
    /// Opened when read.
    Closed(PathBuf),
}

impl Source for RecordingFile {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            RecordingFile::Open(file) => file.read(offset, buffer),
            RecordingFile::Closed(path) => File::open(path)?.read(offset, buffer),
        }
    }
}

/// The recordings in a run directory, by job and rank. Jobs are in the order of their start; a
/// program that spawns others has several, and its ranks are numbered through.
#[derive(Debug)]
pub struct Run {
    processes: Vec<(PathBuf, Recording<RecordingFile>, u32)>,
    ranks: u32,
    skipped: Vec<String>,
}

impl Run {
    /// Opens all recordings of a directory.
    ///
    /// # Errors
    /// A directory without recordings, two recordings of one rank, or an error of the operating
    /// system, with the file's name.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(directory)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == format::EXTENSION) {
                paths.push(path);
            }
        }
        paths.sort();
        let mut opened = Vec::new();
        let mut skipped = Vec::new();
        let keep_open = paths.len() <= MOST_OPEN;
        for path in paths {
            let file = if keep_open {
                File::open(&path).map(RecordingFile::Open)
            } else {
                Ok(RecordingFile::Closed(path.clone()))
            };
            match file.and_then(Recording::new) {
                Ok(recording) => opened.push((path, recording)),
                // A process that died in MPI_Init may leave a file without a header.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    skipped.push(format!("{}: {error}", path.display()));
                }
                Err(error) => {
                    return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display())));
                }
            }
        }
        if opened.is_empty() {
            let why = skipped.first().map(|problem| format!("; {problem}")).unwrap_or_default();
            return Err(invalid(format!("no recording (*.{}) in this directory{why}", format::EXTENSION)));
        }
        Self::number(opened, skipped)
    }

    fn number(opened: Vec<(PathBuf, Recording<RecordingFile>)>, skipped: Vec<String>) -> io::Result<Self> {
        let mut jobs: BTreeMap<u64, (u64, u32)> = BTreeMap::new();
        for (_, recording) in &opened {
            let header = recording.header();
            let job = jobs.entry(header.job).or_insert((u64::MAX, 0));
            job.0 = job.0.min(header.init.realtime_ns);
            job.1 = job.1.max(header.size).max(header.rank.saturating_add(1));
        }
        let mut order: Vec<_> = jobs.into_iter().map(|(job, (start, size))| (start, job, size)).collect();
        order.sort_unstable();
        let mut first = BTreeMap::new();
        let mut ranks = 0_u32;
        for (_, job, size) in order {
            first.insert(job, ranks);
            ranks = ranks.checked_add(size).ok_or_else(|| invalid("more than 2^32-1 ranks"))?;
        }
        let numbered = opened.into_iter().map(|(path, recording)| {
            let header = recording.header();
            let rank = first.get(&header.job).copied().unwrap_or(0).saturating_add(header.rank);
            (path, recording, rank)
        });
        let mut processes: Vec<_> = numbered.collect();
        processes.sort_by_key(|process| process.2);
        for pair in processes.windows(2) {
            if let [a, b] = pair
                && a.2 == b.2
            {
                let (a, b) = (a.0.display(), b.0.display());
                return Err(invalid(format!("{a} and {b} are both of rank {}", pair[0].2)));
            }
        }
        Ok(Self { processes, ranks, skipped })
    }

    /// All processes with their recordings and ranks in the run, in the order of ranks.
    pub fn processes(&self) -> impl ExactSizeIterator<Item = (u32, &Recording<RecordingFile>)> {
        self.processes.iter().map(|(_, recording, rank)| (*rank, recording))
    }

    /// First rank of a process's job: add it to the ranks in its records.
    pub fn first_rank(rank: u32, header: &Header) -> u32 {
        rank.saturating_sub(header.rank)
    }

    /// Whether a directory holds recordings, to tell it from directories of other tools.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn is_in(directory: &Path) -> io::Result<bool> {
        for entry in std::fs::read_dir(directory)? {
            if entry?.path().extension().is_some_and(|extension| extension == format::EXTENSION) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The file of a process, by its place among [`processes`](Self::processes).
    pub fn path(&self, place: usize) -> Option<&Path> {
        self.processes.get(place).map(|process| process.0.as_path())
    }

    /// Number of ranks, those whose recordings are missing included.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Files with the name of a recording but invalid content, with the error of each.
    pub fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// The clocks of all processes on one time line.
    pub fn alignment(&self) -> Alignment {
        Alignment::new(
            self.processes.iter().map(|(_, recording, _)| (recording.header(), recording.last_pair())),
        )
    }
}
