//! Remarks for the user on a recording.

use phaseflow_profiler::{Run, State};

use crate::import::rank_list::rank_list;
use crate::import::ranks::Remarks;

/// A sentence each.
pub(super) fn sentences(remarks: &Remarks, run: &Run) -> Vec<String> {
    let mut said: Vec<String> = run.skipped().iter().map(|file| format!("left out {file}")).collect();
    let ranks_in = |state: State| {
        run.processes().filter(move |(_, recording)| recording.header().state == state).map(|(rank, _)| rank)
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
    said.extend(remarks.sentences());
    said
}
