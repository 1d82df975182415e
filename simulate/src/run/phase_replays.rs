//! The replays of a phase of a job: known outcomes of its occurrences, and sums.

use std::rc::Rc;

use super::path::Paths;
use crate::engine::Picoseconds;
use crate::link_bytes::LinkBytes;
use crate::phase_packets::PhasePackets;
use crate::replay::{Account, Bounds, MOST_KNOWN, ReplayResult, Stretch};
use crate::result::Replayed;
use crate::sampling::Estimate;
use crate::statistics::{rank_seconds, seconds};
use crate::topology::LinkId;

/// The replays of a phase of a job.
#[derive(Debug, Default)]
pub(super) struct PhaseReplays {
    known: Vec<KnownOutcome>,
    /// All occurrences together.
    pub(super) sum: Replayed,
    /// By rank, all occurrences together; empty where phases overlap.
    pub(super) accounts: Vec<Account>,
    pub(super) paths: Paths,
    /// With `interference`: time without other jobs of the latest occurrence that met some.
    pub(super) baseline: Option<Picoseconds>,
    /// The estimate from samples, and the part of the phase, 0 to 1, that it covers.
    estimated: Option<(Rc<Estimate>, f64)>,
}

/// The outcome of a stage that had the network to itself, for one process skew.
#[derive(Debug)]
struct KnownOutcome {
    /// By rank: how much earlier than the last one it entered.
    skew: Vec<Picoseconds>,
    outcome: Rc<Outcome>,
}

/// The result of a stage, its bounds, and the packets and bytes of links.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) result: ReplayResult,
    pub(super) bounds: Bounds,
    pub(super) packets: Option<PhasePackets>,
    /// Bytes that links carried in it.
    pub(super) carried: LinkBytes,
    /// Bytes of its messages that links carried after it.
    pub(super) tail: Vec<(LinkId, f64)>,
}

impl PhaseReplays {
    /// The outcome of an occurrence with this skew, if it need not be simulated.
    pub(super) fn known(&self, skew: &[Picoseconds]) -> Option<Rc<Outcome>> {
        let distance = |known: &KnownOutcome| {
            let pairs = known.skew.iter().zip(skew);
            pairs.map(|(known, lead)| known.abs_diff(*lead)).max().unwrap_or(0)
        };
        let (distance, nearest) =
            self.known.iter().map(|known| (distance(known), known)).min_by_key(|(distance, _)| *distance)?;
        (distance == 0 || self.known.len() as u64 >= MOST_KNOWN).then(|| Rc::clone(&nearest.outcome))
    }

    /// Stores the outcome of an occurrence with this skew.
    pub(super) fn learn(&mut self, skew: &[Picoseconds], outcome: &Rc<Outcome>) {
        self.known.push(KnownOutcome { skew: skew.to_vec(), outcome: Rc::clone(outcome) });
    }

    /// Drops known outcomes, which another network would not have.
    pub(super) fn forget_outcomes(&mut self) {
        self.known.clear();
    }

    /// Adds an occurrence that began `began` after the job; keeps `steps` of its path if it was
    /// simulated itself.
    pub(super) fn occurred(&mut self, outcome: &Outcome, is_new: bool, began: Picoseconds, steps: u32) {
        self.add(&outcome.result, 0, &outcome.bounds);
        if let Some(details) = &outcome.result.details {
            if is_new {
                self.paths.add_steps(&details.steps, began, steps);
            }
            self.paths.add_delays(details.delays.as_ref().map(|delays| &delays[0]), 1.0);
        }
        self.add_ranks(&outcome.result);
        self.sum.simulated += u64::from(is_new);
    }

    /// Adds a part of an estimated phase; `is_first` for the first one.
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
        self.paths.add_delays(estimate.delays.as_ref(), share);
        if is_first {
            self.paths.add_steps(&estimate.steps, 0, steps);
            sum.simulated += estimate.simulated;
            sum.makespan_error = Some(estimate.error()).filter(|error| error.is_finite());
        }
    }

    /// Packet counts estimated from samples.
    pub(super) fn packets(&self) -> Option<PhasePackets> {
        let (estimate, share) = self.estimated.as_ref()?;
        Some(estimate.packets.as_ref()?.scaled(share.min(1.0)))
    }

    fn add_ranks(&mut self, result: &ReplayResult) {
        self.accounts.resize(result.accounts.len(), Account::default());
        for (sum, account) in self.accounts.iter_mut().zip(&result.accounts) {
            sum.add(account, 1);
        }
    }

    /// Adds one stretch of a replay.
    pub(super) fn add(&mut self, result: &ReplayResult, stretch: usize, bounds: &Bounds) {
        let ranks = result.accounts.len().max(1) as f64;
        let Some(Stretch { account, path, .. }) = result.stretches.get(stretch) else { return };
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
