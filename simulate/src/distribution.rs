//! Distributions of random times, in seconds: intervals between jobs, and their durations.

use phaseflow_collect::choice::{Choice, unknown_name};
use phaseflow_collect::{Error, Result};
use rand::Rng;
use rand::distributions::OpenClosed01;
use rand_distr::{Exp1, StandardNormal};
use serde::Serialize;

/// A distribution over non-negative seconds; its parameters are checked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Distribution(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Constant { value: f64 },
    Exponential { lambd: f64 },
    Uniform { low: f64, high: f64 },
    Lognormal { mu: f64, sigma: f64 },
    Weibull { shape: f64, scale: f64 },
}

impl Distribution {
    /// Always this many seconds; a negative number or NaN counts as 0.
    pub fn constant(seconds: f64) -> Self {
        Self(Kind::Constant { value: seconds.max(0.0) })
    }

    /// A distribution by name and parameters:
    ///
    /// | name | parameters | mean |
    /// |---|---|---|
    /// | `constant` | `value` ≥ 0 | value |
    /// | `exponential` | `lambd` > 0 (Python's and PFSim's name of the rate λ) | 1 / λ |
    /// | `uniform` | 0 ≤ `low` ≤ `high` | (low + high) / 2 |
    /// | `lognormal` | `mu`, `sigma` ≥ 0, of the logarithm | exp(μ + σ² / 2) |
    /// | `weibull` | `shape` > 0, `scale` > 0 | scale · Γ(1 + 1 / shape) |
    ///
    /// ```
    /// use phaseflow_collect::choice::Choice;
    /// use phaseflow_simulate::distribution::Distribution;
    ///
    /// let choice = Choice::parse("exponential[lambda=0.1]").unwrap();
    /// let error = Distribution::new(&choice).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "unknown parameter of `exponential` `lambda`; did you mean lambd? (known: lambd)"
    /// );
    /// ```
    ///
    /// # Errors
    /// An unknown name or parameter (with the near matches), a missing one, a value outside its
    /// range.
    pub fn new(choice: &Choice) -> Result<Self> {
        let kind = match choice.name() {
            "constant" => {
                choice.only(&["value"])?;
                Kind::Constant { value: at_least(choice, "value", 0.0)? }
            }
            "exponential" => {
                choice.only(&["lambd"])?;
                Kind::Exponential { lambd: positive(choice, "lambd")? }
            }
            "uniform" => {
                choice.only(&["low", "high"])?;
                let low = at_least(choice, "low", 0.0)?;
                Kind::Uniform { low, high: at_least(choice, "high", low)? }
            }
            "lognormal" => {
                choice.only(&["mu", "sigma"])?;
                let mu = parameter(choice, "mu", "a finite number", |_| true)?;
                Kind::Lognormal { mu, sigma: at_least(choice, "sigma", 0.0)? }
            }
            "weibull" => {
                choice.only(&["shape", "scale"])?;
                Kind::Weibull { shape: positive(choice, "shape")?, scale: positive(choice, "scale")? }
            }
            name => {
                let known = ["constant", "exponential", "uniform", "lognormal", "weibull"];
                return Err(unknown_name("distribution", name, &known));
            }
        };
        Ok(Self(kind))
    }

    /// The mean of 1000 draws, for estimates of the cost of a sweep.
    pub fn mean(&self, rng: &mut impl Rng) -> f64 {
        // Number of draws: the standard error of the mean is 1/√1000, a thirtieth, of the standard
        // deviation.
        const DRAWS: u32 = 1000;
        (0..DRAWS).map(|_| self.sample(rng)).sum::<f64>() / f64::from(DRAWS)
    }

    /// Draws seconds: not negative, infinite where the parameters reach beyond what an `f64` holds.
    pub fn sample(&self, rng: &mut impl Rng) -> f64 {
        match self.0 {
            Kind::Constant { value } => value,
            Kind::Exponential { lambd } => rng.sample::<f64, _>(Exp1) / lambd,
            Kind::Uniform { low, high } => low + (high - low) * rng.r#gen::<f64>(),
            Kind::Lognormal { mu, sigma } => (mu + sigma * rng.sample::<f64, _>(StandardNormal)).exp(),
            // Inversion; (0, 1] keeps the logarithm finite.
            Kind::Weibull { shape, scale } => {
                scale * (-rng.sample::<f64, _>(OpenClosed01).ln()).powf(shape.recip())
            }
        }
    }
}

fn positive(choice: &Choice, key: &str) -> Result<f64> {
    parameter(choice, key, "a finite number above 0", |value| value > 0.0)
}

