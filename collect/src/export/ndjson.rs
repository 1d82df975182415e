//! NDJSON: one object a message in trace order; `t_ns`, `tag` and `op` only if known.

use std::io::Write;

use super::only_messages;
use crate::Result;
use crate::trace::{Block, Header, Kind, Operation, RunFacts, Sink, Summary, Tally};

/// Writes messages as NDJSON; calls and marks are left out.
#[derive(Debug)]
pub struct NdjsonExport<W: Write> {
    out: W,
    tally: Tally,
    /// The messages have times, not only an order.
    is_timed: bool,
}

impl<W: Write> NdjsonExport<W> {
    /// NDJSON on `out`, which should be buffered.
    pub fn new(out: W) -> Self {
        Self { out, tally: Tally::default(), is_timed: true }
    }
}

impl<W: Write> Sink for NdjsonExport<W> {
    fn begin(&mut self, header: &Header) -> Result<()> {
        self.is_timed = header.kind == Kind::Timed;
        only_messages(header, "NDJSON")
    }

    fn block(&mut self, block: Block<'_>) -> Result<()> {
        let Block::Messages(messages) = block else { return Ok(()) };
        self.tally.messages(messages)?;
        for message in messages.iter() {
            let (t, src, dst, bytes) = (message.send_post_ns, message.src, message.dst, message.bytes);
            self.out.write_all(b"{")?;
            if self.is_timed {
                write!(self.out, r#""t_ns":{t},"#)?;
            }
            write!(self.out, r#""src":{src},"dst":{dst},"bytes":{bytes}"#)?;
            if let Some(tag) = message.tag {
                write!(self.out, r#","tag":{tag}"#)?;
            }
            if message.operation != Operation::PointToPoint {
                write!(self.out, r#","op":"{}""#, message.operation.name())?;
            }
            self.out.write_all(b"}\n")?;
        }
        Ok(())
    }

    fn finish(&mut self, facts: &RunFacts) -> Result<Summary> {
        self.out.flush()?;
        self.tally.finish(facts)
    }
}
