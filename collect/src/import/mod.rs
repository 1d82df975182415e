//! Importers of other tools' traces: one file per format, recognised by content.
//!
//! [`import`] looks at the first bytes of an [`Input`], picks the [`Format`] and passes the trace
//! to a [`Sink`] block by block. To add a format: a variant of [`Format`] with its name, a line in
//! [`sniff`] that knows its first bytes, an arm in the `match` of `import`, and a file here that
//! reads it. A format of several files has its line in `member_format` instead, and reads a
//! `FileSet`.

mod batch;
#[cfg(feature = "chakra")]
mod chakra;
mod csv;
mod digits;
mod dumpi;
mod expansion;
mod field;
mod gathering;
mod goal;
mod held;
mod input;
mod liballprof;
mod mpi_names;
mod ndjson;
mod ordered;
mod otf2;
mod pairing;
mod paraver;
mod pfprof;
mod phaseflow;
mod rank_list;
mod ranks;
mod recording;
mod set;
mod simgrid;
mod tar_files;
mod text;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

pub use input::Input;
use input::{PREFIX, Peeked};
pub use pfprof::Aggregate;
pub use phaseflow::copy;

use phaseflow_profiler::Run;

use self::set::FileSet;
use self::tar_files::tar_files;
use crate::choice::unknown_name;
use crate::expand::Rules;
pub use crate::order::Scratch;
use crate::trace::{Sink, Summary, TraceReader};
use crate::{At, Error, Result};

/// A trace format that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The trace archive.
    Phaseflow,
    /// PFProf: a JSON object a rank, in a tar or a directory.
    Pfprof,
    /// One JSON object a message.
    Ndjson,
    /// One CSV line a message.
    Csv,
    /// A run directory, which pf-profile leaves.
    Recording,
    /// DUMPI: a binary file a rank.
    Dumpi,
    /// OTF2: an anchor file, definitions, and events of each location.
    Otf2,
    /// SimGrid's time-independent traces: a text file a rank.
    Simgrid,
    /// GOAL schedules, text or binary.
    Goal,
    /// Chakra execution traces: a protobuf file a rank.
    Chakra,
    /// liballprof: a text a rank.
    Liballprof,
    /// Paraver: a text for all ranks, with names in others.
    Paraver,
}

impl Format {
    /// All formats in the order of their recognition.
    pub const ALL: [Format; 12] = [
        Format::Phaseflow,
        Format::Pfprof,
        Format::Ndjson,
        Format::Csv,
        Format::Recording,
        Format::Dumpi,
        Format::Otf2,
        Format::Simgrid,
        Format::Goal,
        Format::Chakra,
        Format::Liballprof,
        Format::Paraver,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Phaseflow => "phaseflow",
            Format::Pfprof => "pfprof",
            Format::Ndjson => "ndjson",
            Format::Csv => "csv",
            Format::Recording => "recording",
            Format::Dumpi => "dumpi",
            Format::Otf2 => "otf2",
            Format::Simgrid => "simgrid",
            Format::Goal => "goal",
            Format::Chakra => "chakra",
            Format::Liballprof => "liballprof",
            Format::Paraver => "paraver",
        }
    }

    /// A run in this format is a [set of files](FileSet), each recognised by `member_format`.
    fn is_set(self) -> bool {
        matches!(
            self,
            Format::Dumpi
                | Format::Otf2
                | Format::Simgrid
                | Format::Chakra
                | Format::Liballprof
                | Format::Paraver
        )
    }

    /// It has collective calls that [`expand`](crate::expand) can make messages of.
    fn has_calls(self) -> bool {
        matches!(
            self,
            Format::Recording
                | Format::Dumpi
                | Format::Otf2
                | Format::Simgrid
                | Format::Chakra
                | Format::Liballprof
        )
    }

    /// The format of a name.
    ///
    /// # Errors
    /// A name that no format has.
    pub fn from_name(name: &str) -> Result<Self> {
        let known = Self::ALL.map(Self::name);
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| unknown_name("format", name, &known))
    }
}