fn at_least(choice: &Choice, key: &str, least: f64) -> Result<f64> {
    parameter(choice, key, &format!("a finite number of at least {least}"), |value| value >= least)
}

fn parameter(choice: &Choice, key: &str, expected: &str, holds: impl Fn(f64) -> bool) -> Result<f64> {
    let value: f64 = choice.required(key)?;
    if value.is_finite() && holds(value) {
        return Ok(value);
    }
    Err(Error::usage(format!("distribution `{}`: {key} is {value}, expected {expected}", choice.name())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;

    /// Checks the first two moments of `n` draws against the closed forms.
    ///
    /// The sample mean lies within 5 standard errors, 5 σ / √n (missed once in 10⁶ seeds, and the
    /// seed is fixed); the sample variance within 5 σ² √((κ − 1) / n), κ the kurtosis μ₄ / σ⁴.
    fn check(name: &str, mean: f64, variance: f64, kurtosis: f64) {
        let n = 200_000;
        let distribution = Distribution::new(&Choice::parse(name).unwrap()).unwrap();
        let mut rng = Stream::Jobs(0).generator(7);
        let draws: Vec<f64> = (0..n).map(|_| distribution.sample(&mut rng)).collect();
        let count = f64::from(n);
        let found_mean = draws.iter().sum::<f64>() / count;
        let found_variance = draws.iter().map(|x| (x - found_mean).powi(2)).sum::<f64>() / (count - 1.0);
        let mean_tolerance = 5.0 * (variance / count).sqrt();
        assert!((found_mean - mean).abs() <= mean_tolerance, "{name}: mean {found_mean}, expected {mean}");
        let tolerance = 5.0 * variance * ((kurtosis - 1.0) / count).sqrt();
        assert!((found_variance - variance).abs() <= tolerance, "{name}: {found_variance} {variance}");
        assert!(draws.iter().all(|x| *x >= 0.0));
    }

    #[test]
    fn moments_are_those_of_the_closed_forms() {
        check("constant[value=2.5]", 2.5, 0.0, 1.0);
        check("exponential[lambd=0.1]", 10.0, 100.0, 9.0);
        check("uniform[low=2,high=6]", 4.0, 16.0 / 12.0, 1.8);
        // σ² = 0.25: mean e^(μ + σ²/2), variance (e^σ² − 1) mean², kurtosis e^4σ² + 2e^3σ² + 3e^2σ²
        // − 3.
        let (mean, w) = (1.125_f64.exp(), 0.25_f64.exp());
        let kurtosis = w.powi(4) + 2.0 * w.powi(3) + 3.0 * w.powi(2) - 3.0;
        check("lognormal[mu=1,sigma=0.5]", mean, (w - 1.0) * mean * mean, kurtosis);
        // Shape 2 (Rayleigh), scale 3: Γ(3/2) = √π / 2, Γ(2) = 1; kurtosis (32 − 3π²) / (4 − π)².
        let pi = std::f64::consts::PI;
        let kurtosis = (32.0 - 3.0 * pi * pi) / (4.0 - pi).powi(2);
        check("weibull[shape=2,scale=3]", 1.5 * pi.sqrt(), 9.0 * (1.0 - pi / 4.0), kurtosis);
    }

    #[test]
    fn streams_do_not_depend_on_each_other_but_on_the_seed() {
        let draw = |stream: Stream, seed| stream.generator(seed).r#gen::<u64>();
        assert_eq!(draw(Stream::Jobs(3), 1), draw(Stream::Jobs(3), 1));
        let mut all = Vec::new();
        for seed in 0..50 {
            all.extend([draw(Stream::HostSelector, seed), draw(Stream::ProcessMapper, seed)]);
            all.extend((0..50).map(|line| draw(Stream::Jobs(line), seed)));
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, expected) in [
            (
                "exponental",
                "unknown distribution `exponental`; did you mean exponential? \
                 (known: constant, exponential, uniform, lognormal, weibull)",
            ),
            ("weibull[shape=1]", "`weibull[shape=1]` needs `scale=…` in brackets"),
            ("constant[value=x]", "`constant[value=x]`: value is `x`, expected a number"),
            (
                "exponential[lambd=0]",
                "distribution `exponential`: lambd is 0, expected a finite number above 0",
            ),
            (
                "uniform[low=3,high=2]",
                "distribution `uniform`: high is 2, expected a finite number of at least 3",
            ),
            ("lognormal[mu=NaN,sigma=1]", "distribution `lognormal`: mu is NaN, expected a finite number"),
            (
                "constant[value=-1]",
                "distribution `constant`: value is -1, expected a finite number of at least 0",
            ),
        ] {
            let error = Distribution::new(&Choice::parse(text).unwrap()).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
