//! Stray messages before a phase, in the phase's first window.
//!
//! [Lulls](super::pace) are only known after thousands of messages at one pace. So the last
//! messages of a phase of a few long rounds look like the begin of the next phase, and would dilute
//! its rate. Once segments are known, so is the rate: where next to nothing comes for some rounds,
//! the phase has not begun yet. A barrier of all ranks there is an exception: then some ranks were
//! late. The phase begins where the messages so far are fewest compared with a part of its rate
//! (CUSUM, Page 1954).

use super::segments::Segments;
use crate::first_pass::survey::Run;
use crate::plan::Stretch;

/// Stray messages come this many times more rarely than messages of the phase.
const QUIET: f64 = 4.0;
/// Stray messages are this many times fewer than the phase's.
const FEW: f64 = 8.0;
/// They last longer than this number of the phase's rounds.
const ROUNDS: u64 = 6;
/// They last longer than 1/`PART` of the run.
const PART: u64 = 256;

/// Where a segment that follows another phase really begins, if stray messages come first. The
/// label is left open.
pub(super) fn quiet(run: &Run, segments: &Segments<'_>, number: usize) -> Option<Stretch> {
    let segment = &segments.list[number];
    let phase = number.checked_sub(1).filter(|before| !segments.is_quiet(*before));
    phase.filter(|_| segments.round(segment).is_some() && !segment.behaviour.stray)?;
    let (start_ns, end_ns) = (segments.start_ns(segment), segments.end_ns(segment));
    // Silences in it are found elsewhere.
    let silent = |idle: &&super::idle::Idle| idle.from_ns < end_ns && idle.to_ns > start_ns;
    let end_ns = segments.idle.iter().find(silent).map_or(end_ns, |idle| idle.from_ns);
    let first_ns = segments.units.first().map_or(0, |unit| unit.start_ns);
    let (times, step) = run.ticks.between(start_ns - first_ns, end_ns.max(start_ns) - first_ns);
    let allowed = segments.rate(segment) / QUIET;
    let missing =
        |count: usize| (times[count] + first_ns - start_ns) as f64 * allowed - (count as u64 * step) as f64;
    let last = (0..times.len()).max_by(|one, other| missing(*one).total_cmp(&missing(*other)))?;
    let (from_ns, messages) = (times[last] + first_ns, (last as u64 * step) as f64);
    let length_ns = from_ns - start_ns;
    let active_ns = segments.active_ns(segment).saturating_sub(length_ns).max(1) as f64;
    let rate = (segment.behaviour.messages - messages) / active_ns;
    let meets = segments.begins_at_meeting(number)
        || run.barriers(start_ns..from_ns.saturating_add(length_ns)).next().is_some();
    let is_quiet = !meets
        && length_ns > segments.round_ns(segment).saturating_mul(ROUNDS)
        && length_ns > run.duration_ns / PART
        && messages * FEW < segment.behaviour.messages
        && messages * QUIET < rate * length_ns as f64;
    let earliest_ns = last.checked_sub(1).map_or(start_ns, |before| times[before] + first_ns);
    let latest_ns = times.get(last + 1).map_or(from_ns, |next| next + first_ns);
    is_quiet.then_some(Stretch { label: None, start_ns: from_ns, earliest_ns, latest_ns })
}
