//! What the flow and the packet model add to the life of jobs: stages whose length comes out of a replay.
//!
//! With sampling, a job that has the network to itself takes its phases from [samples](super::sampled). Where it has none, or routes change with the
//! phase, or other jobs are there, a stage replays the representative of its phase.
//!
//! - A job that has the network to itself: ranks go from one stage to the next on their own, each when it is done. How much earlier than
//!   the last one each rank enters a stage decides with the phase what comes of it, so a stage is simulated in a clock of its own, and what came out
//!   stands for all later stages of the phase that ranks enter likewise ([`Known`]). Messages of two stages do not meet.
//! - With other jobs, at the beginning of a stage or submitted before its end: it is simulated together with theirs, each time anew; it begins
//!   for all ranks when the one before it has ended for the last.
//!
//! Without sampling the whole run is one replay, and a stage ends when the last rank has left it.

use std::rc::Rc;

use phaseflow_collect::{At, Error, Result};
use rustc_hash::FxHashSet;

use super::RunProgress;
use super::fidelity;
use super::job::Job;
use super::link_bytes::LinkBytes;
use super::model::Model;
use super::packets::PhasePackets;
use super::path::Paths;
use super::picture::GBPS_PER_BYTE_RATE;
use super::program::Program;
use super::sampled::Estimate;
use super::wire::{Counts, Wire};
use crate::engine::Picoseconds;
use crate::packet::FabricOptions;
use crate::replay::{Account, Ideal, MOST_KNOWN, Options, Performance, Player, Script, Stretch, play_alone};
use crate::result::{Chosen, PacketCounts, Replayed, RunStatistics};
use crate::statistics::{rank_seconds, seconds};
use crate::topology::{HostId, LinkId, Topology};

/// All replays of a run.
pub(super) struct Flow<'a> {
    pub(super) options: Options,
    /// Those that share the network.
    pub(super) player: Player<'a, Wire<'a>>,
    pub(super) ended: Vec<Performance>,
    /// Those that have it to themselves, one after the other, on a clock of their own.
    solo: Player<'a, Wire<'a>>,
    /// Likewise, of phases that flows do for, where that is decided phase by phase; and what it is decided by.
    fluid: Option<(Player<'a, Wire<'a>>, FabricOptions)>,
    /// Likewise, of what meets other jobs, to tell what it would take without them; where that is asked for.
    apart: Option<Player<'a, Wire<'a>>>,
    /// True if what waits for ever and what is summed wrongly is a result, and not an error.
    pub(super) allow_hang: bool,
    solo_now: Picoseconds,
    /// The same network without sharing, with all routes.
    pub(super) ideal: Ideal,
    replays: u64,
}

/// What a script that has the network to itself runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum On {
    /// The network of the model.
    Own,
    /// Flows, where the model is chosen phase by phase.
    Flows,
    /// A network whose use is not told.
    Apart,
}

/// A phase of a job in replay.
#[derive(Debug, Default)]
pub(super) struct Replays {
    known: Vec<Known>,
    /// All occurrences together.
    pub(super) sum: Replayed,
    /// Likewise, by rank; empty where phases overlap.
    pub(super) accounts: Vec<Account>,
    pub(super) paths: Paths,
    /// What the latest occurrence that met other jobs would have taken without them, where that is asked for.
    pub(super) apart: Option<Picoseconds>,
    /// The estimate from samples, and the part of the phase, 0 to 1, that it was taken for.
    estimated: Option<(Rc<Estimate>, f64)>,
}

/// What came of a stage that had the network to itself.
#[derive(Debug)]
struct Known {
    /// By rank: how much earlier than the last one it entered.
    leads: Vec<Picoseconds>,
    outcome: Rc<Outcome>,
}

/// What came of a stage, and what bounds it.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) performance: Performance,
    pub(super) bounds: Bounds,
    pub(super) packets: Option<PhasePackets>,
    /// Bytes that links carried in it, and after it of what it sent.
    pub(super) carried: LinkBytes,
    pub(super) tail: Vec<(LinkId, f64)>,
}

