//! Silences that the run's own irregularity does not explain.

/// Windows on each side of a silence whose own silences are usual.
const AROUND: usize = 48;

/// The longest of these silences, which may be idle stretches themselves, are left out.
const LEFT_OUT: usize = 2;

/// An idle stretch is at least three times as long as the usual silences: ln 3.
const LEAST: f64 = 1.1;

/// Mean excesses above the upper quartile that make a silence idle. If the mean excess were known,
/// a silence this much longer would have a chance of e⁻⁹. It is an estimate from a dozen silences.
/// So one of 2000 Pareto silences of shape 1.5 is idle by accident; with 7, one of 600 is. From 8
/// to 10 the score changes by less than .005.
const TAIL: f64 = 9.0;

/// Least mean excess of the logarithms: silences are not more regular than a clock of 5 %.
const REGULAR: f64 = 0.05;

/// Whether a silence of `length_ns` is longer than usual.
///
/// `before` and `after` are the longest silences of the windows at its sides, the nearest first.
/// The excess of the logarithms over their upper quartile is taken to be exponential (Pareto
/// silences; Hill, A simple general approach to inference about the tail of a distribution, Annals
/// of Statistics 3, 1975).
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
        if side.len() >= 4 * LEFT_OUT {
            side.truncate(side.len() - LEFT_OUT);
        }
        let quartile = side[side.len() * 3 / 4];
        let above: Vec<f64> = side.iter().filter(|own| **own >= quartile).map(|own| own - quartile).collect();
        let excess = above.iter().sum::<f64>() / above.len().max(1) as f64;
        log(length_ns) > quartile + LEAST.max(TAIL * (excess + REGULAR))
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
        let count = 100_000;
        let silences: Vec<u64> =
            (0..count).map(|number| (1e4 * uniform(number).powf(-1.0 / 1.5)) as u64).collect();
        let idle = (AROUND..silences.len() - AROUND).filter(|at| {
            let (before, after) = (silences[..*at].iter().rev(), &silences[at + 1..]);
            is_idle(silences[*at], before.copied(), after.iter().copied())
        });
        // One of 2000, as in a simulation of its own; the standard deviation of the number is 7.
        let idle = idle.count();
        assert!((25..=75).contains(&idle), "{idle} of {count}");
    }
}
