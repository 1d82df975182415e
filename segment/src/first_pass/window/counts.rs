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

    /// Shares the bins of others if they are the same; its own, which nobody needs any more, are
    /// the answer then.
    pub(crate) fn share(&mut self, other: &Self) -> Option<Self> {
        (self == other).then(|| std::mem::replace(self, other.clone()))
    }

    /// True if bins are shared.
    pub(crate) fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Forgets all, keeps the memory if nobody shares it.
    pub(crate) fn clear(&mut self) {
        match Arc::get_mut(&mut self.0) {
            Some(counts) => counts.fill(0),
            None => *self = Self::default(),
        }
    }
}