/// Recognises a format by the first bytes of a file (4 KiB, or all if there are fewer), inflated.
///
/// # Errors
/// Content without the beginning of a known format.
pub fn sniff(prefix: &[u8]) -> Result<Format> {
    if prefix.is_empty() {
        return Err(Error::data("is empty, expected a trace"));
    }
    if let Some(name) = tar_member(prefix) {
        if name == crate::archive::HEADER {
            return Ok(Format::Phaseflow);
        }
        // The tar goes on after the prefix, which is no damage.
        return Ok(tar_format(prefix).ok().flatten().unwrap_or(Format::Pfprof));
    }
    if pfprof::is_rank_file(prefix) {
        return Ok(Format::Pfprof);
    }
    if goal::is_binary(prefix) || goal::is_text(prefix) {
        return Ok(Format::Goal);
    }
    if simgrid::is_trace(prefix) {
        return Ok(Format::Simgrid);
    }
    if paraver::is_trace(prefix) {
        return Ok(Format::Paraver);
    }
    let text = prefix.strip_prefix(b"\xef\xbb\xbf").unwrap_or(prefix).trim_ascii_start();
    if text.starts_with(b"{") {
        return Ok(Format::Ndjson);
    }
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if first.contains(&b',') && first.iter().all(|byte| *byte >= b' ' || matches!(byte, b'\t' | b'\r')) {
        return Ok(Format::Csv);
    }
    Err(Error::data(format!("is of no known format (recognised by content: {})", known_formats())))
}

/// The names of the formats whose files are recognised by content.
fn known_formats() -> String {
    let files = Format::ALL.iter().filter(|format| **format != Format::Recording);
    files.map(|format| format.name()).collect::<Vec<_>>().join(", ")
}

/// Recognises a file of a format of several files by its name, `.gz` left out, and its first bytes,
/// inflated: 4 KiB, or all if there are fewer.
#[cfg_attr(not(feature = "chakra"), allow(unused_variables, reason = "a format by name"))]
fn member_format(name: &str, prefix: &[u8]) -> Option<Format> {
    if dumpi::is_rank_file(prefix) || dumpi::is_meta(prefix) {
        return Some(Format::Dumpi);
    }
    if otf2::is_file(prefix) {
        return Some(Format::Otf2);
    }
    if simgrid::is_file(prefix) {
        return Some(Format::Simgrid);
    }
    #[cfg(feature = "chakra")]
    if chakra::is_rank_file(name, prefix) {
        return Some(Format::Chakra);
    }
    if liballprof::is_rank_file(prefix) {
        return Some(Format::Liballprof);
    }
    paraver::is_file(name, prefix).then_some(Format::Paraver)
}

/// Recognises the format of an input by content, and returns the whole input again; `None` for a
/// stream of which the first bytes do not tell.
///
/// # Errors
/// As for [`sniff`], and errors of the operating system.
pub fn recognise(input: Input) -> Result<(Option<Format>, Input)> {
    let format = match input {
        Input::Directory(ref path) => directory_format(path)?,
        Input::Files(ref paths) => files_format(paths)?,
        Input::File(ref file) => file_format(file)?,
        Input::Stream(stream) => {
            let peeked = Peeked::new(stream)?;
            let known = if is_undecided(peeked.prefix()) { None } else { Some(sniff(peeked.prefix())?) };
            return Ok((known, Input::Stream(Box::new(peeked.into_reader()))));
        }
    };
    Ok((Some(format), input))
}

/// Directories hold recordings, a set of files, or PFProf's rank files.
fn directory_format(path: &Path) -> Result<Format> {
    if Run::is_in(path)? {
        return Ok(Format::Recording);
    }
    Ok(FileSet::of_directory(path)?.format()?.unwrap_or(Format::Pfprof))
}

/// Several files are a set, or PFProf's rank files.
fn files_format(paths: &[PathBuf]) -> Result<Format> {
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let peeked = match Input::open(path).at(|| path.display())? {
            Input::File(file) => Peeked::rewound(&file).at(|| path.display())?,
            // What cannot be read twice is not looked at; one file of a set is enough.
            Input::Stream(_) => continue,
            Input::Files(_) => {
                let peeked = Peeked::rewound(&File::open(path)?).at(|| path.display())?;
                let name = name.strip_suffix(".gz").unwrap_or(&name);
                match member_format(name, peeked.prefix()) {
                    Some(format) => return Ok(format),
                    None => continue,
                }
            }
            Input::Directory(_) => return Err(one_input(paths.len())),
        };
        if !pfprof::is_rank_file(peeked.prefix()) {
            return Err(one_input(paths.len()));
        }
    }
    Ok(Format::Pfprof)
}

