//! Remarks for the user on what did not match.

use crate::trace::UnmatchedReceives;

/// Records that did not match in the merge.
#[derive(Debug, Default)]
pub(in crate::import) struct Remarks {
    /// Sends without a receive.
    pub(in crate::import) unreceived: u64,
    /// Receives that completed, without a send.
    pub(in crate::import) unsent: u64,
    /// Receives without a send: those, and those of the program itself that were not seen to
    /// complete.
    pub(in crate::import) unmatched: UnmatchedReceives,
    /// Sends with a receive beyond the limit of those that are kept; its times are lost.
    pub(in crate::import) owed: u64,
    /// Messages with different sizes at sender and receiver.
    pub(in crate::import) unlike: u64,
    /// Completed receives of which it is unknown what they took.
    pub(in crate::import) anonymous: u64,
    /// Messages of which neither side knows the size.
    pub(in crate::import) sizeless: u64,
    /// Messages to processes of another `MPI_COMM_WORLD`.
    pub(in crate::import) foreign: u64,
    /// Collective calls without messages and without a request to expand them.
    pub(in crate::import) unexpanded: u64,
    /// Collective calls that could not be expanded.
    pub(in crate::import) inexpandable: u64,
    /// The most by which a thread's clock went back.
    pub(in crate::import) back_ns: u64,
}

impl Remarks {
    /// Those of two stages together.
    pub(in crate::import) fn and(self, other: &Self) -> Self {
        Self {
            unreceived: self.unreceived + other.unreceived,
            unsent: self.unsent + other.unsent,
            unmatched: self.unmatched.and(&other.unmatched),
            owed: self.owed + other.owed,
            unlike: self.unlike + other.unlike,
            anonymous: self.anonymous + other.anonymous,
            sizeless: self.sizeless + other.sizeless,
            foreign: self.foreign + other.foreign,
            unexpanded: self.unexpanded + other.unexpanded,
            inexpandable: self.inexpandable + other.inexpandable,
            back_ns: self.back_ns.max(other.back_ns),
        }
    }

    /// A sentence each.
    pub(in crate::import) fn sentences(&self) -> Vec<String> {
        let mut said: Vec<String> = self.unmatched.sentence().into_iter().collect();
        let counts = [
            (self.owed, "messages were received so late that their receive times are left out"),
            (
                self.unlike,
                "messages were received with another size than they were sent; the sender's counts",
            ),
            (
                self.anonymous,
                "receives do not say whose message they took; those messages have no receive times",
            ),
            (self.sizeless, "messages are left out: their size is unknown to both sides"),
            (
                self.foreign,
                "messages to processes of another MPI_COMM_WORLD or of unknown communicators are left out: their receivers are unknown",
            ),
            (
                self.unexpanded,
                "collective calls were recorded without their messages; --expand open-mpi or basic computes them",
            ),
            (
                self.inexpandable,
                "collective calls could not be expanded: on a neighbourhood or an intercommunicator, or not entered by all members",
            ),
        ];
        said.extend(
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")),
        );
        said
    }
}
