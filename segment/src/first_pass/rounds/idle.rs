//! Silences that the run's own irregularity does not explain.

/// Windows on each side of a silence whose own silences are usual.
const AROUND: usize = 48;

/// An idle stretch is at least three times as long as the usual silences: ln 3.
const LEAST: f64 = 1.1;

/// Mean excesses above the upper quartile that make a silence idle. If the mean excess were known,
/// a silence this much longer would have a chance of e⁻⁸. It is an estimate from a dozen silences
/// on each side: one of 8100 Pareto silences of shape 1.5 is idle by accident. With 7, 56 generated
/// runs have .939 instead of .957; with 10 they have the same.
const TAIL: f64 = 8.0;

/// Least mean excess of the logarithms: silences are not more regular than a clock of 5 %.
const REGULAR: f64 = 0.05;

/// Whether a silence of `length_ns` is longer than usual.
///
/// `before` and `after` are the longest silences of the windows at its sides, the nearest first.
/// The excess of the logarithms over their upper quartile is taken to be exponential (Pareto
/// silences; Hill, A simple general approach to inference about the tail of a distribution, Annals
/// of Statistics 3, 1975). The longest on each side may be an idle stretch itself. So it is
/// censored: it only counts that it is not shorter than the next (Epstein and Sobel, Life testing,
/// Journal of the American Statistical Association 48, 1953).
pub(super) fn is_idle(
    length_ns: u64,
    before: impl Iterator<Item = u64>,
    after: impl Iterator<Item = u64>,
) -> bool {
    let log = |ns: u64| (ns.max(1) as f64).ln();
    let sides: [Vec<f64>; 2] =
        [before.take(AROUND).map(log).collect(), after.take(AROUND).map(log).collect()];
    sides.into_iter().filter(|side| !side.is_empty()).all(|mut side| {
        side.sort_unstable_by(f64::total_cmp);
        // Of fewer than four, even the longest may be usual.
        if side.len() >= 4 {
            side.pop();
        }
        let quartile = side[side.len() * 3 / 4];
        let above = &side[side.partition_point(|own| *own < quartile)..];
        let sum = above.iter().chain(above.last()).map(|own| own - quartile).sum::<f64>();
        log(length_ns) > quartile + LEAST.max(TAIL * (sum / above.len() as f64 + REGULAR))
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
        // A simulation of its own with 300 000 such silences has 367 of 20 000. The standard
        // deviation is 19.
        assert!((310..=425).contains(&idle), "{idle} of {count}");
    }

    #[test]
    fn idle_stretches_nearby_do_not_hide_one() {
        // One of the 48 silences on each side is idle, too.
        let side = |other: u64| (0..47).map(|i| 1000 + 40 * (i % 7)).chain([other]);
        assert!(is_idle(50_000, side(50_000), side(80_000)));
        assert!(!is_idle(1_300, side(50_000), side(80_000)));
        // With a second one, such silences are usual.
        assert!(!is_idle(50_000, side(50_000).skip(1).chain([50_000]), side(80_000)));
    }
}
