//! The trace archive, timed or aggregate as its source.

use std::io::Write;

use crate::trace::{Block, Header, Kind, MessageSize, RunFacts, Sink, Summary, TraceWriter, write_aggregate};
use crate::{Cell, Error, Result, TrafficMatrix};

/// Writes a trace archive. Memory: a block, or an aggregate trace's matrix.
#[derive(Debug)]
pub struct ArchiveExport<W: Write> {
    gzip: bool,
    state: State<W>,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one per archive")]
enum State<W: Write> {
    New(W),
    Timed(TraceWriter<W>),
    Aggregate(W, String, Vec<Cell>, Vec<MessageSize>),
    Done,
}

impl<W: Write> ArchiveExport<W> {
    /// An archive on `out`, which should be buffered; gzip'ed on request.
    pub fn new(out: W, gzip: bool) -> Self {
        Self { gzip, state: State::New(out) }
    }
}

fn misused() -> Error {
    Error::data("a trace has to begin once, before its blocks and its end")
}

impl<W: Write> Sink for ArchiveExport<W> {
    fn begin(&mut self, header: &Header) -> Result<()> {
        let State::New(out) = std::mem::replace(&mut self.state, State::Done) else {
            return Err(misused());
        };
        self.state = match header.kind {
            Kind::Timed | Kind::Ordered => {
                State::Timed(TraceWriter::of_kind(out, self.gzip, header.kind, &header.source)?)
            }
            Kind::Aggregate => State::Aggregate(out, header.source.clone(), Vec::new(), Vec::new()),
        };
        Ok(())
    }

    fn block(&mut self, block: Block<'_>) -> Result<()> {
        match (&mut self.state, block) {
            (State::Timed(writer), Block::Messages(messages)) => writer.messages(messages),
            (State::Timed(writer), Block::Calls(calls)) => {
                calls.iter().try_for_each(|call| writer.call(call))
            }
            (State::Timed(writer), Block::Marks(marks)) => {
                marks.iter().try_for_each(|mark| writer.mark(mark))
            }
            (State::Aggregate(_, _, all, _), Block::Matrix(cells)) => {
                all.extend_from_slice(cells);
                Ok(())
            }
            (State::Aggregate(_, _, _, all), Block::Sizes(sizes)) => {
                all.extend_from_slice(sizes);
                Ok(())
            }
            (State::Timed(_), Block::Matrix(_) | Block::Sizes(_)) => {
                Err(Error::data("a timed trace has messages, no matrix and no histogram"))
            }
            (State::Aggregate(..), _) => {
                Err(Error::data("an aggregate trace has a matrix, no single records"))
            }
            (State::New(_) | State::Done, _) => Err(misused()),
        }
    }

    fn finish(&mut self, facts: &RunFacts) -> Result<Summary> {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Timed(writer) => Ok(writer.finish(facts)?.0),
            State::Aggregate(out, source, cells, sizes) => {
                let matrix = TrafficMatrix::from_cells(cells)?;
                Ok(write_aggregate(out, self.gzip, &source, &matrix, &sizes, facts)?.0)
            }
            State::New(_) | State::Done => Err(misused()),
        }
    }
}
