//! A job that has the network to itself: its phases from their samples.
//!
//! Each window is replayed once, with nothing else in the network; each sample is a stretch of one, and takes from its last rank's entry to
//! the last rank's entry into what comes next, as stages do in a replay of the whole run. What a phase takes is made of its samples by
//! [regression](crate::regression) on what is known of all its units: how long they took when they were recorded, their messages and bytes.
//!
//! The error has two parts. That of the sample is the regression's. That of the beginnings, where ranks start together and the network is
//! empty, is told by windows that are replayed again with half of what comes before the sample: by so much as the sample
//! changes, it may still be off (the difference between a beginning and one of twice its length, where what is left falls at least as fast as that).

use std::rc::Rc;

use phaseflow_collect::Result;

use super::flow::{Bounds, Flow};
use crate::engine::Picoseconds;
use crate::regression::{Measured, total};
use crate::replay::{Account, PathShare, Performance, Sample, Sampled, Stratum, Traits};
use crate::topology::HostId;

/// What comes of all phases of a job.
#[derive(Debug)]
pub(super) struct Estimates {
    /// By phase.
    phases: Vec<Option<Rc<Estimate>>>,
    idle: Option<Rc<Estimate>>,
}

/// What comes of a phase, all its occurrences together.
#[derive(Debug, Default)]
pub(super) struct Estimate {
    /// How long it took when it was recorded.
    pub(super) recorded_ns: u64,
    /// How long it takes.
    pub(super) time: Picoseconds,
    /// How far off that may be, as part of it.
    pub(super) error: f64,
    /// Samples that were simulated.
    pub(super) simulated: u64,
    /// All ranks together.
    pub(super) account: Account,
    /// By rank.
    pub(super) accounts: Vec<Account>,
    pub(super) path: PathShare,
    /// Shares of its time.
    pub(super) unshared: Option<f64>,
    pub(super) unlimited: Option<f64>,
}

impl Estimate {
    /// The part of it in a stage of this length.
    pub(super) fn share(&self, recorded_ns: u64) -> f64 {
        if self.recorded_ns == 0 { 0.0 } else { recorded_ns as f64 / self.recorded_ns as f64 }
    }
}

/// A script that was played.
struct Played {
    performance: Performance,
    bounds: Bounds,
}

impl Estimates {
    /// Of a phase, or of idle stretches.
    pub(super) fn of(&self, phase: Option<u32>) -> Option<&Rc<Estimate>> {
        match phase {
            Some(phase) => self.phases.get(phase as usize)?.as_ref(),
            None => self.idle.as_ref(),
        }
    }

    /// Replays the windows of a job on `hosts`, whose routes are known.
    ///
    /// # Errors
    /// A dead end.
    pub(super) fn new<'a>(flow: &mut Flow<'a>, sampled: &'a Sampled, hosts: &[HostId]) -> Result<Self> {
        let together = vec![0; hosts.len()];
        let mut played: Vec<Played> = Vec::new();
        let mut same: Vec<usize> = Vec::new();
        for (number, script) in sampled.scripts().iter().enumerate() {
            // Identical stretches are not simulated twice.
            let known = sampled.scripts()[..number].iter().position(|known| known == script);
            same.push(known.map_or(played.len(), |known| same[known]));
            if known.is_none() {
                let performance = flow.alone(script, hosts, &together)?;
                played.push(Played { performance, bounds: flow.bounds(script, hosts, &together) });
            }
        }
        let of = |sample: &Sample| &played[same[sample.script]];
        let mut estimates = Self { phases: Vec::new(), idle: None };
        for stratum in &sampled.strata {
            let mut distinct: Vec<(usize, usize)> =
                stratum.samples.iter().map(|sample| (same[sample.script], sample.stretch)).collect();
            distinct.sort_unstable();
            distinct.dedup();
            let simulated = distinct.len() as u64;
            let estimate = Some(Rc::new(Estimate { simulated, ..estimate(stratum, of) }));
            match stratum.phase {
                None => estimates.idle = estimate,
                Some(phase) => {
                    let phase = phase as usize;
                    estimates.phases.resize(estimates.phases.len().max(phase + 1), None);
                    estimates.phases[phase] = estimate;
                }
            }
        }
        Ok(estimates)
    }
}

