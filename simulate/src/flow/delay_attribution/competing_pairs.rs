//! Competing pairs: the pair of ranks whose flows took most of the capacity that a flow lost.
//!
//! Losses are added up by owner while flows are active. The pair of ranks is needed only for the
//! flows of a critical path, and is found afterwards from a record of each finished flow. The
//! competing pair is the one whose flows carried most bytes over the link in the time of the loss.
//! Each flow counts at its mean rate, so the result is exact where rates do not change. Memory: 48
//! bytes a flow until its record is dropped.

use rustc_hash::FxHashMap;

use super::NOISE;
use crate::topology::LinkId;

/// Sender and receiver, as their owner numbers them.
pub type Pair = (u32, u32);

/// Time that a flow lost on a link to one owner, its own or another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// The link.
    pub link: LinkId,
    /// The owner of the flows that took the time.
    pub by: u32,
    /// Its start, picoseconds.
    pub from: f64,
    /// Its end, picoseconds.
    pub to: f64,
    /// The flow's own pair and its bytes in that time, if it is of the same owner: a flow does not
    /// compete with itself.
    pub own: Option<(Pair, f64)>,
}

/// A flow that has finished, or the finished part of an active one.
#[derive(Clone, Copy, Debug)]
pub(in crate::flow) struct FlowRecord {
    pub(super) owner: u32,
    pub(super) pair: Pair,
    pub(in crate::flow) path: u32,
    pub(super) bytes: f64,
    /// When it began to share, and when it finished, picoseconds.
    pub(super) begin: f64,
    pub(super) end: f64,
}

/// The pair that carried most, for each loss; of equal pairs the first. Losses ascend in time and
/// do not overlap. `crosses` tells whether a path has a link.
pub(in crate::flow) fn competing_pairs(
    losses: &[Loss],
    records: impl Iterator<Item = FlowRecord>,
    crosses: impl Fn(u32, LinkId) -> bool,
) -> Vec<Option<Pair>> {
    let mut carried: Vec<FxHashMap<Pair, f64>> = vec![FxHashMap::default(); losses.len()];
    for record in records.filter(|record| record.end > record.begin) {
        let first = losses.partition_point(|loss| loss.to <= record.begin);
        for (loss, carried) in losses.iter().zip(&mut carried).skip(first) {
            if loss.from >= record.end {
                break;
            }
            if loss.by == record.owner && crosses(record.path, loss.link) {
                let time = record.end.min(loss.to) - record.begin.max(loss.from);
                *carried.entry(record.pair).or_default() += record.bytes * time / (record.end - record.begin);
            }
        }
    }
    let most = |(loss, mut carried): (&Loss, FxHashMap<Pair, f64>)| {
        if let Some((pair, bytes)) = loss.own {
            carried.entry(pair).and_modify(|sum| *sum -= bytes);
        }
        let most = carried.values().copied().fold(0.0, f64::max);
        let own = loss.own.map_or(0.0, |(_, bytes)| bytes);
        let equal = carried.iter().filter(|(_, sum)| **sum > NOISE * own && **sum >= (1.0 - NOISE) * most);
        equal.map(|(pair, _)| *pair).min()
    };
    losses.iter().zip(carried).map(most).collect()
}
