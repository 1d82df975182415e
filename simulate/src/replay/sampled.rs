//! The sampled stretches of a run as scripts.
//!
//! The windows are [spliced](Script::spliced) into one script; the edges of the samples are its boundaries, so that each sample is a stretch of its own.

use std::collections::{BTreeMap, BTreeSet};

use phaseflow_collect::{At, Result};
use phaseflow_segment::{Occurrence, Samples, Segmentation, Span, Traits, Units};

use super::Script;
use super::excerpt::{Excerpt, since};

/// Windows of a phase that are played a second time with a shorter beginning, at most, where nothing is left to chance; where samples are drawn one
/// is enough.
const CHECKS: usize = 2;

/// What stands for all of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// The windows, one after the other.
    pub script: Script,
    /// Some of them, each with half of what comes before its first sample; `None` if there is none that begins in the middle of the run.
    pub again: Option<Script>,
    /// By phase.
    pub strata: Vec<Stratum>,
}

/// The units of a phase, and those of them that are sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stratum {
    /// The phase; `None`: idle stretches.
    pub phase: Option<u32>,
    /// How long all of it took when it was recorded.
    pub recorded_ns: u64,
    /// How many units there are, without those that stand for themselves.
    pub units: u64,
    /// What they have all together.
    pub total: Traits,
    /// Those that are sampled.
    pub samples: Vec<Sample>,
    /// Units that stand for themselves.
    pub certain: Vec<Sample>,
    /// True if all units are the same.
    pub identical: bool,
}

/// A sampled unit: stretches of the script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Which stretches.
    pub stretches: Vec<usize>,
    /// What is known of it without simulation.
    pub traits: Traits,
    /// Which stretches they are where less comes before it; none if it is not played again.
    pub again: Vec<usize>,
    /// True if what comes before it in the run is left out.
    pub begins: bool,
    /// By stretch: whether it begins and whether it ends with an occurrence, of which it may be a part.
    pub edges: Vec<(bool, bool)>,
}

