//! From a trace to its segmentation.

use std::collections::BTreeMap;
use std::ops::Range;

use phaseflow_collect::{Error, Result, TrafficMatrix};

use crate::first_pass::survey::{Content, Cuts, Run, Survey};
use crate::hierarchy::level::Level;
use crate::hierarchy::loops::Node;
use crate::input::Rewindable;
use crate::method::Method;
use crate::method::split::Limits;
use crate::plan::Plan;
use crate::second_pass::representative::Representatives;
use crate::second_pass::tally::{Tally, tally};
use crate::segmentation::{FORMAT, Header, Occurrence, Phase, Segmentation, VERSION};
use crate::title::{OperationTotals, title, title_of_matrix};

/// How to split.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The method.
    pub method: Method,
    /// Largest number of time windows, from 2 to [`LARGEST_WINDOWS`].
    pub windows: usize,
    /// Most phases, at least 1; the most similar ones are merged.
    pub max_phases: Option<usize>,
    /// Stretches shorter than this join the neighbour that is most like them; 0 keeps all.
    pub min_duration_ns: u64,
    /// Which level of nested phases.
    pub level: Level,
    /// Seed of methods that use random numbers.
    pub seed: u64,
}

/// More windows than this are refused: clustering is quadratic in them.
pub const LARGEST_WINDOWS: usize = 4096;

impl Default for Options {
    fn default() -> Self {
        Self {
            method: Method::default(),
            windows: 1024,
            max_phases: None,
            min_duration_ns: 0,
            level: Level::default(),
            seed: 1,
        }
    }
}

/// A segmentation, and what the user should know about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The phases of the run.
    pub segmentation: Segmentation,
    /// Start of the run on the trace's clock; `None` if only sums are known.
    pub start_ns: Option<i64>,
    /// Of a trace with an order and no times: its occurrences, whose starts and ends are positions.
    /// The segmentation has none then.
    pub ordered: Vec<Occurrence>,
    /// The occurrences that stand for their phases.
    pub representatives: Representatives,
    /// Sentences for the user.
    pub notes: Vec<String>,
}

/// Said of a trace that is empty.
const NO_MESSAGES: &str = "the trace has no messages: there are no phases";

/// Splits the run in `trace`, which is read twice, into phases.
///
/// A run of which only sums are known is one phase, whatever the method. A run whose messages all
/// have one time has no length: it is one phase too, of unknown duration and without occurrences. A
/// run without messages has no phase; it is idle for as long as it lasts.
///
/// Memory: the windows and the matrices of the phases.
///
/// # Errors
/// A damaged trace, or a method that finds nothing to go by.
pub fn segment(trace: &mut dyn Rewindable, options: &Options) -> Result<Outcome> {
    let compares = options.max_phases.is_some() || options.min_duration_ns > 0;
    let cuts = match options.method.cuts(options.windows.clamp(2, LARGEST_WINDOWS)) {
        // Stretches are compared by their windows.
        Cuts::Nothing if compares => Cuts::Equal(options.windows.clamp(2, LARGEST_WINDOWS)),
        cuts => cuts,
    };
    let survey = Survey::new(trace, cuts)?;
    match &survey.content {
        Content::Aggregate(matrix, duration_ns) => Ok(sums(&survey, matrix, *duration_ns)),
        Content::Timed(run) if run.duration_ns == 0 => instant(trace, &survey, run, options),
        Content::Timed(run) => stretched(trace, &survey, run, options),
        Content::Ordered(run) => {
            needs_no_times(options)?;
            let outcome = match run.duration_ns {
                0 => instant(trace, &survey, run, options),
                _ => stretched(trace, &survey, run, options),
            };
            outcome.map(in_order)
        }
    }
}

/// Refuses what cannot be done without times.
fn needs_no_times(options: &Options) -> Result<()> {
    let without = "the trace has an order but no times";
    if options.min_duration_ns > 0 {
        return Err(Error::usage(format!("needs times, and {without}")).at("--min-duration"));
    }
    match options.method {
        Method::Rounds | Method::Marks | Method::None => Ok(()),
        method => {
            let problem =
                format!("`{}` needs times, and {without}: use rounds, marks or none", method.name());
            Err(Error::usage(problem).at("--method"))
        }
    }
}

