//! Phases too small to be told one by one.

use crate::hotspot::HotSpot;

/// Phases are folded into one row if they are less than this part of their run's bytes and time
/// together.
const NEGLIGIBLE: f64 = 0.01;

/// Which of these are folded into one row: the smallest ones, as long as they have little of the
/// bytes and of the time together.
pub(crate) fn negligible(spots: &[&HotSpot]) -> Vec<bool> {
    let time = |spot: &HotSpot| spot.makespan.map(|time| time.seconds).or(spot.duration_s).unwrap_or(0.0);
    let bytes: f64 = spots.iter().map(|spot| spot.bytes as f64).sum();
    let seconds: f64 = spots.iter().map(|spot| time(spot)).sum();
    let part = |value: f64, all: f64| if all > 0.0 { value / all } else { 0.0 };
    let parts = |spot: &HotSpot| (part(spot.bytes as f64, bytes), part(time(spot), seconds));
    let mut order: Vec<usize> = (0..spots.len()).filter(|at| spots[*at].phase.is_some()).collect();
    let larger = |at: &usize| parts(spots[*at]).0.max(parts(spots[*at]).1);
    order.sort_by(|a, b| larger(a).total_cmp(&larger(b)));
    let mut folded = vec![false; spots.len()];
    let mut sums = (0.0, 0.0);
    let mut count = 0;
    for at in order {
        let own = parts(spots[at]);
        sums = (sums.0 + own.0, sums.1 + own.1);
        if sums.0 >= NEGLIGIBLE || sums.1 >= NEGLIGIBLE {
            break;
        }
        folded[at] = true;
        count += 1;
    }
    // One row says no less than one that stands for it.
    if count < 2 { vec![false; spots.len()] } else { folded }
}
