//! The program of a job: a workload's phases and their times.

use std::borrow::Cow;

use phaseflow_collect::trace::{MOST_RANKS, Rank};
use phaseflow_collect::{At, Cell, Error, MatrixBuilder, Result, TrafficMatrix};
use phaseflow_segment::Segmentation;

use crate::collective::{CollectiveChoice, Servers};
use crate::engine::Picoseconds;
use crate::replay::{Operations, Recording, Sampling, StratifiedSample};
use crate::workload::Workload;

/// A workload as jobs run it.
#[derive(Debug)]
pub(super) struct Program<'a> {
    pub(super) name: &'a str,
    pub(super) ranks: u32,
    pub(super) phases: Vec<ProgramPhase<'a>>,
    /// The traffic matrix of the whole run.
    whole: Cow<'a, TrafficMatrix>,
    /// At least one stage; stages follow each other without gaps.
    pub(super) stages: Vec<Stage>,
    /// End of the last stage: the job's default length.
    pub(super) total_ns: u64,
    /// True if all phases are merged into one.
    pub(super) merged: bool,
    /// True if the length is that of the trace; false if it is nominal, 1 s per phase.
    pub(super) timed: bool,
    recording: Option<&'a Recording>,
    /// Operations with replaced collectives.
    replaced: Option<ReplacedOperations>,
    /// The traffic matrix of the whole run with replaced collectives.
    replaced_whole: Option<TrafficMatrix>,
    /// Hosts that serve.
    pub(super) servers: Servers,
}

/// Operations with replaced collectives.
#[derive(Debug)]
struct ReplacedOperations {
    of_phase: Vec<Option<Operations>>,
    whole: Option<Operations>,
}

/// A phase of a program.
#[derive(Debug)]
pub(super) struct ProgramPhase<'a> {
    pub(super) name: &'a str,
    /// `None`: that of the whole run.
    matrix: Option<Cow<'a, TrafficMatrix>>,
    pub(super) occurrences: u64,
    pub(super) duration_ns: Option<u64>,
    pub(super) bytes: u64,
}

/// One stretch of one phase, or an idle one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stage {
    pub(super) phase: Option<u32>,
    pub(super) end_ns: u64,
}

/// Nominal time of a phase in a trace without times: 1 s, so that loads are bytes.
const NOMINAL_NS: u64 = 1_000_000_000;

impl<'a> Program<'a> {
    pub(super) fn new(workload: &'a Workload, merged: bool) -> Result<Self> {
        Self::build(workload, merged).at(|| &workload.name)
    }

    fn build(workload: &'a Workload, merged: bool) -> Result<Self> {
        let segmentation = &workload.segmentation;
        let ranks = segmentation.header.ranks;
        check_ranks(segmentation)?;
        let whole = whole_matrix(segmentation)?;
        let mut phases: Vec<ProgramPhase<'a>> = segmentation
            .phases
            .iter()
            .map(|phase| ProgramPhase {
                name: &phase.name,
                matrix: Some(Cow::Borrowed(&phase.matrix)),
                occurrences: phase.occurrences,
                duration_ns: phase.duration_ns,
                bytes: phase.matrix.bytes(),
            })
            .collect();
        let (mut stages, timed) = all_stages(workload, &phases)?;
        let total_ns = stages.last().map_or(0, |stage| stage.end_ns);
        if merged {
            let duration_ns = timed.then_some(total_ns);
            let bytes = whole.bytes();
            phases = vec![ProgramPhase { name: MERGED, matrix: None, occurrences: 1, duration_ns, bytes }];
            stages = vec![Stage { phase: Some(0), end_ns: total_ns }];
        }
        let recording = workload.recording.as_ref();
        let name = &workload.name;
        let (replaced, replaced_whole, servers) = (None, None, Servers::default());
        Ok(Self {
            name,
            ranks,
            phases,
            whole,
            stages,
            total_ns,
            merged,
            timed,
            recording,
            replaced,
            replaced_whole,
            servers,
        })
    }

    /// Replaces collectives, and changes the matrices accordingly: a phase sends the matrix of its
    /// representative times its number of occurrences.
    pub(super) fn replace(&mut self, choice: &CollectiveChoice) -> Result<()> {
        let (Some(replacement), Some(recording)) = (&choice.replacement, self.recording) else {
            return Ok(());
        };
        let apply = |operations: &Operations| replacement.apply(operations).map(Cow::into_owned);
        let phases = (0..self.phases.len()).map(|phase| recording.phase(phase).map(apply).transpose());
        let phases = phases.collect::<Result<Vec<_>>>()?;
        let whole = recording.whole.as_ref().map(apply).transpose()?;
        let changed = |operations: &&Operations| !operations.collectives().is_empty();
        if !self.merged {
            for (phase, operations) in self.phases.iter_mut().zip(&phases) {
                if let Some(operations) = operations.as_ref().filter(changed) {
                    phase.matrix = Some(Cow::Owned(sent(operations, phase.occurrences)?));
                }
            }
        }
        let merged = whole.as_ref().filter(changed).filter(|_| self.merged);
        self.replaced_whole = Some(match merged {
            Some(whole) => sent(whole, 1)?,
            None if self.merged => self.whole.clone().into_owned(),
            None => {
                let used =
                    |number: &usize| self.stages.iter().any(|stage| stage.phase == Some(*number as u32));
                let used: Vec<usize> = (0..self.phases.len()).filter(used).collect();
                TrafficMatrix::from_cells(used.into_iter().flat_map(|phase| self.matrix(phase).cells()))?
            }
        });
        self.replaced = Some(ReplacedOperations { of_phase: phases, whole });
        self.servers = choice.servers;
        Ok(())
    }