/// The outcome of a run whose times are positions: its phases have unknown durations.
fn in_order(mut outcome: Outcome) -> Outcome {
    let segmentation = &mut outcome.segmentation;
    outcome.ordered = std::mem::take(&mut segmentation.occurrences);
    segmentation.header.duration_ns = None;
    segmentation.phases.iter_mut().for_each(|phase| phase.duration_ns = None);
    outcome.notes.push("the trace has an order but no times: phases have no durations".into());
    Outcome { start_ns: None, representatives: Representatives::default(), ..outcome }
}

/// The header of a phase archive that a method made of a run.
fn header(survey: &Survey, method: String, duration_ns: Option<u64>) -> Header {
    Header {
        format: FORMAT.into(),
        version: VERSION,
        source: survey.source.clone(),
        method,
        ranks: survey.ranks,
        duration_ns,
        unmatched_receives: survey.unmatched_receives.clone(),
    }
}

/// A run of which only sums are known.
fn sums(survey: &Survey, matrix: &TrafficMatrix, duration_ns: Option<u64>) -> Outcome {
    // A run that took no time has an unknown duration, as far as rates are concerned.
    let duration_ns = duration_ns.filter(|ns| *ns > 0);
    let segmentation = whole(header(survey, "none".into(), duration_ns), matrix.clone());
    let mut notes = vec!["only sums over the run are known: it is one phase".to_string()];
    if duration_ns.is_none() {
        notes.push("the duration of the run is not known".to_string());
    }
    Outcome {
        segmentation,
        start_ns: None,
        ordered: Vec::new(),
        representatives: Representatives::default(),
        notes,
    }
}

/// A run whose messages all have one time.
fn instant(trace: &mut dyn Rewindable, survey: &Survey, run: &Run, options: &Options) -> Result<Outcome> {
    let whole_run = Method::None.split(run, &limits(options))?.plan;
    let matrix = tally(trace, run, &whole_run)?.matrices.into_iter().next().unwrap_or_default();
    let mut segmentation = whole(header(survey, "none".into(), None), matrix);
    // Of no length, so that its messages have a place.
    let occurrence = |phase: &Phase| Occurrence {
        phase: Some(0),
        depth: 0,
        start_ns: 0,
        end_ns: 0,
        messages: phase.matrix.messages(),
        bytes: phase.matrix.bytes(),
    };
    segmentation.occurrences = segmentation.phases.iter().map(occurrence).collect();
    let mut of_phase = vec![Some(0)];
    let note = if run.messages == 0 {
        segmentation.phases.clear();
        segmentation.occurrences.clear();
        of_phase.clear();
        NO_MESSAGES
    } else {
        "all messages have one time: they are one phase of unknown duration"
    };
    let notes = vec![note.to_string()];
    let representatives = Representatives { start_ns: run.start_ns, of_phase, ..Representatives::default() };
    Ok(Outcome { segmentation, start_ns: Some(run.start_ns), ordered: Vec::new(), representatives, notes })
}

/// A run that has a length.
fn stretched(trace: &mut dyn Rewindable, survey: &Survey, run: &Run, options: &Options) -> Result<Outcome> {
    let (mut plan, method) = planned(run, options)?;
    // What the user marked or cut is shown as it is.
    let level = match options.method {
        Method::Rounds => options.level,
        _ => options.level.or_leaf(),
    };
    let nodes = level.nodes(&mut plan, run.duration_ns);
    let paths = Paths::new(&mut plan, &nodes);
    let tally = tally(trace, run, &plan)?;
    let mut notes = Vec::new();
    if run.messages == 0 {
        notes.push(NO_MESSAGES.to_string());
    }
    let header = header(survey, method, Some(run.duration_ns));
    let (mut segmentation, stretches) = settled(header, run, &nodes, &paths, &tally)?;
    if plan.starts_up {
        name_start(&mut segmentation);
    }
    notes.extend(stray(&segmentation));
    let representatives = Representatives::choose(
        run.start_ns,
        &segmentation,
        &stretches,
        &tally.volumes,
        (tally.ticks, tally.repeats),
    );
    Ok(Outcome { segmentation, start_ns: Some(run.start_ns), ordered: Vec::new(), representatives, notes })
}

/// Names the phase of the first stretch, unless that comes again.
fn name_start(segmentation: &mut Segmentation) {
    let first = segmentation.leaves().next().and_then(|(_, row)| row.phase);
    let first = first.and_then(|phase| segmentation.phases.get_mut(phase as usize));
    if let Some(phase) = first.filter(|phase| phase.occurrences == 1) {
        phase.title = "starting up".into();
    }
}

