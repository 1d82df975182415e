//! Processes of the run: the translation of their numbers to those of the trace.

use phaseflow_profiler::{Clock, Communicator, Level, Recording, RecordingFile, Run};
use rustc_hash::FxHashMap;

use crate::import::ranks::NO_COMMUNICATOR;

/// Communicators of a process that are looked up without hashing: a table of 16 kB.
const LOOKED_UP: u32 = 4096;

/// A process, with the translation of its numbers to the trace's.
pub(super) struct Process<'a> {
    pub(super) rank: u32,
    /// Rank of the first process of its `MPI_COMM_WORLD`.
    first: u32,
    pub(super) recording: &'a Recording<RecordingFile>,
    pub(super) file: String,
    clock: Clock,
    /// Number of a communicator in the recording → in the trace.
    communicators: FxHashMap<u32, u32>,
    /// The first of them, to be looked up without hashing.
    first_communicators: Vec<u32>,
}

impl<'a> Process<'a> {
    /// All processes of a run in the order of their ranks. Communicators are numbered as they come:
    /// by rank, then as the rank made them; `MPI_COMM_WORLD` is 0.
    pub(super) fn all(run: &'a Run) -> Vec<Self> {
        let alignment = run.alignment();
        let mut numbers: FxHashMap<u64, u32> = FxHashMap::default();
        let mut processes = Vec::with_capacity(run.processes().len());
        for (place, (rank, recording)) in run.processes().enumerate() {
            let mut communicators = FxHashMap::default();
            for (number, communicator) in recording.communicators() {
                let next = numbers.len() as u32;
                communicators.insert(*number, *numbers.entry(communicator.identity).or_insert(next));
            }
            let few = 0..LOOKED_UP.min(communicators.keys().max().map_or(0, |most| most.saturating_add(1)));
            let number = |number| communicators.get(&number).copied().unwrap_or(NO_COMMUNICATOR);
            let first_communicators = few.map(number).collect();
            let header = recording.header();
            processes.push(Self {
                rank,
                first: Run::first_rank(rank, header),
                recording,
                file: run.path(place).map(|path| path.display().to_string()).unwrap_or_default(),
                clock: alignment.clock(header).unwrap_or_default(),
                communicators,
                first_communicators,
            });
        }
        processes
    }

    /// A moment on the run's line.
    pub(super) fn time_ns(&self, ticks: u64) -> i64 {
        self.clock.ns(ticks)
    }

    /// A rank of its world in the run.
    pub(super) fn in_run(&self, rank: u32) -> u32 {
        self.first.saturating_add(rank)
    }

    /// A communicator's number in the trace.
    pub(super) fn communicator(&self, number: u32) -> u32 {
        match self.first_communicators.get(number as usize) {
            Some(in_trace) => *in_trace,
            None => self.communicators.get(&number).copied().unwrap_or(NO_COMMUNICATOR),
        }
    }

    /// A communicator by its number in the recording.
    pub(super) fn details(&self, number: u32) -> Option<&'a Communicator> {
        self.recording.communicators().get(&number)
    }

    /// Its collectives are calls without messages.
    pub(super) fn is_calls_only(&self) -> bool {
        self.recording.header().level == Level::Calls
    }
}
