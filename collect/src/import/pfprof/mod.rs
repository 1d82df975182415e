//! PFProf archives: one JSON object a rank, with sums by peer (PFAnalyzer, Takahashi et al., CANDAR
//! 2018; files by `oxton`).
//!
//! A run is a tar of such files, gzip'ed or not, a directory of them, or the files themselves, in
//! any order. Traffic from i to j is `tx_bytes[j]` of rank i, taken where `tx_messages[j] > 0`;
//! files of later versions have a `duration` in seconds. There are no times, so the trace is an
//! aggregate. Memory is proportional to the pairs with messages, plus one file.

mod rank;
mod scanner;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rank::RankFile;

use super::input::read_bounded;
use super::known_formats;
use super::tar_files::{Endless, tar_files};
use crate::trace::{Block, Header, Kind, MessageSize, Rank, RunFacts, Sink, Summary};
use crate::{At, Cell, Error, Result, TrafficMatrix};

/// Largest rank file, bytes: that of a million ranks, pretty-printed, has about 60 MB.
const LARGEST_FILE: usize = 1 << 27;

/// The data of PFProf on a run.
#[derive(Clone, Debug, Default)]
pub struct Aggregate {
    /// Demand of the whole run.
    pub matrix: TrafficMatrix,
    /// Message sizes by rank, direction and size.
    pub sizes: Vec<MessageSize>,
    /// Number of ranks, duration and unmatched messages.
    pub facts: RunFacts,
}

impl Aggregate {
    /// Passes the run to a sink as an aggregate trace.
    ///
    /// # Errors
    /// An error of the sink.
    pub fn send(&self, sink: &mut dyn Sink) -> Result<Summary> {
        sink.begin(&Header::new(Kind::Aggregate, "pfprof"))?;
        sink.block(Block::Matrix(&self.matrix.cells().collect::<Vec<_>>()))?;
        sink.block(Block::Sizes(&self.sizes))?;
        sink.finish(&self.facts)
    }
}

/// Reads a tar of rank files, or a single rank file; not gzip'ed any more.
pub(super) fn read(prefix: &[u8], input: impl Read) -> Result<Aggregate> {
    let mut run = RankFiles::default();
    if is_rank_file(prefix) {
        run.add("", input)?;
    } else {
        run.add_tar(input)?;
    }
    run.finish()
}

/// Reads all `.json` files of a directory.
pub(super) fn read_directory(path: &Path) -> Result<Aggregate> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| is_rank_name(&name.to_string_lossy())) {
            paths.push(path);
        }
    }
    // The order of a directory is undefined; sorting determines which of two bad files is named.
    paths.sort();
    let mut run = RankFiles::default();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        run.add(&name, File::open(&path).at(|| &name)?)?;
    }
    run.finish()
}

/// True if a text begins like a rank file, with any first key.
pub(super) fn is_rank_file(prefix: &[u8]) -> bool {
    let has = |key: &str| memchr::memmem::find(prefix, key.as_bytes()).is_some();
    prefix.trim_ascii_start().starts_with(b"{")
        && ["\"n_procs\"", "\"n_events\"", "\"tx_bytes\"", "\"rx_bytes\"", "\"processor_name\""]
            .into_iter()
            .any(has)
}

/// Rank files are named `*.json`; hidden ones are an operating system's.
fn is_rank_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.ends_with(".json") && !name.starts_with('.')
}

/// Collects the files of a run.
#[derive(Default)]
pub(super) struct RankFiles {
    /// Rank to the file that holds it.
    names: BTreeMap<u32, String>,
    n_procs: Option<(u32, String)>,
    duration_ns: Option<u64>,
    cells: Vec<Cell>,
    /// Messages sent minus messages received per (source, destination), one entry for each recorded
    /// end.
    balance: Vec<((u32, u32), i64)>,
    has_received: bool,
    sizes: Vec<MessageSize>,
    file: RankFile,
    text: Vec<u8>,
}

impl RankFiles {
    /// Adds one rank's file; `name` goes into errors.
    pub(super) fn add(&mut self, name: &str, mut input: impl Read) -> Result<()> {
        let place = |error: Error| if name.is_empty() { error } else { error.at(name) };
        let text = read_bounded(&mut input, LARGEST_FILE, &mut self.text).map_err(place)?;
        self.file.parse(text).map_err(place)?;
        self.include(name).map_err(place)
    }

