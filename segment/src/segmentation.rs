//! A run split into phases: the data that a phase archive holds of its segmentation.

use phaseflow_collect::TrafficMatrix;
use phaseflow_collect::trace::UnmatchedReceives;
use serde::{Deserialize, Serialize};

/// Name of the format.
pub const FORMAT: &str = "phaseflow.phases";
/// Version written; readers accept it and all before.
pub const VERSION: u32 = 1;

/// `header.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Always [`FORMAT`].
    pub format: String,
    /// At most [`VERSION`].
    pub version: u32,
    /// Where the trace came from, as its header says.
    pub source: String,
    /// The method and its effective parameters: `kmeans[k=3,windows=512]`.
    pub method: String,
    /// Number of ranks of the run.
    pub ranks: u32,
    /// Length of the run; unknown for aggregate traces without a duration.
    pub duration_ns: Option<u64>,
    /// Receives without a known send.
    #[serde(default, skip_serializing_if = "UnmatchedReceives::is_none")]
    pub unmatched_receives: UnmatchedReceives,
}

/// A kind of communication behaviour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Its name: `0`, `1`, … in order of first occurrence.
    pub name: String,
    /// What it does, in a few words for people: `alltoall · 64 KiB · 64 ranks`.
    pub title: String,
    /// How often it occurs.
    pub occurrences: u64,
    /// Time of all its occurrences together; unknown for aggregate traces without a duration.
    pub duration_ns: Option<u64>,
    /// Demand of all its occurrences together.
    pub matrix: TrafficMatrix,
}

/// One stretch of one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occurrence {
    /// Index of the phase; `None` where the run is idle.
    pub phase: Option<u32>,
    /// 0 for those that tile the run; deeper ones lie inside one of the level above.
    pub depth: u32,
    /// Start, nanoseconds since the start of the run.
    pub start_ns: u64,
    /// End, nanoseconds since the start of the run; not before the start.
    pub end_ns: u64,
    /// Messages posted in it.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A run split into phases: what pf-segment writes and pf-simulate reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segmentation {
    /// What was split, and how.
    pub header: Header,
    /// Phases in order of first occurrence.
    pub phases: Vec<Phase>,
    /// Occurrences by start, then depth; those of depth 0 tile the run. Empty if nothing is known
    /// of time.
    pub occurrences: Vec<Occurrence>,
}
