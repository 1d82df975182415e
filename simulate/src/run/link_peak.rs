//! The highest use of a link.

use crate::flow::FlowNetwork;
use crate::topology::LinkId;

/// The highest use of a link at any moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct LinkPeak {
    /// Part of the capacity.
    pub(super) utilization: f64,
    pub(super) flows: u32,
}

impl LinkPeak {
    pub(super) fn of(network: &FlowNetwork<'_>, link: LinkId) -> Self {
        let usage = network.usage(link);
        Self { utilization: usage.peak_utilization, flows: usage.peak_flows }
    }

    pub(super) fn max(self, other: Self) -> Self {
        Self { utilization: self.utilization.max(other.utilization), flows: self.flows.max(other.flows) }
    }
}
