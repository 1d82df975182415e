//! A running job, and the hosts it runs on.

use std::rc::Rc;

use phaseflow_collect::{Error, Result};

use super::Setup;
use super::job_demands::JobDemands;
use super::load_summary::LoadSummary;
use super::phase_replays::PhaseReplays;
use super::program::Program;
use super::route_digests::RouteDigests;
use super::senders::Senders;
use crate::collective::Servers;
use crate::engine::Picoseconds;
use crate::link_bytes::LinkBytes;
use crate::phase_packets::PhasePackets;
use crate::process_mapping::Placement;
use crate::replay::{Bounds, JobHosts, ReplayResult};
use crate::result::{Chosen, PhaseRoutes};
use crate::routing::Routes;
use crate::sampling::Estimates;
use crate::topology::{HostId, LinkId, Topology};
use crate::traffic::LinkShare;

/// A running job.
pub(super) struct Job {
    pub(super) number: u32,
    pub(super) workload: usize,
    /// True if its length is known; false if it is nominal, as the trace has no times.
    pub(super) timed: bool,
    pub(super) started: Picoseconds,
    /// Its run time, unless it is replayed.
    pub(super) length: Picoseconds,
    /// Its end by the estimate that schedulers go by.
    pub(super) end: Picoseconds,
    pub(super) hosts: Vec<HostId>,
    pub(super) slots: u64,
    /// Hosts of its ranks, then of its servers.
    pub(super) placement: Placement,
    /// Number of servers.
    pub(super) servers: usize,
    /// By number within the job: the host.
    pub(super) local_hosts: Vec<HostId>,
    pub(super) job_demands: Rc<JobDemands>,
    /// Routes of all its pairs, if routes are chosen once per job.
    pub(super) routes: Option<Routes>,
    /// Changes of the network before these routes.
    pub(super) routed_after: u32,
    /// The routes that its pairs took last, where they may change.
    pub(super) latest_routes: RouteDigests,
    pub(super) stage: usize,
    pub(super) stage_began: Picoseconds,
    /// By phase: `None` before it first begins.
    pub(super) phases: Vec<Option<Box<PhaseOfJob>>>,
    /// Process skew: by rank, how much earlier than the last one it ended the previous stage.
    pub(super) skew: Vec<Picoseconds>,
    /// Estimates of its phases for a job alone in the network; `None` before they are computed.
    pub(super) estimates: Option<Rc<Estimates>>,
    /// Delay of its stages by other jobs, picoseconds; `None` if not requested or unknown.
    pub(super) delay: Option<i128>,
    /// Bytes that links carry in the present stage, if they are known before its end.
    pub(super) coming: LinkBytes,
    /// Bytes of stages that were simulated alone, which links still carry after the last rank has
    /// left them.
    pub(super) tail: LinkBytes,
    /// By phase, idle stretches last: the recorded time of it that has passed.
    pub(super) passed_ns: Vec<u64>,
}

/// A phase that has begun at least once.
#[derive(Default)]
pub(super) struct PhaseOfJob {
    /// Its present load on links.
    pub(super) shares: Vec<LinkShare>,
    /// Changes of the network before its present routes.
    pub(super) routed_after: u32,
    /// Pairs whose route differed from that before, over all occurrences, where routes may change.
    pub(super) changed_routes: u64,
    /// Its load on links in the recorded occurrence, if routes change.
    pub(super) recorded: Vec<LinkShare>,
    pub(super) load_summary: Option<LoadSummary>,
    /// The pairs that send over the most loaded links, in runs with rows per job.
    pub(super) senders: Senders,
    pub(super) routes: Option<PhaseRoutes>,
    pub(super) time: Picoseconds,
    /// Bytes that links carried in that time, from a replay.
    pub(super) carried: LinkBytes,
    pub(super) replays: Option<PhaseReplays>,
    /// Packets of the occurrences that had the network to themselves.
    pub(super) packets: Option<PhasePackets>,
    /// The model that simulates it, with model `auto`.
    pub(super) chosen: Option<Chosen>,
    /// True if others had not.
    pub(super) met_others: bool,
}

impl Job {
    /// Hosts of its ranks, and of its servers.
    pub(super) fn replay_hosts(&self) -> JobHosts<'_> {
        split_hosts(&self.placement, self.servers)
    }

    /// Sets the process skew at the end of a stage.
    pub(super) fn leave(&mut self, result: &ReplayResult) {
        self.skew.clear();
        self.skew.extend(result.ends.iter().map(|end| result.end - end));
    }

    /// Sets the link bytes of a stage of this length that was simulated alone; links carry `tail`
    /// after it. They also carry the tails of earlier stages, up to their capacity.
    pub(super) fn will_carry(
        &mut self,
        topology: &Topology,
        time: Picoseconds,
        carried: &LinkBytes,
        tail: &[(LinkId, f64)],
    ) {
        self.coming = std::mem::take(&mut self.tail);
        self.coming.add(carried.iter(), 1.0);
        self.tail = self.coming.cut(topology, time);
        self.tail.add(tail.iter().copied(), 1.0);
    }

    /// Adds the link bytes of a stretch of a replay of the whole run; those of idle stretches
    /// belong to no phase.
    pub(super) fn carried(&mut self, program: &Program<'_>, stretch: usize, carried: Vec<(LinkId, f64)>) {
        let stage = program.stages.get(if program.merged { 0 } else { stretch });
        let phase = stage.and_then(|stage| stage.phase);
        if let Some(state) = phase.and_then(|phase| self.phases.get_mut(phase as usize)?.as_deref_mut()) {
            state.carried.add(carried, 1.0);
        }
    }

    /// Time that the latest occurrence of a phase with other jobs would take without them, if
    /// known.
    pub(super) fn baseline(&self, phase: u32) -> Option<Picoseconds> {
        self.phases[phase as usize].as_deref()?.replays.as_ref()?.baseline
    }

    /// Adds the time of a part of the job, and its time without other jobs if known.
    pub(super) fn was_delayed(&mut self, time: Picoseconds, alone: Option<Picoseconds>) {
        let more = alone.map(|alone| i128::from(time) - i128::from(alone));
        self.delay = self.delay.zip(more).map(|(delay, more)| delay + more);
    }

    /// Divides the time of a replay of the whole run among the phases of its stages.
    pub(super) fn spread(
        &mut self,
        program: &Program<'_>,
        result: &ReplayResult,
        bounds: &Bounds,
        steps: u32,
    ) {
        for (number, stretch) in result.stretches.iter().enumerate() {
            // With merged phases, all stretches belong to one phase.
            let stage = program.stages[if program.merged { 0 } else { number }];
            let state = stage.phase.and_then(|phase| self.phases.get_mut(phase as usize)?.as_deref_mut());
            if let Some(state) = state {
                state.time += stretch.time;
                let replays = state.replays.get_or_insert_default();
                replays.add(result, number, bounds);
                if let Some(details) = &result.details {
                    replays.paths.add(details, number, 0, steps);
                }
                replays.sum.simulated += u64::from(!program.merged || number == 0);
                replays.sum.makespan_error = Some(0.0);
            }
        }
    }
}

