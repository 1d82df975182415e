//! The sampled stretches of a run as scripts.
//!
//! A window is one script; the edges of the samples in it are its boundaries, so that each sample is a stretch of its own.

use phaseflow_collect::{At, Result};
use phaseflow_segment::{Samples, Segmentation, Span};

use super::Script;
use super::excerpt::{Excerpt, since};

/// Windows of a phase that are played a second time with a shorter beginning, at most.
const CHECKS: usize = 4;

/// What stands for all of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// What is simulated.
    scripts: Vec<Script>,
    windows: usize,
    /// By phase.
    pub strata: Vec<Stratum>,
}

/// The units of a phase, and those of them that are sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stratum {
    /// The phase; `None`: idle stretches.
    pub phase: Option<u32>,
    /// How many units there are.
    pub units: u64,
    /// What they have all together.
    pub total: Traits,
    /// Those that are sampled.
    pub samples: Vec<Sample>,
    /// Samples again, each with half of what comes before it: its position among the samples, and where it is then.
    pub again: Vec<(usize, Sample)>,
}

/// A sampled unit: a stretch of a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The script.
    pub script: usize,
    /// The stretch of it.
    pub stretch: usize,
    /// What is known of it without simulation.
    pub traits: Traits,
}

/// What is known of a stretch of the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// How long it took when it was recorded.
    pub duration_ns: u64,
    /// Messages posted in it.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
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
        let edges = edges(samples);
        let mut scripts = Vec::with_capacity(windows.len());
        for (number, (excerpt, span)) in windows.iter().zip(&samples.windows).enumerate() {
            scripts.push(script(excerpt, *span, &edges[number]).at(|| format!("window {number}"))?);
        }
        let mut strata = Vec::with_capacity(samples.of_phase.len());
        for units in &samples.of_phase {
            let rows =
                segmentation.occurrences.iter().filter(|row| row.depth == 0 && row.phase == units.phase);
            let total = rows.fold(Traits::default(), |sum, row| Traits {
                duration_ns: sum.duration_ns.saturating_add(row.end_ns - row.start_ns),
                messages: sum.messages.saturating_add(row.messages),
                bytes: sum.bytes.saturating_add(row.bytes),
            });
            let mut stratum = Stratum { phase: units.phase, units: units.units, total, ..Stratum::default() };
            for span in &units.samples {
                let Some(window) = samples.window_of(*span) else { return Ok(None) };
                let is_last = Some(span.end_ns) == last_ns;
                let traits = traits(&windows[window], *span, is_last, start_ns);
                let around = samples.windows[window];
                let stretch = |edges: &[u64]| edges.partition_point(|edge| *edge <= span.start_ns);
                stratum.samples.push(Sample { script: window, stretch: stretch(&edges[window]), traits });
                let first = edges[window].first().copied().unwrap_or(around.end_ns);
                if first == span.start_ns && around.start_ns > 0 && stratum.again.len() < CHECKS {
                    let later = middle(&windows[window], around.start_ns, first, start_ns);
                    let shorter = Span { start_ns: later, ..around };
                    let excerpt = windows[window].cut(&[shorter], last_ns, start_ns).remove(0);
                    let sample = Sample { script: scripts.len(), stretch: 1, traits };
                    scripts.push(script(&excerpt, shorter, &edges[window])?);
                    stratum.again.push((stratum.samples.len() - 1, sample));
                }
            }
            strata.push(stratum);
        }
        Ok(Some(Self { scripts, windows: windows.len(), strata }))
    }

    /// What is simulated.
    pub fn scripts(&self) -> &[Script] {
        &self.scripts
    }

    /// The windows, without those that are played again.
    pub fn windows(&self) -> impl Iterator<Item = &Script> {
        self.scripts[..self.windows].iter()
    }
}

/// By window: where samples in it begin and end.
fn edges(samples: &Samples) -> Vec<Vec<u64>> {
    let mut edges = vec![Vec::new(); samples.windows.len()];
    for span in samples.of_phase.iter().flat_map(|units| &units.samples) {
        let Some(window) = samples.window_of(*span) else { continue };
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
