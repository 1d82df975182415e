//! From some units that were measured to all of them, of which only traits are known.
//!
//! The estimators of survey sampling (Cochran, *Sampling Techniques*, 3rd edition, 1977): the ratio of value to size in the sample, times the size of all (chapter 6),
//! corrected by how far the traits of the sample are from those of all, times what they count according to the sample (regression, chapter 7). A trait is used only where
//! the sample is large enough to tell what it counts, and where it does; what is twice as much of a trait takes no less and no more than twice as long, as a sample in which a
//! trait hardly differs says anything of it. The error is Student's for the residuals, with the correction for a finite population. It is the wrong choice where a
//! few units that nothing tells apart from the others take most of the time.

/// Traits of a unit.
pub const TRAITS: usize = 3;

/// Units for each trait that is used.
const UNITS_A_TRAIT: usize = 4;
/// A trait has to explain this part of the variance that is left.
const WORTH: f64 = 0.3;
/// Of the normal distribution: one in a hundred is further above.
const QUANTILE: f64 = 2.326_347_874;

/// A unit, or all of them together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Unit {
    /// What its value should be in proportion to.
    pub size: f64,
    /// What else is known of it, which adds up over units.
    pub traits: [f64; TRAITS],
}

/// The sum over all units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// What it is taken to be, not below 0.
    pub value: f64,
    /// How far off it is at most, in 98 of 100 cases.
    pub error: f64,
}

/// The sum of the values of `units` units that are `all` together, of which some were measured. `others` are none of them, but tell as well
/// what traits count: best where there is much of these.
pub fn total(units: u64, all: &Unit, sample: &[(Unit, f64)], others: &[(Unit, f64)]) -> Total {
    let sum: f64 = sample.iter().map(|(_, value)| value).sum();
    let size: f64 = sample.iter().map(|(unit, _)| unit.size).sum();
    if sample.is_empty() || sample.len() as u64 >= units {
        return Total { value: sum, error: 0.0 };
    }
    if size <= 0.0 || all.size <= 0.0 {
        return Total { value: sum / sample.len() as f64 * units as f64, error: f64::INFINITY };
    }
    // What is left of each value, and of each trait beside those used before; and how far all are from the sample in it.
    let rate = sum / size;
    let measured = || sample.iter().chain(others);
    let mut left: Vec<f64> = measured().map(|(unit, value)| value - rate * unit.size).collect();
    let mut columns: Vec<Column> = (0..TRAITS)
        .map(|number| {
            let sum = sample.iter().map(|(unit, _)| unit.traits[number]).sum();
            Column::new(number, all, sum, measured().map(|(unit, _)| unit), (rate, size))
        })
        .collect();
    let (mut value, mut leverage, mut used) = (rate * all.size, 0.0, 0);
    while left.len() >= (used + 1) * UNITS_A_TRAIT + 2 {
        let worth = columns.iter().map(|column| column.explains(&left)).enumerate();
        let Some((best, part)) = worth.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))) else { break };
        if part < WORTH {
            break;
        }
        let column = columns.swap_remove(best);
        let own = dot(&column.values, &column.values);
        let slope = (dot(&column.values, &left) / own).clamp(0.0, column.steepest);
        value += slope * column.apart;
        leverage += column.apart * column.apart / own;
        left.iter_mut().zip(&column.values).for_each(|(left, value)| *left -= slope * value);
        columns.iter_mut().for_each(|other| other.without(&column, own));
        used += 1;
    }
    let freedom = (sample.len() - used).saturating_sub(1) as f64;
    let error = if freedom < 1.0 {
        f64::INFINITY
    } else {
        let count = sample.len() as f64;
        let own = &left[..sample.len()];
        let variance = dot(own, own) / freedom;
        // What says most of traits may be less even than the sample.
        let widest = variance.max(dot(&left, &left) / (freedom + others.len() as f64));
        let scale = all.size / size;
        let finite = 1.0 - count / units as f64;
        student(freedom) * (finite * (variance * scale * scale * count + widest * leverage)).sqrt()
    };
    Total { value: value.max(0.0), error }
}

/// A trait beyond what goes with the size.
struct Column {
    values: Vec<f64>,
    /// Of all units together.
    apart: f64,
    /// The sum of squares that it had at first.
    scale: f64,
    /// What one of it counts at most: twice of it doubles the value.
    steepest: f64,
}