fn estimate<'p>(stratum: &Stratum, of: impl Fn(&Sample) -> &'p Played) -> Estimate {
    let time = |sample: &Sample| {
        let stretches = &of(sample).performance.stretches;
        stretches.get(sample.stretch).map_or(0, |stretch| stretch.time)
    };
    let sample: Vec<Measured> = stratum
        .samples
        .iter()
        .map(|sample| Measured { traits: numbers(&sample.traits), value: time(sample) as f64 })
        .collect();
    let found = total(stratum.units, &numbers(&stratum.total), &sample);
    let measured: f64 = sample.iter().map(|unit| unit.value).sum();
    let differences: Vec<f64> =
        stratum.again.iter().map(|(number, again)| sample[*number].value - time(again) as f64).collect();
    let beginnings = differences.iter().map(|difference| difference.abs()).sum::<f64>()
        / differences.len().max(1) as f64
        * stratum.units as f64;
    let mut sum = Sum::default();
    for sample in &stratum.samples {
        sum.add(of(sample), sample.stretch);
    }
    // What the samples spent, as what all spend.
    let factor = if measured > 0.0 { found.value / measured } else { 0.0 };
    let scaled = |time: Picoseconds| (time as f64 * factor).round() as Picoseconds;
    let account = |account: &Account| Account {
        compute: scaled(account.compute),
        overhead: scaled(account.overhead),
        late_sender: scaled(account.late_sender),
        late_receiver: scaled(account.late_receiver),
        network: scaled(account.network),
    };
    let share =
        |bound: Option<Picoseconds>| bound.filter(|_| measured > 0.0).map(|bound| bound as f64 / measured);
    Estimate {
        recorded_ns: stratum.total.duration_ns,
        time: found.value.round() as Picoseconds,
        error: if found.value > 0.0 { (found.error + beginnings) / found.value } else { 0.0 },
        simulated: 0,
        account: account(&sum.account),
        accounts: sum.accounts.iter().map(account).collect(),
        path: PathShare {
            ranks: scaled(sum.path.ranks),
            network: scaled(sum.path.network),
            messages: (sum.path.messages as f64 * factor).round() as u64,
        },
        unshared: share(sum.unshared),
        unlimited: share(sum.unlimited),
    }
}

/// What samples spent.
#[derive(Default)]
struct Sum {
    account: Account,
    accounts: Vec<Account>,
    path: PathShare,
    unshared: Option<Picoseconds>,
    unlimited: Option<Picoseconds>,
}

impl Sum {
    fn add(&mut self, played: &Played, number: usize) {
        let Played { performance, bounds } = played;
        let Some(stretch) = performance.stretches.get(number) else { return };
        self.account.add(&stretch.account, 1);
        self.path.ranks += stretch.path.ranks;
        self.path.network += stretch.path.network;
        self.path.messages += stretch.path.messages;
        let ranks = performance.accounts.len();
        self.accounts.resize(ranks, Account::default());
        let own = performance.in_detail.get(number * ranks..(number + 1) * ranks).unwrap_or_default();
        self.accounts.iter_mut().zip(own).for_each(|(sum, own)| sum.add(own, 1));
        // What comes before can end later where it has the network to itself: then it leaves less to the stretch.
        let bound = |sum: &mut Option<Picoseconds>, bound: Option<Picoseconds>| {
            *sum = bound.map(|bound| sum.unwrap_or(0).saturating_add(bound.min(stretch.time)));
        };
        bound(&mut self.unshared, bounds.unshared(number));
        let unlimited =
            bounds.unlimited(number).map(|time| time.min(bounds.unshared(number).unwrap_or(time)));
        bound(&mut self.unlimited, unlimited);
    }
}

fn numbers(traits: &Traits) -> [f64; 3] {
    [traits.duration_ns as f64, traits.messages as f64, traits.bytes as f64]
}
