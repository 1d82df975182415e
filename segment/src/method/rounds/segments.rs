//! The run as segments: stretches of windows that behave alike.

use super::idle::{self, Idle};
use super::measure::Behaviour;
use super::merge::merge_neighbours;
use crate::survey::Run;

/// A window on the run's own clock.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// Begin; the unit ends where the next one begins.
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// Its last message.
    pub(super) last_ns: u64,
    /// Idle time in it.
    pub(super) idle_ns: u64,
    /// Whole rounds.
    pub(super) rounds: u64,
    pub(super) behaviour: Behaviour,
}

impl Unit {
    /// How long a round is, as far as this unit knows.
    pub(super) fn round_ns(&self) -> u64 {
        match self.rounds {
            0 => self.last_ns - self.start_ns,
            rounds => (self.end_ns - self.start_ns - self.idle_ns) / rounds,
        }
    }
}

/// Neighbouring units that behave alike.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    /// Its units.
    pub(super) units: std::ops::Range<usize>,
    pub(super) behaviour: Behaviour,
}

/// All segments of a run in order, and its idle stretches.
#[derive(Debug)]
pub(super) struct Segments {
    pub(super) units: Vec<Unit>,
    pub(super) list: Vec<Segment>,
    pub(super) idle: Vec<Idle>,
}

impl Segments {
    /// Each window a segment.
    pub(super) fn new(run: &Run) -> Self {
        let windows = &run.rounds.windows;
        let starts: Vec<u64> = windows.iter().map(|window| run.since_start(window.first_ns)).collect();
        let mut units: Vec<Unit> = windows
            .iter()
            .enumerate()
            .map(|(i, window)| Unit {
                start_ns: starts[i],
                end_ns: starts.get(i + 1).copied().unwrap_or(run.duration_ns),
                last_ns: run.since_start(window.last_ns),
                idle_ns: 0,
                rounds: window.rounds,
                behaviour: Behaviour::new(window.sketch.clone(), 0.0, !window.part),
            })
            .collect();
        let idle = idle::find(run, &units);
        for stretch in &idle {
            let first = units.partition_point(|unit| unit.end_ns <= stretch.from_ns);
            for unit in units[first..].iter_mut().take_while(|unit| unit.start_ns < stretch.to_ns) {
                unit.idle_ns += stretch.to_ns.min(unit.end_ns) - stretch.from_ns.max(unit.start_ns);
            }
        }
        for unit in &mut units {
            unit.behaviour.active_ns = (unit.end_ns - unit.start_ns - unit.idle_ns) as f64;
        }
        let list = units
            .iter()
            .enumerate()
            .map(|(i, unit)| Segment { units: i..i + 1, behaviour: unit.behaviour.clone() });
        Self { list: list.collect(), units, idle }
    }

    /// Merges neighbours until all differ by `limit` or more.
    pub(super) fn merge(&mut self, limit: f32) {
        let mut ranges = Vec::with_capacity(self.list.len());
        let mut behaviours = Vec::with_capacity(self.list.len());
        for segment in self.list.drain(..) {
            ranges.push(segment.units);
            behaviours.push(segment.behaviour);
        }
        let sizes = merge_neighbours(&mut behaviours, limit);
        let mut first = 0;
        for (behaviour, size) in behaviours.into_iter().zip(sizes) {
            let units = ranges[first].start..ranges[first + size - 1].end;
            self.list.push(Segment { units, behaviour });
            first += size;
        }
    }

    /// Merges segment `number` with the one after it.
    pub(super) fn join(&mut self, number: usize) {
        let gone = self.list.remove(number + 1);
        let kept = &mut self.list[number];
        kept.units.end = gone.units.end;
        kept.behaviour.merge(&gone.behaviour);
    }

    /// What some units did together.
    pub(super) fn behaviour(&self, units: std::ops::Range<usize>) -> Option<Behaviour> {
        let (first, rest) = self.units[units].split_first()?;
        let mut all = first.behaviour.clone();
        rest.iter().for_each(|unit| all.add(&unit.behaviour));
        all.settle();
        Some(all)
    }

    /// Begin of a segment.
    pub(super) fn start_ns(&self, segment: &Segment) -> u64 {
        self.units[segment.units.start].start_ns
    }

    /// End of a segment.
    pub(super) fn end_ns(&self, segment: &Segment) -> u64 {
        self.units[segment.units.end - 1].end_ns
    }

    /// How long a round of a segment is: the median over its units.
    pub(super) fn round_ns(&self, segment: &Segment) -> u64 {
        let units = &self.units[segment.units.clone()];
        let mut rounds: Vec<u64> = units.iter().filter(|unit| unit.rounds > 0).map(Unit::round_ns).collect();
        if rounds.is_empty() {
            return units.iter().map(Unit::round_ns).sum();
        }
        let middle = rounds.len() / 2;
        *rounds.select_nth_unstable(middle).1
    }
}
