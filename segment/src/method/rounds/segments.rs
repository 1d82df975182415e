//! The run as segments: stretches of windows that behave alike.

use super::idle::{self, Idle};
use super::measure::Behaviour;
use super::merge::{Spread, Tolerance, merge_neighbours};
use super::unit::{Point, Unit};
use super::windows::RoundWindow;
use crate::first_pass::survey::Run;
use crate::plan::Stretch;

/// Stray messages come this many times more rarely than messages of the phases beside them.
const QUIET: f64 = 4.0;
/// Stray messages are this many times fewer than those of the phases beside them.
const FEW: f64 = 16.0;
/// Stray messages are at most 1/`RARE` of the run's messages.
const RARE: f64 = 64.0;
/// Stray messages last longer than this number of rounds of the phases beside them.
const LASTING: u64 = 2;

/// Units before and after a boundary in which it may lie.
const AROUND: usize = 2;

/// A pause this many times as long as the one before is not of the same rhythm.
const LONGER: u64 = 3;

/// Neighbouring units that behave alike.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    /// Its units.
    pub(super) units: std::ops::Range<usize>,
    pub(super) behaviour: Behaviour,
}

/// All segments of a run in order, and its idle stretches.
#[derive(Debug)]
pub(super) struct Segments<'a> {
    pub(super) units: Vec<Unit>,
    windows: &'a [RoundWindow],
    /// How much each unit's partners differ from the next unit's.
    steps: Vec<f32>,
    pub(super) list: Vec<Segment>,
    /// Units before the first segment, in which the program starts.
    pub(super) lead: usize,
    /// The program starts before the first phase: in units before it, or in its first unit.
    pub(super) starting: bool,
    pub(super) idle: Vec<Idle>,
}

impl<'a> Segments<'a> {
    /// Makes each window a segment.
    pub(super) fn new(run: &'a Run) -> Self {
        let windows = &run.rounds.windows;
        let starts: Vec<u64> = windows.iter().map(|window| run.since_start(window.first_ns)).collect();
        let end_ns = |i: usize| starts.get(i + 1).copied().unwrap_or(run.duration_ns);
        let mut units: Vec<Unit> = windows
            .iter()
            .enumerate()
            .map(|(i, window)| Unit {
                start_ns: starts[i],
                end_ns: end_ns(i),
                last_ns: run.since_start(window.last_ns),
                meets: i > 0 && run.barriers(starts[i - 1] + 1..starts[i] + 1).next().is_some(),
                idle_ns: 0,
                active_ns: None,
                messages: window.messages as f64,
                round: (window.returned * 2 > window.watched)
                    .then(|| (window.log_quarters as f64 / 4.0 / window.returned as f64).exp2()),
            })
            .collect();
        let all = 0..units.len();
        let idle = idle::find(run, &units, std::slice::from_ref(&all));
        for stretch in &idle {
            let first = units.partition_point(|unit| unit.end_ns <= stretch.from_ns);
            for unit in units[first..].iter_mut().take_while(|unit| unit.start_ns < stretch.to_ns) {
                unit.idle_ns += stretch.to_ns.min(unit.end_ns) - stretch.from_ns.max(unit.start_ns);
            }
        }
        let last = units.len().saturating_sub(1);
        // A pause between two phases mixes the pauses of both, so a much longer one is not the
        // window's own. Pauses with idle time do not count.
        let pauses: Vec<Option<u64>> = units
            .iter()
            .enumerate()
            .map(|(i, unit)| (i < last && unit.idle_ns == 0).then(|| unit.end_ns - unit.last_ns))
            .collect();
        for (i, unit) in units.iter_mut().enumerate() {
            let before = i.checked_sub(1).and_then(|before| pauses[before]);
            let pause = match (before, pauses[i]) {
                (Some(before), Some(after)) if after / LONGER <= before => Some(after),
                (before, after) => before.or(after),
            };
            unit.active_ns = pause.map(|pause| unit.last_ns - unit.start_ns + pause);
        }
        let mut list: Vec<Segment> = Vec::with_capacity(units.len());
        for (i, window) in windows.iter().enumerate() {
            let before = list.last().map(|segment| &segment.behaviour);
            let behaviour = Behaviour::new(window, units[i].active_ns, before);
            list.push(Segment { units: i..i + 1, behaviour });
        }
        let steps = list.windows(2).map(|pair| pair[0].behaviour.difference_of_messages(&pair[1].behaviour));
        let steps = steps.map(|difference| difference.sure_partners).collect();
        Self { list, lead: 0, starting: false, units, windows, steps, idle }
    }

