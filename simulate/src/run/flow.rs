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
use crate::replay::{Ideal, Options, Performance, Player, Script};
use crate::result::Replayed;
use crate::statistics::seconds;
use crate::topology::HostId;

/// All replays of a run.
pub(super) struct Flow<'a> {
    pub(super) options: Options,
    pub(super) player: Player<'a, Ideal>,
    pub(super) ended: Vec<Performance>,
    replays: u64,
    /// Jobs that started so far.
    pub(super) starts: u64,
}

/// A phase of a job in replay.
#[derive(Debug, Default)]
pub(super) struct Replays {
    /// What came out while no other job ran.
    pub(super) alone: Option<Performance>,
    /// All occurrences together.
    pub(super) sum: Replayed,
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
        Self { options, player, ended: Vec::new(), replays: 0, starts: 0 }
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

impl Replayed {
    /// Adds an occurrence; `is_new` if it was simulated and not just counted.
    pub(super) fn add(&mut self, performance: &Performance, is_new: bool) {
        self.simulated += u64::from(is_new);
        let ranks = performance.accounts.len().max(1) as f64;
        for account in &performance.accounts {
            self.compute_s += seconds(account.compute) / ranks;
            self.overhead_s += seconds(account.overhead) / ranks;
            self.late_sender_s += seconds(account.late_sender) / ranks;
            self.late_receiver_s += seconds(account.late_receiver) / ranks;
            self.network_s += seconds(account.network) / ranks;
        }
        self.path_ranks_s += seconds(performance.path.ranks);
        self.path_network_s += seconds(performance.path.network);
    }
}
