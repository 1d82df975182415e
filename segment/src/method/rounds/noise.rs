//! The program's own irregularity: how far neighbours are apart within one phase.
//!
//! The distances of all neighbours are computed once. The noise is a quantile of some of them:
//! those that no boundary divides. So it is cheap to measure it again when boundaries have moved.

use super::features::{SCALES, SCALES_OF_SHARES, Units, VIEWS, View};
use super::stretches::of_labels;

/// Positions, or windows, nearby that tell what is usual.
pub(super) const NEARBY: usize = 12;

/// Stretches, at least, of a label that recurs. With four, the score changes by less than .003 on
/// generated runs; recordings have .871 instead of .892.
const RECURS: usize = 8;

/// Quantile of distances that is the noise of shares where boundaries are known. Partners change in
/// rare jumps in many programs, so the median would be that of windows without one.
const USUAL: f64 = 0.9;

/// Quantile that is the noise of shares where no boundary is known: in loops of short phases most
/// positions are near one.
const UNKNOWN: f64 = 0.4;

/// Quantile that is the noise of rates, whose squared differences have a known distribution.
const MEDIAN: f64 = 0.5;

/// The noise of rates at a scale is a geometric mean of what was measured, with this weight, and of
/// what independent rounds would have. Hardly any distances of long stretches are independent, so
/// their quantile is uncertain. With ½, recordings on a busy machine have .866 instead of .893.
/// With 1, two of twelve generated runs whose pace changes lose a change.
const MEASURED: f64 = 0.75;

/// Where the noise of rates is not known at a scale, it is this part of that at half the scale:
/// between independent rounds, which have a half, and rounds that are all late together, which have
/// all of it. With 1, generated runs have .911 instead of .917, runs of few rounds .832 instead of
/// .829.
const DOUBLED: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// Distances, at least, that have a quantile.
const FEWEST: usize = 3;

/// The mean of χ² with one degree of freedom over its median.
const MEAN_OVER_MEDIAN: f64 = 2.2;

/// The distance of each q units from the next q, which does not depend on boundaries.
#[derive(Debug)]
pub(super) struct Neighbours<'a> {
    units: &'a Units<'a>,
    /// For each scale and view, the distance of the neighbours that meet before every
    /// [`step`]th unit; NaN where one side has fewer than q units.
    distances: Vec<Vec<f64>>,
}

/// Units from one position to the next where neighbours of `scale` units are compared.
fn step(scale: usize) -> usize {
    (scale / 4).max(1)
}

/// The distance of neighbours within one phase, by scale, view and place.
#[derive(Clone, Debug)]
pub(super) struct Noise {
    /// For each scale and view, a value before each unit and one after the last: of the positions
    /// left of it, and of those right of it.
    values: Vec<[Vec<f64>; 2]>,
    /// The same by unit, between the beginnings (left) and between the ends (right) of stretches of
    /// its label; NaN if that does not recur.
    recurring: Vec<[Vec<f64>; 2]>,
    /// Stretches of each unit's label.
    times: Vec<f64>,
}

impl<'a> Neighbours<'a> {
    pub(super) fn new(units: &'a Units<'a>) -> Self {
        let distances = |(number, scale): (usize, usize), view: View| -> Vec<f64> {
            if !view.is_compared_at(number) {
                return Vec::new();
            }
            let distance = |unit: usize| units.distance((unit - scale, unit), (unit, unit + scale), view);
            let has_sides = |unit: usize| unit >= scale && unit + scale <= units.len();
            let units = (0..=units.len()).step_by(step(scale));
            units.map(|unit| if has_sides(unit) { distance(unit) } else { f64::NAN }).collect()
        };
        let scales = SCALES.into_iter().enumerate();
        let distances = scales.flat_map(|scale| VIEWS.map(|view| distances(scale, view))).collect();
        Self { units, distances }
    }

    /// The noise between `starts` of stretches: a quantile of the distances of neighbours nearby.
    /// Neighbours across a boundary or a silence do not count. If the stretches have `labels`, the
    /// noise of those that recur is measured, too.
    pub(super) fn noise(&self, starts: &[usize], labels: &[u32]) -> Noise {
        self.measured(starts, labels, true)
    }

    /// The noise for the labels of an answer, where positions within the compared units never
    /// count. Between the few windows of a short stretch it is often so large that the start and
    /// the end of a program get one label. While phases are searched, such labels do no harm.
    pub(super) fn noise_of_others(&self, starts: &[usize]) -> Noise {
        self.measured(starts, &[], false)
    }

