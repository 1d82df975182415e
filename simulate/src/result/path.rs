//! What critical paths are made of: the tables `path` and `blame`.

use serde::{Deserialize, Serialize};

use crate::topology::LinkId;

/// A step of the critical path of a phase; or, without `start_s`, all of its kind that are not told
/// one by one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathRow {
    /// Number of the job within the run.
    pub job: u32,
    /// Position of the phase among the rows of its job in
    /// [`RunResult::phases`](super::RunResult::phases).
    pub phase: u32,
    /// What happened.
    pub kind: StepKind,
    /// How long it took, seconds.
    pub time_s: f64,
    /// The rank; of a message its sender, of a sum in the network the rank that joined last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// The receiver of a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<u32>,
    /// When it began: seconds since the job started, or since the replay of the samples began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_s: Option<f64>,
    /// What was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The link that held a message up the longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkId>,
    /// What it lost to messages that it shared links with, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_s: Option<f64>,
    /// The job that it lost most to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_job: Option<u32>,
    /// Of that job the rank whose messages it lost most to, those to `by_peer`.
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

/// Part of the time that the critical path of a phase was in the network, all occurrences together;
/// the rows of a phase add up to that time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlameRow {
    /// Number of the job within the run.
    pub job: u32,
    /// Position of the phase among the rows of its job in
    /// [`RunResult::phases`](super::RunResult::phases).
    pub phase: u32,
    /// What the time was needed for.
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

/// What time in the network was needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// Latency of links and switches.
    Latency,
    /// The bytes of messages on the path, had they been alone.
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
