//! Silences that the run's own irregularity does not explain.

/// Windows on each side of a silence whose own silences are usual.
const AROUND: usize = 48;

/// An idle stretch is at least three times as long as the usual silences: ln 3.
const LEAST: f64 = 1.1;

/// Mean excesses above the upper quartile that make a silence idle. If the mean excess were known,
/// a silence this much longer would have a chance of e⁻⁸. It is an estimate from a dozen silences
/// on each side: one of 7800 Pareto silences of shape 1.5 is idle by accident. With 7, one of 3100
/// is.
const TAIL: f64 = 8.0;

/// Least mean excess of the logarithms: silences are not more regular than a clock of 5 %.
const REGULAR: f64 = 0.05;

/// Whether a silence of `length_ns` is longer than usual.
///
/// `before` and `after` are the longest silences of the windows at its sides, the nearest first.
/// The excess of the logarithms over their upper quartile is taken to be exponential (Pareto
/// silences; Hill, A simple general approach to inference about the tail of a distribution, Annals
/// of Statistics 3, 1975). Silences of at least half of this length are left out: if this one is
/// idle, so are they. If it is usual, hardly any of the others is as long as that.
pub(super) fn is_idle(
    length_ns: u64,
    before: impl Iterator<Item = u64>,
    after: impl Iterator<Item = u64>,
) -> bool {
    let log = |ns: u64| (ns.max(1) as f64).ln();
    let like = log(length_ns / 2);
    let sides: [Vec<f64>; 2] =
        [before.take(AROUND).map(log).collect(), after.take(AROUND).map(log).collect()];
    sides.into_iter().filter(|side| !side.is_empty()).all(|mut side| {
        side.sort_unstable_by(f64::total_cmp);
        let quartile = side[side.len() * 3 / 4];
        let above = side.iter().filter(|own| (quartile..=quartile.max(like)).contains(*own));
        let (sum, count) = above.fold((0.0, 0.0), |(sum, count), own| (sum + own - quartile, count + 1.0));
        log(length_ns) > quartile + LEAST.max(TAIL * (sum / count + REGULAR))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::first_pass::window::sketch::scatter;

    #[test]
    fn what_is_usual_is_not_idle() {
        let regular = || (0..40).map(|i| 1000 + i % 7);
        assert!(is_idle(10_000, regular(), regular()));
        assert!(!is_idle(1_300, regular(), regular()));
        // One silence in ten is a hundred times as long.
        let irregular = || (0..40).map(|i| if i % 10 == 3 { 100_000 } else { 1000 });
        assert!(!is_idle(1_500, irregular(), regular()));
        assert!(is_idle(5_000, regular(), std::iter::empty()));
    }

    #[test]
    fn few_of_irregular_silences_are_idle() {
        // A uniform number u in (0, 1] gives a Pareto silence of shape 1.5 as u to the power -⅔.
        let uniform = |number: u64| ((scatter(number + 1) >> 11) + 1) as f64 / (1u64 << 53) as f64;
        let pareto = |uniform: f64| (1e4 * uniform.powf(-1.0 / 1.5)) as u64;
        let count = 20_000;
        let is_found = |number: &u64| {
            let first = number * (2 * AROUND as u64 + 1);
            let mut usual = (first + 1..).map(|number| pareto(uniform(number)));
            // Only one silence of e⁵ is this long; others are hardly ever idle.
            let own = pareto(uniform(first) * (-5.0f64).exp());
            let before: Vec<u64> = usual.by_ref().take(AROUND).collect();
            is_idle(own, before.into_iter(), usual.take(AROUND))
        };
        let idle = (0..count).filter(is_found).count();
        // A simulation of its own with 150 000 such silences has 380 of 20 000. The standard
        // deviation is 19.
        assert!((320..=440).contains(&idle), "{idle} of {count}");
    }

    #[test]
    fn idle_stretches_nearby_do_not_hide_one() {
        // Eleven of the 48 silences on each side are idle, too: less than a quarter.
        let side =
            |idle: usize| (0..48).map(move |i| if i < idle { 50_000 } else { 1000 + 40 * (i as u64 % 7) });
        assert!(is_idle(50_000, side(11), side(11)));
        assert!(!is_idle(1_300, side(11), side(11)));
        // If more are as long, such silences are usual.
        assert!(!is_idle(50_000, side(13), side(11)));
    }
}
