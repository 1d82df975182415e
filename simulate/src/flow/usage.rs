//! Usage of each link by the flows of a run.

use crate::topology::LinkId;

/// A link over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkUsage {
    /// Bytes of the flows that have finished.
    pub bytes: u64,
    /// Picoseconds with a flow on the link.
    pub busy_ps: f64,
    /// Highest part of the capacity that was used.
    pub peak_utilization: f64,
    /// Most flows at once.
    pub peak_flows: u32,
}

/// Usage of all links.
#[derive(Clone, Debug)]
pub(super) struct Usage {
    links: Vec<State>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    usage: LinkUsage,
    flows: u32,
    /// Since when it has been busy, picoseconds.
    since: f64,
}

impl Usage {
    pub(super) fn new(links: usize) -> Self {
        Self { links: vec![State::default(); links] }
    }

    /// A flow begins to use the links.
    pub(super) fn begin(&mut self, route: &[u32], now: f64) {
        for link in route {
            let link = &mut self.links[*link as usize];
            if link.flows == 0 {
                link.since = now;
            }
            link.flows += 1;
            link.usage.peak_flows = link.usage.peak_flows.max(link.flows);
        }
    }

    /// A flow of `bytes` bytes has finished.
    pub(super) fn end(&mut self, route: &[u32], bytes: u64, now: f64) {
        for link in route {
            let link = &mut self.links[*link as usize];
            link.flows -= 1;
            link.usage.bytes = link.usage.bytes.saturating_add(bytes);
            if link.flows == 0 {
                link.usage.busy_ps += now - link.since;
            }
        }
    }

    /// The link is used to this part of its capacity.
    #[inline]
    pub(super) fn see(&mut self, link: u32, utilization: f64) {
        let peak = &mut self.links[link as usize].usage.peak_utilization;
        *peak = peak.max(utilization);
    }

    pub(super) fn of(&self, link: LinkId, now: f64) -> LinkUsage {
        let state = &self.links[link.0 as usize];
        let under_way = if state.flows > 0 { now - state.since } else { 0.0 };
        LinkUsage { busy_ps: state.usage.busy_ps + under_way, ..state.usage }
    }

    pub(super) fn flows(&self, link: LinkId) -> u32 {
        self.links[link.0 as usize].flows
    }
}
