//! Histograms that copies share.

use std::sync::Arc;

/// Counts by bin. Copies share them until one is written, as many are only read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counts<const BINS: usize>(pub(crate) Arc<[u64; BINS]>);

impl<const BINS: usize> Default for Counts<BINS> {
    fn default() -> Self {
        Self(Arc::new([0; BINS]))
    }
}

impl<const BINS: usize> Counts<BINS> {
    /// The bins to be written, which nobody else has then.
    pub(crate) fn own(&mut self) -> &mut [u64; BINS] {
        Arc::make_mut(&mut self.0)
    }

    /// Adds others.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.own().iter_mut().zip(other.0.iter()).for_each(|(sum, count)| *sum += count);
    }
}