/// What is in no phase.
fn stray(segmentation: &Segmentation) -> Option<String> {
    let idle = segmentation.leaves().filter(|(_, row)| row.phase.is_none());
    let (messages, bytes) = idle.fold((0, 0_u64), |(messages, bytes), (_, row)| {
        (messages + row.messages, bytes.saturating_add(row.bytes))
    });
    (messages > 0).then(|| {
        format!("{messages} stray messages of {bytes} bytes lie in idle stretches and are of no phase")
    })
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
        plan = plan.at_least(run.duration_ns, options.min_duration_ns, run);
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
    let title = title_of_matrix(&matrix, header.ranks);
    let phase = Phase { name: "0".into(), title, occurrences: 1, duration_ns: header.duration_ns, matrix };
    Segmentation { header, phases: vec![phase], occurrences: occurrence.into_iter().collect() }
}

/// Where stretches stand in the tree. Stretches of one phase in different loops are kept apart, so
/// that what a loop sends can be told from what its phases send elsewhere.
struct Paths {
    /// Labels from the outermost loop to the phase, for each label of the plan.
    of_label: Vec<Vec<u32>>,
}

impl Paths {
    /// Gives the stretches of `plan` a label for each path.
    fn new(plan: &mut Plan, nodes: &[Node]) -> Self {
        let mut known = BTreeMap::new();
        let mut path = Vec::new();
        nodes.iter().for_each(|node| relabel(plan, node, &mut path, &mut known));
        let mut of_label = vec![Vec::new(); known.len()];
        for (path, label) in known {
            of_label[label as usize] = path;
        }
        Self { of_label }
    }
}

fn relabel(plan: &mut Plan, node: &Node, path: &mut Vec<u32>, known: &mut BTreeMap<Vec<u32>, u32>) {
    path.push(node.label);
    if node.children.is_empty() {
        let next = known.len() as u32;
        let label = *known.entry(path.clone()).or_insert(next);
        plan.stretches[node.stretches.start].label = Some(label);
    }
    node.children.iter().for_each(|child| relabel(plan, child, path, known));
    path.pop();
}

/// Occurrences from what the second pass settled, and the stretches of each: those without length
/// vanish, those without messages are idle, phases are numbered in order of appearance, those first
/// that the level shows, loops after all others. Figures of a loop are those of its outermost
/// occurrences.
fn settled(
    header: Header,
    run: &Run,
    nodes: &[Node],
    paths: &Paths,
    tally: &Tally,
) -> Result<(Segmentation, Vec<Range<usize>>)> {
    let mut rows = Rows {
        tally,
        duration_ns: run.duration_ns,
        occurrences: Vec::new(),
        stretches: Vec::new(),
        phases: BTreeMap::new(),
    };
    rows.add(nodes, 0, 0..tally.totals.len());
    let Rows { occurrences, stretches, phases: mut numbers, .. } = rows;
    let mut segmentation = Segmentation { header, phases: Vec::new(), occurrences };
    let leaves = leaves_first(&mut segmentation, &mut numbers);
    let mut figures = vec![Figures { depth: u32::MAX, ..Figures::default() }; numbers.len()];
    for occurrence in &segmentation.occurrences {
        let Some(phase) = occurrence.phase else { continue };
        let own = &mut figures[phase as usize];
        if (phase as usize) < leaves {
            // An innermost phase is itself wherever it is.
            own.occurrences += 1;
            own.duration_ns += occurrence.end_ns - occurrence.start_ns;
            continue;
        }
        if occurrence.depth < own.depth {
            *own = Figures { depth: occurrence.depth, ..Figures::default() };
        }
        if occurrence.depth == own.depth {
            own.occurrences += 1;
            own.duration_ns += occurrence.end_ns - occurrence.start_ns;
        }
    }
    for (cell, path) in paths.of_label.iter().enumerate() {
        for (depth, label) in path.iter().enumerate() {
            let Some(number) = numbers.get(label).map(|number| *number as usize) else { continue };
            if number < leaves || figures[number].depth == depth as u32 {
                figures[number].cells.push(cell);
            }
        }
    }
    for (number, figures) in figures.into_iter().enumerate() {
        let matrices = figures.cells.iter().map(|cell| &tally.matrices[*cell]);
        let matrix = match &figures.cells[..] {
            [only] => tally.matrices[*only].clone(),
            _ => TrafficMatrix::from_cells(matrices.flat_map(TrafficMatrix::cells))?,
        };
        let mut operations = OperationTotals::default();
        figures.cells.iter().for_each(|cell| operations.merge(&tally.operations[*cell]));
        let Figures { occurrences, duration_ns, .. } = figures;
        segmentation.phases.push(Phase {
            name: number.to_string(),
            title: title(&matrix, &operations, segmentation.header.ranks),
            occurrences,
            duration_ns: Some(duration_ns),
            matrix,
        });
    }
    Ok((segmentation, stretches))
}

