//! A replay alone in the network: its result, packets and link bytes.

use phaseflow_collect::Result;

use super::message_network::MessageNetwork;
use crate::engine::Picoseconds;
use crate::phase_packets::{Counts, PhasePackets};
use crate::replay::{JobHosts, Operations, Options, ReplayRequest, ReplayResult, Replayer};
use crate::topology::{HostId, LinkId};

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

/// A replay to simulate; each rank starts `skew` before the last one.
#[derive(Clone, Copy, Debug)]
pub(super) struct SoloRequest<'r, 'a> {
    pub(super) job: u32,
    pub(super) operations: &'a Operations,
    pub(super) hosts: JobHosts<'r>,
    pub(super) skew: &'r [Picoseconds],
    pub(super) on: SoloNetwork,
}

impl SoloRequest<'_, '_> {
    /// By rank, servers last.
    pub(super) fn all_hosts(&self) -> impl Iterator<Item = HostId> {
        self.hosts.all(self.operations.servers())
    }
}

/// What came out.
#[derive(Clone, Debug)]
pub(super) struct SoloOutcome {
    pub(super) replay: SoloReplay,
    /// Why the replay has no end, if it has none.
    pub(super) deadlock: Option<String>,
}

/// Replays operations in an idle network, at the time `clock`, which advances to the end.
///
/// # Errors
/// A failure of the network.
pub(super) fn replay<'a>(
    replayer: &mut Replayer<'a, MessageNetwork<'a>>,
    clock: &mut Picoseconds,
    request: &SoloRequest<'_, 'a>,
    options: &Options,
) -> Result<SoloOutcome> {
    let SoloRequest { job, operations, hosts, skew, on } = *request;
    let last = clock.saturating_add(skew.iter().copied().max().unwrap_or(0));
    let starts: Vec<Picoseconds> = skew.iter().map(|lead| last - lead).collect();
    let mut before = replayer.transport().take_counts(*clock);
    let mut replay = SoloReplay::default();
    let options = if on == SoloNetwork::Baseline { options.without_paths() } else { *options };
    replayer.begin(ReplayRequest { token: 0, job, operations, hosts, starts: &starts, options });
    let mut ended = Vec::new();
    // Messages without a waiting rank must also arrive before the next replay.
    while let Some(now) = replayer.next(Picoseconds::MAX) {
        let was_over = !ended.is_empty();
        replayer.advance(now, &mut ended);
        *clock = now;
        let crossed = replayer.take_crossed().last().map(|crossing| crossing.boundary + 1);
        let over = ended.first().filter(|_| !was_over);
        let stretches = over.map(|result| result.stretches.len()).or(crossed);
        if let Some(stretches) = stretches {
            replay.add_interval(
                stretches,
                NetworkInterval::measure(replayer.transport(), &mut before, job, now),
            );
        }
    }
    // The next replay also begins after the last acknowledgements have arrived.
    *clock = (*clock).max(replayer.transport().now());
    if let Some(failure) = replayer.failure() {
        return Err(failure);
    }
    replay.result = ended.pop();
    let deadlock =
        replay.result.is_none().then(|| replayer.deadlock().map_or_else(String::new, |(_, text)| text));
    let rest = NetworkInterval::measure(replayer.transport(), &mut before, job, *clock);
    replayer.transport().forget_owner_traffic(job);
    match replay.result {
        Some(_) => replay.add_rest(rest),
        None => replay.add_interval(replay.carried.len() + 1, rest),
    }
    Ok(SoloOutcome { replay, deadlock })
}

/// A finished replay that was alone in the network.
#[derive(Clone, Debug, Default)]
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
    /// Bytes that it takes in memory, about.
    pub(super) fn bytes(&self) -> usize {
        let of_result = |result: &ReplayResult| {
            let steps = result.details.as_ref().map_or(0, |details| size_of_val(&details.steps[..]));
            size_of_val(&result.ends[..])
                + size_of_val(&result.stretches[..])
                + size_of_val(&result.accounts[..])
                + size_of_val(&result.accounts_by_stretch[..])
                + steps
        };
        let carried = self.carried.iter().map(|part| size_of_val(&part[..])).sum::<usize>();
        self.result.as_ref().map_or(0, of_result) + carried + size_of_val(&self.tail[..]) + size_of::<Self>()
    }

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
