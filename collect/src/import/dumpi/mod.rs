//! DUMPI traces (sst-dumpi): a binary file a rank, and a `.meta` text for the run.
//!
//! Big-endian. A rank's file is the magic, the stream of its [records](record), sections with
//! versions, counts of calls and sizes of types, and an [index] of them. Each file is read three
//! times at most, front to back: once for the [communicators](replay) where a program makes any,
//! once for sends and calls, once for receives.
//!
//! Memory: three buffers a rank, at most [`BUFFERS`] for all, at least 4 KiB each; the members of
//! the communicators; and that of [`ranks`]. It is independent of the number of records.

mod alignment;
mod calls;
mod clock;
mod communicators;
mod functions;
mod index;
mod making;
mod meta;
mod rank;
mod record;
mod replay;
mod stream;
#[cfg(test)]
mod tests;
mod types;

use std::sync::Arc;

use self::communicators::Communicators;
use self::functions::number as n;
use self::index::Index;
use self::making::{MAKERS, Op};
use self::meta::Meta;
pub(super) use self::meta::is_meta;
use self::rank::Process;
use self::stream::Records;
use super::set::{FileSet, Member, complete, number_in};
use super::{Imported, Reading, ranks};
use crate::trace::{Header, Kind, RunFacts, Sink};
use crate::{At, Error, Result};

/// The first bytes of a rank's file, and the last ones of its index.
const MAGIC: [u8; 8] = *b"\xff\xaa\xddDUMPI";

/// Bytes of the buffers of all ranks together: 64 KiB for each of three readings of 512 ranks.
const BUFFERS: usize = 96 << 20;

/// True for the beginning of a rank's file.
pub(super) fn is_rank_file(prefix: &[u8]) -> bool {
    prefix.starts_with(&MAGIC)
}

/// Reads a run.
///
/// # Errors
/// A rank without its file, files of two runs, damage, errors of the operating system or of `sink`.
pub(super) fn read(set: FileSet, reading: Reading, sink: &mut dyn Sink) -> Result<Imported> {
    let set = set.inflated(reading.scratch)?;
    let run = Run::find(&set)?;
    let mut processes = run.open()?;
    let communicators = Arc::new(communicators(&processes)?);
    for process in &mut processes {
        process.communicators = Arc::clone(&communicators);
    }
    let (clock_error_ns, clocks) = alignment::align(&mut processes)?;
    let ranks = processes.len() as u32;
    sink.begin(&Header::new(Kind::Timed, run.source()))?;
    let remarks = ranks::merge(&processes, reading.expand, sink)?;
    let facts = RunFacts {
        ranks: Some(ranks),
        // A send that a receive of any source without a status took has none that says so.
        unmatched: Some(remarks.unreceived.saturating_sub(remarks.anonymous) + remarks.unsent),
        unmatched_receives: remarks.unmatched.clone(),
        clock_error_ns: clock_error_ns.map(|error| error.saturating_add(remarks.back_ns)),
        ..RunFacts::default()
    };
    let summary = sink.finish(&facts)?;
    let mut said = remarks.sentences();
    said.extend(clocks);
    let ignored: u64 =
        processes.iter().flat_map(|process| &process.index.ignored).copied().map(u64::from).sum();
    if ignored > 0 {
        said.push(format!("{ignored} calls were not recorded, by the configuration of the recorder"));
    }
    if communicators.unknown > 0 {
        said.push(format!(
            "{} calls made communicators of which the members are unknown; messages in them are left out",
            communicators.unknown
        ));
    }
    Ok(Imported { summary, remarks: said })
}

/// The files of a run, by rank.
struct Run<'a> {
    files: Vec<&'a Member>,
    name: String,
}

impl<'a> Run<'a> {
    /// Finds the run in a set; the one that a named file belongs to, if there are several.
    fn find(set: &'a FileSet) -> Result<Self> {
        let (rank_files, metas): (Vec<&Member>, Vec<&Member>) = set
            .members()
            .iter()
            .partition(|member| member.prefix().is_ok_and(|prefix| is_rank_file(&prefix)));
        let prefix = match set.named() {
            Some(named) if metas.iter().any(|meta| meta.name() == named.name()) => {
                Meta::read(named).at(|| named.name())?.fileprefix.map(|name| format!("{name}-"))
            }
            Some(named) => number_in(named).map(|(_, prefix)| prefix.to_string()),
            None => None,
        };
        let numbered = rank_files.into_iter().filter_map(|member| {
            let (rank, found) = number_in(member)?;
            prefix.as_ref().is_none_or(|prefix| prefix == found).then_some((rank, found, member))
        });
        let numbered: Vec<(u32, &str, &Member)> = numbered.collect();
        let Some((_, prefix, first)) = numbered.first() else {
            return Err(Error::data("holds no file of a rank, expected NAME-0000.bin and so on"));
        };
        if let Some((.., other)) = numbered.iter().find(|(_, found, _)| found != prefix) {
            let problem = format!("holds files of two runs, {} and {}", first.name(), other.name());
            return Err(Error::data(problem).advise("name the .meta file or a .bin file of one"));
        }
        let name = prefix.trim_end_matches('-').to_string();
        let mut count = None;
        for meta in metas {
            let found = Meta::read(meta).at(|| meta.name())?;
            if found.fileprefix.as_ref().is_none_or(|prefix| *prefix == name) {
                count = found.numprocs.map(|ranks| (ranks, meta.name()));
            }
        }
        let files = numbered.into_iter().map(|(rank, _, file)| (rank, file.name().to_string(), file));
        Ok(Self { files: complete(files, count)?, name })
    }

    fn source(&self) -> String {
        format!("dumpi {}", self.name)
    }

    /// Reads the indices.
    fn open(&self) -> Result<Vec<Process>> {
        let ranks = self.files.len() as u32;
        let buffer = (BUFFERS / 3 / self.files.len().max(1)).clamp(4 << 10, 256 << 10);
        let none = Arc::new(Communicators::none(ranks));
        let open = |(rank, member): (usize, &&Member)| {
            let index = Index::read(member).at(|| format!("rank {rank}")).at(|| member.name())?;
            let communicators = Arc::clone(&none);
            Ok(Process {
                rank: rank as u32,
                member: (*member).clone(),
                index,
                communicators,
                offset_ns: 0,
                buffer,
            })
        };
        self.files.iter().enumerate().map(open).collect()
    }
}

/// The communicators of a run; the files are read for them only if a rank makes any.
fn communicators(processes: &[Process]) -> Result<Communicators> {
    let makes = |process: &Process| {
        MAKERS.iter().any(|(function, _)| process.index.calls(*function).is_none_or(|calls| calls > 0))
    };
    let ranks = processes.len() as u32;
    if !processes.iter().any(makes) {
        return Ok(Communicators::none(ranks));
    }
    let calls = processes.iter().map(|process| {
        let mut records = Records::new(&process.member, process.rank, &process.index, process.buffer);
        let mut calls = Vec::new();
        while let Some(record) = records.next().at(|| process.member.name())? {
            calls.extend(Op::of(&record, ranks));
            if record.function() == n::FINALIZE {
                break;
            }
        }
        Ok(calls)
    });
    Ok(replay::replay(calls.collect::<Result<_>>()?))
}
