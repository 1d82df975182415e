//! The replayers of a run: replays that share the network, and replays that have it to themselves.
//!
//! With sampling, a job that has the network to itself takes its phases from
//! [estimates](crate::sampling). Without an estimate, with routes that change with the phase, or
//! with other jobs, a stage replays the representative of its phase.
//!
//! - A job alone in the network: each rank goes from one stage to the next on its own. The phase
//!   and the process skew (how much earlier than the last rank each one enters a stage) determine
//!   the result. A stage is therefore simulated on a clock of its own. Later stages of the phase
//!   with the same skew reuse its result, as do other points of a sweep where messages are
//!   [flows](super::solo_flows). Messages of two stages do not share links.
//! - A job with others, at the beginning of a stage or submitted before its end: the stage is
//!   simulated together with theirs, each time anew. It begins for all ranks when the last rank has
//!   ended the previous stage.
//!
//! Without sampling the whole run is one replay, and a stage ends when the last rank has left it.

use phaseflow_collect::{Error, Result};
use rustc_hash::FxHashSet;

use super::RunProgress;
use super::fidelity;
use super::known_replays::KnownReplays;
use super::link_peak::LinkPeak;
use super::message_network::MessageNetwork;
use super::model::PacketModel;
use super::solo::{SoloNetwork, SoloOutcome, SoloReplay, SoloRequest};
use super::solo_flows::SoloFlows;
use super::solo_packets::SoloPackets;
use crate::engine::Picoseconds;
use crate::packet::FabricOptions;
use crate::phase_packets::{Counts, PhasePackets};
use crate::replay::{
    Bounds, Ideal, JobHosts, MessageRoutes, Operations, Options, ReplayRequest, ReplayResult, Replayer,
    replay_alone,
};
use crate::result::{Chosen, PacketCounts, RunStatistics};
use crate::routing::SharedRouter;
use crate::topology::{HostId, LinkId, Topology};
use crate::units::GBPS_PER_BYTE_RATE;

/// All replays of a run.
pub(super) struct Replayers<'a> {
    pub(super) options: Options,
    /// Replays that share the network.
    pub(super) shared: Replayer<'a, MessageNetwork<'a>>,
    pub(super) ended: Vec<ReplayResult>,
    /// Packets of replays alone in the network, one after the other, on a clock of their own;
    /// `None` where all messages are flows.
    packets: Option<SoloPackets<'a>>,
    /// Flows of replays alone in the network.
    flows: SoloFlows<'a>,
    /// Model `auto`: data for the choice of a phase's model.
    fabric: Option<FabricOptions>,
    /// True if deadlocks and wrong sums are results instead of errors.
    pub(super) allow_hang: bool,
    topology: &'a Topology,
    /// The routes of messages as flows, and in the same network without sharing.
    routes: MessageRoutes,
    replays: u64,
}

impl<'a> Replayers<'a> {
    /// Replays whose messages are flows.
    pub(super) fn of_flows(
        topology: &'a Topology,
        router: &SharedRouter,
        options: &Options,
        progress: Option<&'a RunProgress<'a>>,
        known: Option<&'a KnownReplays>,
    ) -> Self {
        let routes = MessageRoutes::of(router);
        let shared = MessageNetwork::flows_of(topology, routes.clone(), options, progress);
        let flows = SoloFlows::new(topology, routes.clone(), *options, progress, known);
        Self::new(topology, routes, *options, shared, flows)
    }

    /// Replays whose messages are packets, or flows too where the model is chosen phase by phase.
    ///
    /// # Errors
    /// Those of the packet network.
    pub(super) fn of_packets(
        topology: &'a Topology,
        model: &PacketModel,
        progress: Option<&'a RunProgress<'a>>,
        known: Option<&'a KnownReplays>,
    ) -> Result<Self> {
        let network = || MessageNetwork::packets_of(topology, model, progress);
        // Packet networks know routes that were set.
        let routes = MessageRoutes::default();
        let flows = SoloFlows::new(topology, routes.clone(), model.options, progress, known);
        let interferes = model.options.interference;
        let packets = SoloPackets::new(network()?, interferes.then(network).transpose()?);
        Ok(Self {
            packets: Some(packets),
            fabric: model.is_chosen.then(|| model.fabric.worst(topology)),
            allow_hang: model.allow_hang,
            ..Self::new(topology, routes, model.options, network()?, flows)
        })
    }

