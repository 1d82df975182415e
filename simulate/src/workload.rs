//! What a job does: phases in time, each with a traffic matrix.
//!
//! A workload is read from a phase archive; a trace of any kind will do too and is one phase. Messages are summed up while
//! they pass: memory is that of the matrices.

use std::io::BufRead;
use std::path::Path;

use phaseflow_collect::archive::ArchiveReader;
use phaseflow_collect::trace::{self, Block, RunFacts, Sink, Summary, Tally, TraceReader};
use phaseflow_collect::{Cell, Error, MatrixBuilder, Result};
use phaseflow_segment::{FORMAT, Header, Occurrence, Phase, Segmentation, VERSION, read_segmentation};

/// A segmented run (or one of a single phase) that jobs repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// What it is called in results: never a file name of the command line, so that a pipe gives the same results.
    pub name: String,
    /// Its phases, their matrices and their occurrences.
    pub segmentation: Segmentation,
}

/// A trace summed up into one phase.
#[derive(Default)]
struct Whole {
    source: String,
    matrix: MatrixBuilder,
    tally: Tally,
    summary: Summary,
}

impl Sink for Whole {
    fn begin(&mut self, header: &trace::Header) -> Result<()> {
        self.source.clone_from(&header.source);
        Ok(())
    }

    fn block(&mut self, block: Block<'_>) -> Result<()> {
        match block {
            Block::Messages(block) => {
                self.tally.messages(block)?;
                let columns = block.columns();
                let pairs = columns.src.iter().zip(&columns.dst).zip(&columns.bytes);
                for ((src, dst), bytes) in pairs {
                    let (src, dst) = (trace::Rank(*src), trace::Rank(*dst));
                    self.matrix.add(Cell { src, dst, messages: 1, bytes: *bytes })?;
                }
            }
            Block::Matrix(cells) => {
                self.tally.cells(cells)?;
                for cell in cells {
                    self.matrix.add(*cell)?;
                }
            }
            Block::Calls(calls) => self.tally.calls(calls)?,
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
    fn into_segmentation(self) -> Segmentation {
        let Summary { ranks, messages, bytes, .. } = self.summary;
        // No rate can be worked out for a run of no length.
        let duration_ns = self.summary.duration_ns.filter(|duration| *duration > 0);
        let stretch = |end_ns| Occurrence { phase: Some(0), depth: 0, start_ns: 0, end_ns, messages, bytes };
        let phase = Phase { name: "0".into(), occurrences: 1, duration_ns, matrix: self.matrix.finish() };
        Segmentation {
            header: Header {
                format: FORMAT.into(),
                version: VERSION,
                source: self.source,
                method: "none".into(),
                ranks,
                duration_ns,
            },
            phases: vec![phase],
            occurrences: duration_ns.map(stretch).into_iter().collect(),
        }
    }
}

impl Workload {
    /// Reads a file or directory of any kind that has phases or messages.
    ///
    /// # Errors
    /// What is no archive and no trace, is damaged, or contradicts itself.
    pub fn read(path: &Path) -> Result<Self> {
        let file = std::fs::File::open(path)?;
        Self::read_stream(std::io::BufReader::with_capacity(1 << 18, file))
    }

    /// Reads a stream.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_stream(input: impl BufRead) -> Result<Self> {
        let archive = ArchiveReader::open(input)?;
        if archive.format()? == FORMAT {
            return Self::new(read_segmentation(archive)?);
        }
        let mut whole = Whole::default();
        let mut trace = TraceReader::from_archive(archive)?;
        whole.begin(trace.header())?;
        while let Some(block) = trace.next_block()? {
            whole.block(block)?;
        }
        whole.summary = trace.summary().cloned().unwrap_or_default();
        Self::new(whole.into_segmentation())
    }

    /// The same workload under the name that a scenario gives it.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.into(), ..self }
    }

    fn new(segmentation: Segmentation) -> Result<Self> {
        if segmentation.header.ranks == 0 {
            return Err(Error::data("has no ranks, expected at least one process"));
        }
        Ok(Self { name: segmentation.header.source.clone(), segmentation })
    }
}
