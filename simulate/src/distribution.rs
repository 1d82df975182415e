//! Random times: how long until the next job, how long it runs. All in seconds.

use phaseflow_collect::choice::unknown_name;
use phaseflow_collect::{Error, Result};
use rand::Rng;
use rand::distributions::OpenClosed01;
use rand_distr::{Exp1, StandardNormal};

/// A distribution over non-negative seconds; its parameters are checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distribution(Kind);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Constant { value: f64 },
    Exponential { lambd: f64 },
    Uniform { low: f64, high: f64 },
    Lognormal { mu: f64, sigma: f64 },
    Weibull { shape: f64, scale: f64 },
}

/// Names and parameters of all distributions.
const KNOWN: [(&str, &[&str]); 5] = [
    ("constant", &["value"]),
    ("exponential", &["lambd"]),
    ("uniform", &["low", "high"]),
    ("lognormal", &["mu", "sigma"]),
    ("weibull", &["shape", "scale"]),
];

impl Distribution {
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
    /// use phaseflow_simulate::distribution::Distribution;
    ///
    /// assert!(Distribution::new("exponential", &[("lambd", 0.1)]).is_ok());
    /// let error = Distribution::new("exponential", &[("lambda", 0.1)]).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "unknown parameter of distribution `exponential` `lambda`; did you mean lambd? (known: lambd)"
    /// );
    /// ```
    ///
    /// # Errors
    /// An unknown name or parameter (with the near matches), a missing one, a value outside its range.
    pub fn new(name: &str, parameters: &[(&str, f64)]) -> Result<Self> {
        let Some((_, keys)) = KNOWN.iter().find(|(known, _)| *known == name) else {
            return Err(unknown_name("distribution", name, &KNOWN.map(|(known, _)| known)));
        };
        if let Some((key, _)) = parameters.iter().find(|(key, _)| !keys.contains(key)) {
            return Err(unknown_name(&format!("parameter of distribution `{name}`"), key, keys));
        }
        let get = |key: &str| {
            let found = parameters.iter().find(|(name, _)| *name == key);
            found.map(|(_, value)| *value).ok_or_else(|| {
                Error::usage(format!("distribution `{name}` lacks its parameter `{key}`"))
            })
        };
        let in_range = |key: &str, range: Range| {
            let value = get(key)?;
            let holds = value.is_finite()
                && match range {
                    Range::Any => true,
                    Range::NotNegative => value >= 0.0,
                    Range::Positive => value > 0.0,
                    Range::AtLeast(low) => value >= low,
                };
            if holds {
                return Ok(value);
            }
            let expected = match range {
                Range::Any => "a finite number".to_string(),
                Range::NotNegative => "a finite number of at least 0".to_string(),
                Range::Positive => "a finite number above 0".to_string(),
                Range::AtLeast(low) => format!("a finite number of at least {low} (low)"),
            };
            Err(Error::usage(format!("distribution `{name}`: {key} is {value}, expected {expected}")))
        };
        let kind = match name {
            "constant" => Kind::Constant { value: in_range("value", Range::NotNegative)? },
            "exponential" => Kind::Exponential { lambd: in_range("lambd", Range::Positive)? },
            "uniform" => {
                let low = in_range("low", Range::NotNegative)?;
                Kind::Uniform { low, high: in_range("high", Range::AtLeast(low))? }
            }
            "lognormal" => Kind::Lognormal {
                mu: in_range("mu", Range::Any)?,
                sigma: in_range("sigma", Range::NotNegative)?,
            },
            _ => Kind::Weibull {
                shape: in_range("shape", Range::Positive)?,
                scale: in_range("scale", Range::Positive)?,
            },
        };
        Ok(Self(kind))
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

#[derive(Clone, Copy)]
enum Range {
    Any,
    NotNegative,
    Positive,
    AtLeast(f64),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;

    /// Checks the first two moments of `n` draws against the closed forms.
    ///
    /// The sample mean lies within 5 standard errors, 5 σ / √n (missed once in 10⁶ seeds, and the seed is fixed); the
    /// sample variance within 5 σ² √((κ − 1) / n), κ the kurtosis μ₄ / σ⁴.
    fn check(name: &str, parameters: &[(&str, f64)], mean: f64, variance: f64, kurtosis: f64) {
        let n = 200_000;
        let distribution = Distribution::new(name, parameters).unwrap();
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
        check("constant", &[("value", 2.5)], 2.5, 0.0, 1.0);
        check("exponential", &[("lambd", 0.1)], 10.0, 100.0, 9.0);
        check("uniform", &[("low", 2.0), ("high", 6.0)], 4.0, 16.0 / 12.0, 1.8);
        // σ² = 0.25: mean e^(μ + σ²/2), variance (e^σ² − 1) mean², kurtosis e^4σ² + 2e^3σ² + 3e^2σ² − 3.
        let (mean, w) = (1.125_f64.exp(), 0.25_f64.exp());
        let kurtosis = w.powi(4) + 2.0 * w.powi(3) + 3.0 * w.powi(2) - 3.0;
        check("lognormal", &[("mu", 1.0), ("sigma", 0.5)], mean, (w - 1.0) * mean * mean, kurtosis);
        // Shape 2 (Rayleigh), scale 3: Γ(3/2) = √π / 2, Γ(2) = 1; kurtosis (32 − 3π²) / (4 − π)².
        let pi = std::f64::consts::PI;
        let kurtosis = (32.0 - 3.0 * pi * pi) / (4.0 - pi).powi(2);
        check("weibull", &[("shape", 2.0), ("scale", 3.0)], 1.5 * pi.sqrt(), 9.0 * (1.0 - pi / 4.0), kurtosis);
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
        let check = |name: &str, parameters: &[(&str, f64)], expected: &str| {
            assert_eq!(Distribution::new(name, parameters).unwrap_err().to_string(), expected);
        };
        check(
            "exponental",
            &[],
            "unknown distribution `exponental`; did you mean exponential? \
             (known: constant, exponential, uniform, lognormal, weibull)",
        );
        check("weibull", &[("shape", 1.0)], "distribution `weibull` lacks its parameter `scale`");
        check(
            "exponential",
            &[("lambd", 0.0)],
            "distribution `exponential`: lambd is 0, expected a finite number above 0",
        );
        check(
            "uniform",
            &[("low", 3.0), ("high", 2.0)],
            "distribution `uniform`: high is 2, expected a finite number of at least 3 (low)",
        );
        check(
            "lognormal",
            &[("mu", f64::NAN), ("sigma", 1.0)],
            "distribution `lognormal`: mu is NaN, expected a finite number",
        );
        check(
            "constant",
            &[("value", -1.0)],
            "distribution `constant`: value is -1, expected a finite number of at least 0",
        );
    }
}