    fn new(
        topology: &'a Topology,
        routes: MessageRoutes,
        options: Options,
        shared: MessageNetwork<'a>,
        flows: SoloFlows<'a>,
    ) -> Self {
        Self {
            options,
            shared: Replayer::new(shared),
            ended: Vec::new(),
            packets: None,
            flows,
            fabric: None,
            allow_hang: false,
            topology,
            routes,
            replays: 0,
        }
    }

    /// True if the model is chosen phase by phase.
    pub(super) fn chooses(&self) -> bool {
        self.fabric.is_some()
    }

    /// The model of a phase: [`fidelity::choose`].
    pub(super) fn choose(
        &self,
        operations: &Operations,
        hosts: &[HostId],
        peak: Option<f64>,
        fits: bool,
    ) -> Chosen {
        let fabric = self.fabric.unwrap_or_default();
        fidelity::choose(operations, hosts, &fabric, peak, fits)
    }

    /// Starts a replay of a job, together with those of other jobs.
    pub(super) fn begin(
        &mut self,
        now: Picoseconds,
        place: u32,
        operations: &'a Operations,
        job: u32,
        hosts: JobHosts<'_>,
    ) {
        self.replays += 1;
        let token = self.replays << 32 | u64::from(place);
        let starts = vec![now; operations.ranks() as usize];
        let request = ReplayRequest { token, job, operations, hosts, starts: &starts, options: self.options };
        self.shared.begin(request);
    }

    /// Replays operations alone in the network; each rank starts `skew` before the last one. No
    /// result for a deadlock, if deadlocks are allowed.
    ///
    /// # Errors
    /// A deadlock; a failure of the network; wrong sums.
    pub(super) fn alone(
        &mut self,
        job: u32,
        operations: &'a Operations,
        hosts: JobHosts<'_>,
        skew: &[Picoseconds],
        on: SoloNetwork,
    ) -> Result<SoloReplay> {
        let request = SoloRequest { job, operations, hosts, skew, on };
        let replay = match &mut self.packets {
            Some(packets) if on != SoloNetwork::Flows => packets.replay(&request, &self.options)?,
            _ => self.flows.replay(&request)?,
        };
        let SoloOutcome { replay, deadlock } = replay;
        if let Some(deadlock) = deadlock.filter(|_| !self.allow_hang) {
            return Err(Error::data(deadlock));
        }
        if let Some(packets) = replay.packets.as_deref().filter(|_| !self.allow_hang) {
            let sum = |part: fn(&PacketCounts) -> u64| packets.iter().map(|of| part(&of.counts)).sum();
            check_sums(sum(|counts| counts.checked_sums), sum(|counts| counts.wrong_sums))?;
        }
        Ok(replay)
    }

    /// Time of a job's operations without other jobs, if all ranks start together; `None` for a
    /// deadlock. Noise is drawn anew.
    ///
    /// # Errors
    /// Those of [`alone`](Self::alone).
    pub(super) fn time_alone(
        &mut self,
        job: u32,
        operations: &'a Operations,
        hosts: JobHosts<'_>,
    ) -> Result<Option<Picoseconds>> {
        let together = vec![0; hosts.ranks.len()];
        let replay = self.alone(job, operations, hosts, &together, SoloNetwork::Baseline)?;
        Ok(replay.result.map(|result| result.makespan))
    }

    /// True if each pair of hosts needs its [route](Self::route) before its first message.
    pub(super) fn takes_routes(&self) -> bool {
        !self.routes.are_asked_for()
    }

    /// True if a pair of hosts has a route.
    pub(super) fn has_route(&self, src: HostId, dst: HostId) -> bool {
        self.routes.has(src, dst)
    }

    /// Room for the routes of `pairs` more pairs, with `links` links in all.
    pub(super) fn reserve_routes(&self, pairs: usize, links: usize) {
        self.routes.reserve(pairs, links);
    }

    /// Messages between two hosts take these links from now on.
    pub(super) fn route(&mut self, src: HostId, dst: HostId, links: &[LinkId]) {
        if !self.routes.set(src, dst, links) {
            return;
        }
        self.shared.transport().route(src, dst, links);
        if let Some(packets) = &mut self.packets {
            packets.each_network(|network, _| network.route(src, dst, links));
        }
    }

    /// Links have failed, so that from `now` on the network is this one. Routes that were set must
    /// avoid them before.
    pub(super) fn fail(&mut self, now: Picoseconds, topology: &'a Topology) {
        self.topology = topology;
        self.shared.transport().fail(now, topology);
        self.flows.fail(topology);
        if let Some(packets) = &mut self.packets {
            packets.each_network(|network, now| network.fail(now, topology));
        }
    }