fn file_format(file: &File) -> Result<Format> {
    let peeked = Peeked::rewound(file)?;
    let format = sniff(peeked.prefix())?;
    if tar_member(peeked.prefix()).is_none_or(|name| name == crate::archive::HEADER) {
        return Ok(format);
    }
    // A damaged tar is for the reader of its format to describe.
    Ok(tar_format(peeked.into_reader()).ok().flatten().unwrap_or(format))
}

/// The beginning of a tar in which no file is of a known format yet.
fn is_undecided(prefix: &[u8]) -> bool {
    tar_member(prefix).is_some_and(|name| name != crate::archive::HEADER)
        && tar_format(prefix).ok().flatten().is_none()
}

/// The format of the first file in a tar that is of a format of several files.
fn tar_format(tar: impl Read) -> Result<Option<Format>> {
    let (mut format, mut prefix) = (None, Vec::new());
    let found = tar_files(tar::Archive::new(tar).entries()?, &mut |name, entry| {
        prefix.clear();
        entry.take(PREFIX as u64).read_to_end(&mut prefix)?;
        let pfprof = || pfprof::is_rank_file(&prefix).then_some(Format::Pfprof);
        format = set::content_format(name, &prefix).or_else(pfprof);
        // Ends the walk.
        if format.is_some() { Err(Error::data("found")) } else { Ok(()) }
    });
    if format.is_none() { found.map(|()| None) } else { Ok(format) }
}

/// Name of the first member, if the bytes begin as a tar does.
fn tar_member(prefix: &[u8]) -> Option<String> {
    let block: &[u8; 512] = prefix.first_chunk()?;
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    let stored: u32 = block[148..156].iter().map(|byte| u32::from(*byte)).sum();
    let header = tar::Header::from_byte_slice(block);
    let is_tar = header.cksum().is_ok_and(|expected| expected == sum - stored + 8 * u32::from(b' '));
    is_tar.then(|| String::from_utf8_lossy(&header.path_bytes()).into_owned())
}

/// Options for reading a trace.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Overrules recognition.
    pub format: Option<Format>,
    /// Makes temporary files for messages that are not in order.
    pub scratch: Scratch,
    /// Rules for the expansion of collectives that are recorded only as calls; `None` for no
    /// expansion.
    pub expand: Option<Rules>,
}

impl Reading {
    /// By recognition, nothing expanded.
    pub fn new(scratch: Scratch) -> Self {
        Self { format: None, scratch, expand: None }
    }
}

/// A trace that was read.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// What is known of it.
    pub summary: Summary,
    /// Remarks for the user, a sentence each.
    pub remarks: Vec<String>,
}

/// Reads a trace of any format into `sink`.
///
/// # Errors
/// Data that is damaged, contradictory or of no known format; a directory for a format of files;
/// errors of `sink`; a request to expand collectives of a format without members of communicators.
pub fn import(input: Input, reading: Reading, sink: &mut dyn Sink) -> Result<Imported> {
    let Reading { format, scratch, expand } = reading;
    let known = match &input {
        Input::Directory(path) => Some(format.map_or_else(|| directory_format(path), Ok)?),
        Input::Files(paths) => Some(format.map_or_else(|| files_format(paths), Ok)?),
        Input::File(_) | Input::Stream(_) => format,
    };
    if expand.is_some() && !known.is_none_or(Format::has_calls) {
        return Err(Error::usage("this format has no calls to expand (--expand)"));
    }
    match input {
        Input::Directory(path) => match known {
            Some(Format::Recording) => recording::read(&path, expand, sink),
            Some(Format::Pfprof) => Ok(pfprof::read_directory(&path)?.send(sink)?.into()),
            Some(format) if format.is_set() => {
                import_set(FileSet::of_directory(&path)?, format, reading, sink)
            }
            other => {
                let expected = other.map(Format::name).unwrap_or_default();
                Err(Error::data(format!("is a directory, expected a file in format {expected}")))
            }
        },
        Input::Files(paths) => match known {
            Some(format) if format.is_set() => {
                import_set(FileSet::of_files(&paths, scratch)?, format, reading, sink)
            }
            Some(Format::Pfprof) => Ok(import_rank_files(&paths, sink)?.into()),
            _ => Err(one_input(paths.len())),
        },
        Input::File(file) => {
            let format = known.map_or_else(|| file_format(&file), Ok)?;
            import_file(Peeked::rewound(&file)?, Some(&file), format, reading, sink)
        }
        Input::Stream(stream) => {
            let peeked = Peeked::new(stream)?;
            if known.is_none() && is_undecided(peeked.prefix()) {
                let mut file = scratch()?;
                std::io::copy(&mut peeked.into_reader(), &mut file)?;
                return import(Input::File(file), reading, sink);
            }
            let format = known.map_or_else(|| sniff(peeked.prefix()), Ok)?;
            import_file(peeked, None, format, reading, sink)
        }
    }
}

