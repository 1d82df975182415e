//! `rounds`: one model of a phase.
//!
//! A segmentation costs [`PRICE`](cost::PRICE) nats for each boundary and each label. It saves the
//! [evidence](cost) that the stretches beside a boundary, or of two labels, are different
//! behaviours: who talks to whom, how much, in messages of which size, how fast. The run itself
//! sets how different they have to be: its noise is the distance of neighbours within one phase. A
//! cheap segmentation is found in these steps:
//!
//! 1. The first pass cuts [windows of whole rounds](crate::first_pass::rounds) where tokens come
//!    again, without using time. Silences that the run's own irregularity does not explain are
//!    idle.
//! 2. Neighbours are [merged](merge) from the bottom up, the boundary of least evidence first,
//!    until all boundaries are worth the price. Stretches that behave alike get one
//!    [label](labels).
//! 3. Each window gets the label that it is [most like](states): merging hides boundaries of loops.
//!    Then the noise is measured again, but not across the boundaries found.
//! 4. [Pieces](pieces) of rounds that were cut differently go to their neighbours. Steps 2 to 4
//!    repeat until nothing changes.
//! 5. If there are more phases than a person reads, the same model finds [levels] above them. One
//!    of these [outlines](outline) the run, together with the barriers of the program.
//! 6. The second pass moves each boundary to the message where the behaviour changes
//!    ([`search`](crate::second_pass::search)).
//!
//! No random numbers. Only ratios of times are used, so their origin and unit do not matter. Ranks,
//! tokens and pairs are numbered as they come. Messages of one time are sorted by these numbers, so
//! neither their order nor the numbers of ranks in the trace matter. Only ranks that come first at
//! one time are numbered as in the trace.
//!
//! A wrong choice for:
//!
//! - phases of fewer than two rounds each;
//! - rounds whose partners are all drawn at random: windows are mostly sampling noise;
//! - programs that say themselves what their phases are: use `marks`.

mod cost;
mod features;
mod labels;
mod levels;
mod merge;
mod noise;
mod outline;
mod pieces;
mod states;
mod stretches;

use phaseflow_collect::Result;

use crate::first_pass::rounds::sums::Sums;
use crate::first_pass::rounds::token_set::TokenSet;
use crate::first_pass::rounds::windows::{NOTICED, Window};
use crate::first_pass::survey::Run;
use crate::hierarchy::level::READABLE;
use crate::method::split::{Answer, Limits, Split};
use crate::plan::{Plan, Stretch};
use cost::DIFFERENCE;
use features::{Rates, Units, VIEWS, View};
use noise::{NEARBY, Neighbours};
use pieces::Content;
use stretches::{Start, without};

/// Repetitions of merging, at most; most runs need two to four.
const AGAIN: usize = 5;

/// Windows on each side of a boundary within which the second pass looks for it.
const SLACK: usize = 3;

/// The same where only rates change: the intervals of several rounds tell where.
const SLACK_OF_RATES: usize = 8;

/// Standard deviations from the usual rate at which a rate is clipped: one slow round, or one huge
/// message, is no phase.
const DEVIATIONS: f64 = 3.0;

/// The start of a program has less than 1/32 of the run's messages and bytes. The recordings in
/// tests/data have sent up to 0.6 % of their messages by the first mark. Titles alone depend on it.
const STARTING: u64 = 32;

/// Starting up has fewer rounds than this: phases repeat themselves. Titles alone depend on it.
const REPEATED: u64 = 4;

pub(super) struct RoundsMethod;

impl Split for RoundsMethod {
    fn split(&self, run: &Run, _: &Limits) -> Result<Answer> {
        let windows = &run.rounds.windows;
        let locked: Vec<bool> = windows.iter().map(|window| window.silence_ns > 0).collect();
        let nothing = Sums::default();
        let sums: Vec<&Sums> =
            std::iter::once(&nothing).chain(windows.iter().map(|window| &window.sums)).collect();
        let edges: Vec<usize> = (0..=windows.len()).collect();
        let rates = rates(windows, &locked, &edges);
        let units = Units::new(&sums, edges, &rates, locked.clone());
        let contents = contents(windows, &units.edges);
        let stretches = segmented(&units, &contents, run.rounds.tokens.len());
        let mut phases = noticed(run, &locked, &stretches);
        let divided = starting(run, &phases);
        phases.drain(1..divided);
        let level = levels::describing(run, &sums, &locked, &phases, READABLE);
        let plan = plan(run, &units, &phases, &level, divided > 1);
        Ok(Answer { plan, parameters: format!("windows={}", windows.len()) })
    }
}

