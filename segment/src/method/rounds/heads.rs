//! Stray messages before a phase that its first window holds.
//!
//! [Lulls](super::pace) are only known after thousands of messages at one pace, and what a phase of
//! a few long rounds leaves behind looks like the begin of the next one, whose rate it would
//! dilute. By then that is known: where next to nothing comes for some of its rounds, it has not
//! begun, unless all ranks meet at a barrier: then some were late. It begins where the messages so
//! far are fewest beside those that a part of its rate would have brought (CUSUM, Page 1954).

use super::segments::Segments;
use crate::first_pass::survey::Run;
use crate::plan::Stretch;

/// Stray messages are so many times rarer than those of the phase, …
const QUIET: f64 = 4.0;
/// … and so many times fewer; …
const FEW: f64 = 8.0;
/// … and they last so many of its rounds, …
const ROUNDS: u64 = 6;
/// … and this part of the run.
const PART: u64 = 256;

/// Where a segment that follows another one really begins, if stray messages come first; its label
/// is left open.
pub(super) fn quiet(run: &Run, segments: &Segments<'_>, number: usize) -> Option<Stretch> {
    let segment = &segments.list[number];
    let phase = number.checked_sub(1).filter(|before| !segments.is_quiet(*before));
    phase.filter(|_| segments.round(segment).is_some() && !segment.behaviour.stray)?;
    let (start_ns, end_ns) = (segments.start_ns(segment), segments.end_ns(segment));
    // What is idle by itself is found elsewhere.
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
