//! `gmm`: windows as a mixture of Gaussians, their number by BIC.

use linfa::traits::Fit;
use linfa::{DatasetBase, ParamGuard};
use linfa_clustering::GaussianMixtureModel;
use ndarray::{Array2, s};
use phaseflow_collect::choice::Choice;
use phaseflow_collect::{Error, Result};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::clustered;
use super::kmeans::clusters;
use super::split::{Answer, Limits, Split};
use crate::first_pass::survey::Run;
use crate::first_pass::window::points::{Points, SAME};

/// Gaussian mixture with full covariances, fitted by expectation-maximisation from k-means.
///
/// Without a given k, the number of components from 1 to 8 with the least Bayesian information
/// criterion wins (Schwarz 1978). BIC also splits clusters that are merely not Gaussian, so expect
/// more phases than a person would draw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GmmMethod {
    k: Option<usize>,
}

/// Most components that are tried.
const MOST: usize = 8;
/// Dimensions: a thousand windows could not determine a covariance of more.
const DIMENSIONS: usize = 6;
/// Added to the variances: windows of a phase can be exactly equal, and differences far below
/// [`SAME`] mean nothing.
const VARIANCE: f64 = (SAME / 8.0) * (SAME / 8.0);

impl GmmMethod {
    pub(super) fn parse(choice: &Choice) -> Result<Self> {
        choice.only(&["k"])?;
        Ok(Self { k: clusters(choice)? })
    }
}

impl Split for GmmMethod {
    fn split(&self, run: &Run, limits: &Limits) -> Result<Answer> {
        let points = Points::new(&run.windows);
        let kept = points.reduced.ncols().min(DIMENSIONS);
        let data = points.reduced.slice(s![.., ..kept]).to_owned();
        let candidates = match self.k {
            Some(k) => k.min(points.len())..=k.min(points.len()),
            None => 1..=MOST.min(points.len()),
        };
        let fits = candidates.filter_map(|k| fit(&data, k, limits.seed));
        let best = fits.min_by(|one, other| one.bic.total_cmp(&other.bic));
        let best = best.ok_or_else(|| {
            Error::data("gmm found no numerically stable mixture for these windows; use another method")
        })?;
        let labels = best.labels.into_iter().map(Some).collect();
        let labels = clustered::tidy(&points, labels, self.k.is_none());
        let k = clustered::count(&labels);
        let parameters = format!("k={k},windows={},seed={}", limits.windows, limits.seed);
        Ok(Answer { plan: clustered::plan(run, &points, &labels), parameters })
    }
}

struct Mixture {
    bic: f64,
    labels: Vec<usize>,
}

/// Fits `k` components; `None` if the fit is numerically unstable.
fn fit(data: &Array2<f64>, k: usize, seed: u64) -> Option<Mixture> {
    let params = GaussianMixtureModel::params_with_rng(k, Xoshiro256PlusPlus::seed_from_u64(seed))
        .reg_covariance(VARIANCE)
        .max_n_iterations(200)
        .check()
        .ok()?;
    let model = params.fit(&DatasetBase::from(data.view())).ok()?;
    let components: Vec<Component> = (0..k).map(|i| Component::new(&model, i)).collect::<Option<_>>()?;
    // linfa's own prediction adds up densities, which vanish far from all means; logarithms do not.
    let mut likelihood = 0.0;
    let mut labels = Vec::with_capacity(data.nrows());
    for point in data.rows() {
        let logs: Vec<f64> = components.iter().map(|c| c.log_density(point)).collect();
        let (label, greatest) = logs.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
        likelihood += greatest + logs.iter().map(|log| (log - greatest).exp()).sum::<f64>().ln();
        labels.push(label);
    }
    let d = data.ncols();
    let parameters = (k * (1 + d + d * (d + 1) / 2) - 1) as f64;
    let bic = parameters * (data.nrows() as f64).ln() - 2.0 * likelihood;
    bic.is_finite().then_some(Mixture { bic, labels })
}

struct Component {
    mean: ndarray::Array1<f64>,
    precision: Array2<f64>,
    /// Logarithm of weight and normalisation.
    scale: f64,
}

impl Component {
    fn new(model: &GaussianMixtureModel<f64>, i: usize) -> Option<Self> {
        let precision = model.precisions().index_axis(ndarray::Axis(0), i).to_owned();
        let d = precision.nrows() as f64;
        let scale = model.weights()[i].ln() + 0.5 * log_determinant(&precision)?
            - 0.5 * d * (2.0 * std::f64::consts::PI).ln();
        scale.is_finite().then(|| Self { mean: model.means().row(i).to_owned(), precision, scale })
    }

    fn log_density(&self, point: ndarray::ArrayView1<'_, f64>) -> f64 {
        let away = &point - &self.mean;
        self.scale - 0.5 * away.dot(&self.precision.dot(&away))
    }
}

/// Of a symmetric positive definite matrix, by elimination; `None` for any other matrix.
fn log_determinant(matrix: &Array2<f64>) -> Option<f64> {
    let mut rest = matrix.clone();
    let mut sum = 0.0;
    for i in 0..rest.nrows() {
        let pivot = rest[[i, i]];
        if pivot <= 0.0 || !pivot.is_finite() {
            return None;
        }
        sum += pivot.ln();
        for j in i + 1..rest.nrows() {
            let factor = rest[[j, i]] / pivot;
            for column in i..rest.ncols() {
                rest[[j, column]] -= factor * rest[[i, column]];
            }
        }
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn determinants() {
        let matrix = array![[4.0, 2.0], [2.0, 3.0]];
        assert!((log_determinant(&matrix).unwrap() - 8f64.ln()).abs() < 1e-12);
        assert_eq!(log_determinant(&array![[1.0, 2.0], [2.0, 1.0]]), None);
    }

    #[test]
    fn two_heaps_are_two_components() {
        let heap = |centre: f64, i: i32| [centre + f64::from(i % 7) * 0.01, f64::from(i % 5) * 0.01];
        let rows: Vec<f64> =
            (0..50).flat_map(|i| heap(0.0, i)).chain((0..50).flat_map(|i| heap(1.0, i))).collect();
        let data = Array2::from_shape_vec((100, 2), rows).unwrap();
        let best = (1..=4).filter_map(|k| fit(&data, k, 1)).min_by(|a, b| a.bic.total_cmp(&b.bic)).unwrap();
        assert_ne!(best.labels[0], best.labels[99]);
        assert!(fit(&data, 2, 1).unwrap().bic < fit(&data, 1, 1).unwrap().bic);
    }
}
