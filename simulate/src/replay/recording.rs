//! The recording that the jobs of a workload replay, from a phase archive or trace.

use phaseflow_collect::{At, Result};
use phaseflow_segment::{Chosen, Occurrence, Place, Records, Segmentation, Span};

use super::interval::{TraceInterval, trace_time};
use super::op::Transfer;
use super::operations::Operations;
use super::options::Sampling;
use super::stratified_sample::StratifiedSample;

/// Most simulations of a phase for different skews of its ranks; beyond it the simulation of the
/// nearest skew is reused. Programs whose ranks synchronize need fewer; for others this bounds the
/// work. Half and double change the makespan of none of six recordings (LAMMPS, GROMACS, mpi4py)
/// under the model `auto`.
pub(crate) const MOST_KNOWN: u64 = 16;

/// Operations that the jobs of a workload replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// By phase: operations of its representative; `None` where its messages are unknown.
    pub of_phase: Vec<Option<Operations>>,
    /// The whole run, split at the ends of the outermost occurrences; `None` where the archive does
    /// not hold it.
    pub whole: Option<Operations>,
    /// What stands for all of the run.
    pub sampled: Option<StratifiedSample>,
}

impl Recording {
    /// The representative of a phase.
    pub fn phase(&self, phase: usize) -> Option<&Operations> {
        let only = || self.whole.as_ref().filter(|whole| phase == 0 && whole.stretches() == 1);
        self.of_phase.get(phase).and_then(Option::as_ref).or_else(only)
    }

    /// Remarks for the user, a sentence each.
    pub fn remarks(&self) -> impl Iterator<Item = String> {
        // Remarks on parts would repeat those on the whole.
        let parts = if self.whole.is_some() { &[][..] } else { &self.of_phase[..] };
        let windows = self.sampled.iter().filter(|_| self.whole.is_none()).map(|sampled| &sampled.operations);
        let wholes = self.whole.iter().chain(windows).map(|operations| (None, operations));
        let parts = parts
            .iter()
            .enumerate()
            .filter_map(|(phase, operations)| Some((Some(phase), operations.as_ref()?)));
        wholes.chain(parts).filter_map(|(phase, operations)| {
            let unmatched = operations.unmatched()?;
            Some(phase.map_or(unmatched.clone(), |phase| format!("phase {phase}: {unmatched}")))
        })
    }

    /// Upper bound of the messages that a job simulates, each counted by `weight`, and of those in
    /// memory at a time.
    pub(crate) fn work(
        &self,
        segmentation: &Segmentation,
        sampling: Sampling,
        merged: bool,
        weight: impl Fn(&Transfer) -> u64,
    ) -> (u64, u64) {
        let messages = |operations: &Operations| operations.messages().iter().map(&weight).sum::<u64>();
        if merged || sampling == Sampling::Off {
            let whole = self.whole.as_ref().map_or(0, messages);
            return (whole, whole);
        }
        if let Some(sampled) = &self.sampled {
            return (sampled.replays().map(messages).sum(), messages(&sampled.operations));
        }
        let phases = segmentation.phases.iter().enumerate();
        let of =
            phases.filter_map(|(number, phase)| Some((messages(self.phase(number)?), phase.occurrences)));
        of.fold((0, 0), |(sum, most), (messages, occurrences)| {
            (sum + messages.saturating_mul(occurrences.min(MOST_KNOWN)), most.max(messages))
        })
    }

    /// Bytes of memory.
    pub fn memory(&self) -> u64 {
        let windows = self.sampled.iter().flat_map(StratifiedSample::replays);
        self.of_phase.iter().flatten().chain(&self.whole).chain(windows).map(Operations::memory).sum()
    }
}

/// The recording of a phase archive while it is read.
#[derive(Debug, Default)]
pub(crate) struct RecordingBuilder {
    of_phase: Vec<TraceInterval>,
    windows: Vec<TraceInterval>,
    whole: Option<TraceInterval>,
}

impl RecordingBuilder {
    /// Adds records of the run, of a phase or of a window.
    pub(crate) fn push(&mut self, place: Place, records: Records<'_>) {
        let (intervals, number) = match place {
            Place::Run => return self.whole.get_or_insert_default().push(records),
            Place::Phase(number) => (&mut self.of_phase, number),
            Place::Window(number) => (&mut self.windows, number),
        };
        if intervals.len() <= number {
            intervals.resize_with(number + 1, TraceInterval::default);
        }
        if let Some(interval) = intervals.get_mut(number) {
            interval.push(records);
        }
    }

    /// Turns what was read into operations. Where the archive holds the whole run, representatives
    /// and windows are cut out of it; `times` of a run that does not start at 0 are since
    /// `start_ns`.
    ///
    /// # Errors
    /// Ranks that the run does not have; more than 2³²−1 messages.
    pub(crate) fn build(mut self, chosen: &Chosen, start_ns: i64) -> Result<Recording> {
        let Chosen { segmentation, representatives, samples } = chosen;
        let ranks = segmentation.header.ranks;
        let rows = &segmentation.occurrences;
        let outermost = || rows.iter().filter(|row| row.depth == 0);
        let span = |row: &Occurrence| Span { start_ns: row.start_ns, end_ns: row.end_ns };
        let last_ns = segmentation.header.duration_ns;
        // A run of one stretch is its own representative.
        if let Some(whole) = self.whole.as_ref().filter(|_| outermost().nth(1).is_some()) {
            let spans = representatives.iter().map(|row| row.and_then(|row| rows.get(row)).map(span));
            self.of_phase =
                whole.cut(&spans.map(Option::unwrap_or_default).collect::<Vec<_>>(), last_ns, start_ns);
        }
        if let (Some(whole), Some(samples)) = (&self.whole, samples) {
            self.windows = whole.cut(&samples.windows, last_ns, start_ns);
        }
        let mut recording = Recording::default();
        for (phase, row) in representatives.iter().enumerate() {
            let interval = self.of_phase.get_mut(phase).map(std::mem::take).unwrap_or_default();
            let occurrence = row.and_then(|row| rows.get(row));
            let is_known = |row: &&Occurrence| interval.len() as u64 == row.messages;
            let operations = occurrence.filter(is_known).map(|row| {
                let span = (trace_time(row.start_ns, start_ns), trace_time(row.end_ns, start_ns));
                Operations::new(&interval, ranks, span, &[]).at(|| format!("phase {phase}"))
            });
            recording.of_phase.push(operations.transpose()?);
        }
        if let Some(samples) = samples.as_ref().filter(|samples| self.windows.len() <= samples.windows.len())
        {
            self.windows.resize_with(samples.windows.len(), TraceInterval::default);
            recording.sampled = StratifiedSample::new(segmentation, samples, &self.windows, start_ns)?;
        }
        if let Some(whole) = self.whole {
            let ends: Vec<i64> = outermost().map(|row| trace_time(row.end_ns, start_ns)).collect();
            if let Some((last, inner)) = ends.split_last() {
                recording.whole = Some(Operations::new(&whole, ranks, (start_ns, *last), inner)?);
            }
        }
        Ok(recording)
    }
}