impl Column {
    fn new<'a>(
        number: usize,
        all: &Unit,
        sum: f64,
        measured: impl Iterator<Item = &'a Unit> + Clone,
        (rate, size): (f64, f64),
    ) -> Self {
        let values: Vec<f64> =
            measured.clone().map(|unit| unit.traits[number] - sum / size * unit.size).collect();
        let scale = measured.map(|unit| unit.traits[number].powi(2)).sum();
        let steepest = if sum > 0.0 { rate * size / sum } else { 0.0 };
        Self { values, apart: all.traits[number] - sum / size * all.size, scale, steepest }
    }

    /// The part of the squares of `left` that it accounts for, where it counts for more the more there is of it.
    fn explains(&self, left: &[f64]) -> f64 {
        let (own, all, shared) = (dot(&self.values, &self.values), dot(left, left), dot(&self.values, left));
        // What the ones used before say already is none of its own.
        if own <= 1e-12 * self.scale || all <= 0.0 || shared <= 0.0 {
            0.0
        } else {
            shared.powi(2) / own / all
        }
    }

    fn without(&mut self, used: &Self, own: f64) {
        let shared = dot(&self.values, &used.values) / own;
        self.values.iter_mut().zip(&used.values).for_each(|(value, used)| *value -= shared * used);
        self.apart -= shared * used.apart;
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Of Student's distribution: one in a hundred is further above (Cornish and Fisher's expansion: Abramowitz and Stegun, 26.7.5; 2 % low at 3
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

    fn sum(units: &[Unit]) -> Unit {
        units.iter().fold(Unit::default(), |sum, unit| Unit {
            size: sum.size + unit.size,
            traits: std::array::from_fn(|number| sum.traits[number] + unit.traits[number]),
        })
    }

    #[test]
    fn student_has_the_quantiles_of_its_tables() {
        // Abramowitz and Stegun, table 26.10, one-sided 0.01.
        for (freedom, expected) in [(3.0, 4.541), (5.0, 3.365), (10.0, 2.764), (20.0, 2.528), (60.0, 2.390)] {
            assert!((student(freedom) / expected - 1.0).abs() < 0.025, "{freedom}: {}", student(freedom));
        }
    }

    #[test]
    fn all_units_are_their_sum_and_one_of_many_says_nothing_of_its_error() {
        let unit = |value| (Unit { size: 1.0, traits: [2.0, 3.0, 0.0] }, value);
        let all = Unit { size: 5.0, traits: [10.0, 15.0, 0.0] };
        assert_eq!(total(3, &all, &[unit(1.0), unit(2.0), unit(4.0)], &[]), Total { value: 7.0, error: 0.0 });
        assert_eq!(total(5, &all, &[unit(2.0)], &[]), Total { value: 10.0, error: f64::INFINITY });
        assert_eq!(total(5, &all, &[], &[]), Total::default());
    }

    #[test]
    fn the_ratio_estimator_of_a_textbook() {
        // By hand: rate 6/3 = 2, of 30 units of size: 60. Residuals 1 − 2, 5 − 4: s² = 2, error t·√(2·(1 − 2/20)·(10²·2)).
        let unit = |size: f64, value: f64| (Unit { size, traits: [0.0; TRAITS] }, value);
        let found =
            total(20, &Unit { size: 30.0, traits: [0.0; TRAITS] }, &[unit(1.0, 1.0), unit(2.0, 5.0)], &[]);
        assert_eq!(found.value, 60.0);
        assert!((found.error - student(1.0) * (2.0_f64 * 0.9 * 200.0).sqrt()).abs() < 1e-9);
    }

    proptest! {
        /// What goes with the size is found exactly, however large units are.
        #[test]
        fn a_proportion_is_found(sizes in prop::collection::vec(0.1_f64..10.0, 3..40), rate in 0.1_f64..10.0) {
            let units: Vec<Unit> = sizes.iter().map(|size| Unit { size: *size, traits: [size * 3.0, 0.0, 0.0] }).collect();
            let sample: Vec<(Unit, f64)> = units.iter().take(2).map(|unit| (*unit, rate * unit.size)).collect();
            let found = total(units.len() as u64, &sum(&units), &sample, &[]);
            prop_assert!((found.value / (rate * sizes.iter().sum::<f64>()) - 1.0).abs() < 1e-9);
            prop_assert!(found.error <= 1e-6 * found.value);
        }

        /// What goes with the size and with traits is found, or the error says how far it is off.
        #[test]
        fn a_law_is_found(
            units in prop::collection::vec((0.5_f64..2.0, prop::array::uniform3(0.5_f64..2.0)), 24..60),
            law in prop::array::uniform4(0.0_f64..5.0),
        ) {
            let units: Vec<Unit> = units.into_iter().map(|(size, traits)| Unit { size, traits }).collect();
            let value = |unit: &Unit| {
                law[0] * unit.size + law[1..].iter().zip(&unit.traits).map(|(law, of)| law * of).sum::<f64>()
            };
            let sample: Vec<(Unit, f64)> = units.iter().take(20).map(|unit| (*unit, value(unit))).collect();
            let found = total(units.len() as u64, &sum(&units), &sample, &[]);
            let expected: f64 = units.iter().map(value).sum();
            prop_assert!((found.value - expected).abs() <= 1e-6 * expected + 3.0 * found.error);
        }
    }
}
