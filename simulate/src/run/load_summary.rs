//! Statistics of the load that one phase of one job puts on links.

use crate::result::PhaseRow;
use crate::topology::{LinkId, Topology};
use crate::traffic::LinkShare;
use crate::units::GBPS_PER_BYTE_RATE;

/// Statistics over links of the load of a phase.
///
/// Mean and variance are over all links of the network (the variance divides by their number, as
/// they are the population); the least load counts links without traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LoadSummary {
    /// Highest load / capacity.
    pub(super) max_ratio: f64,
    /// Of links that several pairs of ranks use.
    contended_ratio: f64,
    mean_ratio: f64,
    max_bytes: u64,
    /// The link of the highest load / capacity and its load; ties to the first.
    bottleneck: Option<(LinkId, f64)>,
    min_load: f64,
    mean_load: f64,
    variance_load: f64,
}

impl LoadSummary {
    /// `shares` in ascending order of links; `load` gives the load of bytes, not rounded to the
    /// run's quantum.
    pub(super) fn of(topology: &Topology, shares: &[LinkShare], load: impl Fn(u64) -> f64) -> Self {
        let links = topology.link_count() as f64;
        let mut load_summary = Self {
            max_ratio: 0.0,
            contended_ratio: 0.0,
            mean_ratio: 0.0,
            max_bytes: 0,
            bottleneck: None,
            min_load: if shares.len() < topology.link_count() { 0.0 } else { f64::INFINITY },
            mean_load: 0.0,
            variance_load: 0.0,
        };
        for share in shares {
            let load = load(share.bytes);
            let ratio = load / topology.link(share.link).capacity;
            if ratio > load_summary.max_ratio || load_summary.bottleneck.is_none() {
                load_summary.max_ratio = ratio;
                load_summary.bottleneck = Some((share.link, load));
            }
            if share.flows > 1 {
                load_summary.contended_ratio = load_summary.contended_ratio.max(ratio);
            }
            load_summary.mean_ratio += ratio / links;
            load_summary.mean_load += load / links;
            load_summary.min_load = load_summary.min_load.min(load);
            load_summary.max_bytes = load_summary.max_bytes.max(share.bytes);
        }
        let mean = load_summary.mean_load;
        let untouched = links - shares.len() as f64;
        let squares: f64 = shares.iter().map(|share| (load(share.bytes) - mean).powi(2)).sum();
        load_summary.variance_load = (squares + untouched * mean * mean) / links;
        load_summary
    }

    /// Highest use of a link that several pairs of ranks share, where loads are rates.
    pub(super) fn contended(&self) -> f64 {
        self.contended_ratio * GBPS_PER_BYTE_RATE
    }

    /// Fills in the link statistics of the row; utilization only if loads are rates.
    pub(super) fn describe(&self, are_rates: bool, row: &mut PhaseRow) {
        let utilization = |ratio: f64| are_rates.then_some(ratio * GBPS_PER_BYTE_RATE);
        row.max_link_bytes = Some(self.max_bytes);
        row.max_link_load = Some(self.bottleneck.map_or(0.0, |(_, load)| load));
        row.max_utilization = utilization(self.max_ratio);
        row.mean_utilization = utilization(self.mean_ratio);
        row.bottleneck = self.bottleneck.map(|(link, _)| link);
        row.min_link_load = Some(self.min_load);
        row.mean_link_load = Some(self.mean_load);
        row.variance_link_load = Some(self.variance_load);
    }
}
