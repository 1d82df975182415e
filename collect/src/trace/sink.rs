//! The destination of a trace.

use super::{Block, Header, RunFacts, Summary};
use crate::Result;

/// A consumer of a trace, block by block: the archive writer, a text format, a tally. Sources
/// (importers, generators) depend on this trait only.
///
/// Blocks come in the order of an archive (see [`trace`](super)): a call or mark before every block
/// of messages whose last one is later.
pub trait Sink {
    /// The trace starts.
    ///
    /// # Errors
    /// A kind of trace that the sink does not support, or an error of its output.
    fn begin(&mut self, header: &Header) -> Result<()>;

    /// The next piece; after [`begin`](Self::begin).
    ///
    /// # Errors
    /// Records out of order, sums beyond 2⁶³−1, or an error of the output.
    fn block(&mut self, block: Block<'_>) -> Result<()>;

    /// Ends the trace with the facts of its source.
    ///
    /// # Errors
    /// Facts that contradict the records, or an error of the output.
    fn finish(&mut self, facts: &RunFacts) -> Result<Summary>;
}
