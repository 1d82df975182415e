//! `kmeans`: windows around k means, k by silhouette.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use linfa::DatasetBase;
use linfa::traits::{Fit, Predict};
use linfa_clustering::{KMeans, KMeansInit};
use linfa_nn::distance::L2Dist;
use phaseflow_collect::choice::Choice;
use phaseflow_collect::{Error, Result};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::clustered;
use super::clustered::merge_near;
use super::silhouette::silhouettes;
use super::split::{Answer, Limits, Split};
use crate::first_pass::survey::Run;
use crate::first_pass::window::points::{Points, SAME};

/// k-means with k-means++ beginnings (Arthur and Vassilvitskii 2007), the best of four.
///
/// Without a given k, values from 2 to 16 are tried. Steps of one round can make better clusters
/// than phases do, so clusters whose means are nearer than [`SAME`] are merged before their
/// silhouette is taken. The best silhouette wins. Below 0.5 clusters are an artefact (Kaufman and
/// Rousseeuw, Finding Groups in Data, table 4), and the run is one phase. A short phase hardly
/// moves a mean over all windows, so among nearly equal silhouettes the most clusters win. Wrong
/// for phases that change slowly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KMeansMethod {
    k: Option<usize>,
}

/// Largest k that is tried.
const MOST: usize = 16;
/// Beginnings that are tried for each k.
const RUNS: usize = 4;
/// Silhouettes that differ by less are equal.
const NEARLY: f64 = 0.01;
/// Silhouette below which there are no clusters.
const WEAK: f64 = 0.5;

impl KMeansMethod {
    pub(super) fn parse(choice: &Choice) -> Result<Self> {
        choice.only(&["k"])?;
        Ok(Self { k: clusters(choice)? })
    }
}

/// The parameter `k`, if given.
pub(super) fn clusters(choice: &Choice) -> Result<Option<usize>> {
    if choice.get("k").is_none() {
        return Ok(None);
    }
    match choice.required("k")? {
        0 => Err(Error::usage(format!("`{choice}`: k is 0, expected at least 1"))),
        k => Ok(Some(k)),
    }
}

impl Split for KMeansMethod {
    fn split(&self, run: &Run, limits: &Limits) -> Result<Answer> {
        let points = Points::new(&run.windows);
        let labels = match self.k {
            Some(k) => cluster(&points, k.min(points.len()), limits.seed)?,
            None => choose(&points, limits.seed)?,
        };
        let labels = labels.into_iter().map(Some).collect();
        let labels = clustered::tidy(&points, labels, false);
        let k = clustered::count(&labels);
        let parameters = format!("k={k},windows={},seed={}", limits.windows, limits.seed);
        Ok(Answer { plan: clustered::plan(run, &points, &labels), parameters })
    }
}

fn choose(points: &Points, seed: u64) -> Result<Vec<usize>> {
    let most = MOST.min(points.len().saturating_sub(1));
    let mut labellings = (2..=most).map(|k| cluster(points, k, seed)).collect::<Result<Vec<_>>>()?;
    labellings.iter_mut().for_each(|labels| merge_near(&points.full, labels));
    let values = silhouettes(&points.reduced, &labellings);
    let best = values.iter().copied().filter(|value| !value.is_nan()).fold(f64::NEG_INFINITY, f64::max);
    let near = (0..values.len()).filter(|i| values[*i] >= best - NEARLY);
    match near.max_by_key(|i| (used(&labellings[*i]), Reverse(*i))) {
        Some(chosen) if best >= WEAK => Ok(labellings.swap_remove(chosen)),
        _ => Ok(vec![0; points.len()]),
    }
}

/// Number of clusters that have points.
fn used(labels: &[usize]) -> usize {
    labels.iter().collect::<BTreeSet<_>>().len()
}

fn cluster(points: &Points, k: usize, seed: u64) -> Result<Vec<usize>> {
    let failed = |error: &dyn std::fmt::Display| Error::data(format!("kmeans with k={k} failed: {error}"));
    let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    // Not KMeansPara, whose random numbers depend on the number of threads.
    let model = KMeans::params_with(k, rng, L2Dist)
        .init_method(KMeansInit::KMeansPlusPlus)
        .n_runs(RUNS)
        .max_n_iterations(100)
        .tolerance(SAME / 100.0)
        .fit(&DatasetBase::from(points.reduced.view()))
        .map_err(|error| failed(&error))?;
    Ok(model.predict(&points.reduced).to_vec())
}
