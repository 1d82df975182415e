//! The summary of a run as `name: value` lines; an unknown value is empty.

use std::fmt::Display;
use std::io::Write;

use crate::Result;
use crate::trace::{Block, Header, RunFacts, Sink, Summary, Tally};

/// Writes the summary; nothing of the records themselves.
#[derive(Debug)]
pub struct SummaryExport<W: Write> {
    out: W,
    source: String,
    tally: Tally,
}

impl<W: Write> SummaryExport<W> {
    /// Lines on `out`.
    pub fn new(out: W) -> Self {
        Self { out, source: String::new(), tally: Tally::default() }
    }

    fn line(&mut self, name: &str, value: Option<impl Display>) -> Result<()> {
        match value {
            Some(value) => writeln!(self.out, "{name}: {value}")?,
            None => writeln!(self.out, "{name}:")?,
        }
        Ok(())
    }
}

impl<W: Write> Sink for SummaryExport<W> {
    fn begin(&mut self, header: &Header) -> Result<()> {
        self.source.clone_from(&header.source);
        Ok(())
    }

    fn block(&mut self, block: Block<'_>) -> Result<()> {
        match block {
            Block::Messages(messages) => self.tally.messages(messages),
            Block::Calls(calls) => self.tally.calls(calls),
            Block::Marks(marks) => self.tally.marks(marks),
            Block::Matrix(cells) => self.tally.cells(cells),
            Block::Sizes(_) => Ok(()),
        }
    }

    fn finish(&mut self, facts: &RunFacts) -> Result<Summary> {
        let summary = self.tally.finish(facts)?;
        self.line("ranks", Some(summary.ranks))?;
        self.line("messages", Some(summary.messages))?;
        self.line("bytes", Some(summary.bytes))?;
        self.line("calls", Some(summary.calls))?;
        self.line("marks", Some(summary.marks))?;
        self.line("unmatched", summary.unmatched)?;
        self.line("duration_ns", summary.duration_ns)?;
        self.line("clock_error_ns", summary.clock_error_ns)?;
        // Control characters of a header cannot break a line.
        let source = std::mem::take(&mut self.source).replace(char::is_control, " ");
        self.line("source", Some(source))?;
        self.out.flush()?;
        Ok(summary)
    }
}
