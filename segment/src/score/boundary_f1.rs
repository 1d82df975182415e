//! Boundary F1: how many boundaries are found, and how many found ones are there.

use super::Interval;
use super::pairs::f1;
use super::zones::Places;

/// Harmonic mean of precision and recall of the boundaries of two tilings of `duration`
/// nanoseconds, as [`Score::boundary_f1`](super::Score::boundary_f1) defines it; 1 if neither has
/// any.
pub(super) fn boundary_f1(truth: &[Interval], found: &[Interval], duration: u64) -> f64 {
    let length = |interval: &Interval| interval.end_ns - interval.start_ns;
    let places = Places::new(truth, found);
    let near = truth.windows(2).enumerate().map(|(at, pair)| {
        let tolerance = (duration / 100).min(length(&pair[0]).min(length(&pair[1])) / 4);
        let boundary = pair[1].start_ns;
        let first = found.partition_point(|own| own.start_ns < boundary.saturating_sub(tolerance)).max(1);
        let end = found.partition_point(|own| own.start_ns <= boundary.saturating_add(tolerance)).max(1);
        let (near, exact) = (first - 1..end - 1, places.exact(at));
        match (near.is_empty(), exact.is_empty()) {
            (_, true) => near,
            (true, _) => exact,
            // Both hold the first message of the new phase, or what is next to it.
            _ => near.start.min(exact.start)..near.end.max(exact.end),
        }
    });
    f1(near.collect(), found.len().saturating_sub(1))
}