/// What became of a script that had the network to itself.
#[derive(Debug, Default)]
pub(super) struct Played {
    /// `None` if it has no end.
    pub(super) performance: Option<Performance>,
    /// By stretch, what became of packets after the end with the last one; `None` of flows.
    pub(super) packets: Option<Vec<PhasePackets>>,
    /// By stretch: bytes that links carried from the last rank's entry into it to the last rank's entry into the next.
    pub(super) carried: Vec<Vec<(LinkId, f64)>>,
    /// Bytes that links carried after its end: nobody waited for them.
    pub(super) tail: Vec<(LinkId, f64)>,
}

impl Played {
    /// Takes note of what happened since the last time: it is of the last one of so many stretches. Stretches that end at one moment have nothing
    /// between them.
    fn look(&mut self, stretches: usize, since: Since) {
        if let Some(counted) = since.packets {
            let packets = self.packets.get_or_insert_default();
            packets.resize(stretches - 1, PhasePackets::default());
            packets.push(counted);
        }
        self.carried.resize(stretches - 1, Vec::new());
        self.carried.push(since.carried);
    }

    /// Takes note of what happened after its end.
    fn look_behind(&mut self, since: Since) {
        let last = self.packets.as_mut().and_then(|packets| packets.last_mut());
        if let Some((last, counted)) = last.zip(since.packets) {
            last.add(&counted.without_carried());
        }
        self.tail = since.carried;
    }
}

/// What happened between two looks at a network.
struct Since {
    packets: Option<PhasePackets>,
    carried: Vec<(LinkId, f64)>,
}

impl Since {
    /// From the look `before`, which becomes the present one, until `now`.
    fn look(wire: &mut Wire<'_>, before: &mut Option<Counts>, job: u32, now: Picoseconds) -> Self {
        let after = wire.take_counts(now);
        let packets = before.take().zip(after.clone());
        let packets = packets.map(|(before, after)| PhasePackets::between(&before, after));
        *before = after;
        let carried = match &packets {
            Some(packets) => packets.carried().collect(),
            None => wire.take_carried(job),
        };
        Self { packets, carried }
    }
}

/// What no routing and no faster network can beat.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    /// By stretch: if nobody had to share links.
    unshared: Vec<Picoseconds>,
    /// If links had no limit to their capacity.
    unlimited: Vec<Picoseconds>,
}

impl Bounds {
    /// Of a stretch, if nobody had to share links.
    pub(super) fn unshared(&self, stretch: usize) -> Option<Picoseconds> {
        self.unshared.get(stretch).copied()
    }

    /// Of a stretch, if links had no limit to their capacity.
    pub(super) fn unlimited(&self, stretch: usize) -> Option<Picoseconds> {
        self.unlimited.get(stretch).copied()
    }
}

impl<'a> Flow<'a> {
    /// `None` for a model that does not replay.
    pub(super) fn new(
        topology: &'a Topology,
        model: &Model,
        progress: Option<&'a RunProgress<'a>>,
    ) -> Result<Option<Self>> {
        let network = || Wire::new(topology, model, progress);
        let (Some(options), Some(shared), Some(own)) = (model.replay(), network()?, network()?) else {
            return Ok(None);
        };
        let mut ideal = Ideal::default();
        if let Some(rate) = options.network.memory_gbps {
            ideal.memory(rate);
        }
        let fluid = match model {
            Model::Packet(model) if model.is_chosen => {
                let flows = Wire::flows_of(topology, &model.options, progress);
                Some((Player::new(flows), model.fabric.worst(topology)))
            }
            _ => None,
        };
        let apart = if options.interference { network()?.map(Player::new) } else { None };
        let allow_hang = matches!(model, Model::Packet(model) if model.allow_hang);
        let (player, mut solo) = (Player::new(shared), Player::new(own));
        solo.tell_ranks_by_stretch();
        Ok(Some(Self {
            options,
            player,
            ended: Vec::new(),
            solo,
            fluid,
            apart,
            allow_hang,
            solo_now: 0,
            ideal,
            replays: 0,
        }))
    }

    /// True if the model is chosen phase by phase.
    pub(super) fn chooses(&self) -> bool {
        self.fluid.is_some()
    }

    /// Which model simulates a phase: [`fidelity::choose`].
    pub(super) fn choose(&self, script: &Script, hosts: &[HostId], peak: Option<f64>, fits: bool) -> Chosen {
        let fabric = self.fluid.as_ref().map(|(_, fabric)| *fabric).unwrap_or_default();
        fidelity::choose(script, hosts, &fabric, peak, fits)
    }