/// Stretches that differ from their neighbours: the first unit and the label of each. The run has
/// this number of `tokens`.
fn segmented(units: &Units<'_>, contents: &[Content], tokens: usize) -> Vec<Start> {
    let neighbours = Neighbours::new(units);
    let mut starts: Vec<usize> = (0..units.len()).collect();
    // Stretches that have taken in another phase are noisy, and would hide it from the states.
    let unknown = neighbours.noise(&[], &[]);
    let mut noise = unknown.clone();
    for _ in 0..AGAIN {
        let merged = merge::merged(units, &noise, &starts);
        // Of two stretches of one label, the noise must not be the distance between them.
        let labels = labels::labels(units, &neighbours.noise(&merged, &[]), &merged);
        let assigned = states::assigned(units, &unknown, &merged, &labels);
        noise = neighbours.noise(&assigned.0, &assigned.1);
        let next = pieces::joined(contents, &units.locked, assigned, tokens);
        let unchanged = next == starts;
        starts = next;
        if unchanged {
            break;
        }
    }
    let labels = labels::labels(units, &neighbours.noise_of_others(&starts), &starts);
    starts.into_iter().zip(labels).collect()
}

/// Messages, bytes and nanoseconds of windows `from..to`.
fn amounts(run: &Run, from: usize, to: usize) -> [f64; 3] {
    let windows = &run.rounds.windows;
    let since = |window: usize| {
        windows.get(window).map_or(run.duration_ns, |own| run.since_start(own.first_ns)) as f64
    };
    let own = &windows[from..to];
    let messages: u64 = own.iter().map(|window| window.messages).sum();
    [messages as f64, own.iter().map(|window| window.bytes).sum(), since(to) - since(from)]
}

/// Whether each of these amounts is less than 1/`parts` of its total in `all`.
fn is_small(own: &[f64], all: &[f64], parts: u64) -> bool {
    own.iter().zip(all).all(|(own, all)| own * (parts as f64) < *all)
}

/// Stretches without small kinds: all occurrences of a small kind have less than 1/[`NOTICED`] of
/// the run's messages, bytes and time. Nor have they more bytes a nanosecond than a kind that is
/// not small. The first and the last stretch stay: programs start and end in phases of their own.
fn noticed(run: &Run, locked: &[bool], stretches: &[Start]) -> Vec<Start> {
    let end = |at: usize| stretches.get(at + 1).map_or(locked.len(), |next| next.0);
    let (first, all) = (amounts(run, 0, end(0)), amounts(run, 0, locked.len()));
    let mut of_kind = std::collections::BTreeMap::<u32, [f64; 3]>::new();
    // The first stretch, in which the program starts, counts as a kind of its own.
    for (at, (start, label)) in stretches.iter().enumerate().skip(1) {
        let sums = of_kind.entry(*label).or_default();
        sums.iter_mut().zip(amounts(run, *start, end(at))).for_each(|(sum, own)| *sum += own);
    }
    // The hottest kind is what a user looks for, however short it is. Messages of an instant have
    // no rate: they take at least the mean time of a window.
    let window_ns = run.duration_ns as f64 / locked.len().max(1) as f64;
    let is_large = |sums: &&[f64; 3]| !is_small(*sums, &all, NOTICED);
    let rate = |sums: &[f64; 3]| sums[1] / sums[2].max(window_ns).max(1.0);
    let hottest = of_kind.values().chain([&first]).filter(is_large).map(rate).fold(0.0, f64::max);
    without(locked, stretches, |at| {
        let sums = &of_kind[&stretches[at].1];
        at + 1 < stretches.len() && is_small(sums, &all, NOTICED) && rate(sums) <= hottest
    })
}

