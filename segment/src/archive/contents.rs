//! What a phase archive holds beside the records of its messages.

use crate::samples::Samples;
use crate::segmentation::Segmentation;

/// A segmentation, and what stands for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The phases of the run.
    pub segmentation: Segmentation,
    /// By phase: which row of the occurrences stands for it.
    pub representatives: Vec<Option<usize>>,
    /// What is simulated for all of the run, if the archive says so.
    pub samples: Option<Samples>,
}

/// Which part of a run messages and calls in a phase archive are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The whole run.
    Run,
    /// The representative of a phase.
    Phase(usize),
    /// A [window](Samples).
    Window(usize),
}