    /// Starts a replay for the job at a place, together with those of other jobs.
    pub(super) fn begin(&mut self, now: Picoseconds, place: u32, script: &'a Script, job: &Job) {
        self.replays += 1;
        let token = self.replays << 32 | u64::from(place);
        let starts = vec![now; script.ranks() as usize];
        self.player.begin(&starts, (token, job.number), script, job.cast(), self.options);
    }

    /// Replays a script whose ranks enter it so much earlier than the last one, with nothing else in the network. No
    /// performance if it has no end, where that is allowed.
    ///
    /// # Errors
    /// A dead end; what the network cannot carry; wrong sums.
    pub(super) fn alone(
        &mut self,
        job: u32,
        script: &'a Script,
        cast: (&[HostId], &[HostId]),
        leads: &[Picoseconds],
        on: On,
    ) -> Result<Played> {
        let solo = match (on, &mut self.fluid, &mut self.apart) {
            (On::Flows, Some((fluid, _)), _) => fluid,
            (On::Apart, _, Some(apart)) => apart,
            _ => &mut self.solo,
        };
        let last = self.solo_now.saturating_add(leads.iter().copied().max().unwrap_or(0));
        let starts: Vec<Picoseconds> = leads.iter().map(|lead| last - lead).collect();
        let mut before = solo.transport().take_counts(self.solo_now);
        let mut played = Played::default();
        let options = if on == On::Apart { self.options.without_paths() } else { self.options };
        solo.begin(&starts, (0, job), script, cast, options);
        let mut ended = Vec::new();
        // What nobody waits for has to be gone, too, before the next one.
        while let Some(now) = solo.next(Picoseconds::MAX) {
            let was_over = !ended.is_empty();
            solo.advance(now, &mut ended);
            self.solo_now = now;
            let crossed = solo.take_crossed().last().map(|crossing| crossing.boundary + 1);
            let over = ended.first().filter(|_| !was_over);
            let stretches = over.map(|performance| performance.stretches.len()).or(crossed);
            if let Some(stretches) = stretches {
                played.look(stretches, Since::look(solo.transport(), &mut before, job, now));
            }
        }
        // Acknowledgements of what arrived last may have gone on: the next script begins when they have arrived, too.
        self.solo_now = self.solo_now.max(solo.transport().now());
        if let Some(failure) = solo.failure() {
            return Err(failure);
        }
        played.performance = ended.pop();
        if played.performance.is_none() && !self.allow_hang {
            let dead_end = solo.dead_end().map_or_else(String::new, |(_, text)| text);
            return Err(Error::data(dead_end));
        }
        let rest = Since::look(solo.transport(), &mut before, job, self.solo_now);
        solo.transport().forget_carried(job);
        match played.performance {
            Some(_) => played.look_behind(rest),
            None => played.look(played.carried.len() + 1, rest),
        }
        if let Some(packets) = played.packets.as_deref().filter(|_| !self.allow_hang) {
            let sum = |part: fn(&PacketCounts) -> u64| packets.iter().map(|of| part(&of.counts)).sum();
            check_sums(sum(|counts| counts.checked_sums), sum(|counts| counts.wrong_sums))?;
        }
        Ok(played)
    }

    /// How long a job's script takes without other jobs, if its ranks begin together and it has an end. Noise is drawn anew.
    ///
    /// # Errors
    /// Those of [`alone`](Self::alone).
    pub(super) fn time_apart(&mut self, job: &Job, script: &'a Script) -> Result<Option<Picoseconds>> {
        let (hosts, servers) = job.cast();
        let together = vec![0; hosts.len()];
        let played = self.alone(job.number, script, (hosts, servers), &together, On::Apart)?;
        Ok(played.performance.map(|performance| performance.makespan))
    }

    /// Messages between two hosts take these links from now on.
    pub(super) fn route(&mut self, topology: &Topology, src: HostId, dst: HostId, links: &[LinkId]) {
        self.player.transport().route(src, dst, links);
        self.solo.transport().route(src, dst, links);
        for other in self.fluid.iter_mut().map(|(fluid, _)| fluid).chain(&mut self.apart) {
            other.transport().route(src, dst, links);
        }
        self.ideal.route(topology, src, dst, links);
    }

