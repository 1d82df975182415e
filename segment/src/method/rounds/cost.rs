//! What a boundary is worth: the evidence that two stretches are two phases.
//!
//! Two stretches are compared at each scale of q units, in each view. x is the distance from the
//! last q units of one stretch to the first q of the other. e is the distance that neighbours of q
//! units have within one phase here: the program's own irregularity, or [noise](super::noise).
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

use super::features::{SCALES, Units, VIEWS, View};
use super::noise::Noise;

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

/// Rounds on both sides that a single number needs: a rate, or the heaviest pair's share.
pub(super) const ROUNDS_OF_NUMBER: f64 = 3.0;

/// Each scale is compared with two others: one four times as long, and one of a quarter. A distance
/// has to persist at the longer one, as far as the stretches reach: an oddity beside a boundary
/// does not. A step shows at the shorter one. Even shorter ones tell nothing, as ranks are out of
/// step.
const RATIO: usize = 4;

/// The distance at a scale counts at most this many times the sum of the distance and the noise at
/// a quarter of that scale. A step has the same distance at both scales. A random walk has a
/// quarter of its distance at the smaller one, steady drift a sixteenth. With 3, runs whose
/// messages grow within phases have .705 instead of .782, and others .001 less. With 1, a recording
/// has .67 instead of 1.
const STEP: f64 = 1.5;

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
        let far = within(RATIO * scale);
        let persists = far.0 < from || far.1 > to;
        let (one, other) = (units.rates(far.0, b), units.rates(b, far.1));
        let effective = || units.effective_messages(far.0, b).min(units.effective_messages(b, far.1));
        for (view, own) in VIEWS.into_iter().enumerate() {
            let least = match own {
                View::Pairs | View::Bytes | View::Sizes => 0.0,
                View::MessageRate | View::ByteRate | View::Heaviest => ROUNDS_OF_NUMBER,
            };
            if one.rounds.min(other.rounds) < least || !own.is_compared_at(number) {
                continue;
            }
            let distance = |(from, to): (usize, usize)| units.distance((from, b), (b, to), own);
            let mean = |sides: [f64; 2]| 0.5 * (sides[0] + sides[1]);
            let mut near = distance((from, to));
            if scale >= RATIO {
                let quarter = within(scale / RATIO);
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
    use super::super::noise::Neighbours;
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
            evidence(&units, &Neighbours::new(&units).noise(&[], &[]), 0, 20, 21)
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
            evidence(&own, &Neighbours::new(&alike).noise(&[], &[]), 0, 32, 64)
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
            evidence(&units, &Neighbours::new(&units).noise(&[0, 500], &[]), 0, 500, 1000) >= PRICE
        };
        let count = (0..100).filter(|seed| found(*seed)).count();
        // With scales up to 64 units it shows in 88.
        assert!(count >= 95, "{count} of 100");
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
        let of =
            |labels: &[u32]| evidence(&units, &Neighbours::new(&units).noise(&starts, labels), 20, 21, 22);
        // The squared Hellinger distance; nothing varies, so the noise is 0.
        let x = 1.0 - 0.5f64.sqrt() * (0.05f64.sqrt() + 0.95f64.sqrt());
        let r = DIFFERENCE / (2.0 * PRICE);
        // One odd round proves less than the price, twenty stretches prove all that x says.
        let one = 0.5 * (NU + 1.0) * (x / (NU * r)).ln_1p();
        assert!((of(&[]) - one).abs() < 1e-3 && one < PRICE, "{} {one}", of(&[]));
        assert!((of(&labels) - 0.5 * x / r).abs() < 1e-3, "{}", of(&labels));
    }
}
