//! What a boundary is worth: the evidence that two stretches are two phases.
//!
//! Two stretches are compared at each scale of q units, in each view. x is the distance from the
//! last q units of one stretch to the first q of the other. e is the distance that neighbours of q
//! units have within one phase here: the program's own irregularity, which is [measured](Noise).
//! With the resolution r, k rounds on the weaker side and ν degrees of freedom of one round, the
//! evidence in nats is the lesser of
//!
//! - G = ½ (x − e) / (e/d + r): a Gaussian likelihood ratio of a view with d degrees of freedom,
//!   and
//! - T = k ½(ν + 1) ln(1 + (x − e) / (ν (e + r))): a bound for k rounds. They prove no more than k
//!   odd rounds could, draws of Student's distribution. A round of many messages or bytes stands
//!   for as many rounds as they would make on the other side.
//!
//! A change that is gradual is no boundary. So x is at most [`STEP`] times what it is at a quarter
//! of the scale. A boundary is worth the largest evidence over all scales and views. The views see
//! the same messages, so they are not added up.
//!
//! Where a label comes many times, there is a second test. Its noise is the distance that the ends,
//! or the beginnings, of the label's stretches have from each other. Each stretch is a draw of its
//! own, so k counts the stretches of the label. In a loop of short phases, a stretch has a few
//! rounds only, and its own noise is that of windows at its boundaries.

use super::features::{Units, VIEWS, View};
use super::stretches::of_labels;

/// Price of a boundary, and of a label, in nats: a boundary by accident has a chance of e⁻¹⁰. From
/// 7 to 15 the score changes by less than .015.
pub(super) const PRICE: f64 = 10.0;

/// Resolution of shares: two matrices with a smaller squared Hellinger distance are one phase.
pub(super) const DIFFERENCE: f64 = 0.06;

/// Resolution of rates: rates that differ by a smaller factor are one phase.
const FACTOR: f64 = 1.5;

/// Resolution of the heaviest pair's share. With 2, phases whose sizes have heavy tails are divided
/// more often.
const HEAVIER: f64 = 3.0;

/// Degrees of freedom of a view of shares; a rate has one, and so has a single share.
const FREEDOM: f64 = 8.0;

/// Degrees of freedom of one round.
const NU: f64 = 8.0;

/// Scales in units; changes slower than the largest one are drift.
pub(super) const SCALES: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// So many of the scales are those of shares: up to 64 units. Rates need larger ones where pauses
/// have heavy tails. With shares up to 256 units, three of 36 generated runs without phases are
/// divided by chance.
const SCALES_OF_SHARES: usize = 7;

/// Rounds on both sides that a rate needs.
pub(super) const ROUNDS_OF_RATE: f64 = 3.0;

/// Rounds on both sides that the heaviest pair's share needs: a link is loaded for longer than a
/// few rounds. With three, more phases whose sizes have heavy tails are divided.
const ROUNDS_OF_HEAVIEST: f64 = 8.0;

/// Multiples of the scale over which a distance has to persist, as far as the stretches reach. An
/// oddity beside a boundary does not persist.
const PERSISTENCE: usize = 4;

/// Part of a scale within which a step is expected. At smaller scales nothing is, as ranks are out
/// of step.
const QUARTER: usize = 4;

/// The distance at a scale counts at most this many times the sum of the distance and the noise at
/// a quarter of that scale. A step has the same distance at both scales. A random walk has a
/// quarter of its distance at the smaller one, steady drift a sixteenth. From 2 to 4 the score
/// changes by less than .002, where nothing drifts.
const STEP: f64 = 3.0;

/// The noise is a quantile over at least this number of positions.
const MEMORY: usize = 12;

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

/// Evidence in nats of a distance `x` from `k` rounds, where `e` is normal.
pub(super) fn nats(x: f64, e: f64, k: f64, view: View) -> f64 {
    let (resolution, freedom) = match view {
        View::Pairs | View::Bytes | View::Sizes => (DIFFERENCE, FREEDOM),
        View::MessageRate | View::ByteRate => (FACTOR.ln().powi(2), 1.0),
        View::Heaviest => (HEAVIER.ln().powi(2), 1.0),
    };
    let resolution = resolution / (2.0 * PRICE);
    let more = x - e;
    // NaN if a rate is unknown.
    if more.is_nan() || more <= 0.0 {
        return 0.0;
    }
    let gauss = 0.5 * more / (e / freedom + resolution);
    gauss.min(k * 0.5 * (NU + 1.0) * (more / (NU * (e + resolution))).ln_1p())
}

