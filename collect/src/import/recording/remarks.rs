//! Remarks for the user on a recording.

use phaseflow_profiler::{Run, State};

use crate::import::rank_list::rank_list;
use crate::trace::UnmatchedReceives;

/// Records that did not match in the merge.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    /// Sends without a receive.
    pub(super) unreceived: u64,
    /// Receives that completed, without a send.
    pub(super) unsent: u64,
    /// Receives without a send: those, and those of the program itself that were not seen to
    /// complete.
    pub(super) unmatched: UnmatchedReceives,
    /// Sends with a receive beyond the limit of those that are kept; its times are lost.
    pub(super) owed: u64,
    /// Messages with different sizes at sender and receiver.
    pub(super) unlike: u64,
    /// Messages to processes of another `MPI_COMM_WORLD`.
    pub(super) foreign: u64,
    /// Collective calls without messages and without a request to expand them.
    pub(super) unexpanded: u64,
    /// Collective calls that could not be expanded.
    pub(super) inexpandable: u64,
    /// The most by which a thread's clock went back.
    pub(super) back_ns: u64,
}

impl Remarks {
    /// Those of two stages together.
    pub(super) fn and(self, other: &Self) -> Self {
        Self {
            unreceived: self.unreceived + other.unreceived,
            unsent: self.unsent + other.unsent,
            unmatched: self.unmatched.and(&other.unmatched),
            owed: self.owed + other.owed,
            unlike: self.unlike + other.unlike,
            foreign: self.foreign + other.foreign,
            unexpanded: self.unexpanded + other.unexpanded,
            inexpandable: self.inexpandable + other.inexpandable,
            back_ns: self.back_ns.max(other.back_ns),
        }
    }

    /// A sentence each.
    pub(super) fn sentences(&self, run: &Run) -> Vec<String> {
        let mut said: Vec<String> = run.skipped().iter().map(|file| format!("left out {file}")).collect();
        let ranks_in = |state: State| {
            run.processes()
                .filter(move |(_, recording)| recording.header().state == state)
                .map(|(rank, _)| rank)
        };
        if let Some(ranks) = rank_list(ranks_in(State::EndedEarly)) {
            said.push(format!(
                "{ranks} ended early, before MPI_Finalize; all that was recorded until then is in the trace"
            ));
        }
        if let Some(ranks) = rank_list(ranks_in(State::OutOfSpace)) {
            said.push(format!("{ranks} ran out of disk space; nothing was recorded from then on"));
        }
        let there: Vec<u32> = run.processes().map(|(rank, _)| rank).collect();
        let missing = (0..run.ranks()).filter(|rank| there.binary_search(rank).is_err());
        if let Some(ranks) = rank_list(missing) {
            said.push(format!("{ranks} of {} left no recording: what only they saw is missing", run.ranks()));
        }
        said.extend(self.unmatched.sentence());
        let counts = [
            (self.owed, "messages were received so late that their receive times are left out"),
            (
                self.unlike,
                "messages were received with another size than they were sent; the sender's counts",
            ),
            (
                self.foreign,
                "messages to processes of another MPI_COMM_WORLD are left out: their receivers are unknown",
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
