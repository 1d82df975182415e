//! Which segments are the same phase.

use super::measure::Behaviour;
use super::segments::Segments;
use crate::agglomerate::agglomerate;

/// More segments than this are first gathered around leaders.
const COMPARED: usize = 512;

/// A label for each segment, counted from 0 in order of appearance: segments are clustered as long as clusters differ by less
/// than `limit`. Of many segments, each first joins the nearest leader, or becomes one (Hartigan, Clustering Algorithms, 3).
pub(super) fn labels(segments: &Segments, limit: f32) -> Vec<u32> {
    let list = &segments.list;
    let mut leaders: Vec<Behaviour> = Vec::new();
    let own: Vec<usize> = list
        .iter()
        .map(|segment| {
            if list.len() > COMPARED {
                let differences = leaders.iter().map(|leader| leader.difference(&segment.behaviour));
                let nearest = differences.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
                if let Some((at, difference)) = nearest
                    && (difference < limit / 2.0 || leaders.len() >= COMPARED)
                {
                    leaders[at].merge(&segment.behaviour);
                    return at;
                }
            }
            leaders.push(segment.behaviour.clone());
            leaders.len() - 1
        })
        .collect();
    let distance = |one: &Behaviour, other: &Behaviour| f64::from(one.difference(other));
    let merged = agglomerate(leaders, distance, |kept, gone| kept.merge(&gone), |d, _| d < f64::from(limit));
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
