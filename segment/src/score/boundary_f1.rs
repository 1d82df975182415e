//! Boundary F1: how many boundaries are found, and how many found ones are there.

use super::Interval;

/// Harmonic mean of precision and recall of the boundaries of two tilings of `duration`
/// nanoseconds, as [`Score::boundary_f1`](super::Score::boundary_f1) defines it; 1 if neither has
/// any.
pub(super) fn boundary_f1(truth: &[Interval], found: &[Interval], duration: u64) -> f64 {
    let boundaries = truth.len().saturating_sub(1) + found.len().saturating_sub(1);
    if boundaries == 0 {
        return 1.0;
    }
    let length = |interval: &Interval| interval.end_ns - interval.start_ns;
    // Where each true boundary may be found, first and last nanosecond.
    let mut ranges: Vec<(u64, u64)> = truth
        .windows(2)
        .map(|pair| {
            let tolerance = (duration / 100).min(length(&pair[0]).min(length(&pair[1])) / 4);
            (pair[1].start_ns - tolerance, pair[1].start_ns + tolerance)
        })
        .collect();
    // Ranges have disjoint interiors (a quarter of the shorter stretch), so the first one that fits
    // is the one to take.
    ranges.reverse();
    let mut hits = 0;
    for boundary in found.iter().skip(1).map(|interval| interval.start_ns) {
        while ranges.last().is_some_and(|range| range.1 < boundary) {
            ranges.pop();
        }
        if ranges.last().is_some_and(|range| range.0 <= boundary) {
            ranges.pop();
            hits += 1;
        }
    }
    2.0 * f64::from(hits) / boundaries as f64
}
