//! CSV: `t_ns,src,dst,bytes,tag,op`, one message a line in trace order; an unknown tag or time is
//! empty.

use std::io::Write;

use super::only_messages;
use crate::Result;
use crate::trace::{Block, Header, Kind, RunFacts, Sink, Summary, Tally};

/// Writes messages as CSV; calls and marks are left out.
#[derive(Debug)]
pub struct CsvExport<W: Write> {
    out: W,
    tally: Tally,
    /// The messages have times, not only an order.
    is_timed: bool,
}

impl<W: Write> CsvExport<W> {
    /// CSV on `out`, which should be buffered.
    pub fn new(out: W) -> Self {
        Self { out, tally: Tally::default(), is_timed: true }
    }
}

impl<W: Write> Sink for CsvExport<W> {
    fn begin(&mut self, header: &Header) -> Result<()> {
        only_messages(header, "CSV")?;
        self.is_timed = header.kind == Kind::Timed;
        Ok(self.out.write_all(b"t_ns,src,dst,bytes,tag,op\n")?)
    }

    fn block(&mut self, block: Block<'_>) -> Result<()> {
        let Block::Messages(messages) = block else { return Ok(()) };
        self.tally.messages(messages)?;
        for message in messages.iter() {
            if self.is_timed {
                write!(self.out, "{}", message.send_post_ns)?;
            }
            write!(self.out, ",{},{},{},", message.src, message.dst, message.bytes)?;
            if let Some(tag) = message.tag {
                write!(self.out, "{tag}")?;
            }
            writeln!(self.out, ",{}", message.operation.name())?;
        }
        Ok(())
    }

    fn finish(&mut self, facts: &RunFacts) -> Result<Summary> {
        self.out.flush()?;
        self.tally.finish(facts)
    }
}