    /// Adds what `self.file` holds.
    fn include(&mut self, name: &str) -> Result<()> {
        let file = &self.file;
        match &self.n_procs {
            Some((expected, first)) if *expected != file.n_procs => {
                let found = file.n_procs;
                return Err(Error::data(format!("n_procs is {found}, expected {expected} as in {first}")));
            }
            Some(_) => {}
            None => {
                self.n_procs = Some((file.n_procs, name.into()));
                self.has_received = true;
            }
        }
        if let Some(first) = self.names.insert(file.rank, name.into()) {
            return Err(Error::data(format!("holds rank {} again, which {first} holds already", file.rank)));
        }
        self.duration_ns = self.duration_ns.max(file.duration_ns);
        self.has_received &= file.has_received;
        self.sizes.extend_from_slice(&file.sizes);
        let mut bytes = file.tx_bytes.iter().peekable();
        for (peer, messages) in &file.tx_messages {
            while bytes.next_if(|(at, _)| at < peer).is_some() {}
            let bytes = bytes.next_if(|(at, _)| at == peer).map_or(0, |(_, bytes)| *bytes);
            self.cells.push(Cell { src: Rank(file.rank), dst: Rank(*peer), messages: *messages, bytes });
            self.balance.push(((file.rank, *peer), messages.cast_signed()));
        }
        self.balance.extend(file.rx_messages.iter().map(|(peer, n)| ((*peer, file.rank), -n.cast_signed())));
        Ok(())
    }

    /// Adds the rank files of a tar.
    fn add_tar(&mut self, input: impl Read) -> Result<()> {
        let mut archive = tar::Archive::new(Endless(input));
        tar_files(archive.entries()?, &mut |name, entry| {
            if !is_rank_name(name) {
                return Ok(());
            }
            if entry.size() > LARGEST_FILE as u64 {
                let problem =
                    format!("claims {} bytes, a rank file has at most {LARGEST_FILE}", entry.size());
                return Err(Error::data(problem).at(name));
            }
            self.add(name, entry)
        })?;
        // What follows the end of the tar still has gzip's checksum in it.
        io::copy(&mut archive.into_inner().0.take(LARGEST_FILE as u64), &mut io::sink())?;
        Ok(())
    }

    /// The run, if no rank is missing.
    pub(super) fn finish(mut self) -> Result<Aggregate> {
        let Some((ranks, _)) = self.n_procs else {
            let known = known_formats();
            return Err(Error::data(format!(
                "holds no trace: neither recordings of pf-profile (*.pfr) nor files of a known format (recognised by content: {known})"
            )));
        };
        self.check_complete(ranks)?;
        // Each file's are sorted: stable sorting by rank merges them.
        self.sizes.sort_by_key(|size| size.rank);
        let matrix = TrafficMatrix::from_cells(std::mem::take(&mut self.cells))?;
        let unmatched = self.has_received.then(|| self.unmatched());
        let facts =
            RunFacts { ranks: Some(ranks), duration_ns: self.duration_ns, unmatched, ..RunFacts::default() };
        Ok(Aggregate { matrix, sizes: self.sizes, facts })
    }

    fn check_complete(&self, ranks: u32) -> Result<()> {
        let missing = u64::from(ranks) - self.names.len() as u64;
        if missing == 0 {
            return Ok(());
        }
        // The loop ends after the number of files and the few missing ones that are named.
        let named: Vec<String> = (0..ranks)
            .filter(|rank| !self.names.contains_key(rank))
            .take(3)
            .map(|rank| rank.to_string())
            .collect();
        let (s, are) = if missing == 1 { ("", "is") } else { ("s", "are") };
        let more = missing - named.len() as u64;
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let named = named.join(", ");
        Err(Error::data(format!("rank{s} {named}{more} {are} missing, expected all of 0 to {}", ranks - 1)))
    }

    /// Σ over pairs |messages sent − messages received|.
    fn unmatched(&mut self) -> u64 {
        // Each file has two ascending runs, which this sort uses.
        self.balance.sort_by_key(|end| end.0);
        let pairs = self.balance.chunk_by(|a, b| a.0 == b.0);
        pairs.fold(0, |sum, ends| {
            // Two ends at most, of opposite sign: no overflow.
            sum.saturating_add(ends.iter().map(|end| end.1).sum::<i64>().unsigned_abs())
        })
    }
}
