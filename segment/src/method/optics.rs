//! `optics`: density clusters cut from the reachability plot.

use linfa::ParamGuard;
use linfa::traits::Transformer;
use linfa_clustering::Optics;
use linfa_nn::CommonNearestNeighbour;
use phaseflow_collect::choice::Choice;
use phaseflow_collect::{Error, Result};

use super::clustered;
use super::dbscan::{NEIGHBOURS, knee, radius};
use super::split::{Answer, Limits, Split};
use crate::first_pass::survey::Run;
use crate::first_pass::window::points::Points;

/// OPTICS (Ankerst et al. 1999): orders the windows so that dense regions are valleys of the
/// reachability distance, and cuts the valleys at one height. The default height is the radius that
/// `dbscan` would choose. Points that a phase reaches belong to it; `dbscan` calls them noise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OpticsMethod {
    radius: Option<f64>,
}

impl OpticsMethod {
    pub(super) fn parse(choice: &Choice) -> Result<Self> {
        choice.only(&["radius"])?;
        Ok(Self { radius: radius(choice)? })
    }
}

impl Split for OpticsMethod {
    fn split(&self, run: &Run, limits: &Limits) -> Result<Answer> {
        let points = Points::new(&run.windows);
        let radius = self.radius.unwrap_or_else(|| knee(&points.reduced));
        // linfa's core distance is the nth neighbour in the order of its search, and only trees
        // sort that order.
        let params = Optics::params(NEIGHBOURS).nn_algo(CommonNearestNeighbour::KdTree).check();
        let params = params.map_err(|error| Error::data(format!("optics failed: {error}")))?;
        let order = params.transform(points.reduced.view());
        let mut labels = vec![None; points.len()];
        let mut clusters = 0;
        for sample in order.iter() {
            let reached = sample.reachability_distance().is_some_and(|distance| distance <= radius);
            let dense = sample.core_distance().is_some_and(|distance| distance <= radius);
            if !reached && dense {
                clusters += 1;
            }
            if reached || dense {
                labels[sample.index()] = Some(clusters);
            }
        }
        let labels = clustered::tidy(&points, labels, self.radius.is_none());
        let parameters = format!("radius={radius:.4},windows={}", limits.windows);
        Ok(Answer { plan: clustered::plan(run, &points, &labels), parameters })
    }
}
