//! Workloads of jobs: phases in time, each with a traffic matrix.
//!
//! A workload is read from a phase archive; a trace of any kind will do too and is one phase.
//! Messages are summed up while they pass: memory is that of the matrices. Of loops of phases only
//! the innermost phases are simulated.

use std::io::{BufReader, Cursor, Read, Seek};

use phaseflow_collect::archive::ArchiveReader;
use phaseflow_collect::import::{self, Input, Scratch, import};
use phaseflow_collect::trace::{self, Block, RunFacts, Sink, Summary, Tally};
use phaseflow_collect::{Error, MatrixBuilder, Result};
use phaseflow_segment::{
    Chosen, FORMAT, Header, Occurrence, Phase, Place, Records, Segmentation, VERSION, read_segmentation,
    read_with_messages, title_of_matrix,
};

use crate::replay::{Recording, RecordingBuilder};

/// Bytes read at once.
const BUFFER: usize = 256 << 10;

/// Bytes of the beginning of an input by which its format is recognized: a tar header and the
/// header member of an archive.
const BEGINNING: u64 = 64 << 10;

/// Remark for a trace that pf-segment could split.
const ONE_PHASE: &str =
    "the whole trace is one phase; pf-segment tells its phases apart (pf-segment TRACE | pf-simulate …)";

/// Remark for an archive whose loops of phases are phases themselves.
const LOOPS: &str = "the phase archive is of an earlier version, which stands for loops of phases: each loop is simulated as one phase \
                     (run pf-segment again to tell its phases apart)";

/// A segmented run (or one of a single phase) that jobs repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Its name in results: never a file name of the command line, so that a pipe gives the same
    /// results.
    pub name: String,
    /// Its phases, their matrices and their occurrences.
    pub segmentation: Segmentation,
    /// Remarks for the user, a sentence each; not part of results.
    pub remarks: Vec<String>,
    /// Its messages, if they are [read](Reading::Messages).
    pub recording: Option<Recording>,
}

/// The parts of a workload that are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// Phases and their matrices: memory is that of the matrices.
    #[default]
    Matrices,
    /// Messages of [windows](phaseflow_segment::Samples) too, the sample for jobs alone in the
    /// network.
    Samples,
    /// Messages too, as many as the archive holds, for replay: about 200 bytes a message while
    /// reading, 130 after.
    Messages,
}

/// A trace summed up into one phase.
#[derive(Default)]
struct Whole {
    source: String,
    matrix: MatrixBuilder,
    tally: Tally,
    summary: Summary,
    /// The memory of messages.
    builder: Option<RecordingBuilder>,
    timed: bool,
}

impl Sink for Whole {
    fn begin(&mut self, header: &trace::Header) -> Result<()> {
        self.source.clone_from(&header.source);
        self.timed = header.kind == trace::Kind::Timed;
        Ok(())
    }

    fn block(&mut self, block: Block<'_>) -> Result<()> {
        match block {
            Block::Messages(block) => {
                self.tally.messages(block)?;
                let columns = block.columns();
                self.matrix.add_messages(&columns.src, &columns.dst, &columns.bytes)?;
                if let Some(builder) = &mut self.builder {
                    builder.push(Place::Run, Records::Messages(block));
                }
            }
            Block::Matrix(cells) => {
                self.tally.cells(cells)?;
                for cell in cells {
                    self.matrix.add(*cell)?;
                }
            }
            Block::Calls(calls) => {
                self.tally.calls(calls)?;
                if let Some(builder) = &mut self.builder {
                    builder.push(Place::Run, Records::Calls(calls));
                }
            }
            Block::Marks(marks) => self.tally.marks(marks)?,
            Block::Sizes(_) => {}
        }
        Ok(())
    }

    fn finish(&mut self, facts: &RunFacts) -> Result<Summary> {
        self.summary = self.tally.finish(facts)?;
        Ok(self.summary.clone())
    }
}

impl Whole {
    /// The segmentation, and what is known message by message.
    fn into_parts(mut self) -> Result<(Segmentation, Option<Recording>)> {
        let builder = self.builder.take().filter(|_| self.timed);
        let start_ns = self.summary.start_ns.unwrap_or(0);
        let segmentation = self.into_segmentation();
        let representatives = segmentation.occurrences.first().map(|_| Some(0)).into_iter().collect();
        let chosen = Chosen { segmentation, representatives, samples: None };
        let recording = builder.map(|builder| builder.build(&chosen, start_ns));
        Ok((chosen.segmentation, recording.transpose()?))
    }

