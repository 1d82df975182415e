//! Critical paths: the tables `path` and `blame`.

use serde::{Deserialize, Serialize};

use crate::topology::LinkId;

/// A step of the critical path of a phase; or, without `start_s`, the sum of all steps of its kind
/// that are not listed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathRow {
    /// Number of the job within the run.
    pub job: u32,
    /// Position of the phase among the rows of its job in
    /// [`RunResult::phases`](super::RunResult::phases).
    pub phase: u32,
    /// What happened.
    pub kind: StepKind,
    /// Its time, seconds.
    pub time_s: f64,
    /// The rank: a message's sender, or the rank that joined a sum in the network last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// The receiver of a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<u32>,
    /// Its start, seconds since the start of the job, or of the replay of the samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_s: Option<f64>,
    /// Sent messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The link of the longest delay of a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkId>,
    /// Time lost to messages on the same links, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_s: Option<f64>,
    /// The job that it lost most to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_job: Option<u32>,
    /// The competing pair of that job: its sender; `by_peer` is its receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_rank: Option<u32>,
    /// The receiver of these messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_peer: Option<u32>,
}

/// Kinds of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepKind {
    /// Computation and overheads of a rank.
    Rank,
    /// A message in the network.
    Message,
    /// A sum in the network.
    Sum,
}

/// Part of the network time of a phase's critical path, all occurrences together; the rows of a
/// phase add up to that time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlameRow {
    /// Number of the job within the run.
    pub job: u32,
    /// Position of the phase among the rows of its job in
    /// [`RunResult::phases`](super::RunResult::phases).
    pub phase: u32,
    /// The cause of the time.
    pub cause: Cause,
    /// Whose messages it was lost to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_job: Option<u32>,
    /// The bottleneck; `None` for latency and for messages within a host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkId>,
    /// Seconds.
    pub path_s: f64,
}

/// Cause of time in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// Latency of links and switches.
    Latency,
    /// Transfer of the path's messages, if they were alone.
    Transfer,
    /// Other messages on the bottleneck.
    Sharing,
}

impl StepKind {
    /// As tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rank => "rank",
            Self::Message => "message",
            Self::Sum => "sum",
        }
    }
}

impl Cause {
    /// As tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Transfer => "transfer",
            Self::Sharing => "sharing",
        }
    }
}
