//! Covering: how well each true stretch is matched by its best found one.

use super::Interval;

/// Mean, weighted by length, of each true stretch's largest intersection over union (Arbelaez et
/// al. 2011, section 3.1); 1 for a run without duration.
pub(super) fn covering(truth: &[Interval], found: &[Interval], duration: u64) -> f64 {
    if duration == 0 {
        return 1.0;
    }
    let mut sum = 0.0;
    let mut first = 0;
    for own in truth {
        while found.get(first).is_some_and(|other| other.end_ns <= own.start_ns) {
            first += 1;
        }
        let mut best = 0.0f64;
        for other in found[first..].iter().take_while(|other| other.start_ns < own.end_ns) {
            let overlap = other.end_ns.min(own.end_ns) - other.start_ns.max(own.start_ns);
            let union = other.end_ns.max(own.end_ns) - other.start_ns.min(own.start_ns);
            best = best.max(overlap as f64 / union as f64);
        }
        sum += best * (own.end_ns - own.start_ns) as f64;
    }
    sum / duration as f64
}