    /// Finds idle stretches again, now that it is known which windows are alike.
    pub(super) fn find_idle(&mut self, run: &Run) {
        let lead = (self.lead > 0).then_some(0..self.lead);
        let stretches = lead.into_iter().chain(self.list.iter().map(|segment| segment.units.clone()));
        let stretches: Vec<_> = stretches.collect();
        self.idle = idle::find(run, &self.units, &stretches);
    }

    /// Whether a segment is only stray messages: they do not come again, and they are much rarer
    /// than the messages before and after them.
    pub(super) fn is_quiet(&self, number: usize) -> bool {
        self.are_quiet(number..number + 1)
    }

    /// The same for neighbouring segments together.
    pub(super) fn are_quiet(&self, numbers: std::ops::Range<usize>) -> bool {
        let Some(own) = self.list.get(numbers.clone()) else { return false };
        let all: f64 = self.units.iter().map(|unit| unit.messages).sum();
        if own.iter().all(|own| own.behaviour.stray) {
            return own.iter().map(|own| own.behaviour.messages).sum::<f64>() * FEW < all;
        }
        if own.iter().map(|own| own.behaviour.messages).sum::<f64>() * RARE > all {
            return false;
        }
        if own.iter().any(|own| self.round(own).is_some_and(|round| 1.5 * round < own.behaviour.messages)) {
            return false;
        }
        let length = |segments: &[Segment]| {
            let units = segments.iter().flat_map(|segment| &self.units[segment.units.clone()]);
            units.map(|unit| unit.end_ns - unit.start_ns - unit.idle_ns).sum::<u64>().max(1)
        };
        let messages =
            |segments: &[Segment]| segments.iter().map(|segment| segment.behaviour.messages).sum::<f64>();
        let rate = |segments: &[Segment]| messages(segments) / length(segments) as f64;
        let around = [numbers.start.checked_sub(1), Some(numbers.end)].into_iter().flatten();
        let mut around = around.filter_map(|other| self.list.get(other..=other)).peekable();
        around.peek().is_some()
            && around.all(|other| {
                rate(own) * QUIET < rate(other)
                    && messages(own) * FEW < messages(other)
                    && length(own) > self.round_ns(&other[0]).saturating_mul(LASTING)
            })
    }

    /// Time of a segment without idleness, in nanoseconds, at least 1.
    pub(super) fn active_ns(&self, segment: &Segment) -> u64 {
        let units = &self.units[segment.units.clone()];
        units.iter().map(|unit| unit.end_ns - unit.start_ns - unit.idle_ns).sum::<u64>().max(1)
    }

    /// Messages of a segment per nanosecond of active time.
    pub(super) fn rate(&self, segment: &Segment) -> f64 {
        segment.behaviour.messages / self.active_ns(segment) as f64
    }

    /// Whether a segment holds at least this number of rounds.
    pub(super) fn holds(&self, segment: &Segment, rounds: f64) -> bool {
        self.round(segment).is_some_and(|round| segment.behaviour.messages >= rounds * round)
    }

    /// Differences between neighbouring units of a range.
    pub(super) fn spread(&self, units: &std::ops::Range<usize>) -> Spread {
        let steps = &self.steps[units.start..units.end - 1];
        Spread { sum: steps.iter().sum(), count: steps.len() as u32 }
    }

    /// Merges neighbours until all differ by more than `limits` allow.
    pub(super) fn merge(&mut self, limits: &Tolerance) {
        let spreads = self.list.iter().map(|segment| self.spread(&segment.units)).collect();
        let steps: Vec<f32> = self.list.iter().skip(1).map(|next| self.steps[next.units.start - 1]).collect();
        let mut ranges = Vec::with_capacity(self.list.len());
        let mut behaviours = Vec::with_capacity(self.list.len());
        for segment in self.list.drain(..) {
            ranges.push(segment.units);
            behaviours.push(segment.behaviour);
        }
        let sizes = merge_neighbours(&mut behaviours, spreads, &steps, limits);
        let mut first = 0;
        for (behaviour, size) in behaviours.into_iter().zip(sizes) {
            let units = ranges[first].start..ranges[first + size - 1].end;
            self.list.push(Segment { units, behaviour });
            first += size;
        }
    }

    /// Whether all ranks meet at a barrier where a segment begins.
    pub(super) fn begins_at_meeting(&self, number: usize) -> bool {
        self.list.get(number).is_some_and(|segment| self.units[segment.units.start].meets)
    }

    /// Whether all ranks meet at a barrier between a segment and its neighbour.
    pub(super) fn meet(&self, number: usize, neighbour: usize) -> bool {
        self.begins_at_meeting(number.max(neighbour))
    }

