//! Where a trace goes.

use super::{Block, Header, RunFacts, Summary};
use crate::Result;

/// Takes a trace piece by piece: the archive writer, a text format, a count. Sources (importers,
/// generators) know nothing else of what becomes of their records.
///
/// Blocks come in the order of an archive (see [`trace`](super)): a call or mark before every block
/// of messages whose last one is later.
pub trait Sink {
    /// The trace starts.
    ///
    /// # Errors
    /// A kind of trace that the sink cannot show, or what its output reports.
    fn begin(&mut self, header: &Header) -> Result<()>;

    /// The next piece; after [`begin`](Self::begin).
    ///
    /// # Errors
    /// Records out of order, sums beyond 2⁶³−1, or what the output reports.
    fn block(&mut self, block: Block<'_>) -> Result<()>;

    /// The trace ends; what is known of it now.
    ///
    /// # Errors
    /// Facts that contradict the records, or what the output reports.
    fn finish(&mut self, facts: &RunFacts) -> Result<Summary>;
}