impl Sampled {
    /// Makes scripts of windows, each with what it holds; times of the excerpts are since `start_ns` on their own clock. `None` if windows
    /// lack messages.
    ///
    /// # Errors
    /// Ranks that the run does not have; more than 2³²−1 messages.
    pub(super) fn new(
        segmentation: &Segmentation,
        samples: &Samples,
        windows: &[Excerpt],
        start_ns: i64,
    ) -> Result<Option<Self>> {
        let (ranks, last_ns) = (segmentation.header.ranks, segmentation.header.duration_ns);
        let script = |excerpt: &Excerpt, span: Span, edges: &[u64]| {
            let inner: Vec<i64> = edges.iter().map(|edge| since(*edge, start_ns)).collect();
            Script::new(
                excerpt,
                ranks,
                (since(span.start_ns, start_ns), since(span.end_ns, start_ns)),
                &inner,
            )
        };
        if windows.is_empty() {
            return Ok(None);
        }
        let edges = edges(samples);
        let rows: Vec<&Occurrence> = segmentation.occurrences.iter().filter(|row| row.depth == 0).collect();
        let (mut scripts, mut firsts, mut stretches) = (Vec::with_capacity(windows.len()), Vec::new(), 0);
        for (number, (excerpt, span)) in windows.iter().zip(&samples.windows).enumerate() {
            scripts.push(script(excerpt, *span, &edges[number]).at(|| format!("window {number}"))?);
            firsts.push(stretches);
            stretches += edges[number].len() + 1;
        }
        let (mut shorter, mut shorter_firsts, mut stretches) = (Vec::new(), vec![None; windows.len()], 0);
        for number in checked(samples) {
            let (excerpt, around) = (&windows[number], samples.windows[number]);
            let Some(first) = edges[number].first().filter(|_| around.start_ns > 0) else { continue };
            let span = Span { start_ns: middle(excerpt, around.start_ns, *first, start_ns), ..around };
            let Some(excerpt) = excerpt.cut(&[span], last_ns, start_ns).pop() else { continue };
            shorter.push(script(&excerpt, span, &edges[number]).at(|| format!("window {number}"))?);
            shorter_firsts[number] = Some(stretches);
            stretches += edges[number].len() + 1;
        }
        let mut strata = Vec::with_capacity(samples.of_phase.len());
        // In samples, and in all units, by phase.
        let mut messages: BTreeMap<Option<u32>, (u64, u64)> = BTreeMap::new();
        for units in &samples.of_phase {
            let mut stratum = Stratum {
                phase: units.phase,
                recorded_ns: units.total.duration_ns,
                units: units.units,
                total: units.total,
                identical: units.identical,
                ..Stratum::default()
            };
            let sample = |(number, spans): (usize, &Vec<Span>)| {
                let mut sample = Sample::default();
                for span in spans {
                    let window = samples.window_of(*span)?;
                    let is_last = Some(span.end_ns) == last_ns;
                    sample.traits.add(&traits(windows.get(window)?, *span, is_last, start_ns));
                    let stretch = edges[window].partition_point(|edge| *edge <= span.start_ns);
                    sample.stretches.push(firsts[window] + stretch);
                    // The first stretch of a window is that before its first sample.
                    sample
                        .again
                        .extend(shorter_firsts[window].filter(|_| stretch > 0).map(|first| first + stretch));
                    let row = rows.partition_point(|row| row.end_ns <= span.start_ns);
                    let edges =
                        |row: &&Occurrence| (row.start_ns == span.start_ns, row.end_ns == span.end_ns);
                    sample.edges.push(rows.get(row).map_or((true, true), edges));
                    sample.begins |= samples.windows[window].start_ns > 0;
                }
                sample.traits.critical_ns = units.critical_ns.get(number).copied().unwrap_or(0);
                let is_again = sample.again.len() == sample.stretches.len();
                sample.again.truncate(if is_again { sample.again.len() } else { 0 });
                Some(sample)
            };
            let all = units.samples.iter().chain(&units.certain).enumerate().map(sample);
            let Some(mut all) = all.collect::<Option<Vec<Sample>>>() else { return Ok(None) };
            stratum.certain = all.split_off(units.samples.len());
            stratum.samples = all;
            let all = stratum.samples.iter().chain(&stratum.certain);
            let (sampled, total) = messages.entry(units.phase).or_default();
            *sampled += all.map(|sample| sample.traits.messages).sum::<u64>();
            *total += stratum.total.messages;
            for Sample { traits, .. } in &stratum.certain {
                stratum.total.without(traits);
            }
            strata.push(stratum);
        }
        // Of the stray messages of idle stretches there need not be any in those that are sampled.
        messages.remove(&None);
        if messages.values().any(|(sampled, total)| *sampled == 0 && *total > 0) {
            return Ok(None);
        }
        let again = if shorter.is_empty() { None } else { Some(Script::spliced(&shorter)?) };
        Ok(Some(Self { script: Script::spliced(&scripts)?, again, strata }))
    }

    /// What is simulated.
    pub fn scripts(&self) -> impl Iterator<Item = &Script> {
        [&self.script].into_iter().chain(&self.again)
    }
}

/// Windows that are played again: some with samples of each phase.
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

fn traits(excerpt: &Excerpt, span: Span, is_last: bool, start_ns: i64) -> Traits {
    let end = since(span.end_ns, start_ns).saturating_add(i64::from(is_last));
    let rows = excerpt.posted(since(span.start_ns, start_ns), end);
    let bytes = &excerpt.messages().columns().bytes[rows.clone()];
    Traits {
        duration_ns: span.end_ns - span.start_ns,
        messages: rows.len() as u64,
        bytes: bytes.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes)),
        critical_ns: 0,
    }
}

/// When half of the messages between two times are posted.
fn middle(excerpt: &Excerpt, from_ns: u64, to_ns: u64, start_ns: i64) -> u64 {
    let rows = excerpt.posted(since(from_ns, start_ns), since(to_ns, start_ns));
    let posts = &excerpt.messages().columns().send_post_ns;
    let post = posts.get(rows.start + rows.len() / 2).copied().unwrap_or_default();
    let middle = post.saturating_sub(start_ns).max(0).cast_unsigned();
    if rows.is_empty() { from_ns } else { middle.clamp(from_ns, to_ns.saturating_sub(1).max(from_ns)) }
}
