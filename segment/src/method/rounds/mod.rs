//! `rounds`: windows that follow the rounds of the program, merged with their neighbours from the
//! bottom up.
//!
//! Windows of time cut a collective into its steps, and clustering then finds the steps. Windows
//! that are whole rounds of the program look alike as long as the phase lasts. So every difference
//! between neighbours means something.
//!
//! 1. [Windows](cutter) are cut where tokens come again, where messages [become rare](pace), and
//!    where all ranks meet at a [barrier](crate::first_pass::barriers) after rounds without one.
//!    That takes one pass, or two if [tags](crate::first_pass::tags) tell messages apart.
//! 2. [Neighbours are merged](merge) until all differ by more than chance and by more than
//!    [`LIMIT`] ([measure]).
//! 3. Rounds that [run into each other](blend) are compared in groups. [Repairs](repair) remove
//!    boundaries that are only gradual or in the midst of a [trend], and windows that straddle a
//!    boundary. What lies [between phases](passage) joins them: starting up, barriers, stragglers.
//!    So do [pieces of rounds](between) beside a barrier.
//! 4. Stretches that behave alike, wherever they are, get one [label].
//! 5. [Silences](idle) that the program's rhythm does not explain are idle. So are stray messages,
//!    at the [head](heads) of a phase too. A round on the wrong side of a silence changes sides.
//! 6. Labels that come again and again in one order are [loops](crate::hierarchy::loops). The
//!    [level](crate::hierarchy::level) says which of them is shown. If there are too many, an
//!    [outline] gathers neighbours in the [chapters] of the program.
//! 7. The second pass moves each boundary to the message where the behaviour changes
//!    ([`search`](crate::second_pass::search)), or only the rhythm
//!    ([`recurrence`](crate::second_pass::recurrence)).
//!
//! No random numbers. The order in which messages of one time are handed over does not matter.
//!
//! A wrong choice for:
//!
//! - runs whose messages never repeat (a few messages, or random partners and sizes): without
//!   rounds, pieces of 1/64 of the run are compared;
//! - clocks that differ by many rounds, where nothing is simultaneous;
//! - collectives of many equal steps (a ring allreduce) inside a longer round: their steps come out
//!   as phases of a loop;
//! - programs that say themselves what their phases are: use `marks`.

mod again;
pub(crate) mod batch;
mod between;
mod blend;
mod chapters;
pub(crate) mod cutter;
pub(crate) mod gaps;
mod heads;
mod idle;
mod label;
mod measure;
mod merge;
mod outline;
mod pace;
mod pairs;
mod passage;
mod repair;
mod rhythm;
mod segments;
mod streak;
mod tokens;
mod trend;
mod unit;
pub(crate) mod windows;

use phaseflow_collect::Result;

use super::split::{Answer, Limits, Split};
use crate::first_pass::survey::Run;
use crate::hierarchy::level::READABLE;
use crate::hierarchy::loops::{leaves, loops};
use crate::plan::{Plan, Stretch};
use measure::Behaviour;
use merge::{LIMIT, LIMITS};
use segments::Segments;

/// Rounds beside an idle stretch, at most, that may be counted to the phase on the wrong side of
/// it.
const BESIDE: u64 = 3;

/// Rounds around a boundary in which the second pass looks for it.
const SLACK: u64 = 2;
/// The same where only the rate changes: there, the second pass needs to know intervals.
const SLACK_OF_RATES: u64 = 3;
/// Windows that are searched in addition, where no window begins with something new.
const SLACK_OF_WINDOWS: u64 = 2;

/// Least difference of messages, from 0 to about 1, that tells one phase from another.
const TELLING: f32 = 0.03;

pub(super) struct RoundsMethod;