    fn into_segmentation(self) -> Segmentation {
        let Summary { ranks, messages, bytes, unmatched_receives, .. } = self.summary;
        let is_instant = self.timed && messages > 0;
        // A run without length has no rates.
        let duration_ns = self.summary.duration_ns.filter(|duration| *duration > 0);
        let stretch = |end_ns| Occurrence { phase: Some(0), depth: 0, start_ns: 0, end_ns, messages, bytes };
        let matrix = self.matrix.finish();
        let title = title_of_matrix(&matrix, ranks);
        let phase = Phase { name: "0".into(), title, occurrences: 1, duration_ns, matrix };
        Segmentation {
            header: Header {
                format: FORMAT.into(),
                version: VERSION,
                source: self.source,
                method: "none".into(),
                ranks,
                duration_ns,
                unmatched_receives,
            },
            phases: vec![phase],
            // Messages of one time can be replayed.
            occurrences: duration_ns.or(is_instant.then_some(0)).map(stretch).into_iter().collect(),
        }
    }
}

impl Workload {
    /// A workload with nothing to remark.
    pub fn new(name: impl Into<String>, segmentation: Segmentation) -> Self {
        Self { name: name.into(), segmentation, remarks: Vec::new(), recording: None }
    }

    /// Reads a phase archive, or any trace that can be imported. `scratch` makes temporary files
    /// for messages out of order.
    ///
    /// # Errors
    /// An input that is neither, is damaged, or contradicts itself.
    pub fn read(input: Input, scratch: Scratch, reading: Reading) -> Result<Self> {
        let ((segmentation, recording), mut remarks) = match input {
            Input::Directory(_) | Input::Files(_) => one_phase(input, scratch, reading)?,
            Input::File(mut file) => {
                let is_segmented = is_phase_archive(&beginning(&mut file)?);
                file.rewind()?;
                if is_segmented {
                    phases(file, reading)?
                } else {
                    one_phase(Input::File(file), scratch, reading)?
                }
            }
            Input::Stream(mut stream) => {
                let beginning = beginning(&mut stream)?;
                let is_segmented = is_phase_archive(&beginning);
                let whole = Cursor::new(beginning).chain(stream);
                if is_segmented {
                    phases(whole, reading)?
                } else {
                    one_phase(Input::Stream(Box::new(whole)), scratch, reading)?
                }
            }
        };
        if segmentation.header.ranks == 0 {
            return Err(Error::data("has no ranks, expected at least one process"));
        }
        remarks.extend(recording.iter().flat_map(Recording::remarks));
        Ok(Self { name: segmentation.header.source.clone(), segmentation, remarks, recording })
    }

    /// A workload that `generate` writes into a sink, as one phase.
    ///
    /// # Errors
    /// Those of `generate`.
    pub(crate) fn generated(
        generate: impl FnOnce(&mut dyn Sink) -> Result<()>,
        reading: Reading,
    ) -> Result<Self> {
        let builder = (reading != Reading::Matrices).then(RecordingBuilder::default);
        let mut whole = Whole { builder, ..Whole::default() };
        generate(&mut whole)?;
        let (segmentation, recording) = whole.into_parts()?;
        let name = segmentation.header.source.clone();
        Ok(Self { name, segmentation, remarks: Vec::new(), recording })
    }

    /// A workload whose ranks send nothing.
    pub(crate) fn silent(ranks: u32) -> Self {
        let header = Header {
            format: FORMAT.into(),
            version: VERSION,
            source: "silent".into(),
            method: "none".into(),
            ranks,
            duration_ns: None,
            unmatched_receives: Default::default(),
        };
        Self::new("silent", Segmentation { header, phases: Vec::new(), occurrences: Vec::new() })
    }

    /// The same workload under the name that a scenario gives it.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.into(), ..self }
    }
}