/// How many of the stretches are the start of the program: as many as have less than [`STARTING`]
/// of the run's messages and bytes in all, and labels that do not come again. While a program
/// starts, silences are usual. So they are of this phase, and so is the one after.
fn starting(run: &Run, stretches: &[Start]) -> usize {
    let all = amounts(run, 0, run.rounds.windows.len());
    let mut last = std::collections::BTreeMap::new();
    last.extend(stretches.iter().enumerate().map(|(at, stretch)| (stretch.1, at)));
    let small = |count: &usize| is_small(&amounts(run, 0, stretches[*count].0)[..2], &all, STARTING);
    let mut latest = 0;
    let counts = (1..stretches.len()).take_while(small).filter(|count| {
        latest = latest.max(last[&stretches[count - 1].1]);
        latest < *count
    });
    counts.last().unwrap_or(1)
}

/// Contents of the units that begin at `edges`.
fn contents(windows: &[Window], edges: &[usize]) -> Vec<Content> {
    let content = |range: &[Window]| {
        let mut tokens = TokenSet::default();
        range.iter().for_each(|window| tokens.merge(&window.tokens));
        Content { messages: range.iter().map(|window| window.messages).sum(), tokens }
    };
    edges.windows(2).map(|pair| content(&windows[pair[0]..pair[1]])).collect()
}

/// Rates of the units that begin at `edges`, with unusual ones clipped.
fn rates(windows: &[Window], locked: &[bool], edges: &[usize]) -> Vec<Rates> {
    let own: Vec<Rates> = edges
        .windows(2)
        .map(|pair| {
            let range = &windows[pair[0]..pair[1]];
            let messages: u64 = range.iter().map(|window| window.messages).sum();
            let (first, last) = (range[0].first_ns, range[range.len() - 1].last_ns);
            // From begin to begin; where no window follows, the last interval is taken to be like
            // the others.
            let ns = match windows.get(pair[1]) {
                Some(next) if !locked[pair[1]] => next.first_ns.abs_diff(first) as f64,
                _ => last.abs_diff(first) as f64 * messages as f64 / messages.saturating_sub(1).max(1) as f64,
            };
            let rounds: u64 = range.iter().map(|window| window.rounds).sum();
            let bytes = range.iter().map(|window| window.bytes).sum();
            Rates::new(messages as f64, bytes, ns, rounds as f64)
        })
        .collect();
    // No rate can be computed of no time: the unit gets a thousandth of the usual time.
    let mut known: Vec<f64> = own.iter().map(|own| own.ns).filter(|ns| *ns > 0.0).collect();
    known.sort_unstable_by(f64::total_cmp);
    let least = known.get(known.len() / 2).map_or(1.0, |median| median * 1e-3);
    let ns = clipped(own.iter().map(|own| (own.ns.max(least) / own.messages).ln()).collect());
    let bytes = clipped(own.iter().map(|own| ((own.bytes / own.messages).max(1.0)).ln()).collect());
    let clip = |((own, ns), bytes): ((Rates, f64), f64)| {
        Rates::new(own.messages, bytes.exp() * own.messages, ns.exp() * own.messages, own.rounds)
    };
    own.into_iter().zip(ns).zip(bytes).map(clip).collect()
}