    /// The recorded traffic matrix of the whole run.
    pub(super) fn recorded(&self) -> &TrafficMatrix {
        &self.whole
    }

    /// The traffic matrix of the whole run.
    pub(super) fn whole(&self) -> &TrafficMatrix {
        self.replaced_whole.as_ref().unwrap_or(&self.whole)
    }

    /// The traffic of a phase.
    pub(super) fn matrix(&self, phase: usize) -> &TrafficMatrix {
        self.phases[phase].matrix.as_deref().unwrap_or_else(|| self.whole())
    }

    /// The operations of ranks in a phase.
    pub(super) fn operations(&self, phase: usize) -> Option<&Operations> {
        if self.merged {
            return self.any_whole();
        }
        match &self.replaced {
            Some(replaced) => replaced.of_phase[phase].as_ref(),
            None => self.recording.and_then(|recording| recording.phase(phase)),
        }
    }

    /// The sample that represents the run.
    pub(super) fn sampled(&self) -> Option<&'a StratifiedSample> {
        let sampled = self.recording.and_then(|recording| recording.sampled.as_ref());
        sampled.filter(|_| self.timed && !self.merged && self.replaced.is_none())
    }

    /// Operations of the whole run, one stretch per stage.
    pub(super) fn whole_operations(&self) -> Option<&Operations> {
        self.any_whole().filter(|operations| operations.stretches() == self.stages.len())
    }

    /// Operations of the whole run, as one replay of all stages.
    pub(super) fn stage_by_stage(&self) -> Option<&Operations> {
        if self.merged { self.operations(0) } else { self.whole_operations() }
    }

    fn any_whole(&self) -> Option<&Operations> {
        match &self.replaced {
            Some(replaced) => replaced.whole.as_ref(),
            None => self.recording.and_then(|recording| recording.whole.as_ref()),
        }
    }

    /// Recorded time of a stage.
    pub(super) fn length_ns(&self, stage: usize) -> u64 {
        let start = stage.checked_sub(1).map_or(0, |before| self.stages[before].end_ns);
        self.stages[stage].end_ns - start
    }

    /// Refuses a workload that lacks what a replay needs.
    pub(super) fn can_be_replayed(&self, model: &str, sampling: Sampling) -> Result<()> {
        let lacks = |what: &str| Err(self.lacks_messages(model, what));
        if sampling == Sampling::Off || self.merged {
            let split = if self.merged { self.any_whole() } else { self.whole_operations() };
            return if split.is_some() { Ok(()) } else { lacks("the whole run") };
        }
        if self.sampled().is_some() {
            return Ok(());
        }
        let mut phases = self.stages.iter().filter_map(|stage| stage.phase);
        match phases.find(|phase| self.operations(*phase as usize).is_none()) {
            Some(phase) => lacks(&format!("phase {}", self.phases[phase as usize].name)),
            None => Ok(()),
        }
    }

    /// The error of messages that are not there.
    pub(super) fn lacks_messages(&self, model: &str, what: &str) -> Error {
        let expected =
            "expected a timed trace, or a phase archive with its messages (pf-segment --keep-messages)";
        Error::data(format!("the {model} model needs the messages of {what}, {expected}")).at(self.name)
    }

    /// True if the time of every phase is known, so that its load can be a rate.
    pub(super) fn has_durations(&self) -> bool {
        self.phases.iter().all(|phase| phase.duration_ns.is_some())
    }

    /// Divisor from a phase's bytes to its load: its time in seconds, at least 1 ns, or 1 if loads
    /// are bytes.
    pub(super) fn divisor(&self, phase: usize, are_rates: bool) -> f64 {
        divisor(self.phases[phase].duration_ns, are_rates)
    }

    /// The same for the whole run.
    pub(super) fn whole_divisor(&self, are_rates: bool) -> f64 {
        divisor(Some(self.total_ns), are_rates)
    }

    /// End of a stage since the start of a job of this length. In a run without length, the last
    /// stage takes all of it.
    pub(super) fn end_of(&self, stage: usize, length: Picoseconds) -> Picoseconds {
        if stage + 1 == self.stages.len() {
            return length;
        }
        let scaled =
            u128::from(self.stages[stage].end_ns) * u128::from(length) / u128::from(self.total_ns.max(1));
        scaled as u64 // at most the length
    }
}