    /// As [`Self::noise`]; `compared` says whether positions within the compared units may count.
    fn measured(&self, starts: &[usize], labels: &[u32], compared: bool) -> Noise {
        let units = self.units;
        let mut piece = vec![0; units.len()];
        let mut next = starts.iter().copied().peekable();
        let mut number = 0;
        for (unit, piece) in piece.iter_mut().enumerate() {
            if next.next_if_eq(&unit).is_some() || units.locked[unit] {
                number += 1;
            }
            *piece = number;
        }
        let mut values: Vec<[Vec<f64>; 2]> = Vec::new();
        let part = if starts.is_empty() { UNKNOWN } else { USUAL };
        for number in 0..SCALES.len() {
            for (at, view) in VIEWS.into_iter().enumerate() {
                if !view.is_compared_at(number) {
                    values.push(Default::default());
                    continue;
                }
                let finer = number.checked_sub(1).map(|finer| &values[finer * VIEWS.len() + at]);
                values.push(self.sides(&piece, (number, at), (part, compared), finer));
            }
        }
        let of_labels = of_labels(starts, labels, units.len());
        let mut times = vec![0.0; if labels.is_empty() { 0 } else { units.len() }];
        for stretches in &of_labels {
            stretches.iter().for_each(|(from, to)| times[*from..*to].fill(stretches.len() as f64));
        }
        let of = |number: usize, view: View| match view.is_compared_at(number) {
            true => [0, 1].map(|side| recurring(units, &of_labels, SCALES[number], view, side)),
            false => Default::default(),
        };
        let scales = (0..SCALES.len()).filter(|_| !labels.is_empty());
        let recurring = scales.flat_map(|number| VIEWS.map(|view| of(number, view))).collect();
        Noise { values, recurring, times }
    }

    /// Both sides' noise at the scale and in the view of these numbers, of positions beyond the
    /// units that are compared there. Where too little is known, as at the ends of a run, positions
    /// within the `compared` units count, too, from the border between them on. Where that is not
    /// enough, or they may not count, it is the noise of the next `finer` scale. `part` is the
    /// quantile of shares.
    fn sides(
        &self,
        piece: &[usize],
        (number, at): (usize, usize),
        (part, compared): (f64, bool),
        finer: Option<&[Vec<f64>; 2]>,
    ) -> [Vec<f64>; 2] {
        let (count, scale, view) = (piece.len(), SCALES[number], VIEWS[at]);
        let step = step(scale);
        let span = NEARBY.max(3 * scale) / step;
        let mut distances = self.distances[number * VIEWS.len() + at].clone();
        for (at, distance) in distances.iter_mut().enumerate().filter(|(_, distance)| !distance.is_nan()) {
            if piece[at * step - scale] != piece[at * step + scale - 1] {
                *distance = f64::NAN;
            }
        }
        let mut known = Vec::with_capacity(span);
        let mut of = |range: std::ops::Range<usize>| quantile(&mut known, &distances[range], view, part);
        let places = 0..distances.len();
        let before: Vec<f64> = places.clone().map(|at| of(at.saturating_sub(span)..at)).collect();
        let after: Vec<f64> = places.map(|at| of(at..distances.len().min(at + span))).collect();
        let value = |side: usize, unit: usize| {
            let at = (unit / step).min(distances.len() - 1);
            let (beyond, among) = match side {
                0 => (before[at], before[(at + scale / step).min(distances.len() - 1)]),
                _ => (after[at], after[at.saturating_sub(scale / step)]),
            };
            let own = if compared && beyond.is_nan() { among } else { beyond };
            let finer = finer.map_or(0.0, |finer| finer[side][unit]);
            match own.is_nan() {
                true if view.is_rate() => DOUBLED * finer,
                true => finer,
                // Twice as many independent rounds have half of the noise, even if a few rounds are
                // alike by chance. Where no boundary is known, distances may lie between two phases
                // and do not count.
                false if view.is_rate() && part < USUAL && finer > 0.0 => 0.5 * finer,
                false if view.is_rate() && finer > 0.0 => {
                    let half = 0.5 * finer;
                    half * (own / half).max(1.0).powf(MEASURED)
                }
                false => own,
            }
        };
        [0, 1].map(|side| (0..=count).map(|unit| value(side, unit)).collect())
    }
}

impl Noise {
    /// The noise on a side (0 left, 1 right) of the border before `unit`, at the largest scale of
    /// the view that is not larger than this one.
    pub(super) fn at(&self, scale: usize, view: usize, side: usize, unit: usize) -> f64 {
        let scale = if VIEWS[view].is_compared_at(scale) { scale } else { SCALES_OF_SHARES - 1 };
        self.values[scale * VIEWS.len() + view][side][unit]
    }

