//! A stratified sample of a run: units of each phase with their operations.
//!
//! The windows around the sampled units are [spliced](Operations::spliced) into one replay. The
//! edges of the samples are its boundaries, so that each sample is a stretch of its own.

use std::collections::{BTreeMap, BTreeSet};

use phaseflow_collect::{At, Result};
use phaseflow_segment::{Occurrence, Samples, Segmentation, Span, Traits, Units};

use super::interval::{TraceInterval, trace_time};
use super::operations::Operations;

/// Most windows of a phase that are replayed again with a shorter warm-up, where all units are
/// replayed. Where samples are drawn, one window per phase is replayed again. One and four change
/// no phase of the bench at `WORTH` in regression.rs, whose phases draw samples.
const CHECKS: usize = 2;

/// A sample that represents the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StratifiedSample {
    /// The windows, one after the other.
    pub operations: Operations,
    /// Some of the windows, each with half of the warm-up before its first sample; `None` if all
    /// begin with the run.
    pub again: Option<Operations>,
    /// By phase.
    pub strata: Vec<Stratum>,
}

/// The units of a phase, and those of them that are sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stratum {
    /// The phase; `None`: idle stretches.
    pub phase: Option<u32>,
    /// Recorded time of the whole phase.
    pub recorded_ns: u64,
    /// Number of units, without those that represent only themselves.
    pub units: u64,
    /// What they have all together.
    pub total: Traits,
    /// Those that are sampled.
    pub samples: Vec<SampledUnit>,
    /// Units that stand for themselves.
    pub certain: Vec<SampledUnit>,
    /// True if all units are the same.
    pub identical: bool,
}

/// A sampled unit: stretches of the replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampledUnit {
    /// The stretches.
    pub stretches: Vec<usize>,
    /// Its traits, which need no simulation.
    pub traits: Traits,
    /// Its stretches in the replay with the shorter warm-up; empty if it is not replayed again.
    pub again: Vec<usize>,
    /// True if what comes before it in the run is left out.
    pub begins: bool,
    /// By stretch: whether it begins and whether it ends with an occurrence, of which it may be a
    /// part.
    pub edges: Vec<(bool, bool)>,
}

impl StratifiedSample {
    /// Makes operations of windows, each with its messages and calls; times of the intervals are
    /// since `start_ns` on their own clock. `None` if windows lack messages.
    ///
    /// # Errors
    /// Ranks that the run does not have; more than 2³²−1 messages.
    pub(super) fn new(
        segmentation: &Segmentation,
        samples: &Samples,
        intervals: &[TraceInterval],
        start_ns: i64,
    ) -> Result<Option<Self>> {
        if intervals.is_empty() {
            return Ok(None);
        }
        let edges = edges(samples);
        let rows = segmentation.occurrences.iter().filter(|row| row.depth == 0).collect();
        let windows = Windows { segmentation, samples, intervals, start_ns, edges, rows };
        let (operations, firsts) = windows.operations()?;
        let (shorter, shorter_firsts) = windows.shorter()?;
        let stratum = |units| windows.stratum(units, &firsts, &shorter_firsts);
        let strata = samples.of_phase.iter().map(stratum).collect::<Option<Vec<Stratum>>>();
        let Some(mut strata) = strata.filter(|strata| !lacks_messages(strata)) else { return Ok(None) };
        for stratum in &mut strata {
            for SampledUnit { traits, .. } in &stratum.certain {
                stratum.total.without(traits);
            }
        }
        let again = if shorter.is_empty() { None } else { Some(Operations::spliced(&shorter)?) };
        Ok(Some(Self { operations: Operations::spliced(&operations)?, again, strata }))
    }

    /// Operations of all windows, then of those that are replayed again.
    pub fn replays(&self) -> impl Iterator<Item = &Operations> {
        [&self.operations].into_iter().chain(&self.again)
    }
}