/// Clips values to the usual range of their left or right neighbours.
fn clipped(values: Vec<f64>) -> Vec<f64> {
    if values.len() <= 2 * NEARBY {
        return values;
    }
    // Mirrored at the ends.
    let before = values[1..=NEARBY].iter().rev();
    let after = values[values.len() - 1 - NEARBY..values.len() - 1].iter().rev();
    let mirrored: Vec<f64> = before.chain(&values).chain(after).copied().collect();
    let mut sorted = Vec::new();
    let mut median = |values: &mut dyn Iterator<Item = f64>| {
        sorted.clear();
        sorted.extend(values);
        sorted.sort_unstable_by(f64::total_cmp);
        sorted[NEARBY / 2]
    };
    let usual: Vec<(f64, f64)> = mirrored
        .windows(NEARBY + 1)
        .map(|own| {
            let middle = median(&mut own.iter().copied());
            let spread = median(&mut own.iter().map(|value| (value - middle).abs()));
            // The standard deviation of a normal distribution is 1.48 times the median deviation.
            // No rate is more regular than a tenth.
            (middle, DEVIATIONS * (1.48 * spread + 0.1))
        })
        .collect();
    let clip = |(place, value): (usize, &f64)| {
        let (left, right) = (usual[place], usual[place + NEARBY]);
        let low = (left.0 - left.1).min(right.0 - right.1);
        let high = (left.0 + left.1).max(right.0 + right.1);
        value.clamp(low, high)
    };
    values.iter().enumerate().map(clip).collect()
}

/// Whether the first stretch is the start of the program: it is a small part of the run, and its
/// rounds do not come again and again.
fn starts_up(run: &Run, phases: &[Start]) -> bool {
    let Some(end) = phases.get(1).map(|start| start.0) else { return false };
    let rounds: u64 = run.rounds.windows[..end].iter().map(|window| window.rounds).sum();
    let all = amounts(run, 0, run.rounds.windows.len());
    rounds < REPEATED && is_small(&amounts(run, 0, end)[..2], &all, STARTING)
}

/// Windows on each side of `start` within which the second pass looks for the boundary between
/// `first..start` and `start..end`.
fn slack(units: &Units<'_>, first: usize, start: usize, end: usize) -> usize {
    let (from, to) = (first.max(start.saturating_sub(SLACK)), end.min(start + SLACK));
    let alike = |view: &View| units.distance((from, start), (start, to), *view) < DIFFERENCE;
    if VIEWS.iter().filter(|view| view.is_share()).all(alike) { SLACK_OF_RATES } else { SLACK }
}

/// Stretches with room for the second pass; begins and ends of idle stretches are exact. If
/// silences divide the start of the program, it is not idle before the first phase after it either.
fn plan(run: &Run, units: &Units<'_>, phases: &[Start], level: &[Start], divided: bool) -> Plan {
    let windows = &run.rounds.windows;
    let since =
        |window: usize| windows.get(window).map_or(run.duration_ns, |own| run.since_start(own.first_ns));
    let mut stretches = Vec::new();
    for (at, (start, label)) in phases.iter().enumerate() {
        let start_ns = if at == 0 { 0 } else { since(*start) };
        if at > 0 && units.locked[*start] {
            if at > 1 || !divided {
                stretches.push(Stretch::exact(None, run.since_start(windows[start - 1].last_ns) + 1));
            }
            stretches.push(Stretch::exact(Some(*label), start_ns));
            continue;
        }
        if at == 0 {
            stretches.push(Stretch::exact(Some(*label), 0));
            continue;
        }
        let end = phases.get(at + 1).map_or(windows.len(), |next| next.0);
        let first = phases[at - 1].0;
        // At most to the middle of the stretches beside the boundary.
        let slack = slack(units, first, *start, end);
        let earliest = start.saturating_sub(slack).max(usize::midpoint(first, *start));
        let latest = (start + slack).min(usize::midpoint(*start, end).max(start + 1));
        let (earliest_ns, latest_ns) = (since(earliest).max(since(first)), since(latest).min(since(end)));
        stretches.push(Stretch { label: Some(*label), start_ns, earliest_ns, latest_ns });
    }
    // Two boundaries may share windows: each gets half of them.
    for at in 1..stretches.len() {
        let before = stretches[at - 1];
        let own = &mut stretches[at];
        if own.earliest_ns < before.latest_ns {
            let middle =
                u64::midpoint(own.earliest_ns.max(before.start_ns), before.latest_ns.min(own.start_ns));
            own.earliest_ns = middle;
            stretches[at - 1].latest_ns = middle;
        }
    }
    let mut plan = Plan::new(stretches);
    plan.starts_up = divided || starts_up(run, phases);
    plan.least_idle_ns = run.duration_ns / NOTICED;
    plan.outline = outline::outline(run, phases, level, since);
    plan
}