    /// The noise between beginnings (side 0) or ends (side 1) of the stretches of a unit's label,
    /// and their number, if the label recurs.
    pub(super) fn recurring(
        &self,
        scale: usize,
        view: usize,
        side: usize,
        unit: usize,
    ) -> Option<(f64, f64)> {
        let noise = self.recurring.get(scale * VIEWS.len() + view)?[side][unit];
        (!noise.is_nan()).then_some((noise, self.times[unit]))
    }
}

/// For each unit of a label that recurs, the noise between the first (side 0) or last (side 1)
/// units, at most `scale`, of its stretches nearby.
fn recurring(
    units: &Units<'_>,
    of_labels: &[Vec<(usize, usize)>],
    scale: usize,
    view: View,
    side: usize,
) -> Vec<f64> {
    let part = |(from, to): (usize, usize)| match side {
        0 => (from, to.min(from + scale)),
        _ => (from.max(to.saturating_sub(scale)), to),
    };
    let mut noise = vec![f64::NAN; units.len()];
    for stretches in of_labels.iter().filter(|stretches| stretches.len() >= RECURS) {
        let distance = |pair: &[(usize, usize)]| units.distance(part(pair[0]), part(pair[1]), view);
        let distances: Vec<f64> = stretches.windows(2).map(distance).collect();
        let mut known = Vec::new();
        for (at, (from, to)) in stretches.iter().enumerate() {
            let first = at.saturating_sub(NEARBY / 2).min(distances.len().saturating_sub(NEARBY));
            let near = first..distances.len().min(first + NEARBY);
            noise[*from..*to].fill(quantile(&mut known, &distances[near], view, USUAL));
        }
    }
    noise
}

/// The noise that these distances tell, where NaN are not known; NaN if there are too few. `part`
/// is the quantile of shares.
fn quantile(known: &mut Vec<f64>, distances: &[f64], view: View, part: f64) -> f64 {
    known.clear();
    known.extend(distances.iter().copied().filter(|distance| !distance.is_nan()));
    if known.len() < FEWEST {
        return f64::NAN;
    }
    known.sort_unstable_by(f64::total_cmp);
    let part = if view.is_rate() { MEDIAN } else { part };
    let place = part * (known.len() - 1) as f64;
    let low = place as usize;
    let high = known[(low + 1).min(known.len() - 1)];
    (known[low] + place.fract() * (high - known[low])) * if view.is_rate() { MEAN_OVER_MEDIAN } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::super::features::Rates;
    use super::*;
    use crate::first_pass::rounds::sums::Sums;

    #[test]
    fn at_the_end_of_a_run_noise_is_that_of_the_last_windows() {
        // Windows of one round of two pairs in turn, so that all neighbours differ.
        let mut sums = vec![Sums::default()];
        for window in 0..6 {
            let mut next = sums[window].clone();
            (0..20).for_each(|_| next.add(window as u32 % 2, 64));
            sums.push(next);
        }
        let rates = [Rates::new(20.0, 1280.0, 100.0, 1.0); 6];
        let sums: Vec<&Sums> = sums.iter().collect();
        let units = Units::new(&sums, (0..=6).collect(), &rates, vec![false; 6]);
        let neighbours = Neighbours::new(&units);
        let [new, others] = [neighbours.noise(&[], &[]), neighbours.noise_of_others(&[])];
        let right_of = |noise: &Noise, unit: usize| noise.at(0, 0, 1, unit);
        // Right of window 3, three positions have neighbours on both sides; of window 4, only two.
        // Position 3 is between windows that are compared then.
        assert!((right_of(&others, 3) - 1.0).abs() < 1e-9 && right_of(&others, 4) < 1e-9);
        assert!((right_of(&new, 3) - 1.0).abs() < 1e-9 && (right_of(&new, 4) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn rates_of_a_longer_stretch_vary_less() {
        // The noise of sixteen windows is known up to a scale; at the next ones it is less.
        let sums = vec![Sums::default(); 17];
        let rates: Vec<Rates> =
            (0..16).map(|window| Rates::new(20.0, 1280.0, [100.0, 150.0][window % 2], 1.0)).collect();
        let sums: Vec<&Sums> = sums.iter().collect();
        let units = Units::new(&sums, (0..=16).collect(), &rates, vec![false; 16]);
        let noise = Neighbours::new(&units).noise(&[], &[]);
        let at = |scale: usize| noise.at(scale, VIEWS.iter().position(|own| own.is_rate()).unwrap(), 0, 16);
        assert!(at(0) > 0.1, "{}", at(0));
        let largest = SCALES.len() - 1;
        assert!((at(largest) / at(largest - 1) - DOUBLED).abs() < 1e-9);
    }
}