/// True if a phase has messages, but its samples have none. Idle stretches are excepted, as their
/// few messages may all be outside of the samples.
fn lacks_messages(strata: &[Stratum]) -> bool {
    // In samples, and in all units, by phase.
    let mut messages: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for stratum in strata {
        let Some(phase) = stratum.phase else { continue };
        let all = stratum.samples.iter().chain(&stratum.certain);
        let (sampled, total) = messages.entry(phase).or_default();
        *sampled += all.map(|sample| sample.traits.messages).sum::<u64>();
        *total += stratum.total.messages;
    }
    messages.values().any(|(sampled, total)| *sampled == 0 && *total > 0)
}

/// The windows of a run, with the messages and calls of each.
struct Windows<'a> {
    segmentation: &'a Segmentation,
    samples: &'a Samples,
    /// By window.
    intervals: &'a [TraceInterval],
    start_ns: i64,
    /// By window: where samples in it begin and end.
    edges: Vec<Vec<u64>>,
    /// The outermost occurrences.
    rows: Vec<&'a Occurrence>,
}

impl Windows<'_> {
    /// The operations of all windows, and by window the number of its first stretch.
    fn operations(&self) -> Result<(Vec<Operations>, Vec<usize>)> {
        let (mut all, mut firsts, mut stretches) = (Vec::with_capacity(self.intervals.len()), Vec::new(), 0);
        for (number, (interval, span)) in self.intervals.iter().zip(&self.samples.windows).enumerate() {
            all.push(self.operations_of(number, interval, *span)?);
            firsts.push(stretches);
            stretches += self.edges[number].len() + 1;
        }
        Ok((all, firsts))
    }

    /// The same for windows that are replayed again, without the first half of their warm-up; the
    /// first stretch is `None` for the others.
    fn shorter(&self) -> Result<(Vec<Operations>, Vec<Option<usize>>)> {
        let last_ns = self.segmentation.header.duration_ns;
        let (mut all, mut firsts, mut stretches) = (Vec::new(), vec![None; self.intervals.len()], 0);
        for number in checked(self.samples) {
            let (interval, around) = (&self.intervals[number], self.samples.windows[number]);
            let first = self.edges[number].first().filter(|_| around.start_ns > 0);
            let Some(first) = first else { continue };
            let middle = middle(interval, around.start_ns, *first, self.start_ns);
            let span = Span { start_ns: middle, ..around };
            let Some(interval) = interval.cut(&[span], last_ns, self.start_ns).pop() else { continue };
            all.push(self.operations_of(number, &interval, span)?);
            firsts[number] = Some(stretches);
            stretches += self.edges[number].len() + 1;
        }
        Ok((all, firsts))
    }

    fn operations_of(&self, number: usize, interval: &TraceInterval, span: Span) -> Result<Operations> {
        let time = |time_ns: u64| trace_time(time_ns, self.start_ns);
        let inner: Vec<i64> = self.edges[number].iter().map(|edge| time(*edge)).collect();
        let span = (time(span.start_ns), time(span.end_ns));
        let ranks = self.segmentation.header.ranks;
        Operations::new(interval, ranks, span, &inner).at(|| format!("window {number}"))
    }

    /// A phase's units, and what is known of those that are sampled; `None` if they are in no
    /// window.
    fn stratum(&self, units: &Units, firsts: &[usize], shorter: &[Option<usize>]) -> Option<Stratum> {
        let all = units.samples.iter().chain(&units.certain).enumerate();
        let all = all.map(|(number, spans)| {
            let mut sample = self.sample(spans, firsts, shorter)?;
            sample.traits.critical_ns = units.critical_ns.get(number).copied().unwrap_or(0);
            Some(sample)
        });
        let mut samples = all.collect::<Option<Vec<SampledUnit>>>()?;
        let certain = samples.split_off(units.samples.len());
        Some(Stratum {
            phase: units.phase,
            recorded_ns: units.total.duration_ns,
            units: units.units,
            total: units.total,
            samples,
            certain,
            identical: units.identical,
        })
    }

    /// A sampled unit that consists of spans.
    fn sample(&self, spans: &[Span], firsts: &[usize], shorter: &[Option<usize>]) -> Option<SampledUnit> {
        let mut sample = SampledUnit::default();
        for span in spans {
            let window = self.samples.window_of(*span)?;
            let is_last = Some(span.end_ns) == self.segmentation.header.duration_ns;
            let interval = self.intervals.get(window)?;
            sample.traits.add(&traits(interval, *span, is_last, self.start_ns));
            let stretch = self.edges[window].partition_point(|edge| *edge <= span.start_ns);
            sample.stretches.push(firsts[window] + stretch);
            // The first stretch of a window is that before its first sample.
            let again = shorter[window].filter(|_| stretch > 0);
            sample.again.extend(again.map(|first| first + stretch));
            let row = self.rows.partition_point(|row| row.end_ns <= span.start_ns);
            let edges = |row: &&Occurrence| (row.start_ns == span.start_ns, row.end_ns == span.end_ns);
            sample.edges.push(self.rows.get(row).map_or((true, true), edges));
            sample.begins |= self.samples.windows[window].start_ns > 0;
        }
        if sample.again.len() != sample.stretches.len() {
            sample.again.clear();
        }
        Some(sample)
    }
}