/// Reads a file or stream of a known format.
fn import_file(
    peeked: Peeked,
    file: Option<&File>,
    format: Format,
    reading: Reading,
    sink: &mut dyn Sink,
) -> Result<Imported> {
    let Reading { scratch, expand, .. } = reading;
    if expand.is_some() && !format.has_calls() {
        return Err(Error::usage("this format has no calls to expand (--expand)"));
    }
    if format == Format::Paraver && tar_member(peeked.prefix()).is_none() {
        return paraver::read_text(peeked.into_reader(), "", &paraver::Names::default(), sink);
    }
    if format.is_set() {
        let set = match file {
            // One file can have all ranks of a time-independent trace.
            _ if format == Format::Simgrid && tar_member(peeked.prefix()).is_none() => {
                FileSet::of_stream(peeked.into_reader(), scratch)?
            }
            _ if tar_member(peeked.prefix()).is_none() => {
                let problem =
                    format!("is one file, expected the directory or a tar of a {} run", format.name());
                return Err(Error::data(problem));
            }
            Some(file) if !peeked.is_gzip() => FileSet::of_tar_file(file)?,
            _ => FileSet::of_tar_stream(peeked.into_reader(), scratch)?,
        };
        return import_set(set, format, reading, sink);
    }
    if format == Format::Goal {
        return goal::read(peeked, reading, sink);
    }
    let summary = match format {
        Format::Phaseflow => copy(TraceReader::open(peeked.into_reader())?, sink),
        Format::Pfprof => aggregate(peeked)?.send(sink),
        Format::Ndjson => return text::import::<ndjson::Ndjson>(peeked, file, scratch, sink),
        Format::Csv => return text::import::<csv::Csv>(peeked, file, scratch, sink),
        _ => Err(Error::data("is a file, expected a run directory")),
    };
    Ok(summary?.into())
}

/// Reads a set of files of a known format.
fn import_set(set: FileSet, format: Format, reading: Reading, sink: &mut dyn Sink) -> Result<Imported> {
    // Two runs in one place are refused, unless --from chooses.
    if reading.format.is_none() {
        set.format()?;
    }
    let set = set.only(format)?;
    match format {
        Format::Dumpi => dumpi::read(set, reading, sink),
        Format::Otf2 => otf2::read(set, reading, sink),
        Format::Simgrid => simgrid::read(&set, reading, sink),
        #[cfg(feature = "chakra")]
        Format::Chakra => chakra::read(&set, reading, sink),
        #[cfg(not(feature = "chakra"))]
        Format::Chakra => Err(Error::usage("this program was built without the feature chakra")),
        Format::Liballprof => liballprof::read(&set, reading, sink),
        Format::Paraver => paraver::read(&set, sink),
        _ => Err(Error::data(format!("format {} is no set of files", format.name()))),
    }
}

impl From<Summary> for Imported {
    /// An imported trace without remarks.
    fn from(summary: Summary) -> Self {
        Self { remarks: summary.unmatched_receives.sentence().into_iter().collect(), summary }
    }
}

/// Reads a PFProf run: a tar, a single rank's file (of a run with one rank) or a directory.
///
/// # Errors
/// Damaged or contradictory files, missing or duplicate ranks.
pub fn read_pfprof(input: Input) -> Result<Aggregate> {
    match input {
        Input::Directory(path) => pfprof::read_directory(&path),
        Input::Files(paths) => Err(one_input(paths.len())),
        Input::File(file) => aggregate(Peeked::rewound(&file)?),
        Input::Stream(stream) => aggregate(Peeked::new(stream)?),
    }
}

