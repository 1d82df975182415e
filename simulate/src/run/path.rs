//! Critical paths of a phase, all its occurrences together.

use crate::engine::Picoseconds;
use crate::flow::DelaySums;
use crate::replay::{Details, Step, keep_longest};
use crate::result::{BlameRow, Cause, PathRow, Replayed, StepKind};
use crate::statistics::seconds;
use crate::units::S_PER_PS;

/// Rounding error of times, seconds: the picosecond of the clock.
const ROUNDING_S: f64 = S_PER_PS;

/// Steps and sums of a phase.
#[derive(Debug, Default)]
pub(super) struct Paths {
    steps: Vec<Step>,
    delays: DelaySums,
    /// True if the delays of all messages are known, and true if those of some are unknown.
    is_known: bool,
    is_unknown: bool,
}

impl Paths {
    /// Adds a stretch that began `began` after the job, and `most` of its steps at most.
    pub(super) fn add(&mut self, details: &Details, stretch: usize, began: Picoseconds, most: u32) {
        self.add_steps(details.steps_of(stretch), began, most);
        self.add_delays(details.delays.as_ref().map(|delays| &delays[stretch]), 1.0);
    }

    /// Adds steps of a replay that began `began` after the job; keeps `most` of them at most.
    pub(super) fn add_steps(&mut self, steps: &[Step], began: Picoseconds, most: u32) {
        let later = |step: &Step| Step {
            start: step.start.saturating_add(began),
            end: step.end.saturating_add(began),
            ..step.clone()
        };
        self.steps.extend(steps.iter().map(later));
        keep_longest(&mut self.steps, most as usize);
    }

    /// Adds a share of the delays of messages, if they are known.
    pub(super) fn add_delays(&mut self, delays: Option<&DelaySums>, share: f64) {
        match delays {
            None => self.is_unknown = true,
            Some(delays) => {
                self.is_known = true;
                self.delays.add_all(delays, share);
            }
        }
    }

    /// The rows of the table `path`; none unless steps are requested.
    pub(super) fn path_rows(&self, job: u32, phase: u32, sums: &Replayed, most: u32) -> Vec<PathRow> {
        if most == 0 {
            return Vec::new();
        }
        let empty = |kind: StepKind, time_s: f64| PathRow {
            job,
            phase,
            kind,
            time_s,
            rank: None,
            peer: None,
            start_s: None,
            bytes: None,
            link: None,
            shared_s: None,
            by_job: None,
            by_rank: None,
            by_peer: None,
        };
        let mut steps: Vec<&Step> = self.steps.iter().collect();
        steps.sort_by_key(|step| step.start);
        let row = |step: &&Step| PathRow {
            rank: Some(step.rank),
            peer: step.peer,
            start_s: Some(seconds(step.start)),
            bytes: step.bytes,
            link: step.link,
            shared_s: step.shared.map(|shared| shared * S_PER_PS),
            by_job: step.by,
            by_rank: step.by_ranks.map(|ranks| ranks.0),
            by_peer: step.by_ranks.map(|ranks| ranks.1),
            ..empty(step.kind, seconds(step.time()))
        };
        let mut rows: Vec<PathRow> = steps.iter().map(row).collect();
        let attributed = |on_rank: bool| -> f64 {
            let of_kind = steps.iter().filter(|step| (step.kind == StepKind::Rank) == on_rank);
            of_kind.map(|step| seconds(step.time())).sum()
        };
        for (kind, rest) in [
            (StepKind::Rank, sums.path_ranks_s - attributed(true)),
            (StepKind::Message, sums.path_network_s - attributed(false)),
        ] {
            rows.extend((rest > ROUNDING_S).then(|| empty(kind, rest)));
        }
        rows
    }

    /// The rows of the table `blame`, by link or merged; none if the delays of some messages are
    /// unknown.
    pub(super) fn blame_rows(&self, job: u32, phase: u32, sums: &Replayed, by_link: bool) -> Vec<BlameRow> {
        if !self.is_known || self.is_unknown {
            return Vec::new();
        }
        let row = |cause, link, by_job, path_s| BlameRow { job, phase, cause, by_job, link, path_s };
        let latency = sums.path_network_s - self.delays.time() * S_PER_PS;
        let mut rows = vec![row(Cause::Latency, None, None, latency.max(0.0))];
        let merged = (!by_link).then(|| self.delays.without_links());
        rows.extend(merged.as_ref().unwrap_or(&self.delays).iter().map(|delay| {
            let cause = if delay.by.is_some() { Cause::Sharing } else { Cause::Transfer };
            row(cause, delay.link, delay.by, delay.time * S_PER_PS)
        }));
        rows.sort_by_key(|row| (row.cause, row.link, row.by_job));
        rows
    }
}
