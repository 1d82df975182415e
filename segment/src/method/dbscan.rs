//! `dbscan`: phases are dense regions.

use linfa::ParamGuard;
use linfa::traits::Transformer;
use linfa_clustering::Dbscan;
use linfa_nn::CommonNearestNeighbour;
use linfa_nn::distance::L2Dist;
use ndarray::Array2;
use phaseflow_collect::choice::Choice;
use phaseflow_collect::{Error, Result};

use super::clustered;
use super::split::{Answer, Limits, Split};
use crate::first_pass::survey::Run;
use crate::first_pass::window::points::{Points, SAME};

/// DBSCAN (Ester et al. 1996). Noise joins the phase before it.
///
/// Without a given radius, it is the knee of the ascending distances to the fourth neighbour: the
/// distance farthest below the chord from the first to the last. It is at least a quarter of the
/// distance that makes windows different. Wrong where phases drift (they chain) and where densities
/// differ.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DbscanMethod {
    radius: Option<f64>,
}

/// A point is inside a cluster if at least this number of points, itself included, lie in its
/// radius.
pub(super) const NEIGHBOURS: usize = 5;

impl DbscanMethod {
    pub(super) fn parse(choice: &Choice) -> Result<Self> {
        choice.only(&["radius"])?;
        Ok(Self { radius: radius(choice)? })
    }
}

/// The parameter `radius`, if given.
pub(super) fn radius(choice: &Choice) -> Result<Option<f64>> {
    if choice.get("radius").is_none() {
        return Ok(None);
    }
    let radius: f64 = choice.required("radius")?;
    if radius.is_finite() && radius > 0.0 {
        return Ok(Some(radius));
    }
    Err(Error::usage(format!("`{choice}`: radius is {radius}, expected a positive number")))
}

impl Split for DbscanMethod {
    fn split(&self, run: &Run, limits: &Limits) -> Result<Answer> {
        let points = Points::new(&run.windows);
        let radius = self.radius.unwrap_or_else(|| knee(&points.reduced));
        let params = Dbscan::params_with(NEIGHBOURS, L2Dist, CommonNearestNeighbour::LinearSearch);
        let params = params.tolerance(radius).check();
        let params = params.map_err(|error| Error::data(format!("dbscan failed: {error}")))?;
        let labels = params.transform(&points.reduced).to_vec();
        let labels = clustered::tidy(&points, labels, self.radius.is_none());
        let parameters = format!("radius={radius:.4},windows={}", limits.windows);
        Ok(Answer { plan: clustered::plan(run, &points, &labels), parameters })
    }
}

/// The radius beyond which a point has no neighbours of its own cluster.
pub(super) fn knee(points: &Array2<f64>) -> f64 {
    let mut distances: Vec<f64> = points
        .rows()
        .into_iter()
        .map(|one| {
            let mut squares: Vec<f64> =
                points.rows().into_iter().map(|other| (&one - &other).mapv(|d| d * d).sum()).collect();
            let nth = (NEIGHBOURS - 1).min(squares.len() - 1);
            squares.select_nth_unstable_by(nth, f64::total_cmp).1.sqrt()
        })
        .collect();
    distances.sort_unstable_by(f64::total_cmp);
    let (Some(first), Some(last)) = (distances.first(), distances.last()) else {
        return SAME;
    };
    let slope = (last - first) / distances.len() as f64;
    let below = |i: usize| first + slope * i as f64 - distances[i];
    let knee = (0..distances.len()).max_by(|i, j| below(*i).total_cmp(&below(*j)));
    knee.map_or(SAME, |i| distances[i]).max(SAME / 4.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knee_is_where_clusters_end() {
        // Two clusters with a spacing of 0.1 and three points far from all.
        let mut values: Vec<f64> = (0..20).map(|i| f64::from(i) * 0.1).collect();
        values.extend((0..20).map(|i| 100.0 + f64::from(i) * 0.1));
        values.extend([1e3, 2e3, 3e3]);
        let points = Array2::from_shape_vec((values.len(), 1), values).unwrap();
        let radius = knee(&points);
        assert!((0.2..=0.5).contains(&radius), "{radius}");
    }
}