/// Renumbers phases, so that tables, which have them by number, begin with those that the level
/// shows: the innermost ones come before loops of them, of these those first that are a row of
/// their own, each in order of appearance; how many the innermost are.
fn leaves_first(segmentation: &mut Segmentation, numbers: &mut BTreeMap<u32, u32>) -> usize {
    // Those shown, other innermost ones, loops.
    let mut rank = vec![2; numbers.len()];
    for (_, row) in segmentation.leaves() {
        let Some(phase) = row.phase else { continue };
        let own = &mut rank[phase as usize];
        *own = (*own).min(usize::from(row.depth > 0));
    }
    let of = |own: usize| rank.iter().filter(|rank| **rank == own).count();
    let (shown, leaves) = (of(0), of(0) + of(1));
    let mut next = [0, shown as u32, leaves as u32];
    let becomes: Vec<u32> = rank
        .into_iter()
        .map(|rank| {
            let next = &mut next[rank];
            *next += 1;
            *next - 1
        })
        .collect();
    let renumbered = |number: &mut u32| *number = becomes[*number as usize];
    segmentation.occurrences.iter_mut().filter_map(|row| row.phase.as_mut()).for_each(renumbered);
    numbers.values_mut().for_each(renumbered);
    leaves
}

/// What is known of a phase's occurrences, of a loop's outermost ones.
#[derive(Clone, Debug, Default)]
struct Figures {
    depth: u32,
    occurrences: u64,
    duration_ns: u64,
    /// Matrices that make up its own.
    cells: Vec<usize>,
}

/// Rows in the making.
struct Rows<'a> {
    tally: &'a Tally,
    duration_ns: u64,
    occurrences: Vec<Occurrence>,
    /// Of each occurrence.
    stretches: Vec<Range<usize>>,
    /// The phase of each label.
    phases: BTreeMap<u32, u32>,
}

impl Rows<'_> {
    /// Adds `nodes`, which lie among `stretches`; what they leave out is idle.
    fn add(&mut self, nodes: &[Node], depth: u32, stretches: Range<usize>) {
        let mut reached = stretches.start;
        let mut last = None;
        for node in nodes {
            last = self.row(None, depth, reached..node.stretches.start, last);
            last = self.row(Some(node.label), depth, node.stretches.clone(), last);
            // Where nothing is sent there is nothing below.
            if !node.children.is_empty() && self.messages(&node.stretches) > 0 {
                self.add(&node.children, depth + 1, node.stretches.clone());
            }
            reached = node.stretches.end;
        }
        self.row(None, depth, reached..stretches.end, last);
    }

    fn messages(&self, stretches: &Range<usize>) -> u64 {
        self.tally.totals[stretches.clone()].iter().map(|total| total.messages).sum()
    }

    /// Adds a row, or adds to the `last` one of this depth if that is the same; which one it is
    /// now.
    fn row(
        &mut self,
        label: Option<u32>,
        depth: u32,
        stretches: Range<usize>,
        last: Option<usize>,
    ) -> Option<usize> {
        let start = |at: usize| self.tally.totals.get(at).map_or(self.duration_ns, |total| total.start_ns);
        let (start_ns, end_ns) = (start(stretches.start), start(stretches.end));
        if start_ns >= end_ns {
            return last;
        }
        let totals = &self.tally.totals[stretches.clone()];
        let messages = self.messages(&stretches);
        let bytes = totals.iter().fold(0, |sum: u64, total| sum.saturating_add(total.bytes));
        let phase = label.filter(|_| messages > 0).map(|label| {
            let next = self.phases.len() as u32;
            *self.phases.entry(label).or_insert(next)
        });
        if let Some(last) = last
            && let Some(row) = self.occurrences.get_mut(last).filter(|row| row.phase == phase)
        {
            row.end_ns = end_ns;
            row.messages += messages;
            row.bytes = row.bytes.saturating_add(bytes);
            self.stretches[last].end = stretches.end;
            return Some(last);
        }
        self.stretches.push(stretches);
        self.occurrences.push(Occurrence { phase, depth, start_ns, end_ns, messages, bytes });
        Some(self.occurrences.len() - 1)
    }
}
