//! Traces of liballprof, the PMPI tracer of LogGOPSim and ATLAHS: a text a rank, a line a call.
//!
//! Lines that begin with `#` are remarks, two of which are read: the host, and the difference of
//! its clock. The format says neither whose message a receive of any source took, nor which
//! requests a waitany or test completed, nor the members of communicators. What is not known stays
//! so.

mod collective;
mod line;
mod rank;
#[cfg(test)]
mod tests;

use std::io::Read;

use self::rank::Process;
use super::input::PREFIX;
use super::rank_list::rank_list;
use super::set::{FileSet, Member, complete, number_in};
use super::{Imported, Reading, ranks};
use crate::trace::{Header, Kind, RunFacts, Sink};
use crate::{At, Error, Result};

/// Bytes of the buffers of all ranks together: 64 KiB for each of three readings of 512 ranks.
const BUFFERS: usize = 96 << 20;

/// True for the beginning of a rank's file: remarks, and calls with their times.
pub(super) fn is_rank_file(prefix: &[u8]) -> bool {
    let mut lines = prefix.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"#"));
    first.is_some_and(|line| line.starts_with(b"MPI_Init:-:") || line.starts_with(b"MPI_Init_thread:-:"))
}

/// Reads a run.
///
/// # Errors
/// A rank without its file, files of two runs, damage, errors of the operating system or of `sink`.
pub(super) fn read(set: &FileSet, reading: Reading, sink: &mut dyn Sink) -> Result<Imported> {
    let mut processes = open(set)?;
    let ranks = processes.len() as u32;
    let hosts: Vec<&str> = processes.iter().map(|process| process.host.as_str()).collect();
    let alignment = ranks::host_numbers(&hosts);
    let offsets = ranks::align(&mut processes, alignment, |process, ns| {
        process.offset_ns = process.offset_ns.saturating_add(ns);
    })?;
    sink.begin(&Header::new(Kind::Timed, "liballprof"))?;
    let remarks = ranks::merge(&processes, reading.expand, sink)?;
    let facts = RunFacts {
        ranks: Some(ranks),
        // A send that a receive of any source took has none that says so.
        unmatched: Some(remarks.unreceived.saturating_sub(remarks.anonymous) + remarks.unsent),
        unmatched_receives: remarks.unmatched.clone(),
        clock_error_ns: offsets.error_ns.map(|error| error.saturating_add(remarks.back_ns)),
        ..RunFacts::default()
    };
    let summary = sink.finish(&facts)?;
    let mut said = remarks.sentences();
    said.extend(offsets.sentence());
    said.extend(cut(&processes)?);
    Ok(Imported { summary, remarks: said })
}

/// The ranks of a set, with what their remarks say.
fn open(set: &FileSet) -> Result<Vec<Process>> {
    let mut numbered = Vec::new();
    for member in set.members() {
        let Some((rank, prefix)) = number_in(member) else {
            let problem = "has no number of a rank in its name, expected one as in pmpi-trace-rank-0.txt";
            return Err(Error::data(problem).at(member.name()));
        };
        numbered.push((rank, prefix, member));
    }
    let own = set.named().and_then(number_in).map(|(_, prefix)| prefix);
    numbered.retain(|(_, prefix, _)| own.is_none_or(|own| own == *prefix));
    if let [(_, prefix, first), ..] = &numbered[..]
        && let Some((.., other)) = numbered.iter().find(|(_, found, _)| found != prefix)
    {
        let problem = format!("holds files of two runs, {} and {}", first.name(), other.name());
        return Err(Error::data(problem).advise("name one of the files of one"));
    }
    let files = numbered.into_iter().map(|(rank, _, member)| (rank, member.name().to_string(), member));
    let expected = set.members().first().map(|first| world(first).at(|| first.name())).transpose()?.flatten();
    let said = "by the calls on MPI_COMM_WORLD";
    let files: Vec<&Member> = complete(files, expected.map(|ranks| (ranks, said)))?;
    let ranks = files.len() as u32;
    let buffer = (BUFFERS / 3 / files.len().max(1)).clamp(4 << 10, 64 << 10);
    let process = |(rank, member): (usize, &&Member)| {
        let (host, clock_ns) = remarks(member).at(|| member.name())?;
        let rank = rank as u32;
        Ok(Process { rank, ranks, member: (*member).clone(), host, offset_ns: -clock_ns, buffer })
    };
    files.iter().enumerate().map(process).collect()
}

/// Bytes at the end of a file in which its last call is looked for: `MPI_Finalize` takes less than
/// 100.
const TAIL: usize = 4 << 10;

/// What is said of files that end before `MPI_Finalize`; those that are gzip'ed have a checksum
/// instead.
fn cut(processes: &[Process]) -> Result<Option<String>> {
    let mut ranks = Vec::new();
    for Process { rank, member, .. } in processes.iter().filter(|process| !process.member.is_gzip()) {
        let mut tail = vec![0; TAIL];
        let read = member.read_at(&mut tail, member.length().saturating_sub(TAIL as u64))?;
        let tail = &tail[..read];
        let last = tail.split(|byte| *byte == b'\n').rev().find(|line| line.starts_with(b"MPI_"));
        if !tail.ends_with(b"\n") || !last.is_some_and(|line| line.starts_with(b"MPI_Finalize:")) {
            ranks.push(*rank);
        }
    }
    let ranks = rank_list(ranks.iter().copied());
    Ok(ranks.map(|ranks| format!("the files of {ranks} do not end with MPI_Finalize: they may be cut")))
}

/// Ranks of the first communicator that a call names, which is `MPI_COMM_WORLD` in nearly all
/// programs; `None` if none of the first calls names one.
fn world(member: &Member) -> Result<Option<u32>> {
    let mut text = Vec::new();
    member.reader(PREFIX).take(16 * PREFIX as u64).read_to_end(&mut text)?;
    let calls = text.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"MPI_Comm_size:"));
    for call in calls {
        let line = line::Line::parse(call)?;
        if let Ok(comm) = line.comm(2) {
            return Ok(Some(comm.size));
        }
    }
    Ok(None)
}

/// Host and difference of the clock to rank 0's, from the remarks at the beginning.
fn remarks(member: &Member) -> Result<(String, i64)> {
    let prefix = member.prefix()?;
    let (mut host, mut clock_ns) = (String::new(), 0);
    for line in String::from_utf8_lossy(&prefix).lines() {
        let Some(remark) = line.strip_prefix('#') else { continue };
        match remark.split_once(':').map(|(key, value)| (key.trim(), value.trim())) {
            Some(("host" | "hostname", name)) => host = name.to_string(),
            Some(("Init clockdiff" | "clockdiff", value)) => {
                // Microseconds, as all times here, whatever the remark says.
                let number: Option<f64> = value.split(' ').next().and_then(|value| value.parse().ok());
                clock_ns = number.filter(|us| us.abs() < 1e12).map_or(0, |us| (us * 1e3) as i64);
            }
            _ => {}
        }
    }
    Ok((host, clock_ns))
}