    /// Merges segment `number` with the one after it.
    pub(super) fn join(&mut self, number: usize) {
        let gone = self.list.remove(number + 1);
        let kept = &mut self.list[number];
        kept.units.end = gone.units.end;
        kept.behaviour.merge(&gone.behaviour);
    }

    /// The behaviour of a range of units.
    pub(super) fn behaviour(&self, units: std::ops::Range<usize>) -> Option<Behaviour> {
        let mut windows = self.windows[units.clone()].iter().zip(&self.units[units]);
        let (first, unit) = windows.next()?;
        let mut all = Behaviour::new(first, unit.active_ns, None);
        windows.for_each(|(window, unit)| all.add(window, unit.active_ns));
        all.settle();
        Some(all)
    }

    /// The behaviour of the units that begin in a range of time; `None` if there are none, or if
    /// the last one goes on after it.
    pub(super) fn between(&self, from_ns: u64, to_ns: u64) -> Option<Behaviour> {
        let first = self.units.partition_point(|unit| unit.start_ns < from_ns);
        let end = self.units.partition_point(|unit| unit.start_ns < to_ns).max(first);
        let last = self.units[first..end].last()?;
        (last.last_ns <= to_ns).then(|| self.behaviour(first..end))?
    }

    /// A range of units as points of a trend.
    pub(super) fn points(&self, units: std::ops::Range<usize>) -> Vec<Point> {
        let mut before = 0.0;
        let units = self.windows[units.clone()].iter().zip(&self.units[units]);
        let point = units.map(|(window, unit)| {
            let place = before + unit.messages / 2.0;
            before += unit.messages;
            let rate = unit.active_ns.map(|ns| (unit.messages / ns.max(1) as f64).log2());
            Point { place, size: window.sketch.octaves_of_size(), rate }
        });
        point.collect()
    }

    /// The begin of a segment as a stretch of `label`. It lies within the units around it; the
    /// first segment's begin lies anywhere in the units in which the program starts.
    pub(super) fn begin(&self, number: usize, label: u32) -> Stretch {
        let segment = &self.list[number];
        let first = segment.units.start;
        let start_ns = self.units[first].start_ns;
        let earliest =
            if number == 0 { 0 } else { first.saturating_sub(AROUND).max(self.list[number - 1].units.start) };
        let latest = (first + AROUND).min(segment.units.end) - 1;
        let earliest_ns =
            if number == 0 && !self.starting { start_ns } else { self.units[earliest].start_ns };
        let latest_ns = if number == 0 && !self.starting { start_ns } else { self.units[latest].end_ns };
        Stretch { label: Some(label), start_ns, earliest_ns, latest_ns }
    }

    /// Begin of a segment.
    pub(super) fn start_ns(&self, segment: &Segment) -> u64 {
        self.units[segment.units.start].start_ns
    }

    /// End of a segment.
    pub(super) fn end_ns(&self, segment: &Segment) -> u64 {
        self.units[segment.units.end - 1].end_ns
    }

    /// Messages of a round of a segment: the median over its units; `None` if most units have no
    /// rounds.
    pub(super) fn round(&self, segment: &Segment) -> Option<f64> {
        let units = &self.units[segment.units.clone()];
        let mut rounds: Vec<f64> = units.iter().filter_map(|unit| unit.round).collect();
        if rounds.len() * 2 < units.len() || rounds.is_empty() {
            return None;
        }
        let middle = rounds.len() / 2;
        Some(*rounds.select_nth_unstable_by(middle, f64::total_cmp).1)
    }

    /// Whether the unit that begins at this time begins with something new.
    pub(super) fn is_fresh(&self, start_ns: u64) -> bool {
        let unit = self.units.partition_point(|unit| unit.start_ns < start_ns);
        self.windows.get(unit).is_some_and(|window| window.fresh)
    }

    /// Length of a segment's units: the median.
    pub(super) fn unit_ns(&self, segment: &Segment) -> u64 {
        let units = self.units[segment.units.clone()].iter();
        let mut lengths: Vec<u64> = units.map(|unit| unit.end_ns - unit.start_ns - unit.idle_ns).collect();
        let middle = lengths.len() / 2;
        *lengths.select_nth_unstable(middle).1
    }

    /// Length of a segment's rounds: the median over its units.
    pub(super) fn round_ns(&self, segment: &Segment) -> u64 {
        let units = &self.units[segment.units.clone()];
        let mut rounds: Vec<u64> =
            units.iter().filter(|unit| unit.round.is_some()).map(Unit::round_ns).collect();
        if rounds.is_empty() {
            return units.iter().map(Unit::round_ns).sum();
        }
        let middle = rounds.len() / 2;
        *rounds.select_nth_unstable(middle).1
    }
}
