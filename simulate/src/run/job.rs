//! A running job, and the hosts it runs on.

use std::rc::Rc;

use phaseflow_collect::{Error, Result};

use super::job_demands::JobDemands;
use super::load_summary::LoadSummary;
use super::phase_replays::PhaseReplays;
use super::program::Program;
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
    /// True if its length means something, and is not made up for want of any time.
    pub(super) timed: bool,
    pub(super) started: Picoseconds,
    /// How long it runs, where it is not replayed.
    pub(super) length: Picoseconds,
    pub(super) end: Picoseconds,
    pub(super) hosts: Vec<HostId>,
    pub(super) slots: u64,
    /// Of its ranks, then of those that serve.
    pub(super) placement: Placement,
    /// How many serve.
    pub(super) servers: usize,
    /// By number within the job: the host.
    pub(super) local_hosts: Vec<HostId>,
    pub(super) job_demands: Rc<JobDemands>,
    /// Routes of all its pairs, where they are chosen once for several phases.
    pub(super) routes: Option<Routes>,
    pub(super) stage: usize,
    pub(super) stage_began: Picoseconds,
    /// By phase: `None` before it first begins.
    pub(super) phases: Vec<Option<Box<PhaseOfJob>>>,
    /// By rank: how much earlier than the last one it ended the stage before.
    pub(super) skew: Vec<Picoseconds>,
    /// What its phases take while it has the network to itself; `None` before it is known.
    pub(super) estimates: Option<Rc<Estimates>>,
    /// How much longer its stages took than without other jobs, picoseconds, where that is asked
    /// for and known.
    pub(super) delay: Option<i128>,
    /// What links carry in the stage that it is in, where that is known before it ends.
    pub(super) coming: LinkBytes,
    /// What is left to carry of what stages sent that were simulated alone, after their last rank
    /// had left them.
    pub(super) tail: LinkBytes,
    /// By phase, idle stretches last: how much of what was recorded has passed of it meanwhile.
    pub(super) passed_ns: Vec<u64>,
}

/// A phase that has begun at least once.
#[derive(Default)]
pub(super) struct PhaseOfJob {
    /// What it puts on links now.
    pub(super) shares: Vec<LinkShare>,
    /// What it put on them in the occurrence that is recorded, where routes change.
    pub(super) recorded: Vec<LinkShare>,
    pub(super) load_summary: Option<LoadSummary>,
    /// Who sends over the most loaded links, where single jobs are told of.
    pub(super) senders: Senders,
    pub(super) routes: Option<PhaseRoutes>,
    pub(super) time: Picoseconds,
    /// What links carried in that time, where it comes out of a replay.
    pub(super) carried: LinkBytes,
    pub(super) replays: Option<PhaseReplays>,
    /// Of the occurrences that had the network to themselves.
    pub(super) packets: Option<PhasePackets>,
    /// Which model simulates it, where that is left to the run.
    pub(super) chosen: Option<Chosen>,
    /// True if others had not.
    pub(super) met_others: bool,
}

impl Job {
    /// Hosts of its ranks, and of those that serve.
    pub(super) fn replay_hosts(&self) -> JobHosts<'_> {
        split_hosts(&self.placement, self.servers)
    }

    /// Takes note of how much earlier than the last one each rank ended a stage.
    pub(super) fn leave(&mut self, result: &ReplayResult) {
        self.skew.clear();
        self.skew.extend(result.ends.iter().map(|end| result.end - end));
    }

    /// A stage of this length was simulated alone, in which links carry this and after which they
    /// carry the `tail` of it. What stages before it left behind is carried as well, as far as
    /// links have room.
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

    /// Links carried this in a stretch of a replay of the whole run; those of idle stretches are in
    /// no phase.
    pub(super) fn carried(&mut self, program: &Program<'_>, stretch: usize, carried: Vec<(LinkId, f64)>) {
        let stage = program.stages.get(if program.merged { 0 } else { stretch });
        let phase = stage.and_then(|stage| stage.phase);
        if let Some(state) = phase.and_then(|phase| self.phases.get_mut(phase as usize)?.as_deref_mut()) {
            state.carried.add(carried, 1.0);
        }
    }

    /// What the latest occurrence of a phase that met other jobs would have taken without them, if
    /// that is known.
    pub(super) fn baseline(&self, phase: u32) -> Option<Picoseconds> {
        self.phases[phase as usize].as_deref()?.replays.as_ref()?.baseline
    }

    /// A part of it took this long, and would have taken so long without other jobs, if that is
    /// known.
    pub(super) fn was_delayed(&mut self, time: Picoseconds, alone: Option<Picoseconds>) {
        let more = alone.map(|alone| i128::from(time) - i128::from(alone));
        self.delay = self.delay.zip(more).map(|(delay, more)| delay + more);
    }

    /// Puts the time of a replay of the whole run down to the phases of its stages.
    pub(super) fn spread(
        &mut self,
        program: &Program<'_>,
        result: &ReplayResult,
        bounds: &Bounds,
        steps: u32,
    ) {
        for (number, stretch) in result.stretches.iter().enumerate() {
            // Merged, all stretches are of one phase.
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

    /// Most slots that a job may occupy if its host selector stops when it has enough: without its
    /// last host it would have at most `processes - 1`.
    pub(super) fn occupied(&self, processes: u32) -> u64 {
        let processes = u64::from(processes);
        let most = if self.equal {
            processes.next_multiple_of(self.largest.max(1))
        } else {
            (processes + self.largest).saturating_sub(1)
        };
        most.min(self.total_slots)
    }

    /// Takes hosts and says how many slots they have.
    pub(super) fn take(&mut self, hosts: &[HostId], topology: &Topology) -> u64 {
        let mut taken = 0;
        for host in hosts {
            self.free[host.0 as usize] = false;
            taken += u64::from(topology.slots()[host.0 as usize]);
        }
        self.free_slots -= taken;
        taken
    }

    /// Hosts for the servers of a job that has taken `hosts`: its own, or, one for each if there
    /// are enough, hosts that no rank occupies first, those with fewer servers first, and of equal
    /// ones the last, which linear selection leaves free the longest.
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
