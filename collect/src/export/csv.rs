//! CSV: `t_ns,src,dst,bytes,tag,op`, one message a line in trace order; an unknown tag is empty.

use std::io::Write;

use super::only_timed;
use crate::Result;
use crate::trace::{Block, Header, RunFacts, Sink, Summary, Tally};

/// Writes messages as CSV; calls and marks are left out.
#[derive(Debug)]
pub struct CsvExport<W: Write> {
    out: W,
    tally: Tally,
}

impl<W: Write> CsvExport<W> {
    /// CSV on `out`, which should be buffered.
    pub fn new(out: W) -> Self {
        Self { out, tally: Tally::default() }
    }
}

impl<W: Write> Sink for CsvExport<W> {
    fn begin(&mut self, header: &Header) -> Result<()> {
        only_timed(header, "CSV")?;
        Ok(self.out.write_all(b"t_ns,src,dst,bytes,tag,op\n")?)
    }

    fn block(&mut self, block: Block<'_>) -> Result<()> {
        let Block::Messages(messages) = block else { return Ok(()) };
        self.tally.messages(messages)?;
        for message in messages.iter() {
            write!(self.out, "{},{},{},{},", message.send_post_ns, message.src, message.dst, message.bytes)?;
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
