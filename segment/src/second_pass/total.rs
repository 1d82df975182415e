//! What a stretch of a run holds, in numbers.

/// What a stretch holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Total {
    /// When it begins, nanoseconds since the start of the run.
    pub(crate) start_ns: u64,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    /// The longest time between two of its messages that follow each other.
    pub(crate) pause_ns: u64,
}
