//! From a trace to its segmentation.

use phaseflow_collect::{Result, TrafficMatrix};

use crate::archive::{FORMAT, Header, Occurrence, Phase, Segmentation, VERSION};
use crate::method::{Limits, Method};
use crate::plan::Plan;
use crate::replay::Replay;
use crate::survey::{Content, Run, Survey};
use crate::tally::{Tally, tally};

/// How to split.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The method.
    pub method: Method,
    /// Largest number of time windows, from 2 to [`LARGEST_WINDOWS`].
    pub windows: usize,
    /// Most phases, at least 1; the most similar ones are merged.
    pub max_phases: Option<usize>,
    /// Stretches shorter than this join a neighbour; 0 keeps all.
    pub min_duration_ns: u64,
    /// Seed of methods that use random numbers.
    pub seed: u64,
}

/// More windows than this are refused: clustering is quadratic in them.
pub const LARGEST_WINDOWS: usize = 4096;

impl Default for Options {
    fn default() -> Self {
        Self { method: Method::default(), windows: 1024, max_phases: None, min_duration_ns: 0, seed: 1 }
    }
}

/// A segmentation, and what the user should know about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The phases of the run.
    pub segmentation: Segmentation,
    /// Sentences for the user.
    pub notes: Vec<String>,
}

/// Splits the run in `trace`, which is read twice, into phases.
///
/// A run of which only sums are known is one phase, whatever the method. A run whose messages all have one time has no
/// length: it is one phase too, of unknown duration and without occurrences. A run without messages has no phase; it is
/// idle for as long as it lasts.
///
/// Memory: the windows and the matrices of the phases.
///
/// # Errors
/// A damaged trace, or a method that finds nothing to go by.
pub fn segment(trace: &mut dyn Replay, options: &Options) -> Result<Outcome> {
    let rounds = options.method.needs_rounds();
    let windows = options.method.needs_windows() || (options.max_phases.is_some() && !rounds);
    let windows = windows.then_some(options.windows.clamp(2, LARGEST_WINDOWS));
    let survey = Survey::new(trace, windows, rounds)?;
    let header = |method: String, duration_ns| Header {
        format: FORMAT.into(),
        version: VERSION,
        source: survey.source.clone(),
        method,
        ranks: survey.ranks,
        duration_ns,
    };
    match &survey.content {
        Content::Aggregate(matrix, duration_ns) => {
            // A run that took no time has an unknown duration, as far as rates are concerned.
            let duration_ns = duration_ns.filter(|ns| *ns > 0);
            let segmentation = whole(header("none".into(), duration_ns), matrix.clone());
            let mut notes = vec!["only sums over the run are known: it is one phase".to_string()];
            if duration_ns.is_none() {
                notes.push("the duration of the run is not known".to_string());
            }
            Ok(Outcome { segmentation, notes })
        }
        Content::Timed(run) if run.duration_ns == 0 => {
            let whole_run = Method::None.split(run, &limits(options))?.plan;
            let matrix = tally(trace, run, &whole_run)?.matrices.into_iter().next().unwrap_or_default();
            let mut segmentation = whole(header("none".into(), None), matrix);
            let mut notes = Vec::new();
            if run.messages == 0 {
                segmentation.phases.clear();
                notes.push("the trace has no messages: there are no phases".to_string());
            } else {
                notes.push("all messages have one time: they are one phase of unknown duration".to_string());
            }
            Ok(Outcome { segmentation, notes })
        }
        Content::Timed(run) => {
            let (plan, method) = planned(run, options)?;
            let tally = tally(trace, run, &plan)?;
            let mut notes = Vec::new();
            if run.messages == 0 {
                notes.push("the trace has no messages: there are no phases".to_string());
            }
            let segmentation = settled(header(method, Some(run.duration_ns)), run, &plan, tally);
            Ok(Outcome { segmentation, notes })
        }
    }
}

fn limits(options: &Options) -> Limits {
    Limits { windows: options.windows.clamp(2, LARGEST_WINDOWS), seed: options.seed }
}

/// The plan of a run that has a length, and how it was made.
fn planned(run: &Run, options: &Options) -> Result<(Plan, String)> {
    let method = if run.messages == 0 { Method::None } else { options.method };
    let answer = method.split(run, &limits(options))?;
    let mut plan = answer.plan;
    let mut parameters: Vec<String> = Vec::new();
    if !answer.parameters.is_empty() {
        parameters.push(answer.parameters);
    }
    if options.min_duration_ns > 0 {
        plan = plan.join_short(run.duration_ns, |_| options.min_duration_ns);
        parameters.push(format!("min-duration={}ns", options.min_duration_ns));
    }
    if let Some(most) = options.max_phases {
        plan = plan.merge_labels(most, run);
        parameters.push(format!("max-phases={most}"));
    }
    let name = method.name();
    let label = if parameters.is_empty() { name.into() } else { format!("{name}[{}]", parameters.join(",")) };
    Ok((plan, label))
}

/// One phase of one matrix, with one occurrence if the run's length is known.
fn whole(header: Header, matrix: TrafficMatrix) -> Segmentation {
    let occurrence = header.duration_ns.map(|end_ns| Occurrence {
        phase: Some(0),
        depth: 0,
        start_ns: 0,
        end_ns,
        messages: matrix.messages(),
        bytes: matrix.bytes(),
    });
    let phase = Phase { name: "0".into(), occurrences: 1, duration_ns: header.duration_ns, matrix };
    Segmentation { header, phases: vec![phase], occurrences: occurrence.into_iter().collect() }
}

/// Occurrences from what the second pass settled: those without length vanish, those without messages are idle, phases
/// are numbered in order of appearance.
fn settled(header: Header, run: &Run, plan: &Plan, tally: Tally) -> Segmentation {
    let mut occurrences: Vec<Occurrence> = Vec::with_capacity(tally.totals.len());
    let mut numbers: Vec<Option<u32>> = vec![None; tally.matrices.len()];
    let mut labels: Vec<usize> = Vec::new();
    for (i, total) in tally.totals.iter().enumerate() {
        let end_ns = tally.totals.get(i + 1).map_or(run.duration_ns, |next| next.start_ns);
        if total.start_ns == end_ns {
            continue;
        }
        let label = plan.stretches[i].label.filter(|_| total.messages > 0);
        let phase = label.map(|label| {
            *numbers[label as usize].get_or_insert_with(|| {
                labels.push(label as usize);
                (labels.len() - 1) as u32
            })
        });
        let next = Occurrence {
            phase,
            depth: 0,
            start_ns: total.start_ns,
            end_ns,
            messages: total.messages,
            bytes: total.bytes,
        };
        match occurrences.last_mut() {
            Some(last) if last.phase == phase => {
                last.end_ns = end_ns;
                last.messages += next.messages;
                last.bytes += next.bytes;
            }
            _ => occurrences.push(next),
        }
    }
    let mut sums = vec![(0, 0); labels.len()];
    for occurrence in &occurrences {
        if let Some(phase) = occurrence.phase {
            let (count, duration_ns) = &mut sums[phase as usize];
            *count += 1;
            *duration_ns += occurrence.end_ns - occurrence.start_ns;
        }
    }
    let mut matrices: Vec<Option<TrafficMatrix>> = tally.matrices.into_iter().map(Some).collect();
    let phases = labels.iter().zip(sums).enumerate().map(|(number, (label, (count, duration_ns)))| Phase {
        name: number.to_string(),
        occurrences: count,
        duration_ns: Some(duration_ns),
        matrix: matrices[*label].take().unwrap_or_default(),
    });
    let phases = phases.collect();
    Segmentation { header, phases, occurrences }
}
