//! Flows of replays that are alone in the network.
//!
//! Each replay has a network of its own, which begins at time 0. So its result depends on nothing
//! that happened before, and points of a sweep can [share](super::known_replays) it.

use std::sync::Arc;

use phaseflow_collect::Result;

use super::RunProgress;
use super::known_replays::{KnownReplay, KnownReplays, digest};
use super::link_peak::LinkPeak;
use super::message_network::MessageNetwork;
use super::solo::{SoloNetwork, SoloOutcome, SoloRequest, replay};
use crate::replay::{MessageRoutes, Options, Replayer};
use crate::topology::{LinkId, Topology};

/// What all replays have in common, and what is known of all together.
pub(super) struct SoloFlows<'a> {
    topology: &'a Topology,
    routes: MessageRoutes,
    options: Options,
    progress: Option<&'a RunProgress<'a>>,
    known: Option<&'a KnownReplays>,
    /// Replays so far, by [`SoloNetwork`]: noise differs from one to the next.
    begun: [u64; 3],
    /// By link, over all replays that count in the results.
    peaks: Vec<LinkPeak>,
}

impl<'a> SoloFlows<'a> {
    /// `routes` are those of the run; `known` holds the replays of a sweep.
    pub(super) fn new(
        topology: &'a Topology,
        routes: MessageRoutes,
        options: Options,
        progress: Option<&'a RunProgress<'a>>,
        known: Option<&'a KnownReplays>,
    ) -> Self {
        let peaks = vec![LinkPeak::default(); topology.link_count()];
        Self { topology, routes, options, progress, known, begun: [0; 3], peaks }
    }

    /// Links have failed: the network is this one.
    pub(super) fn fail(&mut self, topology: &'a Topology) {
        self.topology = topology;
    }

    /// By link, over all replays so far.
    pub(super) fn peaks(&self) -> &[LinkPeak] {
        &self.peaks
    }

    /// Replays operations, unless the sweep knows the result.
    ///
    /// # Errors
    /// A failure of the network, or of the router.
    pub(super) fn replay(&mut self, request: &SoloRequest<'_, 'a>) -> Result<SoloOutcome> {
        let begun = &mut self.begun[request.on as usize];
        *begun += 1;
        // With noise, no two replays are alike.
        let sweep = self.known.filter(|_| !self.options.noise.is_any());
        let Some(sweep) = sweep else {
            let number = *begun - 1;
            let (outcome, peaks) = self.simulate(request, number)?;
            self.see(request.on, &peaks);
            return Ok(outcome);
        };
        let key = digest(self.topology, &self.routes, &self.options, request)?;
        if let Some(known) = sweep.get(key) {
            self.see(request.on, &known.peaks);
            return Ok(known.outcome.clone());
        }
        let (outcome, peaks) = self.simulate(request, 0)?;
        self.see(request.on, &peaks);
        sweep.keep(key, Arc::new(KnownReplay { outcome: outcome.clone(), peaks }));
        Ok(outcome)
    }

    /// Replays operations in a new network, after `number` others; returns the peaks of links that
    /// it used.
    fn simulate(
        &self,
        request: &SoloRequest<'_, 'a>,
        number: u64,
    ) -> Result<(SoloOutcome, Vec<(LinkId, LinkPeak)>)> {
        let network =
            MessageNetwork::flows_of(self.topology, self.routes.clone(), &self.options, self.progress);
        let mut replayer = Replayer::after(number, network);
        if request.on == SoloNetwork::Model {
            replayer.record_ranks_by_stretch();
        }
        let outcome = replay(&mut replayer, &mut 0, request, &self.options)?;
        let links = (0..self.topology.link_count() as u32).map(LinkId);
        let peaks = replayer.transport().flows().map(|flows| {
            links.map(|link| (link, LinkPeak::of(flows, link))).filter(|(_, peak)| peak.flows > 0).collect()
        });
        Ok((outcome, peaks.unwrap_or_default()))
    }

    /// Adds the peaks of a replay, if it counts in the results.
    fn see(&mut self, on: SoloNetwork, peaks: &[(LinkId, LinkPeak)]) {
        if on != SoloNetwork::Model {
            return;
        }
        for (link, peak) in peaks {
            let sum = &mut self.peaks[link.0 as usize];
            *sum = sum.max(*peak);
        }
    }
}
