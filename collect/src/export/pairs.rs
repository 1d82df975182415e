//! The traffic matrix of the whole run as CSV: `src,dst,messages,bytes`.

use std::io::Write;

use crate::trace::{Block, Header, Rank, RunFacts, Sink, Summary, Tally};
use crate::{Cell, MatrixBuilder, Result};

/// Writes one line for each ordered pair with messages, in ascending order. Memory: the pairs.
#[derive(Debug)]
pub struct PairsExport<W: Write> {
    out: W,
    tally: Tally,
    matrix: MatrixBuilder,
}

impl<W: Write> PairsExport<W> {
    /// CSV on `out`, which should be buffered.
    pub fn new(out: W) -> Self {
        Self { out, tally: Tally::default(), matrix: MatrixBuilder::default() }
    }
}

impl<W: Write> Sink for PairsExport<W> {
    fn begin(&mut self, _: &Header) -> Result<()> {
        Ok(())
    }

    fn block(&mut self, block: Block<'_>) -> Result<()> {
        match block {
            Block::Messages(messages) => {
                self.tally.messages(messages)?;
                let columns = messages.columns();
                for ((src, dst), bytes) in columns.src.iter().zip(&columns.dst).zip(&columns.bytes) {
                    self.matrix.add(Cell { src: Rank(*src), dst: Rank(*dst), messages: 1, bytes: *bytes })?;
                }
                Ok(())
            }
            Block::Matrix(cells) => {
                self.tally.cells(cells)?;
                cells.iter().try_for_each(|cell| self.matrix.add(*cell))
            }
            Block::Calls(_) | Block::Marks(_) | Block::Sizes(_) => Ok(()),
        }
    }

    fn finish(&mut self, facts: &RunFacts) -> Result<Summary> {
        let summary = self.tally.finish(facts)?;
        self.out.write_all(b"src,dst,messages,bytes\n")?;
        for cell in std::mem::take(&mut self.matrix).finish().cells() {
            writeln!(self.out, "{},{},{},{}", cell.src, cell.dst, cell.messages, cell.bytes)?;
        }
        self.out.flush()?;
        Ok(summary)
    }
}
