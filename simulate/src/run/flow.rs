//! What the flow model adds to the life of jobs: stages whose length comes out of a replay.
//!
//! With sampling, a stage replays the representative of its phase. It is replayed again only where that could give another
//! result: while no other job runs, the length that was found once, likewise without another job, is the length of every
//! occurrence. A job that starts in the middle of such an occurrence meets its traffic from the next one on.
//!
//! Stages follow each other: a phase begins for all ranks when the one before it has ended for the last of them. Without sampling
//! the whole run is one replay, in which ranks run ahead as they like, and a stage ends when the last rank has left it.

use phaseflow_collect::{At, Error, Result};
use rustc_hash::FxHashSet;

use super::job::Job;
use super::program::Program;
use crate::engine::Picoseconds;
use crate::replay::{Account, Ideal, Options, Performance, Player, Script, Stretch, play_alone};
use crate::result::Replayed;
use crate::statistics::seconds;
use crate::topology::{HostId, LinkId, Topology};

/// All replays of a run.
pub(super) struct Flow<'a> {
    pub(super) options: Options,
    pub(super) player: Player<'a, Ideal>,
    pub(super) ended: Vec<Performance>,
    /// The same network for those who are alone, with all routes.
    pub(super) ideal: Ideal,
    replays: u64,
    /// Jobs that started so far.
    pub(super) starts: u64,
}

/// A phase of a job in replay.
#[derive(Debug, Default)]
pub(super) struct Replays {
    /// What came out while no other job ran.
    pub(super) alone: Option<Performance>,
    /// What would come out of a network without limits.
    bounds: Option<Bounds>,
    /// All occurrences together.
    pub(super) sum: Replayed,
    /// Likewise, by rank; empty where phases overlap.
    pub(super) accounts: Vec<Account>,
}

/// What no routing and no faster network can beat.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    /// By stretch: if nobody had to share links.
    unshared: Vec<Picoseconds>,
    /// If links had no limit to their capacity.
    unlimited: Vec<Picoseconds>,
}

/// What runs now.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Replaying {
    /// How many jobs had started when it began, if no other one ran then.
    alone_since: Option<u64>,
}

impl<'a> Flow<'a> {
    pub(super) fn new(options: Options) -> Self {
        let player = Player::new(Ideal::default());
        Self { options, player, ended: Vec::new(), ideal: Ideal::default(), replays: 0, starts: 0 }
    }

    /// Starts a replay for the job at a place.
    pub(super) fn begin(
        &mut self,
        now: Picoseconds,
        place: u32,
        script: &'a Script,
        job: &mut Job,
        is_alone: bool,
    ) {
        self.replays += 1;
        let token = self.replays << 32 | u64::from(place);
        job.replaying = Replaying { alone_since: is_alone.then_some(self.starts) };
        self.player.begin(now, token, script, &job.placement.hosts, self.options);
    }

    /// Messages between two hosts take these links from now on.
    pub(super) fn route(&mut self, topology: &Topology, src: HostId, dst: HostId, links: &[LinkId]) {
        self.player.transport().route(topology, src, dst, links);
        self.ideal.route(topology, src, dst, links);
    }

    /// What bounds a script on hosts whose routes are known.
    pub(super) fn bounds(&mut self, script: &Script, hosts: &[HostId]) -> Bounds {
        let mut times = |infinite: bool| {
            let mut transport = std::mem::take(&mut self.ideal);
            transport.infinite = infinite;
            let (performance, transport) = play_alone(transport, script, hosts, self.options);
            self.ideal = transport;
            self.ideal.infinite = false;
            let stretches = performance.map(|performance| performance.stretches).unwrap_or_default();
            stretches.iter().map(|stretch| stretch.time).collect()
        };
        Bounds { unshared: times(false), unlimited: times(true) }
    }

    /// True if a job has had the network to itself since its replay began; `is_alone` says if it has now.
    pub(super) fn was_alone(&self, replaying: Replaying, is_alone: bool) -> bool {
        is_alone && replaying.alone_since == Some(self.starts)
    }

    /// The error of replays that cannot go on; `job` finds the job at a place.
    pub(super) fn check_dead_end<'j>(
        &self,
        job: impl Fn(u32) -> Option<&'j Job>,
        programs: &[Program<'_>],
    ) -> Result<()> {
        let Some((token, text)) = self.player.dead_end() else { return Ok(()) };
        let error = Err(Error::data(text));
        let Some(job) = job(place_of(token)) else { return error };
        let program = &programs[job.workload];
        let phase =
            program.stages[job.stage].phase.map_or("idle", |phase| program.phases[phase as usize].name);
        error.at(|| format!("job {} ({}): phase {phase}", job.number, program.name))
    }
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
        script.messages().iter().map(|message| (hosts[message.src as usize], hosts[message.dst as usize]));
    pairs.filter(|(src, dst)| src != dst && !has_route(*src, *dst) && seen.insert((src.0, dst.0))).collect()
}

impl Replays {
    /// Adds an occurrence that was simulated; `bounds` works out what bounds it, once.
    pub(super) fn simulated(&mut self, performance: &Performance, bounds: impl FnOnce() -> Bounds) {
        let bounds = self.bounds.get_or_insert_with(bounds).clone();
        self.add(performance, 0, &bounds);
        self.add_ranks(performance);
        self.sum.simulated += 1;
    }

    /// Adds an occurrence that is like the one that was simulated without another job; says how long it takes.
    pub(super) fn again(&mut self) -> Option<Picoseconds> {
        let alone = self.alone.take()?;
        let bounds = self.bounds.take().unwrap_or_default();
        self.add(&alone, 0, &bounds);
        self.add_ranks(&alone);
        let makespan = alone.makespan;
        (self.alone, self.bounds) = (Some(alone), Some(bounds));
        Some(makespan)
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
        sum.compute_s += seconds(account.compute) / ranks;
        sum.overhead_s += seconds(account.overhead) / ranks;
        sum.late_sender_s += seconds(account.late_sender) / ranks;
        sum.late_receiver_s += seconds(account.late_receiver) / ranks;
        sum.network_s += seconds(account.network) / ranks;
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
