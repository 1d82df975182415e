//! Importers of other tools' traces: one file per format, recognised by content.
//!
//! [`import`] looks at the first bytes of an [`Input`], picks the [`Format`] and passes the trace
//! to a [`Sink`] block by block. To add a format: a variant of [`Format`] with its name, a line in
//! [`sniff`] that knows its first bytes, an arm in the `match` of `import`, and a file here that
//! reads it.

mod csv;
mod digits;
mod field;
mod input;
mod ndjson;
mod pfprof;
mod phaseflow;
mod recording;
mod text;

use std::path::Path;

pub use input::Input;
use input::Peeked;
pub use pfprof::Aggregate;
pub use phaseflow::copy;

use phaseflow_profiler::Run;

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
}

impl Format {
    /// All formats in the order of their recognition.
    pub const ALL: [Format; 5] =
        [Format::Phaseflow, Format::Pfprof, Format::Ndjson, Format::Csv, Format::Recording];

    /// Names of formats that are to come.
    pub const PLANNED: [&str; 6] = ["dumpi", "otf2", "simgrid", "goal", "liballprof", "paraver"];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Phaseflow => "phaseflow",
            Format::Pfprof => "pfprof",
            Format::Ndjson => "ndjson",
            Format::Csv => "csv",
            Format::Recording => "recording",
        }
    }

    /// The format of a name.
    ///
    /// # Errors
    /// A name that no format has, or one whose format is not available yet.
    pub fn from_name(name: &str) -> Result<Self> {
        if Self::PLANNED.contains(&name) {
            return Err(Error::usage(format!("format `{name}` is not available yet")));
        }
        let known = Self::ALL.map(Self::name);
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| unknown_name("format", name, &[&known[..], &Self::PLANNED].concat()))
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
        return Ok(if name == crate::archive::HEADER { Format::Phaseflow } else { Format::Pfprof });
    }
    if pfprof::is_rank_file(prefix) {
        return Ok(Format::Pfprof);
    }
    let text = prefix.strip_prefix(b"\xef\xbb\xbf").unwrap_or(prefix).trim_ascii_start();
    if text.starts_with(b"{") {
        return Ok(Format::Ndjson);
    }
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if first.contains(&b',') && first.iter().all(|byte| *byte >= b' ' || matches!(byte, b'\t' | b'\r')) {
        return Ok(Format::Csv);
    }
    let files = Format::ALL.iter().filter(|format| **format != Format::Recording);
    let known = files.map(|format| format.name()).collect::<Vec<_>>().join(", ");
    Err(Error::data(format!("is of no known format (recognised by content: {known})")))
}

/// Recognises the format of a directory or a file by content; `None` for a stream, which could not
/// be read again.
///
/// # Errors
/// As for [`sniff`], and errors of the operating system.
pub fn recognise(input: &Input) -> Result<Option<Format>> {
    match input {
        Input::Directory(path) => directory_format(path).map(Some),
        Input::File(file) => sniff(Peeked::rewound(file)?.prefix()).map(Some),
        Input::Stream(_) => Ok(None),
    }
}

/// Directories hold recordings, or PFProf's rank files.
fn directory_format(path: &Path) -> Result<Format> {
    Ok(if Run::is_in(path)? { Format::Recording } else { Format::Pfprof })
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
        Input::File(_) | Input::Stream(_) => format,
    };
    if expand.is_some() && known != Some(Format::Recording) {
        return Err(Error::usage("only run directories have calls to expand (--expand)"));
    }
    let (peeked, file) = match input {
        Input::Directory(path) => {
            return match known {
                Some(Format::Recording) => recording::read(&path, expand, sink),
                Some(Format::Pfprof) => Ok(pfprof::read_directory(&path)?.send(sink)?.into()),
                other => {
                    let expected = other.map(Format::name).unwrap_or_default();
                    Err(Error::data(format!("is a directory, expected a file in format {expected}")))
                }
            };
        }
        Input::File(file) => (Peeked::rewound(&file)?, Some(file)),
        Input::Stream(stream) => (Peeked::new(stream)?, None),
    };
    let format = known.map_or_else(|| sniff(peeked.prefix()), Ok)?;
    let summary = match format {
        Format::Phaseflow => copy(TraceReader::open(peeked.into_reader())?, sink),
        Format::Pfprof => aggregate(peeked)?.send(sink),
        Format::Ndjson => text::import::<ndjson::Ndjson>(peeked, file.as_ref(), scratch, sink),
        Format::Csv => text::import::<csv::Csv>(peeked, file.as_ref(), scratch, sink),
        Format::Recording => Err(Error::data("is a file, expected a run directory")),
    };
    Ok(summary?.into())
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
/// As [`read_pfprof`]; inputs that are not rank files, of which only one at a time can be imported.
pub fn import_rank_files<'a>(
    paths: impl ExactSizeIterator<Item = &'a Path>,
    sink: &mut dyn Sink,
) -> Result<Summary> {
    let mut run = pfprof::RankFiles::default();
    let count = paths.len();
    for path in paths {
        let name = path.display().to_string();
        let peeked = match Input::open(path).at(|| &name)? {
            Input::File(file) => Peeked::rewound(&file).at(|| &name)?,
            Input::Stream(stream) => Peeked::new(stream).at(|| &name)?,
            Input::Directory(_) => return Err(one_input(count)),
        };
        if !pfprof::is_rank_file(peeked.prefix()) {
            return Err(one_input(count));
        }
        run.add(&name, peeked.into_reader())?;
    }
    run.finish()?.send(sink)
}

fn one_input(found: usize) -> Error {
    Error::usage(format!("{found} inputs given, expected one (several only if all are rank files of PFProf)"))
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
