//! One side of a boundary: what its messages are added to.

use phaseflow_collect::{MatrixBuilder, Result, sum_of_bytes};

use crate::second_pass::representative::Volume;
use crate::second_pass::total::Total;
use crate::title::OperationTotals;

/// A stretch, its matrix and its volume, to which messages go.
pub(crate) struct Side<'a> {
    pub(crate) total: &'a mut Total,
    pub(crate) matrix: &'a mut MatrixBuilder,
    pub(crate) operations: &'a mut OperationTotals,
    pub(crate) volume: Volume<'a>,
}

impl Side<'_> {
    /// Adds messages, each with its operation.
    pub(crate) fn add(
        &mut self,
        (src, dst, bytes): (&[u32], &[u32], &[u64]),
        operations: impl Iterator<Item = u8>,
    ) -> Result<()> {
        self.operations.add(operations, bytes);
        // Refuses sums beyond 63 bits.
        self.matrix.add_messages(src, dst, bytes)?;
        self.volume.add(src, dst, bytes);
        self.total.messages += src.len() as u64;
        self.total.bytes = self.total.bytes.saturating_add(sum_of_bytes(bytes));
        Ok(())
    }
}
