//! Competing pairs: the pair of ranks whose flows took most of the capacity that a flow lost.
//!
//! Losses are added up by owner while flows go; which pair of ranks it was is asked afterwards, and
//! only of a few flows: those of a critical path. For that each flow that has finished leaves a
//! note. The pair that a flow lost most to is the one whose flows carried most bytes over the link
//! in that time, each flow taken to have gone evenly from its beginning to its end; so it is exact
//! where rates did not change, and else the more so the longer flows last in which they did.
//! Memory: 48 bytes a flow, until nobody asks for its time any more.

use rustc_hash::FxHashMap;

use super::NOISE;
use crate::topology::LinkId;

/// Sender and receiver, as their owner numbers them.
pub type Pair = (u32, u32);

/// What a flow lost to another owner, or to others of its own, on a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Where.
    pub link: LinkId,
    /// To whom.
    pub by: u32,
    /// From when to when, picoseconds.
    pub from: f64,
    /// Likewise.
    pub to: f64,
    /// The flow's own pair, and its bytes in that time, if it is of the same owner: they are no
    /// loss.
    pub own: Option<(Pair, f64)>,
}

/// A flow that has finished, or what it has done so far.
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

/// Of each loss the pair that carried most, the first of equal ones. Losses are in the order of
/// time and do not overlap; `crosses` says which path leads over which link.
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
