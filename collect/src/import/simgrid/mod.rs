//! SimGrid's time-independent traces: what each rank does, line by line, without times.
//!
//! `smpirun -trace-ti` writes a file that lists a file for each rank; a file with the lines of all
//! ranks is read too. A line is `RANK ACTION ARGUMENTS`, sizes are counts of datatypes by id. The
//! actions are those of SimGrid's replay (`smpi_replay.cpp`, 3.32); unknown ones are passed over.
//!
//! Known gaps of such traces: they do not say on which communicator an action is, exchanges
//! (`sendRecv`) have no tag, and starts of persistent requests (`MPI_Startall`) are not in them.
//!
//! Memory: 16 KiB a rank, and what waits. Of one file for all ranks, lines that are read before
//! their rank needs them are kept: the whole file where it has one rank after the other.

mod action;
mod lines;
mod program;

use std::io::Read;

pub(super) use self::action::is_trace;
use self::action::rank_of;
use self::lines::Lines;
use self::program::Programs;
use super::ordered::schedule;
use super::rank_list::rank_list;
use super::set::{FileSet, Member, complete, number_in};
use super::{Imported, Reading};
use crate::trace::Sink;
use crate::{At, Error, Result};

/// Largest list of files, bytes.
const LARGEST_LIST: u64 = 1 << 28;

/// True if a file begins as a trace or a list of a run's traces does.
pub(super) fn is_file(prefix: &[u8]) -> bool {
    is_list(prefix) || is_trace(prefix)
}

/// A list of `PATH_rank-N.txt`, one a line.
fn is_list(prefix: &[u8]) -> bool {
    let first = prefix.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    let Some(stem) = first.strip_suffix(b".txt") else { return false };
    let digits = stem.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && stem[..stem.len() - digits].ends_with(b"_rank-")
}

/// Reads a run into `sink`.
///
/// # Errors
/// A rank without a file, a line that is no action, an error of the operating system or of `sink`.
pub(super) fn read(set: &FileSet, reading: Reading, sink: &mut dyn Sink) -> Result<Imported> {
    let mut lists = Vec::new();
    let mut traces = Vec::new();
    for member in set.members() {
        let prefix = member.prefix().at(|| member.name())?;
        if is_list(&prefix) { lists.push(member) } else { traces.push(member) }
    }
    let named = set.named();
    let list = named.filter(|named| lists.iter().any(|list| list.name() == named.name()));
    let list = list.or(if lists.len() == 1 { lists.first().copied() } else { None });
    match (list, named) {
        // One trace is named: of all ranks, or one of several.
        (None, Some(named)) => traces = siblings(named, &traces),
        (Some(list), _) => traces = listed(list, &traces)?,
        (None, _) => {}
    }
    let lines = match &traces[..] {
        [] => return Err(Error::data("holds no trace of a rank")),
        [one] => Lines::of_all(one)?,
        _ => Lines::of_each(&by_rank(&traces)?),
    };
    let mut programs = Programs::new(lines);
    let mut imported = schedule(&mut programs, "simgrid", reading.expand, sink)?;
    if !programs.unknown.is_empty() {
        let names = programs.unknown.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        imported.remarks.push(format!("actions that are not known are passed over: {names}"));
    }
    programs.cut.sort_unstable();
    programs.cut.dedup();
    if let Some(ranks) = rank_list(programs.cut.iter().copied()) {
        imported.remarks.push(format!("the traces of {ranks} have no finalize: they may be cut"));
    }
    Ok(imported)
}

/// The traces of the run of one that is named: those whose names differ in the number at the end.
fn siblings<'a>(named: &'a Member, traces: &[&'a Member]) -> Vec<&'a Member> {
    let run = |member: &'a Member| Some((member.folder(), number_in(member)?.1));
    match run(named) {
        None => vec![named],
        of_named => traces.iter().copied().filter(|trace| run(trace) == of_named).collect(),
    }
}

/// The traces that a list names.
fn listed<'a>(list: &Member, traces: &[&'a Member]) -> Result<Vec<&'a Member>> {
    let mut text = String::new();
    list.reader(4096).take(LARGEST_LIST).read_to_string(&mut text).at(|| list.name())?;
    let names = text.lines().map(str::trim).filter(|name| !name.is_empty());
    let find =
        |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            traces.iter().find(|trace| trace.file_name() == name).copied().ok_or_else(|| {
                Error::data(format!("lists {name}, which is missing or no trace")).at(list.name())
            })
        };
    names.map(find).collect()
}

/// Traces in the order of the ranks in their first lines.
fn by_rank<'a>(traces: &[&'a Member]) -> Result<Vec<&'a Member>> {
    let mut ranked = Vec::with_capacity(traces.len());
    for trace in traces {
        let prefix = trace.prefix().at(|| trace.name())?;
        let text = String::from_utf8_lossy(&prefix);
        let first = text.lines().find_map(|line| rank_of(line).ok().flatten());
        let (rank, _) = first.ok_or_else(|| Error::data("has no line of a rank").at(trace.name()))?;
        ranked.push((rank, trace.name().to_string(), *trace));
    }
    complete(ranked, None)
}
