//! Members of a phase archive in JSON.

use serde::{Deserialize, Serialize};

/// Name of the member that says what is simulated for all of the run.
pub(super) const SAMPLES: &str = "samples.json";

/// A phase in `phases.json`.
#[derive(Serialize, Deserialize)]
pub(super) struct PhaseEntry {
    pub(super) name: String,
    #[serde(default)]
    pub(super) title: Option<String>,
    pub(super) occurrences: u64,
    pub(super) duration_ns: Option<u64>,
    pub(super) messages: u64,
    pub(super) bytes: u64,
    /// Row of the occurrence that stands for all.
    #[serde(default)]
    pub(super) representative: Option<usize>,
}

/// `summary.json`: how many rows the other members have.
#[derive(Serialize, Deserialize)]
pub(super) struct Summary {
    pub(super) phases: usize,
    pub(super) occurrences: usize,
}
