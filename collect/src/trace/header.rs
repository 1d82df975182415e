//! First and last member of a trace archive.

use serde::{Deserialize, Serialize};

use super::UnmatchedReceives;

/// Name of the format.
pub const FORMAT: &str = "phaseflow.trace";
/// Version written; readers accept it and all before.
pub const VERSION: u32 = 1;

/// The times of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Every message has a time.
    Timed,
    /// Every message has a position in an order that is consistent with the program's; it stands
    /// where timed traces have nanoseconds. Times, and the length of the run, are unknown.
    Ordered,
    /// Only sums over the run are known.
    Aggregate,
}

/// `header.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Always [`FORMAT`].
    pub format: String,
    /// At most [`VERSION`].
    pub version: u32,
    /// Timed, ordered or aggregate.
    pub kind: Kind,
    /// Where the trace comes from: `csv`, `pfprof`, `pattern halo2d,alltoall`.
    pub source: String,
}

impl Header {
    /// The header of a new trace.
    pub fn new(kind: Kind, source: impl Into<String>) -> Self {
        Self { format: FORMAT.into(), version: VERSION, kind, source: source.into() }
    }
}

/// `summary.json`: facts that are known at the end. An unknown is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of ranks, with those without messages if the source has them.
    pub ranks: u32,
    /// Messages, all blocks together.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Calls.
    pub calls: u64,
    /// Marks.
    pub marks: u64,
    /// Messages with one recorded end, if the source records both ends.
    pub unmatched: Option<u64>,
    /// Receives without a known send, where the source records receives.
    #[serde(default, skip_serializing_if = "UnmatchedReceives::is_none")]
    pub unmatched_receives: UnmatchedReceives,
    /// Start of the run on the trace's clock; timed traces only.
    pub start_ns: Option<i64>,
    /// End of the run on the trace's clock; timed traces only.
    pub end_ns: Option<i64>,
    /// Length of the run: end − start, or the duration of an aggregate source.
    pub duration_ns: Option<u64>,
    /// Bound of the error between the ranks' clocks.
    pub clock_error_ns: Option<u64>,
}
