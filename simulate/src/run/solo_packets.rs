//! Packets of replays that are alone in the network, one after the other.
//!
//! They share one network, as transports keep what they have learned of their connections.

use phaseflow_collect::Result;

use super::message_network::MessageNetwork;
use super::solo::{SoloNetwork, SoloOutcome, SoloRequest, replay};
use crate::engine::Picoseconds;
use crate::replay::{Options, Replayer};

/// The networks, with their clock.
pub(super) struct SoloPackets<'a> {
    own: Replayer<'a, MessageNetwork<'a>>,
    /// With `interference`: for comparison.
    baseline: Option<Replayer<'a, MessageNetwork<'a>>>,
    now: Picoseconds,
}

impl<'a> SoloPackets<'a> {
    pub(super) fn new(own: MessageNetwork<'a>, baseline: Option<MessageNetwork<'a>>) -> Self {
        let mut own = Replayer::new(own);
        own.record_ranks_by_stretch();
        Self { own, baseline: baseline.map(Replayer::new), now: 0 }
    }

    /// Replays operations.
    ///
    /// # Errors
    /// A failure of the network.
    pub(super) fn replay(&mut self, request: &SoloRequest<'_, 'a>, options: &Options) -> Result<SoloOutcome> {
        let network = match &mut self.baseline {
            Some(baseline) if request.on == SoloNetwork::Baseline => baseline,
            _ => &mut self.own,
        };
        replay(network, &mut self.now, request, options)
    }

    /// Visits each network, at its time.
    pub(super) fn each_network(&mut self, mut visit: impl FnMut(&mut MessageNetwork<'a>, Picoseconds)) {
        for replayer in [&mut self.own].into_iter().chain(&mut self.baseline) {
            visit(replayer.transport(), self.now);
        }
    }
}
