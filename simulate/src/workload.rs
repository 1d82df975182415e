//! What a job does: phases in time.

use phaseflow_segment::Segmentation;

/// A segmented run (or one of a single phase) that jobs repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// The input it was read from.
    pub name: String,
    /// Its phases, their matrices and their occurrences.
    pub segmentation: Segmentation,
}