/// The beginning of the input, with the header of an archive.
fn beginning(input: &mut impl Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(BEGINNING).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn is_phase_archive(beginning: &[u8]) -> bool {
    ArchiveReader::open(beginning).and_then(|archive| archive.format()).is_ok_and(|format| format == FORMAT)
}

type Parts = (Segmentation, Option<Recording>);

fn phases(input: impl Read, reading: Reading) -> Result<(Parts, Vec<String>)> {
    let mut remarks = Vec::new();
    let parts = segmented(input, reading, &mut remarks)?;
    remarks.extend(parts.0.header.unmatched_receives.sentence());
    Ok((parts, remarks))
}

fn segmented(input: impl Read, reading: Reading, remarks: &mut Vec<String>) -> Result<Parts> {
    let archive = ArchiveReader::open(BufReader::with_capacity(BUFFER, input))?;
    let mut innermost = |chosen: Chosen| {
        chosen.leaves().unwrap_or_else(|| {
            remarks.push(LOOPS.into());
            chosen
        })
    };
    if reading == Reading::Matrices {
        let segmentation = read_segmentation(archive)?;
        let chosen = Chosen { segmentation, representatives: Vec::new(), samples: None };
        return Ok((innermost(chosen).segmentation, None));
    }
    let mut builder = RecordingBuilder::default();
    let chosen = read_with_messages(archive, reading == Reading::Messages, &mut |place, records| {
        builder.push(place, records);
        Ok(())
    })?;
    let chosen = innermost(chosen);
    let recording = builder.build(&chosen, 0)?;
    Ok((chosen.segmentation, Some(recording)))
}

fn one_phase(input: Input, scratch: Scratch, reading: Reading) -> Result<(Parts, Vec<String>)> {
    let builder = (reading != Reading::Matrices).then(RecordingBuilder::default);
    let mut whole = Whole { builder, ..Whole::default() };
    let mut remarks = import(input, import::Reading::new(scratch), &mut whole)?.remarks;
    if whole.timed && whole.summary.duration_ns.is_some_and(|duration| duration > 0) {
        remarks.push(ONE_PHASE.into());
    }
    Ok((whole.into_parts()?, remarks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use phaseflow_collect::TrafficMatrix;
    use phaseflow_collect::trace::{Message, Rank, TraceWriter, write_aggregate};
    use phaseflow_segment::write_segmentation;

    fn read(bytes: Vec<u8>) -> Result<Workload> {
        Workload::read(Input::Stream(Box::new(Cursor::new(bytes))), tempfile::tempfile, Reading::Matrices)
    }

    #[test]
    fn a_timed_trace_is_one_phase_as_long_as_the_run() {
        let mut writer = TraceWriter::new(Vec::new(), false, "test").unwrap();
        for (time, dst) in [(10, 1), (20, 2), (40, 1)] {
            let message =
                Message { send_post_ns: time, src: Rank(0), dst: Rank(dst), bytes: 5, ..Message::default() };
            writer.message(&message).unwrap();
        }
        let (_, bytes) = writer.finish(&RunFacts { ranks: Some(4), ..RunFacts::default() }).unwrap();
        let workload = read(bytes).unwrap();
        assert_eq!((workload.name.as_str(), workload.segmentation.header.ranks), ("test", 4));
        let [phase] = &workload.segmentation.phases[..] else { panic!("{workload:?}") };
        assert_eq!((phase.duration_ns, phase.matrix.bytes(), phase.matrix.len()), (Some(30), 15, 2));
        let stretch =
            Occurrence { phase: Some(0), depth: 0, start_ns: 0, end_ns: 30, messages: 3, bytes: 15 };
        assert_eq!(workload.segmentation.occurrences, [stretch]);
        assert_eq!(workload.remarks, [ONE_PHASE]);
        // Its own archive comes back, compressed or not.
        for gzip in [false, true] {
            let bytes = write_segmentation(Vec::new(), gzip, &workload.segmentation).unwrap();
            // The remark on traces is not made for a phase archive.
            assert_eq!(read(bytes).unwrap(), Workload { remarks: Vec::new(), ..workload.clone() });
        }
    }

    #[test]
    fn an_aggregate_trace_may_know_no_duration() {
        let facts = RunFacts { ranks: Some(2), ..RunFacts::default() };
        let (_, bytes) =
            write_aggregate(Vec::new(), true, "pfprof", &TrafficMatrix::default(), &[], &facts).unwrap();
        let segmentation = read(bytes).unwrap().segmentation;
        assert_eq!(segmentation.phases[0].duration_ns, None);
        assert!(segmentation.phases[0].matrix.is_empty() && segmentation.occurrences.is_empty());
    }

    #[test]
    fn a_run_without_ranks_is_refused() {
        let (_, bytes) =
            TraceWriter::new(Vec::new(), false, "test").unwrap().finish(&RunFacts::default()).unwrap();
        assert_eq!(read(bytes).unwrap_err().to_string(), "has no ranks, expected at least one process");
    }
}
