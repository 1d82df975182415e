//! Boundaries in the midst of a trend.
//!
//! Messages that grow during a phase make its ends differ as much as two phases. Where the phase
//! has few windows, even the two sides of a boundary differ. But growth goes on: a line through the
//! windows of both sides passes the boundary without a step. Two phases of the same partners have a
//! step between them, whatever the line. Both are one regression (analysis of covariance, Fisher
//! 1932): two means and a common slope.

use std::ops::Range;

use super::merge::LIMITS;
use super::segments::Segments;
use super::unit::Point;

/// Windows at each side, at least, from which a trend is known.
const KNOWN: usize = 3;
/// Windows at each side, at most, that are looked at.
const LOOKED_AT: usize = 16;
/// A step of less than this part of the difference of the means is part of a trend.
const STEP: f64 = 0.5;
/// So is a step of less than this number of octaves in rates, as rates vary.
const STEADY: f64 = 0.25;

/// Whether segment `number` and the next one have the same partners, and a trend of sizes goes
/// through their boundary.
pub(super) fn goes_on(segments: &Segments<'_>, number: usize) -> bool {
    let (one, other) = (&segments.list[number], &segments.list[number + 1]);
    let difference = one.behaviour.difference_of_messages(&other.behaviour);
    // Only a difference of sizes can be a trend of sizes.
    if one.units.len().min(other.units.len()) < KNOWN
        || difference.sure_partners >= LIMITS.least
        || difference.sure < LIMITS.most
    {
        return false;
    }
    // The windows at the ends may hold messages of other stretches. At the boundary, they hide a
    // step.
    let whole = |units: &Range<usize>| units.len() > KNOWN;
    let start = one.units.start + usize::from(whole(&one.units));
    let end = other.units.end - usize::from(whole(&other.units));
    let start = start.max(one.units.end.saturating_sub(LOOKED_AT));
    let points = segments.points(start..end.min(other.units.start + LOOKED_AT));
    let (left, right) = points.split_at(one.units.end - start);
    let sides = [(left, right), (&left[..left.len() - 1], right), (left, &right[1..])];
    let rates = one.behaviour.difference_of_rates(&other.behaviour) > 0.0;
    sides.into_iter().all(|(left, right)| {
        is_one_line(left, right, |point| Some(point.size), 0.0)
            && (!rates || is_one_line(left, right, |point| point.rate, STEADY))
    })
}

/// Whether there is no step between two sides, or a step of at most `least`.
fn is_one_line(left: &[Point], right: &[Point], value: impl Fn(&Point) -> Option<f64>, least: f64) -> bool {
    let side = |points: &[Point]| {
        let known: Vec<(f64, f64)> =
            points.iter().filter_map(|point| Some((point.place, value(point)?))).collect();
        let mean = |of: fn(&(f64, f64)) -> f64| known.iter().map(of).sum::<f64>() / known.len() as f64;
        let (x, y) = (mean(|known| known.0), mean(|known| known.1));
        let sum =
            |of: &dyn Fn(f64) -> f64| known.iter().map(|known| (known.0 - x) * of(known.1)).sum::<f64>();
        let squares: f64 = known.iter().map(|known| (known.0 - x).powi(2)).sum();
        (!known.is_empty()).then(|| (x, y, squares, sum(&|own| own - y)))
    };
    // An unknown value is no step.
    let (Some(left), Some(right)) = (side(left), side(right)) else { return true };
    let squares = left.2 + right.2;
    let slope = if squares > 0.0 { (left.3 + right.3) / squares } else { 0.0 };
    let difference = right.1 - left.1;
    let step = difference - slope * (right.0 - left.0);
    step.abs() <= (STEP * difference.abs()).max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(sizes: &[f64]) -> Vec<Point> {
        (0..)
            .zip(sizes)
            .map(|(place, size)| Point { place: f64::from(place), size: *size, rate: None })
            .collect()
    }

    fn is_line(sizes: &[f64], at: usize) -> bool {
        let points = points(sizes);
        let (left, right) = points.split_at(at);
        is_one_line(left, right, |point| Some(point.size), 0.0)
    }

    #[test]
    fn a_line_has_no_step() {
        assert!(is_line(&[1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2], 3));
        // It may bend.
        assert!(is_line(&[1.0, 1.4, 1.7, 1.9, 2.1, 2.2, 2.3], 3));
        assert!(is_line(&[1.0; 6], 2));
    }

    #[test]
    fn a_step_is_one_on_a_line_too() {
        assert!(!is_line(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0], 3));
        assert!(!is_line(&[1.0, 1.1, 1.2, 2.3, 2.4, 2.5, 2.6], 3));
        // Sizes that shrink to where they were.
        assert!(!is_line(&[1.0, 1.5, 2.0, 2.5, 1.2, 1.7, 2.2], 4));
    }

    #[test]
    fn what_is_not_known_is_no_step() {
        let points = points(&[1.0, 2.0, 3.0, 9.0]);
        let (left, right) = points.split_at(2);
        assert!(is_one_line(left, right, |point| point.rate, 0.0));
    }
}
