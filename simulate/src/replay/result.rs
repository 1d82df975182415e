//! The result of a replay.

use super::account::{Account, PathShare, RankSum, Stretch};
use super::active::{ActiveReplay, RankState};
use super::critical_path::critical_path;
use super::steps::Details;
use super::transport::Transport;
use crate::engine::Picoseconds;

/// The result of a replay that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayResult {
    /// The [token](super::ReplayRequest::token) of the replay.
    pub token: u64,
    /// The end: the time at which the last rank has executed its last operation.
    pub end: Picoseconds,
    /// Time from the last rank's start to the end.
    pub makespan: Picoseconds,
    /// When each rank ended, servers left out.
    pub ends: Vec<Picoseconds>,
    /// The stretches between boundaries, in order.
    pub stretches: Vec<Stretch>,
    /// By rank, servers left out.
    pub accounts: Vec<Account>,
    /// The critical path in detail, if the [options](super::Options) ask for it.
    pub details: Option<Details>,
    /// By stretch, then rank; empty without
    /// [`record_ranks_by_stretch`](super::Replayer::record_ranks_by_stretch).
    pub accounts_by_stretch: Vec<Account>,
}

impl ReplayResult {
    /// The result of a replay whose last rank ended at `end`.
    pub(super) fn new<T: Transport>(replay: ActiveReplay<'_>, end: Picoseconds, transport: &T) -> Self {
        let own = replay.hosts.len() - replay.operations.servers() as usize;
        let (paths, details) = critical_path(&replay, end, transport);
        let began = replay.began;
        let ends = replay.boundaries.iter().chain([&end]);
        let ranks = replay.ranks.len().max(1) as u128;
        // A rank that starts first can end before the last one starts; time counts from the last
        // start.
        let ended = |rank: &RankState| u128::from(rank.ended.unwrap_or(end).saturating_sub(began));
        let ended = replay.ranks.iter().map(ended).sum();
        let means = replay.passed.iter().chain([&ended]);
        let means = means.map(|sum| (sum / ranks) as Picoseconds); // at most the latest
        // Time and its mean count from the last rank's start.
        let (mut since, mut lag) = (began, 0);
        let stretch =
            |(((time, mean), account), path): (((&Picoseconds, Picoseconds), RankSum), PathShare)| {
                let next_lag = (time - began).saturating_sub(mean);
                Stretch {
                    time: time - std::mem::replace(&mut since, *time),
                    lag: std::mem::replace(&mut lag, next_lag),
                    next_lag,
                    account,
                    path,
                }
            };
        Self {
            token: replay.token,
            end,
            makespan: end - began,
            stretches: ends.zip(means).zip(replay.accounts).zip(paths).map(stretch).collect(),
            ends: replay.ranks.iter().take(own).map(|rank| rank.ended.unwrap_or(end)).collect(),
            accounts: replay.ranks.into_iter().take(own).map(|rank| rank.account).collect(),
            details,
            accounts_by_stretch: replay.accounts_by_stretch,
        }
    }

    /// The shares of its critical path.
    pub fn path(&self) -> PathShare {
        self.stretches.iter().fold(PathShare::default(), |sum, stretch| PathShare {
            ranks: sum.ranks + stretch.path.ranks,
            network: sum.network + stretch.path.network,
            messages: sum.messages + stretch.path.messages,
        })
    }
}