/// The traffic of operations that are executed `times` times.
fn sent(operations: &Operations, times: u64) -> Result<TrafficMatrix> {
    TrafficMatrix::from_cells(operations.live_messages().map(|message| Cell {
        src: Rank(message.src),
        dst: Rank(message.dst),
        messages: times,
        bytes: message.bytes.saturating_mul(times),
    }))
}

fn divisor(duration_ns: Option<u64>, is_rate: bool) -> f64 {
    duration_ns.filter(|_| is_rate).map_or(1.0, |ns| ns.max(1) as f64 / 1e9)
}

/// Name of the phase that merges all.
pub(super) const MERGED: &str = "merged";

fn check_ranks(segmentation: &Segmentation) -> Result<()> {
    let ranks = segmentation.header.ranks;
    if ranks == 0 {
        return Err(Error::data("has no ranks, expected one at least"));
    }
    let highest = segmentation.phases.iter().map(|phase| phase.matrix.ranks()).max().unwrap_or(0);
    if highest > ranks || ranks > MOST_RANKS {
        let ranks = ranks.max(highest);
        return Err(Error::data(format!("has {ranks} ranks, expected at most {}", MOST_RANKS.min(ranks))));
    }
    Ok(())
}

/// The traffic matrix of the whole run.
fn whole_matrix(segmentation: &Segmentation) -> Result<Cow<'_, TrafficMatrix>> {
    Ok(match &segmentation.phases[..] {
        [only] => Cow::Borrowed(&only.matrix),
        phases => {
            // The matrix of an outer phase includes that of the phases within it.
            let mut outermost = vec![segmentation.occurrences.is_empty(); phases.len()];
            for occurrence in segmentation.occurrences.iter().filter(|occurrence| occurrence.depth == 0) {
                if let Some(outermost) = occurrence.phase.and_then(|phase| outermost.get_mut(phase as usize))
                {
                    *outermost = true;
                }
            }
            let phases = phases.iter().zip(outermost).filter(|(_, outermost)| *outermost);
            let mut whole = MatrixBuilder::default();
            phases.flat_map(|(phase, _)| phase.matrix.cells()).try_for_each(|cell| whole.add(cell))?;
            Cow::Owned(whole.finish())
        }
    })
}

/// The stages of the whole run, one at least, and whether their times are known.
fn all_stages(workload: &Workload, phases: &[ProgramPhase<'_>]) -> Result<(Vec<Stage>, bool)> {
    let (mut stages, timed) = stages(workload, phases)?;
    if let Some(duration) = workload.segmentation.header.duration_ns.filter(|_| timed) {
        let end = stages.last().map_or(0, |stage| stage.end_ns);
        if duration > end || stages.is_empty() {
            stages.push(Stage { phase: None, end_ns: duration.max(end) });
        }
    }
    if stages.is_empty() {
        stages.push(Stage { phase: None, end_ns: NOMINAL_NS });
    }
    Ok((stages, timed))
}

/// The stages, and whether their times are known.
fn stages(workload: &Workload, phases: &[ProgramPhase<'_>]) -> Result<(Vec<Stage>, bool)> {
    let mut end_ns = 0;
    let mut stages = Vec::new();
    let occurrences = &workload.segmentation.occurrences;
    for (row, occurrence) in occurrences.iter().enumerate().filter(|(_, occurrence)| occurrence.depth == 0) {
        if occurrence.start_ns != end_ns || occurrence.end_ns < end_ns {
            let (start, stop) = (occurrence.start_ns, occurrence.end_ns);
            let problem = format!("runs from {start} to {stop} ns, the one before it ends at {end_ns} ns");
            return Err(Error::data(problem).at(format!("occurrence {row}")));
        }
        if occurrence.phase.is_some_and(|phase| phase as usize >= phases.len()) {
            return Err(Error::data("is of a phase that does not exist").at(format!("occurrence {row}")));
        }
        end_ns = occurrence.end_ns;
        stages.push(Stage { phase: occurrence.phase, end_ns });
    }
    if end_ns > 0 {
        return Ok((stages, true));
    }
    stages.clear();
    // Without an order in time, phases follow one another.
    let timed = workload.segmentation.header.duration_ns.is_some() || !phases.is_empty();
    let timed = timed && phases.iter().all(|phase| phase.duration_ns.is_some());
    for (phase, number) in phases.iter().zip(0..) {
        let duration = phase.duration_ns.filter(|_| timed).unwrap_or(NOMINAL_NS);
        end_ns =
            end_ns.checked_add(duration).ok_or_else(|| Error::data("its phases last longer than 2^64 ns"))?;
        stages.push(Stage { phase: Some(number), end_ns });
    }
    Ok((stages, timed))
}
