//! From some units that were measured to all of them, of which only traits are known.
//!
//! The regression estimator of survey sampling (Cochran, *Sampling Techniques*, 3rd edition, 1977, sections 7.1 to 7.5): the mean of the sample, corrected by how far
//! the traits of the sample are from those of all, times what they count according to the sample. A trait is used only where the sample is large enough
//! to tell what it counts, and where it does. The error is Student's for the residuals, with the correction for a finite population. It is the wrong choice where a
//! few units that nothing tells apart from the others take most of the time.

/// Traits of a unit.
pub const TRAITS: usize = 3;

/// Units for each trait that is used.
const UNITS_A_TRAIT: usize = 4;
/// A trait has to explain this part of the variance that is left.
const WORTH: f64 = 0.3;
/// Of the normal distribution: one in a hundred is further above.
const QUANTILE: f64 = 2.326_347_874;

/// A unit that was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// What is known of it beforehand.
    pub traits: [f64; TRAITS],
    /// What was found.
    pub value: f64,
}

/// The sum over all units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// What it is taken to be, not below 0.
    pub value: f64,
    /// How far off it is at most, in 98 of 100 cases.
    pub error: f64,
}

/// The sum over `units` units, whose traits add up to `traits`, of which `sample` was measured.
pub fn total(units: u64, traits: &[f64; TRAITS], sample: &[Measured]) -> Total {
    let (all, count) = (units as f64, sample.len() as f64);
    let sum: f64 = sample.iter().map(|unit| unit.value).sum();
    if sample.is_empty() || sample.len() as u64 >= units {
        return Total { value: sum, error: 0.0 };
    }
    let mean = sum / count;
    // Residuals, traits made orthogonal to those used before, and how far all are from the sample in each.
    let mut residuals: Vec<f64> = sample.iter().map(|unit| unit.value - mean).collect();
    let mut columns: Vec<(Vec<f64>, f64)> = (0..TRAITS)
        .map(|trait_| {
            let mean = sample.iter().map(|unit| unit.traits[trait_]).sum::<f64>() / count;
            let column = sample.iter().map(|unit| unit.traits[trait_] - mean).collect();
            (column, traits[trait_] / all - mean)
        })
        .collect();
    let scale: Vec<f64> = columns.iter().map(|(column, _)| dot(column, column)).collect();
    let (mut estimate, mut leverage, mut used) = (mean, 0.0, 0);
    while sample.len() >= (used + 1) * UNITS_A_TRAIT + 2 {
        let left = dot(&residuals, &residuals);
        let explains = |(column, _): &(Vec<f64>, f64), scale: f64| {
            let own = dot(column, column);
            // What the ones used before say already is none of its own.
            if own <= 1e-9 * scale || left <= 0.0 {
                0.0
            } else {
                dot(column, &residuals).powi(2) / own / left
            }
        };
        let worth = columns.iter().zip(&scale).map(|(column, scale)| explains(column, *scale)).enumerate();
        let Some((best, part)) = worth.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))) else { break };
        if part < WORTH {
            break;
        }
        let (column, apart) = columns[best].clone();
        let own = dot(&column, &column);
        let slope = dot(&column, &residuals) / own;
        estimate += slope * apart;
        leverage += apart * apart / own;
        residuals.iter_mut().zip(&column).for_each(|(residual, value)| *residual -= slope * value);
        for (other, distance) in &mut columns {
            let shared = dot(other, &column) / own;
            other.iter_mut().zip(&column).for_each(|(value, used)| *value -= shared * used);
            *distance -= shared * apart;
        }
        used += 1;
    }
    let freedom = (sample.len() - used).saturating_sub(1) as f64;
    let error = if freedom < 1.0 {
        f64::INFINITY
    } else {
        let variance = dot(&residuals, &residuals) / freedom;
        student(freedom) * (variance * (1.0 - count / all) * (1.0 / count + leverage)).sqrt()
    };
    Total { value: (all * estimate).max(0.0), error: all * error }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Of Student's distribution: one in a hundred is further above (Cornish and Fisher's expansion: Abramowitz and Stegun, 26.7.5; 1 % low at 3
/// degrees of freedom).
fn student(freedom: f64) -> f64 {
    let z = QUANTILE;
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + first / freedom + second / freedom.powi(2) + third / freedom.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn student_has_the_quantiles_of_its_tables() {
        // Abramowitz and Stegun, table 26.10, one-sided 0.01.
        for (freedom, expected) in [(3.0, 4.541), (5.0, 3.365), (10.0, 2.764), (20.0, 2.528), (60.0, 2.390)] {
            assert!((student(freedom) / expected - 1.0).abs() < 0.02, "{freedom}");
        }
    }

    #[test]
    fn all_units_are_their_sum_and_one_of_many_says_nothing_of_its_error() {
        let unit = |value| Measured { traits: [1.0, 2.0, 3.0], value };
        assert_eq!(total(3, &[3.0; 3], &[unit(1.0), unit(2.0), unit(4.0)]), Total { value: 7.0, error: 0.0 });
        assert_eq!(total(5, &[5.0; 3], &[unit(2.0)]), Total { value: 10.0, error: f64::INFINITY });
        assert_eq!(total(5, &[5.0; 3], &[]), Total::default());
    }

    proptest! {
        /// What is linear in traits is found exactly, whichever units are in the sample.
        #[test]
        fn a_linear_law_is_found(
            traits in prop::collection::vec(prop::array::uniform3(0.0_f64..10.0), 24..60),
            law in prop::array::uniform4(0.1_f64..5.0),
        ) {
            let value = |t: &[f64; 3]| law[0] + law[1] * t[0] + law[2] * t[1] + law[3] * t[2];
            let sums = traits.iter().fold([0.0; 3], |sum, t| [sum[0] + t[0], sum[1] + t[1], sum[2] + t[2]]);
            let sample: Vec<Measured> = traits.iter().take(20).map(|t| Measured { traits: *t, value: value(t) }).collect();
            let expected: f64 = traits.iter().map(value).sum();
            let found = total(traits.len() as u64, &sums, &sample);
            // A trait that explains little beside the others is left out: then the error says so.
            prop_assert!((found.value - expected).abs() <= 1e-6 * expected + 3.0 * found.error);
        }
    }
}
