//! SimGrid's time-independent traces, in one file for all ranks: `smpirun -replay FILE` reads it.
//!
//! Messages are non-blocking, so their order constrains nobody more than the recorded program did.
//! Computation between them is written as flops of a host of 1 Gflop/s. Communicators are left out;
//! the sizes are bytes (datatype 6). Calls are left out, as their messages stand for them.

use std::io::Write;

use super::only_messages;
use super::operations::{Computation, Kind as StepKind, Operations, Step};
use crate::Result;
use crate::trace::{Block, Header, Kind, RunFacts, Sink, Summary, Tally};

/// SimGrid's id of `MPI_BYTE`.
const BYTE: u32 = 6;

/// Writes a time-independent trace. Memory: the messages that are on their way.
#[derive(Debug)]
pub struct SimgridExport<W: Write> {
    out: W,
    tally: Tally,
    operations: Operations,
    computation: Computation,
    /// Ranks that have their `init`.
    begun: Vec<bool>,
}

impl<W: Write> SimgridExport<W> {
    /// Lines on `out`, which should be buffered.
    pub fn new(out: W) -> Self {
        Self {
            out,
            tally: Tally::default(),
            operations: Operations::default(),
            computation: Computation::new(true),
            begun: Vec::new(),
        }
    }
}

/// Writes a rank's first line, once.
fn begin(out: &mut impl Write, begun: &mut Vec<bool>, rank: u32) -> Result<()> {
    let at = rank as usize;
    if begun.len() <= at {
        begun.resize(at + 1, false);
    }
    if !begun[at] {
        begun[at] = true;
        writeln!(out, "{rank} init")?;
    }
    Ok(())
}

fn write(
    out: &mut impl Write,
    computation: &mut Computation,
    begun: &mut Vec<bool>,
    step: &Step,
) -> Result<()> {
    let Step { rank, src, dst, tag, bytes, .. } = *step;
    begin(out, begun, rank)?;
    let computed_ns = computation.before(step);
    if computed_ns > 0 {
        // A flop a nanosecond.
        writeln!(out, "{rank} compute {computed_ns}")?;
    }
    match step.kind {
        StepKind::Send => writeln!(out, "{rank} isend {dst} {tag} {bytes} {BYTE}")?,
        StepKind::Receive => writeln!(out, "{rank} irecv {src} {tag} {bytes} {BYTE}")?,
        StepKind::AwaitSend | StepKind::AwaitReceive => writeln!(out, "{rank} wait {src} {dst} {tag}")?,
    }
    Ok(())
}

impl<W: Write> Sink for SimgridExport<W> {
    fn begin(&mut self, header: &Header) -> Result<()> {
        self.computation = Computation::new(header.kind == Kind::Timed);
        only_messages(header, "SimGrid")
    }

    fn block(&mut self, block: Block<'_>) -> Result<()> {
        let Block::Messages(messages) = block else { return Ok(()) };
        self.tally.messages(messages)?;
        let Self { out, operations, computation, begun, .. } = self;
        operations.add(messages, &mut |step| write(out, computation, begun, step))
    }

    fn finish(&mut self, facts: &RunFacts) -> Result<Summary> {
        let summary = self.tally.finish(facts)?;
        let Self { out, operations, computation, begun, .. } = self;
        operations.finish(&mut |step| write(out, computation, begun, step))?;
        for rank in 0..summary.ranks {
            begin(out, begun, rank)?;
            writeln!(out, "{rank} finalize")?;
        }
        self.out.flush()?;
        Ok(summary)
    }
}