/// Rounds on the weaker side of two stretches with these rounds and messages, or bytes. A side
/// counts at least the rounds that its messages, or bytes, would make on the other side, so that
/// one huge round may count.
pub(super) fn weaker(rounds: (f64, f64), amounts: (f64, f64)) -> f64 {
    let (one, other) = (amounts.0 * rounds.1 / amounts.1, amounts.1 * rounds.0 / amounts.0);
    rounds.0.max(one).min(rounds.1.max(other))
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

impl Noise {
    /// Measures the noise between `starts` of stretches: a quantile of the distances of neighbours
    /// of q units nearby. Neighbours across a boundary or a silence do not count. If the stretches
    /// have `labels`, the noise of those that recur is measured, too.
    pub(super) fn new(units: &Units<'_>, starts: &[usize], labels: &[u32]) -> Self {
        Self::measured(units, starts, labels, true)
    }

    /// The noise for the labels of an answer, where positions within the compared units never
    /// count. Between the few windows of a short stretch it is often so large that the start and
    /// the end of a program get one label. While phases are searched, such labels do no harm.
    pub(super) fn of_others(units: &Units<'_>, starts: &[usize]) -> Self {
        Self::measured(units, starts, &[], false)
    }

    /// As [`Self::new`]; `compared` says whether positions within the compared units may count.
    fn measured(units: &Units<'_>, starts: &[usize], labels: &[u32], compared: bool) -> Self {
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
        for (number, scale) in SCALES.into_iter().enumerate() {
            for (at, view) in VIEWS.into_iter().enumerate() {
                if !compares(view, number) {
                    values.push(Default::default());
                    continue;
                }
                let finer = number.checked_sub(1).map(|finer| &values[finer * VIEWS.len() + at]);
                let part = if starts.is_empty() { UNKNOWN } else { USUAL };
                let own = sides(units, &piece, scale, view, (part, compared), finer);
                values.push(own);
            }
        }
        let of_labels = of_labels(starts, labels, units.len());
        let mut times = vec![0.0; if labels.is_empty() { 0 } else { units.len() }];
        for stretches in &of_labels {
            stretches.iter().for_each(|(from, to)| times[*from..*to].fill(stretches.len() as f64));
        }
        let of = |number: usize, view: View| match compares(view, number) {
            true => [0, 1].map(|side| recurring(units, &of_labels, SCALES[number], view, side)),
            false => Default::default(),
        };
        let scales = (0..SCALES.len()).filter(|_| !labels.is_empty());
        let recurring = scales.flat_map(|number| VIEWS.map(|view| of(number, view))).collect();
        Self { values, recurring, times }
    }

    /// The noise on a side (0 left, 1 right) of the border before `unit`, at the largest scale of
    /// the view that is not larger than this one.
    pub(super) fn at(&self, scale: usize, view: usize, side: usize, unit: usize) -> f64 {
        let scale = if compares(VIEWS[view], scale) { scale } else { SCALES_OF_SHARES - 1 };
        self.values[scale * VIEWS.len() + view][side][unit]
    }

    /// The noise between beginnings (side 0) or ends (side 1) of the stretches of a unit's label,
    /// and their number, if the label recurs.
    fn recurring(&self, scale: usize, view: usize, side: usize, unit: usize) -> Option<(f64, f64)> {
        let noise = self.recurring.get(scale * VIEWS.len() + view)?[side][unit];
        (!noise.is_nan()).then_some((noise, self.times[unit]))
    }
}

/// Whether stretches are compared in a view at the scale of this number.
fn compares(view: View, scale: usize) -> bool {
    view.is_rate() || scale < SCALES_OF_SHARES
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
            let first = at.saturating_sub(MEMORY / 2).min(distances.len().saturating_sub(MEMORY));
            let near = first..distances.len().min(first + MEMORY);
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

/// Both sides' noise at a scale, of positions beyond the units that are compared there. Where too
/// little is known, as at the ends of a run, positions within the `compared` units count, too, from
/// the border between them on. Where that is not enough, or they may not count, it is the noise of
/// the next `finer` scale. `part` is the quantile of shares.
fn sides(
    units: &Units<'_>,
    piece: &[usize],
    scale: usize,
    view: View,
    (part, compared): (f64, bool),
    finer: Option<&[Vec<f64>; 2]>,
) -> [Vec<f64>; 2] {
    let count = units.len();
    let step = (scale / 4).max(1);
    let span = MEMORY.max(3 * scale) / step;
    // Distances of the neighbours that meet before unit i·step.
    let distances: Vec<f64> = (0..=count / step)
        .map(|at| {
            let unit = at * step;
            if unit < scale || unit + scale > count || piece[unit - scale] != piece[unit + scale - 1] {
                return f64::NAN;
            }
            units.distance((unit - scale, unit), (unit, unit + scale), view)
        })
        .collect();
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
            // alike by chance. Where no boundary is known, distances may lie between two phases and
            // do not count.
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

/// The evidence in nats that units `a..b` and `b..c` are two phases.
pub(super) fn evidence(units: &Units<'_>, noise: &Noise, a: usize, b: usize, c: usize) -> f64 {
    let mut best = 0.0f64;
    let within = |length: usize| (a.max(b.saturating_sub(length)), c.min(b + length));
    let scale_of = |length: usize| SCALES.iter().rposition(|scale| *scale <= length).unwrap_or(0);
    // For each side, the largest scale that is not longer, and the noise there.
    let scales_of = |(from, to): (usize, usize)| (scale_of(b - from), scale_of(to - b));
    let usual = |(from, to): (usize, usize), view: usize| {
        let (left, right) = scales_of((from, to));
        let before = noise.at(left, view, 0, from.max(b - SCALES[left]));
        [before, noise.at(right, view, 1, to.min(b + SCALES[right]))]
    };
    for (number, scale) in SCALES.into_iter().enumerate() {
        if number > 0 && b - a <= SCALES[number - 1] && c - b <= SCALES[number - 1] {
            break;
        }
        let (from, to) = within(scale);
        let far = within(PERSISTENCE * scale);
        let persists = far.0 < from || far.1 > to;
        let (one, other) = (units.rates(far.0, b), units.rates(b, far.1));
        let effective = || units.effective_messages(far.0, b).min(units.effective_messages(b, far.1));
        for (view, own) in VIEWS.into_iter().enumerate() {
            let least = match own {
                View::Pairs | View::Bytes | View::Sizes => 0.0,
                View::MessageRate | View::ByteRate => ROUNDS_OF_RATE,
                View::Heaviest => ROUNDS_OF_HEAVIEST,
            };
            if one.rounds.min(other.rounds) < least || !compares(own, number) {
                continue;
            }
            let distance = |(from, to): (usize, usize)| units.distance((from, b), (b, to), own);
            let mean = |sides: [f64; 2]| 0.5 * (sides[0] + sides[1]);
            let mut near = distance((from, to));
            if scale >= QUARTER {
                let quarter = within(scale / QUARTER);
                near = near.min(STEP * (distance(quarter) + mean(usual(quarter, view))));
            }
            let judged = |sides: [(f64, f64); 2], most: f64| {
                let normal = mean(sides.map(|side| side.0));
                let mut distance = near;
                if persists && distance > normal {
                    distance = distance.min(units.distance((far.0, b), (b, far.1), own));
                }
                let rounds = (sides[0].1, sides[1].1);
                let mut draws = weaker(rounds, (one.messages, other.messages));
                if own.is_share() {
                    draws = draws.max(weaker(rounds, (one.bytes, other.bytes)).min(effective()));
                }
                nats(distance, normal, draws.min(most), own)
            };
            // On each side, the noise and the number of draws.
            let around = usual((from, to), view);
            let around = [(around[0], one.rounds), (around[1], other.rounds)];
            if near > mean(around.map(|side| side.0)) {
                // A few huge messages prove no more than the same number of rounds.
                let most = if own == View::Bytes { effective() } else { f64::INFINITY };
                best = best.max(judged(around, most));
            }
            let (left, right) = scales_of((from, to));
            let recurs = [noise.recurring(left, view, 1, b - 1), noise.recurring(right, view, 0, b)];
            if recurs != [None; 2] {
                let draws = |side: usize| {
                    recurs[side].map_or(around[side], |(noise, times)| (noise, times.max(around[side].1)))
                };
                best = best.max(judged([draws(0), draws(1)], f64::INFINITY));
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::super::features::Rates;
    use super::*;
    use crate::first_pass::rounds::sums::Sums;
    use crate::first_pass::window::sketch::scatter;

    #[test]
    fn without_noise_the_resolution_is_worth_the_price() {
        for view in [View::Pairs, View::Bytes, View::Sizes] {
            assert!((nats(DIFFERENCE, 0.0, 1e9, view) - PRICE).abs() < 1e-9);
        }
        assert!((nats(FACTOR.ln().powi(2), 0.0, 1e9, View::ByteRate) - PRICE).abs() < 1e-9);
        assert!((nats(HEAVIER.ln().powi(2), 0.0, 1e9, View::Heaviest) - PRICE).abs() < 1e-9);
        assert!(nats(f64::NAN, 0.0, 1.0, View::ByteRate).abs() < 1e-12);
        // A normal distance proves nothing; nor does a large one without rounds.
        assert!(
            nats(0.3, 0.3, 9.0, View::Pairs).abs() < 1e-12 && nats(1.0, 0.0, 0.0, View::Pairs).abs() < 1e-12
        );
    }

    #[test]
    fn a_huge_round_stands_for_many() {
        assert!((weaker((1.0, 10.0), (1000.0, 100.0)) - 10.0).abs() < 1e-12);
        assert!((weaker((2.0, 10.0), (2.0, 10.0)) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn a_round_of_many_bytes_stands_for_many() {
        // Windows of one round of 20 messages; the last one has 64 times the bytes of the others.
        let of = |last: &[u64]| {
            let mut sums = vec![Sums::default()];
            for window in 0..21 {
                let mut next = sums[window].clone();
                let sizes = if window < 20 { &[63; 20][..] } else { last };
                sizes.iter().for_each(|bytes| next.add(0, *bytes));
                sums.push(next);
            }
            let rates: Vec<Rates> = sums
                .windows(2)
                .map(|pair| Rates::new(20.0, pair[1].total - pair[0].total, 100.0, 1.0))
                .collect();
            let sums: Vec<&Sums> = sums.iter().collect();
            let units = Units::new(&sums, (0..=21).collect(), &rates, vec![false; 21]);
            evidence(&units, &Noise::new(&units, &[], &[]), 0, 20, 21)
        };
        let r = DIFFERENCE / (2.0 * PRICE);
        let rounds = |k: f64, x: f64| k * 0.5 * (NU + 1.0) * (x / (NU * r)).ln_1p();
        // All sizes differ. Evenly spread, the bytes count as 20 messages, more than G asks for.
        assert!((of(&[64 * 64 - 1; 20]) - 0.5 / r).abs() < 1e-2, "{}", of(&[64 * 64 - 1; 20]));
        // In one message, they prove hardly more than one odd round does: Kish's effective number
        // of messages is near one, and one of 20 sizes differs.
        let mut one = [63; 20];
        one[0] = 64 * 64 * 20 - 1;
        let (bytes, squares) = (19.0 * 64.0 + 81_920.0, 19.0 * 64f64.powi(2) + 81_920f64.powi(2));
        let expected = rounds(bytes * bytes / squares, 1.0 - 0.95f64.sqrt());
        assert!((of(&one) - expected).abs() < 1e-2 && expected < PRICE, "{} {expected}", of(&one));
    }

    #[test]
    fn a_gradual_change_is_no_boundary() {
        // There are 64 windows of one round, each of 64 messages. `first` says how many of these
        // the first pair sends. The noise is that of windows that are all alike.
        let of = |first: &dyn Fn(u32) -> u32| {
            let sums = |first: &dyn Fn(u32) -> u32| {
                let mut sums = vec![Sums::default()];
                for window in 0..64 {
                    let mut next = sums[window as usize].clone();
                    (0..64).for_each(|message| next.add(u32::from(message >= first(window)), 64));
                    sums.push(next);
                }
                sums
            };
            let (own, alike) = (sums(first), sums(&|_| 32));
            let rates = [Rates::new(64.0, 4096.0, 100.0, 1.0); 64];
            let [own, alike]: [Vec<&Sums>; 2] = [own.iter().collect(), alike.iter().collect()];
            let [own, alike] =
                [&own, &alike].map(|sums| Units::new(sums, (0..=64).collect(), &rates, vec![false; 64]));
            evidence(&own, &Noise::new(&alike, &[], &[]), 0, 32, 64)
        };
        let r = DIFFERENCE / (2.0 * PRICE);
        // One pair has a quarter of the messages before a step, and three quarters after it.
        let step = 1.0 - 2.0 * (0.25f64 * 0.75).sqrt();
        assert!((of(&|window| if window < 32 { 16 } else { 48 }) - 0.5 * step / r).abs() < 1e-2);
        // The same means by steady drift. At a quarter of the scale, in eight windows, the shares
        // are 27.5 and 35.5 of 64, and that distance counts three times.
        let root = |one: f64, other: f64| (one * other).sqrt() / 64.0;
        let quarter = 1.0 - root(27.5, 35.5) - root(36.5, 28.5);
        let drift = of(&|window| window);
        assert!((drift - 0.5 * STEP * quarter / r).abs() < 1e-2 && drift < PRICE, "{drift}");
    }

    #[test]
    fn a_change_of_pace_shows_among_pauses_of_heavy_tails() {
        // Rounds end with Pareto pauses of shape 1.5. The last 500 of 1000 take four times as long.
        let alike = vec![Sums::default(); 1001];
        let sums: Vec<&Sums> = alike.iter().collect();
        let found = |seed: u64| {
            let uniform =
                |window: u64| ((scatter(seed * 1000 + window + 1) >> 11) + 1) as f64 / (1u64 << 53) as f64;
            let ns = |window: u64| uniform(window).powf(-1.0 / 1.5) * if window < 500 { 1e4 } else { 4e4 };
            let rates: Vec<Rates> =
                (0..1000).map(|window| Rates::new(96.0, 9600.0, ns(window), 1.0)).collect();
            let units = Units::new(&sums, (0..=1000).collect(), &rates, vec![false; 1000]);
            evidence(&units, &Noise::new(&units, &[0, 500], &[]), 0, 500, 1000) >= PRICE
        };
        let count = (0..100).filter(|seed| found(*seed)).count();
        // With scales up to 64 units it shows in 88.
        assert!(count >= 95, "{count} of 100");
    }

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
        let [new, others] = [Noise::new(&units, &[], &[]), Noise::of_others(&units, &[])];
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
        let noise = Noise::new(&units, &[], &[]);
        let at = |scale: usize| noise.at(scale, VIEWS.iter().position(|own| own.is_rate()).unwrap(), 0, 16);
        assert!(at(0) > 0.1, "{}", at(0));
        let largest = SCALES.len() - 1;
        assert!((at(largest) / at(largest - 1) - DOUBLED).abs() < 1e-9);
    }

    #[test]
    fn stretches_of_a_label_prove_more_than_one() {
        // Windows of one round in turn: ten messages of each of two pairs, or nineteen and one.
        let mut sums = vec![Sums::default()];
        for window in 0..40 {
            let mut next = sums[window].clone();
            let first = if window % 2 == 0 { 10 } else { 19 };
            (0..20).for_each(|message| next.add(u32::from(message >= first), 64));
            sums.push(next);
        }
        let rates = [Rates::new(20.0, 1280.0, 100.0, 1.0); 40];
        let sums: Vec<&Sums> = sums.iter().collect();
        let units = Units::new(&sums, (0..=40).collect(), &rates, vec![false; 40]);
        let starts: Vec<usize> = (0..40).collect();
        let labels: Vec<u32> = (0..40).map(|window| window % 2).collect();
        let of = |labels: &[u32]| evidence(&units, &Noise::new(&units, &starts, labels), 20, 21, 22);
        // The squared Hellinger distance; nothing varies, so the noise is 0.
        let x = 1.0 - 0.5f64.sqrt() * (0.05f64.sqrt() + 0.95f64.sqrt());
        let r = DIFFERENCE / (2.0 * PRICE);
        // One odd round proves less than the price, twenty stretches prove all that x says.
        let one = 0.5 * (NU + 1.0) * (x / (NU * r)).ln_1p();
        assert!((of(&[]) - one).abs() < 1e-3 && one < PRICE, "{} {one}", of(&[]));
        assert!((of(&labels) - 0.5 * x / r).abs() < 1e-3, "{}", of(&labels));
    }
}
