//! OTF2, the Open Trace Format of Score-P, EZTrace and others, read without its C library.
//!
//! A trace is an anchor file `NAME.otf2`, global definitions `NAME.def`, and for each location (a
//! thread of a process) events `NAME/ID.evt` and perhaps definitions `NAME/ID.def`. Read are, of
//! the definitions, the clock, ranks, communicators, windows, the tables from local to global ids
//! and the clock offsets; of the events, messages, collectives and one-sided operations. All other
//! records are passed over by their length. The layout is that of versions 1 to 3 (OTF2 3.0.2,
//! `OTF2_EvtReader_inc.c`), in both orders of bytes.
//!
//! A message has the time of its `MPI_SEND` or `MPI_ISEND`, which is also what `otf2-print` shows.
//! Events are read in one pass and merged by time. Memory: 64 KiB a location, and the records that
//! [`held`](super::held) holds back; independent of the length of the trace.

mod anchor;
mod clock;
mod collectives;
mod definitions;
mod fields;
mod lane;
mod local;
mod merge;
mod records;
mod remarks;
mod sizes;

use std::io::Read;

use self::anchor::Anchor;
use self::collectives::Collectives;
use self::definitions::Definitions;
use self::lane::Lane;
use self::local::Local;
use self::merge::{Merge, Source};
use self::sizes::Dialect;
use super::set::{FileSet, Member};
use super::{Imported, Reading};
use crate::trace::{Header, Kind, RunFacts, Sink};
use crate::{At, Error, Result};

/// True if a file begins as one of an OTF2 trace does.
pub(super) fn is_file(prefix: &[u8]) -> bool {
    anchor::is_anchor(prefix) || anchor::is_records(prefix)
}

/// Reads a trace into `sink`.
///
/// # Errors
/// A set without an anchor file, or with several; a file that is missing, damaged or truncated; an
/// error of the operating system or of `sink`.
pub(super) fn read(set: FileSet, reading: Reading, sink: &mut dyn Sink) -> Result<Imported> {
    let set = set.inflated(reading.scratch)?;
    let (anchor_member, anchor) = find_anchor(&set)?;
    let name = anchor_member.name().strip_suffix(".gz").unwrap_or(anchor_member.name());
    let name = name.strip_suffix(".otf2").unwrap_or(name);
    let global = file(&set, &format!("{name}.def")).ok_or_else(|| {
        Error::data(format!(
            "the file of definitions {name}.def is missing: {} needs it",
            anchor_member.name()
        ))
    })?;
    let definitions = Definitions::read(global).at(|| global.name())?;
    let sources = sources(&set, name, &definitions)?;
    let dialect = Dialect::of(&anchor.creator);
    sink.begin(&Header::new(Kind::Timed, format!("otf2 {}", anchor.creator).trim()))?;
    let collectives = Collectives::new(reading.expand, dialect);
    let remarks = Merge::new(&definitions, sources, collectives).run(sink)?;
    let unmatched_receives = remarks.unmatched_receives();
    let facts = RunFacts {
        ranks: Some(definitions.ranks),
        span_ns: definitions
            .span
            .map(|(start, end)| (definitions.clock.ns(start), definitions.clock.ns(end))),
        unmatched: Some(remarks.unpaired + unmatched_receives.count),
        unmatched_receives,
        ..RunFacts::default()
    };
    let summary = sink.finish(&facts)?;
    Ok(Imported { summary, remarks: remarks.sentences() })
}

/// The anchor file that is named, or the only one.
fn find_anchor(set: &FileSet) -> Result<(&Member, Anchor)> {
    let mut anchors = Vec::new();
    for member in set.members() {
        if anchor::is_anchor(&member.prefix().at(|| member.name())?) {
            anchors.push(member);
        }
    }
    let named = set.named().filter(|named| anchors.iter().any(|anchor| anchor.name() == named.name()));
    let member = match (named, &anchors[..]) {
        (Some(named), _) => named,
        (None, [only]) => only,
        (None, []) => return Err(Error::data("the anchor file (*.otf2) of the trace is missing")),
        (None, [first, second, ..]) => {
            let problem = format!("holds several traces, {} and {}", first.name(), second.name());
            return Err(Error::data(problem).advise("name the anchor file (*.otf2) of one"));
        }
    };
    let mut bytes = Vec::new();
    let read = member.reader(4096).take(anchor::LARGEST as u64).read_to_end(&mut bytes).map(|_| ());
    let anchor = read.map_err(Error::from).and_then(|()| Anchor::parse(&bytes)).at(|| member.name())?;
    Ok((member, anchor))
}

/// The locations with their events.
fn sources(set: &FileSet, name: &str, definitions: &Definitions) -> Result<Vec<Source>> {
    let mut sources = Vec::with_capacity(definitions.locations.len());
    for location in &definitions.locations {
        let (id, rank) = (location.id, location.rank);
        let events = match file(set, &format!("{name}/{id}.evt")) {
            Some(events) => events,
            None if location.events == 0 => continue,
            None => {
                return Err(Error::data(format!(
                    "the file of events {name}/{id}.evt is missing: it is of rank {rank}"
                )));
            }
        };
        let local = match file(set, &format!("{name}/{id}.def")) {
            Some(member) => Local::read(member).at(|| format!("rank {rank}")).at(|| member.name())?,
            None => Local::default(),
        };
        sources.push(Source { lane: Lane::new(events, local), rank, name: events.name().into() });
    }
    Ok(sources)
}

/// The file of a name, gzip'ed or not; members are in the order of their names.
fn file<'a>(set: &'a FileSet, name: &str) -> Option<&'a Member> {
    let find = |name: &str| {
        let place = set.members().binary_search_by(|member| member.name().cmp(name)).ok()?;
        set.members().get(place)
    };
    find(name).or_else(|| find(&format!("{name}.gz")))
}
