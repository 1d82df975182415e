//! A replay alone in the network: its result, packets and link bytes.

use super::message_network::MessageNetwork;
use crate::engine::Picoseconds;
use crate::phase_packets::{Counts, PhasePackets};
use crate::replay::ReplayResult;
use crate::topology::LinkId;

/// The network of a replay that is alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SoloNetwork {
    /// The network of the model.
    Model,
    /// Flows, where the model is chosen phase by phase.
    Flows,
    /// A network for comparison, which does not count in the results.
    Baseline,
}

/// A finished replay that was alone in the network.
#[derive(Debug, Default)]
pub(super) struct SoloReplay {
    /// `None` if it has no end.
    pub(super) result: Option<ReplayResult>,
    /// By stretch: counts of packets, those after the end in the last one; `None` of flows.
    pub(super) packets: Option<Vec<PhasePackets>>,
    /// By stretch: bytes that links carried from the last rank's entry into it to the last rank's
    /// entry into the next.
    pub(super) carried: Vec<Vec<(LinkId, f64)>>,
    /// Bytes that links carried after its end, for which no rank waited.
    pub(super) tail: Vec<(LinkId, f64)>,
}

impl SoloReplay {
    /// Adds the counts of the network since the previous interval to the last of `stretches`
    /// stretches. Of stretches that end at one time, only the last one counts.
    pub(super) fn add_interval(&mut self, stretches: usize, since: NetworkInterval) {
        if let Some(counted) = since.packets {
            let packets = self.packets.get_or_insert_default();
            packets.resize(stretches - 1, PhasePackets::default());
            packets.push(counted);
        }
        self.carried.resize(stretches - 1, Vec::new());
        self.carried.push(since.carried);
    }

    /// Adds the counts of the network after the end.
    pub(super) fn add_rest(&mut self, since: NetworkInterval) {
        let last = self.packets.as_mut().and_then(|packets| packets.last_mut());
        if let Some((last, counted)) = last.zip(since.packets) {
            last.add(&counted.without_carried());
        }
        self.tail = since.carried;
    }
}

/// Counts of a network between two readings of its counters.
pub(super) struct NetworkInterval {
    packets: Option<PhasePackets>,
    carried: Vec<(LinkId, f64)>,
}

impl NetworkInterval {
    /// Counts from the reading `before` until `now`; `before` becomes the present reading.
    pub(super) fn measure(
        network: &mut MessageNetwork<'_>,
        before: &mut Option<Counts>,
        job: u32,
        now: Picoseconds,
    ) -> Self {
        let after = network.take_counts(now);
        let packets = before.take().zip(after.clone());
        let packets = packets.map(|(before, after)| PhasePackets::between(&before, after));
        *before = after;
        let carried = match &packets {
            Some(packets) => packets.carried().collect(),
            None => network.take_owner_traffic(job),
        };
        Self { packets, carried }
    }
}