    /// Bytes that links carried for a job among others since this was asked last; none are known of packets.
    pub(super) fn take_carried(&mut self, job: u32) -> Vec<(LinkId, f64)> {
        self.player.transport().take_carried(job)
    }

    /// What bounds a script on hosts whose routes are known, and whose ranks enter it so much earlier than the last one.
    pub(super) fn bounds(&mut self, script: &Script, hosts: &[HostId], leads: &[Picoseconds]) -> Bounds {
        let options = self.options.without_paths();
        let mut times = |infinite: bool| {
            let mut transport = std::mem::take(&mut self.ideal);
            transport.infinite = infinite;
            let (performance, transport) = play_alone(transport, script, hosts, leads, options);
            self.ideal = transport;
            self.ideal.infinite = false;
            let stretches = performance.map(|performance| performance.stretches).unwrap_or_default();
            stretches.iter().map(|stretch| stretch.time).collect()
        };
        Bounds { unshared: times(false), unlimited: times(true) }
    }

    /// What was simulated of the links, over all time.
    pub(super) fn describe(&mut self, topology: &Topology, statistics: &mut RunStatistics) {
        let networks = [self.player.transport().flows(), self.solo.transport().flows()];
        let [Some(shared), Some(own)] = networks else { return };
        let networks = [shared, own];
        let usage = |link: LinkId| {
            let [a, b] = networks.map(|network| network.usage(link));
            // Rates are shares of the capacity, and add up to a bit more in the last digit.
            (a.peak_utilization.max(b.peak_utilization).min(1.0), a.peak_flows.max(b.peak_flows))
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

    /// What packets of several jobs came to.
    ///
    /// # Errors
    /// Wrong sums.
    pub(super) fn packets_together(&mut self, now: Picoseconds) -> Result<Option<PhasePackets>> {
        let Some(counts) = self.player.transport().take_counts(now) else { return Ok(None) };
        let packets = PhasePackets::between(&Counts::default(), counts);
        if !self.allow_hang {
            check_sums(packets.counts.checked_sums, packets.counts.wrong_sums)?;
        }
        Ok(Some(packets))
    }

    /// The error of replays that cannot go on; `job` finds the job at a place.
    pub(super) fn check_dead_end<'j>(
        &mut self,
        job: impl Fn(u32) -> Option<&'j Job>,
        programs: &[Program<'_>],
    ) -> Result<()> {
        if let Some(failure) = self.player.failure() {
            return Err(failure);
        }
        let Some((token, text)) = self.player.dead_end().filter(|_| !self.allow_hang) else { return Ok(()) };
        let error = Err(Error::data(text));
        let Some(job) = job(place_of(token)) else { return error };
        let program = &programs[job.workload];
        let phase =
            program.stages[job.stage].phase.map_or("idle", |phase| program.phases[phase as usize].name);
        error.at(|| format!("job {} ({}): phase {phase}", job.number, program.name))
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

/// Pairs of hosts that exchange messages in a script and have no route yet.
pub(super) fn without_route(
    script: &Script,
    hosts: &[HostId],
    has_route: impl Fn(HostId, HostId) -> bool,
) -> Vec<(HostId, HostId)> {
    let mut seen = FxHashSet::default();
    let pairs =
        script.live_messages().map(|message| (hosts[message.src as usize], hosts[message.dst as usize]));
    pairs.filter(|(src, dst)| src != dst && !has_route(*src, *dst) && seen.insert((src.0, dst.0))).collect()
}

impl Replays {
    /// What is known of an occurrence whose ranks enter it like this, if that need not be simulated.
    pub(super) fn known(&self, leads: &[Picoseconds]) -> Option<Rc<Outcome>> {
        let apart = |known: &Known| {
            let pairs = known.leads.iter().zip(leads);
            pairs.map(|(known, lead)| known.abs_diff(*lead)).max().unwrap_or(0)
        };
        let (apart, nearest) =
            self.known.iter().map(|known| (apart(known), known)).min_by_key(|(apart, _)| *apart)?;
        (apart == 0 || self.known.len() as u64 >= MOST_KNOWN).then(|| Rc::clone(&nearest.outcome))
    }

    /// Remembers what came of ranks that entered like this.
    pub(super) fn learn(&mut self, leads: &[Picoseconds], outcome: &Rc<Outcome>) {
        self.known.push(Known { leads: leads.to_vec(), outcome: Rc::clone(outcome) });
    }

    /// Adds an occurrence that began so long after the job; `steps` of its path are kept if it was simulated for itself.
    pub(super) fn occurred(&mut self, outcome: &Outcome, is_new: bool, began: Picoseconds, steps: u32) {
        self.add(&outcome.performance, 0, &outcome.bounds);
        if let Some(details) = &outcome.performance.details {
            if is_new {
                self.paths.add_steps(&details.steps, began, steps);
            }
            self.paths.add_holds(details.holds.as_ref().map(|holds| &holds[0]), 1.0);
        }
        self.add_ranks(&outcome.performance);
        self.sum.simulated += u64::from(is_new);
    }

    /// Adds a part of what a phase takes; `is_first` if nothing of it was added before.
    pub(super) fn add_share(&mut self, estimate: &Rc<Estimate>, share: f64, is_first: bool, steps: u32) {
        let so_far = self.estimated.take().map_or(0.0, |(_, share)| share);
        self.estimated = Some((Rc::clone(estimate), so_far + share));
        let ranks = estimate.accounts.len().max(1) as f64;
        let part = |time: Picoseconds| seconds(time) * share;
        let (sum, account) = (&mut self.sum, &estimate.account);
        sum.compute_s += rank_seconds(account.compute) * share / ranks;
        sum.overhead_s += rank_seconds(account.overhead) * share / ranks;
        sum.late_sender_s += rank_seconds(account.late_sender) * share / ranks;
        sum.late_receiver_s += rank_seconds(account.late_receiver) * share / ranks;
        sum.network_s += rank_seconds(account.network) * share / ranks;
        sum.path_ranks_s += part(estimate.path.ranks);
        sum.path_network_s += part(estimate.path.network);
        for (sum, bound) in
            [(&mut sum.unshared_s, estimate.unshared), (&mut sum.unlimited_s, estimate.unlimited)]
        {
            *sum = bound.map(|bound| sum.unwrap_or(0.0) + bound * part(estimate.time)).or(*sum);
        }
        self.accounts.resize(estimate.accounts.len(), Account::default());
        for (sum, account) in self.accounts.iter_mut().zip(&estimate.accounts) {
            sum.add_part(account, share);
        }
        self.paths.add_holds(estimate.holds.as_ref(), share);
        if is_first {
            self.paths.add_steps(&estimate.steps, 0, steps);
            sum.simulated += estimate.simulated;
            sum.makespan_error = Some(estimate.error()).filter(|error| error.is_finite());
        }
    }

    /// What packets came to according to samples.
    pub(super) fn packets(&self) -> Option<PhasePackets> {
        let (estimate, share) = self.estimated.as_ref()?;
        Some(estimate.packets.as_ref()?.scaled(share.min(1.0)))
    }

    fn add_ranks(&mut self, performance: &Performance) {
        self.accounts.resize(performance.accounts.len(), Account::default());
        for (sum, account) in self.accounts.iter_mut().zip(&performance.accounts) {
            sum.add(account, 1);
        }
    }

    /// Adds one stretch of a replay.
    pub(super) fn add(&mut self, performance: &Performance, stretch: usize, bounds: &Bounds) {
        let ranks = performance.accounts.len().max(1) as f64;
        let Some(Stretch { account, path, .. }) = performance.stretches.get(stretch) else { return };
        let sum = &mut self.sum;
        sum.compute_s += rank_seconds(account.compute) / ranks;
        sum.overhead_s += rank_seconds(account.overhead) / ranks;
        sum.late_sender_s += rank_seconds(account.late_sender) / ranks;
        sum.late_receiver_s += rank_seconds(account.late_receiver) / ranks;
        sum.network_s += rank_seconds(account.network) / ranks;
        sum.path_ranks_s += seconds(path.ranks);
        sum.path_network_s += seconds(path.network);
        for (sum, bound) in
            [(&mut sum.unshared_s, &bounds.unshared), (&mut sum.unlimited_s, &bounds.unlimited)]
        {
            if let Some(time) = bound.get(stretch) {
                *sum = Some(sum.unwrap_or(0.0) + seconds(*time));
            }
        }
    }
}