impl Split for RoundsMethod {
    fn split(&self, run: &Run, _: &Limits) -> Result<Answer> {
        let mut segments = Segments::new(run);
        segments.merge(&LIMITS);
        passage::start(&mut segments);
        passage::sides(&mut segments);
        if between::pieces(&mut segments) {
            segments.merge(&LIMITS);
        }
        blend::strays(&mut segments);
        blend::blend(&mut segments, &LIMITS);
        repair::repair(&mut segments);
        passage::stragglers(&mut segments);
        blend::hiccups(&mut segments);
        segments.merge(&LIMITS);
        between::pieces(&mut segments);
        passage::passages(&mut segments);
        passage::stragglers(&mut segments);
        segments.merge(&LIMITS);
        if between::pieces(&mut segments) {
            segments.merge(&LIMITS);
        }
        segments.find_idle(run);
        let mut labels = label::labels(&segments, &LIMITS);
        again::settle(&segments, &mut labels, &LIMITS);
        let mut plan = plan(run, &segments, &labels);
        // What divides a program is shown even if its loops are few.
        let chapters = if leaves(&plan).len() > READABLE { chapters::chapters(run) } else { Vec::new() };
        if chapters.len() > 1 || loops(&plan).len() > READABLE {
            plan.outline = outline::outline(run, &mut segments, &chapters);
        }
        let mut parameters = format!("windows={}", run.rounds.windows.len());
        if !run.rounds.tags.is_empty() {
            parameters += &format!(",tags={}", run.rounds.tags.len());
        }
        Ok(Answer { plan, parameters })
    }
}

/// Stretches with room for the second pass. Begins and ends of idle stretches are exact, except
/// where the first phase begins.
fn plan(run: &Run, segments: &Segments<'_>, labels: &[u32]) -> Plan {
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut after_strays: Vec<Stretch> = Vec::new();
    let mut rounds = vec![0; labels.iter().max().map_or(0, |label| *label as usize + 1)];
    let mut windows = rounds.clone();
    let first_ns = segments.list.first().map_or(0, |segment| segments.start_ns(segment));
    let mut idle = segments.idle.iter().peekable();
    while idle.next_if(|idle| idle.to_ns <= first_ns).is_some() {}
    let waits = first_ns > 0 && segments.idle.first().is_some_and(|idle| idle.from_ns == 0);
    if segments.starting || waits {
        stretches.push(Stretch::exact(None, 0));
    } else {
        stretches.push(Stretch::exact(labels.first().copied(), 0));
    }
    for (number, (segment, label)) in segments.list.iter().zip(labels).enumerate() {
        let end_ns = segments.end_ns(segment);
        let round_ns = &mut rounds[*label as usize];
        *round_ns = segments.round_ns(segment).max(*round_ns);
        let window_ns = &mut windows[*label as usize];
        *window_ns = segments.unit_ns(segment).max(*window_ns);
        if segments.is_quiet(number) {
            stretches.push(Stretch::exact(None, segments.start_ns(segment)));
            while idle.next_if(|idle| idle.from_ns < end_ns).is_some() {}
            continue;
        }
        let mut begin = segments.begin(number, *label);
        let head = heads::quiet(run, segments, number);
        if let Some(head) = head {
            stretches.push(Stretch::exact(None, begin.start_ns));
            begin = Stretch { label: Some(*label), ..head };
        }
        if head.is_some() || (number > 0 && segments.is_quiet(number - 1)) {
            after_strays.push(begin);
        }
        stretches.push(begin);
        while let Some(silence) = idle.next_if(|idle| idle.from_ns < end_ns) {
            stretches.push(Stretch::exact(None, silence.from_ns));
            if silence.to_ns < end_ns {
                stretches.push(Stretch::exact(Some(*label), silence.to_ns));
            }
        }
    }
    let mut examples: Vec<Option<&Behaviour>> = vec![None; rounds.len()];
    for (segment, label) in segments.list.iter().zip(labels) {
        examples[*label as usize].get_or_insert(&segment.behaviour);
    }
    let is_own = |(from_ns, to_ns): (u64, u64), own: u32, other: u32| {
        let piece = segments.between(from_ns, to_ns);
        let (Some(piece), Some(own), Some(other)) = (piece, examples[own as usize], examples[other as usize])
        else {
            return false;
        };
        let to_other = piece.difference_of_messages(other);
        to_other.sure >= LIMIT && !piece.is_barrier() && piece.difference_of_messages(own).all < to_other.all
    };
    snap(&mut stretches, run.duration_ns, &rounds, is_own);
    let slack = |start_ns: u64, a: u32, b: u32| {
        let (Some(one), Some(other)) = (examples[a as usize], examples[b as usize]) else { return 0 };
        let tells = one.difference_of_messages(other).all >= TELLING;
        let most_rounds = if tells { SLACK } else { SLACK_OF_RATES };
        let most_windows = if tells && segments.is_fresh(start_ns) { 0 } else { SLACK_OF_WINDOWS };
        let round_ns = rounds[a as usize].max(rounds[b as usize]);
        let window_ns = windows[a as usize].max(windows[b as usize]);
        round_ns.saturating_mul(most_rounds).saturating_add(window_ns.saturating_mul(most_windows))
    };
    let mut plan = Plan::new(stretches).loosen(run.duration_ns, slack);
    widen_after_strays(&mut plan, &after_strays, run.duration_ns);
    (plan.least_idle_ns, plan.least_end_ns) = idle::least_ns(run);
    plan
}

