//! Remarks for the user on a trace.

use crate::trace::UnmatchedReceives;

/// What did not fit.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    /// Sends without a receive.
    pub(super) unpaired: u64,
    /// Receives without a send.
    pub(super) unsent: UnmatchedReceives,
    /// Receives whose send had left already, so their times are missing.
    pub(super) late: u64,
    /// Receives whose completion is not in the trace.
    pub(super) lost: u64,
    /// Messages with different sizes at sender and receiver.
    pub(super) unlike: u64,
    /// Messages that are received before they are sent, and the longest such time.
    pub(super) early: u64,
    pub(super) early_ns: u64,
    /// Messages to `MPI_PROC_NULL`, or to a process that the trace does not have.
    pub(super) to_nobody: u64,
    /// Events with descending times.
    pub(super) descents: u64,
    /// Collectives that could not be made messages of.
    pub(super) inexpandable: u64,
    /// Collective calls that nobody asked to be made messages of.
    pub(super) unexpanded: u64,
}

impl Remarks {
    /// A sentence each.
    pub(super) fn sentences(&self) -> Vec<String> {
        let mut said: Vec<String> = self.unsent.sentence().into_iter().collect();
        if self.early > 0 {
            said.push(format!(
                "{} messages are received before they are sent, by up to {} ns: the clocks of the ranks differ",
                self.early, self.early_ns
            ));
        }
        let counts = [
            (self.lost, "receives are posted whose completion is not recorded, so their senders are unknown"),
            (self.late, "messages were received so late that their receive times are left out"),
            (
                self.unlike,
                "messages were received with another size than they were sent; the sender's counts",
            ),
            (self.to_nobody, "messages to nobody (MPI_PROC_NULL) are left out"),
            (self.descents, "events go back in time; they are taken to happen with the one before"),
            (
                self.unexpanded,
                "collective calls were recorded without their messages; --expand open-mpi or basic computes them",
            ),
            (
                self.inexpandable,
                "collective calls could not be expanded: on unknown members or a window, or not entered by all members",
            ),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        said.extend(counts.map(|(count, what)| format!("{count} {what}")));
        said
    }
}
