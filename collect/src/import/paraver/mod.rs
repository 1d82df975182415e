//! Paraver traces (Extrae, Dimemas): a text with all ranks (`.prv`), names of values (`.pcf`) and
//! of objects (`.row`).
//!
//! A line is a record: `1:` a state, `2:` events of a moment, `3:` a message with both of its ends,
//! `c:` and `i:` communicators. Records are in the order of time, nearly: a message may stand where
//! it was received. [`Order`] restores the order of posting within a bounded stretch.
//!
//! Memory: at most `HELD` messages and calls, and the names.

mod header;
mod names;
mod order;
mod record;
#[cfg(test)]
mod tests;

use std::io::{BufRead, Read};

use self::header::Layout;
pub(super) use self::names::Names;
use self::order::Order;
use self::record::Reader;
use super::Imported;
use super::set::{FileSet, Member};
use crate::trace::{Header, Kind, RunFacts, Sink};
use crate::{At, Error, Result};

/// Longest line, bytes: a header with the threads of a million ranks.
const LONGEST_LINE: usize = 16 << 20;

/// Bytes that are read at once.
const BUFFER: usize = 256 << 10;

/// True for the beginning of a `.prv` file.
pub(super) fn is_trace(prefix: &[u8]) -> bool {
    prefix.starts_with(b"#Paraver")
}

/// True for one of the three files.
pub(super) fn is_file(name: &str, prefix: &[u8]) -> bool {
    let has = |word: &[u8]| memchr::memmem::find(prefix, word).is_some();
    is_trace(prefix)
        || (name.ends_with(".pcf") && (has(b"EVENT_TYPE") || has(b"DEFAULT_OPTIONS")))
        || (name.ends_with(".row") && prefix.starts_with(b"LEVEL "))
}

/// Reads a trace and its names.
///
/// # Errors
/// Several traces of which none is named, damage, errors of the operating system or of `sink`.
pub(super) fn read(set: &FileSet, sink: &mut dyn Sink) -> Result<Imported> {
    let traces = || set.members().iter().filter(|member| stem(member, ".prv").is_some());
    let named = set.named().map(|named| {
        let name = named.file_name();
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    });
    let mut chosen = traces().filter(|member| named.is_none() || stem(member, ".prv") == named);
    let Some(trace) = chosen.next() else {
        return Err(Error::data("holds no .prv file, expected one beside the names"));
    };
    if let Some(other) = chosen.next() {
        let problem = format!("holds two traces, {} and {}", trace.name(), other.name());
        return Err(Error::data(problem).advise("name the .prv file of one"));
    }
    let beside =
        |extension: &str| set.members().iter().find(|member| stem(member, extension) == stem(trace, ".prv"));
    let names = match beside(".pcf") {
        Some(member) => Names::read(member).at(|| member.name())?,
        None => Names::default(),
    };
    let tasks = beside(".row").map(|member| names::tasks(member).at(|| member.name())).transpose()?.flatten();
    let imported = read_text(trace.reader(BUFFER), trace.name(), &names, sink)?;
    if let Some(tasks) = tasks.filter(|tasks| *tasks != imported.summary.ranks) {
        let found = imported.summary.ranks;
        let mut said = imported.remarks;
        said.push(format!(
            "the .row file names {tasks} tasks, the trace has {found}: is it of another trace?"
        ));
        return Ok(Imported { remarks: said, ..imported });
    }
    Ok(imported)
}

/// The name of a file without its extension, if it has this one.
fn stem<'a>(member: &'a Member, extension: &str) -> Option<&'a str> {
    member.file_name().strip_suffix(extension)
}

/// Reads a `.prv` text; `name` is its place in errors.
///
/// # Errors
/// Damage, errors of the operating system or of `sink`.
pub(super) fn read_text(
    mut text: impl BufRead,
    name: &str,
    names: &Names,
    sink: &mut dyn Sink,
) -> Result<Imported> {
    let place = |error: Error| if name.is_empty() { error } else { error.at(name) };
    let mut line = Vec::new();
    read_line(&mut text, &mut line, 1).map_err(place)?;
    let layout = Layout::parse(&line).at(|| "line 1").map_err(place)?;
    let ranks = layout.ranks();
    let span_ns = layout.end_ns.map(|end_ns| (0, end_ns));
    sink.begin(&Header::new(Kind::Timed, "paraver"))?;
    let mut order = Order::new(sink);
    let mut reader = Reader::new(layout, names);
    let mut number = 1;
    let mut has_end = line.ends_with(b"\n");
    loop {
        line.clear();
        if !read_line(&mut text, &mut line, number + 1).map_err(place)? {
            break;
        }
        number += 1;
        has_end = line.ends_with(b"\n");
        reader.line(line.trim_ascii_end(), &mut order).at(|| format!("line {number}")).map_err(place)?;
    }
    let out_of_reach = order.finish()?;
    let facts = RunFacts { ranks: Some(ranks), span_ns, ..RunFacts::default() };
    let summary = sink.finish(&facts)?;
    let mut remarks = reader.remarks();
    if out_of_reach > 0 {
        remarks.push(format!("{out_of_reach} calls lasted so long that their ends are left out"));
    }
    if !has_end {
        remarks.push(format!("line {number}, the last one, has no line end: the file may be cut there"));
    }
    Ok(Imported { summary, remarks })
}

/// Reads a line; false at the end.
fn read_line(text: &mut impl BufRead, line: &mut Vec<u8>, number: u64) -> Result<bool> {
    text.take(LONGEST_LINE as u64 + 1).read_until(b'\n', line)?;
    if line.len() > LONGEST_LINE {
        let problem = format!("is longer than {LONGEST_LINE} bytes, the most of a record");
        return Err(Error::data(problem).at(format!("line {number}")));
    }
    Ok(!line.is_empty())
}
