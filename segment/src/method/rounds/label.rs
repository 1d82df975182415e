//! Which segments are the same phase.

use super::measure::Behaviour;
use super::merge::{Spread, Tolerance};
use super::segments::{Segment, Segments};
use crate::agglomerate::agglomerate;

/// Segments from which on they are first gathered around leaders.
const COMPARED: usize = 512;

/// Segments of one label.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    behaviour: Behaviour,
    spread: Spread,
}

impl Cluster {
    /// One segment.
    pub(super) fn of(segments: &Segments<'_>, segment: &Segment) -> Self {
        Self { behaviour: segment.behaviour.clone(), spread: segments.spread(&segment.units) }
    }

    pub(super) fn messages(&self) -> f64 {
        self.behaviour.messages
    }

    pub(super) fn merge(&mut self, other: &Cluster) {
        self.behaviour.merge(&other.behaviour);
        self.spread.sum += other.spread.sum;
        self.spread.count += other.spread.count;
    }

    /// How different two clusters are; from 1 on they are two phases.
    pub(super) fn difference(&self, other: &Cluster, limits: &Tolerance) -> f64 {
        let difference = self.behaviour.difference(&other.behaviour);
        f64::from(limits.apart(&difference, (self.spread, other.spread)))
    }
}

/// A label for each segment, counted from 0 in order of appearance. Segments are clustered until
/// clusters differ by more than neighbours may. If there are many segments, each first joins the
/// nearest leader, or becomes one (Hartigan, Clustering Algorithms, chapter 3).
pub(super) fn labels(segments: &Segments<'_>, limits: &Tolerance) -> Vec<u32> {
    let list = &segments.list;
    let mut leaders: Vec<Cluster> = Vec::new();
    let mut own: Vec<usize> = Vec::with_capacity(list.len());
    for segment in list {
        let cluster = Cluster::of(segments, segment);
        if list.len() > COMPARED {
            let differences = leaders.iter().map(|leader| leader.difference(&cluster, limits));
            let nearest = differences.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
            if let Some((at, difference)) = nearest
                && (difference < 0.5 || leaders.len() >= COMPARED)
            {
                leaders[at].merge(&cluster);
                own.push(at);
                continue;
            }
        }
        own.push(leaders.len());
        leaders.push(cluster);
    }
    let distance = |one: &Cluster, other: &Cluster| one.difference(other, limits);
    let merged =
        agglomerate(leaders, distance, |kept, gone| kept.merge(&gone), |difference, _| difference < 1.0);
    let mut order: Vec<usize> = Vec::new();
    own.into_iter()
        .map(|leader| {
            let cluster = merged[leader];
            let known = order.iter().position(|other| *other == cluster);
            known.unwrap_or_else(|| {
                order.push(cluster);
                order.len() - 1
            }) as u32
        })
        .collect()
}