    /// A pair of hosts has no route any more; the next job that needs one sets it.
    pub(super) fn forget_route(&self, src: HostId, dst: HostId) {
        self.routes.forget(src, dst);
    }

    /// Pairs of hosts whose [route](Self::route) has a failed link.
    pub(super) fn cut_off(&self, topology: &Topology) -> Vec<(HostId, HostId)> {
        self.routes.cut_off(topology)
    }

    /// Bytes that links carried for a job among others since the last call; unknown for packets.
    pub(super) fn take_owner_traffic(&mut self, job: u32) -> Vec<(LinkId, f64)> {
        self.shared.transport().take_owner_traffic(job)
    }

    /// Lower bounds on the time of operations on hosts whose routes are known; `skew` as in
    /// [`alone`](Self::alone).
    pub(super) fn bounds(&self, operations: &Operations, hosts: &[HostId], skew: &[Picoseconds]) -> Bounds {
        let options = self.options.without_paths();
        let (memory, headers) = (options.network.memory_gbps, options.network.headers);
        let ideal = || Ideal::new(self.topology, self.routes.clone(), memory).with_headers(headers);
        let times = |network: Ideal<'_>| {
            let (result, _) = replay_alone(network, operations, hosts, skew, options);
            let stretches = result.map(|result| result.stretches).unwrap_or_default();
            stretches.iter().map(|stretch| stretch.time).collect()
        };
        Bounds { unshared: times(ideal()), unlimited: times(ideal().infinite()) }
    }

    /// Usage of links over the whole simulation.
    pub(super) fn describe(&mut self, topology: &Topology, statistics: &mut RunStatistics) {
        let Some(shared) = self.shared.transport().flows() else { return };
        let alone = self.flows.peaks();
        let usage = |link: LinkId| {
            let together = LinkPeak::of(shared, link);
            let peak = alone.get(link.0 as usize).map_or(together, |alone| together.max(*alone));
            // Rounding of rates can bring their sum slightly above the capacity.
            (peak.utilization.min(1.0), peak.flows)
        };
        let links = || (0..topology.link_count() as u32).map(LinkId);
        let between = || links().filter(|link| topology.between_switches(*link)).map(usage);
        let highest = |sum: Option<f64>, part: f64| Some(sum.map_or(part, |sum| sum.max(part)));
        statistics.max_utilization = links().map(|link| usage(link).0).fold(None, highest);
        // Traffic in bytes per second over capacity in Gbit/s.
        let congestion = between().map(|(used, _)| used / GBPS_PER_BYTE_RATE);
        statistics.max_congestion = congestion.fold(None, highest);
        statistics.max_flows = between().map(|(_, flows)| u64::from(flows)).max();
    }

    /// Packet counts of concurrent jobs.
    ///
    /// # Errors
    /// Wrong sums.
    pub(super) fn packets_together(&mut self, now: Picoseconds) -> Result<Option<PhasePackets>> {
        let Some(counts) = self.shared.transport().take_counts(now) else { return Ok(None) };
        let packets = PhasePackets::between(&Counts::default(), counts);
        if !self.allow_hang {
            check_sums(packets.counts.checked_sums, packets.counts.wrong_sums)?;
        }
        Ok(Some(packets))
    }
}

/// Refuses sums that are wrong.
pub(super) fn check_sums(checked: u64, wrong: u64) -> Result<()> {
    if wrong == 0 {
        return Ok(());
    }
    Err(Error::data(format!(
        "{wrong} of {checked} elements that were summed in the network are wrong: the protocol does not bear what this network does to \
         packets (--allow-hang takes that for a result)"
    )))
}

/// The place of the job that a replay belongs to.
pub(super) fn place_of(token: u64) -> u32 {
    token as u32 // the lower half
}

/// Pairs of hosts that exchange messages in a replay and have no route yet; where receivers reply
/// to messages, also from them to the senders.
pub(super) fn without_route(
    operations: &Operations,
    hosts: &[HostId],
    has_replies: bool,
    has_route: impl Fn(HostId, HostId) -> bool,
) -> Vec<(HostId, HostId)> {
    let mut seen = FxHashSet::default();
    let pairs = operations.live_messages().flat_map(|message| {
        let (src, dst) = (hosts[message.src as usize], hosts[message.dst as usize]);
        [Some((src, dst)), has_replies.then_some((dst, src))].into_iter().flatten()
    });
    pairs.filter(|(src, dst)| src != dst && !has_route(*src, *dst) && seen.insert((src.0, dst.0))).collect()
}