/// Windows that are replayed again: some with samples of each phase.
fn checked(samples: &Samples) -> BTreeSet<usize> {
    let mut checked = BTreeSet::new();
    for units in &samples.of_phase {
        let mut of_phase: Vec<usize> =
            units.samples.iter().flatten().filter_map(|span| samples.window_of(*span)).collect();
        of_phase.dedup();
        let is_drawn = (units.samples.len() as u64) < units.units && !units.identical;
        if is_drawn {
            checked.extend(of_phase.get(of_phase.len() / 2));
        } else {
            let step = of_phase.len().div_ceil(CHECKS).max(1);
            checked.extend(of_phase.into_iter().step_by(step));
        }
    }
    checked
}

/// By window: where samples in it begin and end.
fn edges(samples: &Samples) -> Vec<Vec<u64>> {
    let mut edges = vec![Vec::new(); samples.windows.len()];
    for span in samples.of_phase.iter().flat_map(Units::spans) {
        let Some(window) = samples.window_of(span) else { continue };
        let Span { start_ns, end_ns } = samples.windows[window];
        edges[window].extend(
            [span.start_ns, span.end_ns].into_iter().filter(|edge| start_ns < *edge && *edge < end_ns),
        );
    }
    for edges in &mut edges {
        edges.sort_unstable();
        edges.dedup();
    }
    edges
}

fn traits(interval: &TraceInterval, span: Span, is_last: bool, start_ns: i64) -> Traits {
    let end = trace_time(span.end_ns, start_ns).saturating_add(i64::from(is_last));
    let rows = interval.posted(trace_time(span.start_ns, start_ns), end);
    let bytes = &interval.messages().columns().bytes[rows.clone()];
    Traits {
        duration_ns: span.end_ns - span.start_ns,
        messages: rows.len() as u64,
        bytes: bytes.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes)),
        critical_ns: 0,
    }
}

/// When half of the messages between two times are posted.
fn middle(interval: &TraceInterval, from_ns: u64, to_ns: u64, start_ns: i64) -> u64 {
    let rows = interval.posted(trace_time(from_ns, start_ns), trace_time(to_ns, start_ns));
    let posts = &interval.messages().columns().send_post_ns;
    let post = posts.get(rows.start + rows.len() / 2).copied().unwrap_or_default();
    let middle = post.saturating_sub(start_ns).max(0).cast_unsigned();
    if rows.is_empty() { from_ns } else { middle.clamp(from_ns, to_ns.saturating_sub(1).max(from_ns)) }
}