fn aggregate(peeked: Peeked) -> Result<Aggregate> {
    let prefix = peeked.prefix().to_vec();
    pfprof::read(&prefix, peeked.into_reader())
}

/// Reads a PFProf run from the files of its ranks.
///
/// # Errors
/// As [`read_pfprof`].
fn import_rank_files(paths: &[PathBuf], sink: &mut dyn Sink) -> Result<Summary> {
    let mut run = pfprof::RankFiles::default();
    for path in paths {
        let name = path.display().to_string();
        let peeked = match Input::open(path).at(|| &name)? {
            Input::File(file) => Peeked::rewound(&file).at(|| &name)?,
            Input::Stream(stream) => Peeked::new(stream).at(|| &name)?,
            Input::Directory(_) | Input::Files(_) => return Err(one_input(paths.len())),
        };
        if !pfprof::is_rank_file(peeked.prefix()) {
            return Err(one_input(paths.len()));
        }
        run.add(&name, peeked.into_reader())?;
    }
    run.finish()?.send(sink)
}

fn one_input(found: usize) -> Error {
    Error::usage(format!(
        "{found} inputs given, expected one (several only if they are the files of one run)"
    ))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::export::{ArchiveExport, SummaryExport};
    use crate::pattern::{PatternName, Run};
    use proptest::prelude::*;

    const CSV: &[u8] = b"t_ns,src,dst,bytes,tag,op\n7,0,1,8,-12,allreduce\n3,1,0,9,,\n\"3\",1,0,9,,";
    const NDJSON: &[u8] =
        b"{\"t_ns\":7,\"src\":0,\"dst\":1,\"bytes\":8}\n{\"bytes\":1,\"t_ns\":3,\"src\":1,\"dst\":0}";
    const RANK: &[u8] = b"{\"n_procs\":1,\"rank\":0,\"tx_bytes\":[0],\"tx_messages\":[3],\"rx_messages\":[3],\
        \"tx_message_sizes\":[{\"frequency\":1,\"message_size\":2},{\"frequency\":2,\"message_size\":3}],\"duration\":1.5}";

    fn rank_tar() -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(RANK.len() as u64);
        tar.append_data(&mut header, "x".repeat(120) + ".json", RANK).unwrap();
        tar.into_inner().unwrap()
    }

    fn archive() -> Vec<u8> {
        let mut bytes = Vec::new();
        let patterns = vec![PatternName::Allreduce];
        let run = Run { patterns, ranks: 4, bytes: 8, repeat: 2, gap_ns: 5, seed: 1 };
        run.generate(&mut ArchiveExport::new(&mut bytes, false)).unwrap();
        bytes
    }

    fn summary(bytes: Vec<u8>, format: Option<Format>) -> Result<Summary> {
        let input = Input::Stream(Box::new(Cursor::new(bytes)));
        let reading = Reading { format, ..Reading::new(tempfile::tempfile) };
        Ok(import(input, reading, &mut SummaryExport::new(std::io::sink()))?.summary)
    }

    #[test]
    fn formats_are_recognised_by_content() {
        for (bytes, format) in [
            (CSV.to_vec(), Format::Csv),
            (NDJSON.to_vec(), Format::Ndjson),
            (RANK.to_vec(), Format::Pfprof),
            (rank_tar(), Format::Pfprof),
            (archive(), Format::Phaseflow),
        ] {
            assert_eq!(sniff(&bytes[..bytes.len().min(4096)]).unwrap(), format);
            assert!(summary(bytes, None).is_ok(), "{}", format.name());
        }
        assert_eq!(summary(rank_tar(), None).unwrap().messages, 3);
    }

    proptest! {
        #[test]
        fn no_damage_makes_an_importer_panic(
            which in 0usize..5,
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in prop::option::of(any::<prop::sample::Index>()),
            forced in prop::option::of(prop::sample::select(Format::ALL.to_vec())),
        ) {
            let mut bytes = [CSV.to_vec(), NDJSON.to_vec(), RANK.to_vec(), rank_tar(), archive()][which].clone();
            for (at, byte) in damage {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len())));
            let _ = summary(bytes, forced);
        }
    }
}