impl PhaseOfJob {
    /// Compares the present load with those before, of earlier routes; true if it is the first or
    /// the worst, which is recorded.
    pub(super) fn is_worse(&mut self, setup: &Setup<'_>, divisor: f64) -> bool {
        let load_summary = LoadSummary::of(setup.topology, &self.shares, |bytes| bytes as f64 / divisor);
        if self.load_summary.is_some_and(|worst| load_summary.max_ratio <= worst.max_ratio) {
            return false;
        }
        self.load_summary = Some(load_summary);
        if setup.changes_routes() {
            self.recorded.clone_from(&self.shares);
        }
        true
    }
}

/// The hosts of ranks and of the servers after them.
pub(super) fn split_hosts(placement: &Placement, servers: usize) -> JobHosts<'_> {
    let (ranks, servers) = placement.hosts.split_at(placement.hosts.len() - servers);
    JobHosts { ranks, servers }
}

/// Refuses a job that has more processes than the network slots.
///
/// # Errors
/// That job.
pub(crate) fn check_slots(
    line: usize,
    (name, ranks): (&str, u32),
    (label, slots): (&str, u64),
) -> Result<()> {
    if u64::from(ranks) <= slots {
        return Ok(());
    }
    Err(Error::data(format!("job {line} ({name}) has {ranks} processes, the topology {label} {slots} slots")))
}

/// Which hosts are free. They are never shared between jobs.
pub(super) struct Machine {
    pub(super) free: Vec<bool>,
    pub(super) free_slots: u64,
    /// By host: how many servers of jobs run there.
    serving: Vec<u32>,
    total_slots: u64,
    largest: u64,
    equal: bool,
}

impl Machine {
    pub(super) fn new(topology: &Topology) -> Self {
        let slots = topology.slots();
        let total_slots = slots.iter().map(|slots| u64::from(*slots)).sum();
        let largest = slots.iter().copied().max().unwrap_or(0);
        Self {
            free: vec![true; slots.len()],
            free_slots: total_slots,
            serving: vec![0; slots.len()],
            total_slots,
            largest: u64::from(largest),
            equal: slots.iter().all(|slots| *slots == largest),
        }
    }

    /// Most slots that a job can occupy: host selectors stop when they have enough, so the hosts
    /// before the last one have at most `processes - 1`.
    pub(super) fn occupied(&self, processes: u32) -> u64 {
        let processes = u64::from(processes);
        let most = if self.equal {
            processes.next_multiple_of(self.largest.max(1))
        } else {
            (processes + self.largest).saturating_sub(1)
        };
        most.min(self.total_slots)
    }

    /// Takes hosts and returns the number of their slots.
    pub(super) fn take(&mut self, hosts: &[HostId], topology: &Topology) -> u64 {
        let mut taken = 0;
        for host in hosts {
            self.free[host.0 as usize] = false;
            taken += u64::from(topology.slots()[host.0 as usize]);
        }
        self.free_slots -= taken;
        taken
    }

    /// Hosts for the servers of a job that has taken `hosts`: its own ones, or other hosts in this
    /// order. Hosts without ranks come first, then those with fewer servers. Of equal hosts the
    /// last one comes first, as linear selection leaves it free the longest.
    pub(super) fn serve(&mut self, servers: Servers, hosts: &[HostId]) -> Vec<HostId> {
        let mut chosen: Vec<HostId> = Vec::new();
        for server in 0..servers.count as usize {
            let load = |host: &usize| (!self.free[*host], self.serving[*host]);
            let host = if servers.is_colocated {
                hosts.get(server % hosts.len().max(1)).map(|host| host.0 as usize)
            } else {
                (0..self.free.len()).rev().min_by_key(load)
            };
            let Some(host) = host else { break };
            self.serving[host] += 1;
            chosen.push(HostId(host as u32));
        }
        chosen
    }

    /// The servers of a job end.
    pub(super) fn stop_serving(&mut self, servers: &[HostId]) {
        for host in servers {
            let serving = &mut self.serving[host.0 as usize];
            *serving = serving.saturating_sub(1);
        }
    }

    /// Hosts become free again.
    pub(super) fn give_back(&mut self, hosts: &[HostId], slots: u64) {
        for host in hosts {
            self.free[host.0 as usize] = true;
        }
        self.free_slots += slots;
    }
}