/// Widens the room of `begins`, the stretches that come after stray messages. Loosening takes all
/// that is idle to be silent; these stretches get the room that their segments left them.
fn widen_after_strays(plan: &mut Plan, begins: &[Stretch], duration_ns: u64) {
    for begin in begins {
        let at = plan.stretches.partition_point(|stretch| stretch.start_ns < begin.start_ns);
        let end_ns = plan.stretches.get(at + 1).map_or(duration_ns, |next| next.start_ns);
        let before_ns =
            at.checked_sub(1).and_then(|at| plan.stretches.get(at)).map_or(0, |last| last.start_ns);
        if let Some(stretch) = plan.stretches.get_mut(at).filter(|stretch| stretch.label == begin.label) {
            let start_ns = stretch.start_ns;
            stretch.earliest_ns = begin.earliest_ns.max(before_ns + (start_ns - before_ns) / 2);
            stretch.latest_ns = begin.latest_ns.min(start_ns + end_ns.saturating_sub(start_ns) / 2);
        }
    }
}

/// Moves rounds beside an idle stretch to the phase that they belong to.
///
/// A piece of at most [`BESIDE`] rounds may lie between an idle stretch and another phase. If its
/// own phase lasts longer on the other side of the idle stretch, the piece joins the other phase.
/// It stays if `is_own` (from and to, its label, the other label) finds that its messages are its
/// own.
fn snap(
    stretches: &mut Vec<Stretch>,
    duration_ns: u64,
    rounds: &[u64],
    is_own: impl Fn((u64, u64), u32, u32) -> bool,
) {
    stretches.dedup_by(|next, before| next.label == before.label);
    let end =
        |stretches: &[Stretch], at: usize| stretches.get(at + 1).map_or(duration_ns, |next| next.start_ns);
    for idle in 1..stretches.len().saturating_sub(1) {
        let (before, after) = (stretches[idle - 1], stretches[idle + 1]);
        let (Some(label), None) = (before.label, stretches[idle].label) else { continue };
        if after.label != Some(label) {
            continue;
        }
        let first = end(stretches, idle - 1).saturating_sub(before.start_ns);
        let second = end(stretches, idle + 1).saturating_sub(after.start_ns);
        let round_ns = |label: u32| rounds.get(label as usize).copied().unwrap_or(0);
        let most = |other: u32| round_ns(label).max(round_ns(other)).saturating_mul(BESIDE);
        let other = |at: Option<usize>| at.and_then(|at| stretches.get(at)).and_then(|stretch| stretch.label);
        let (piece, length, beyond) = if second < first {
            (idle + 1, second, Some(idle + 2))
        } else {
            (idle - 1, first, idle.checked_sub(2))
        };
        let from_ns = stretches[piece].start_ns;
        let belongs =
            |other: &u32| length <= most(*other) && !is_own((from_ns, from_ns + length), label, *other);
        if let Some(label) = other(beyond).filter(belongs) {
            stretches[piece].label = Some(label);
        }
    }
}
