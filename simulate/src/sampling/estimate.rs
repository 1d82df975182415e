//! Estimates of the phases of a job that has the network to itself, from their samples.
//!
//! The windows are replayed one after the other as one run, alone in the network. Each sample is a
//! stretch of it; its time counts from the last rank's entry to the last rank's entry into the next
//! stretch, as for stages of the whole run. The time of a phase follows from its samples by
//! [regression](super::regression) on the traits of all its units: recorded time, messages, bytes,
//! and the times that ranks compute and wait for each other.
//!
//! The error has two parts: the sampling error of the regression, and the bias of a short warm-up.
//! For the bias, some windows are replayed again with half of the warm-up before their samples. The
//! change of the samples estimates the bias that remains.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use phaseflow_segment::Traits;

use super::regression::{TRAITS, Total, Unit, student, total};
use crate::engine::Picoseconds;
use crate::flow::DelaySums;
use crate::link_bytes::LinkBytes;
use crate::phase_packets::PhasePackets;
use crate::replay::{
    Account, Bounds, PathShare, RankSum, ReplayResult, SampledUnit, Step, Stratum, Stretch, keep_longest,
};
use crate::topology::LinkId;

/// The estimates of all phases of a job.
#[derive(Debug)]
pub(crate) struct Estimates {
    /// By phase.
    phases: Vec<Option<Rc<Estimate>>>,
    idle: Option<Rc<Estimate>>,
}

/// The estimate of a phase, all its occurrences together.
#[derive(Debug, Default)]
pub(crate) struct Estimate {
    /// Recorded time.
    pub(crate) recorded_ns: u64,
    /// How long it takes.
    pub(crate) time: Picoseconds,
    /// Square of the sampling error, in square picoseconds.
    variance: f64,
    /// Bias of the warm-up, picoseconds.
    shift: f64,
    /// True if some units are not simulated.
    left_out: bool,
    /// Samples that were simulated.
    pub(crate) simulated: u64,
    /// All ranks together.
    pub(crate) account: RankSum,
    /// By rank.
    pub(crate) accounts: Vec<Account>,
    pub(crate) path: PathShare,
    /// The longest steps of samples.
    pub(crate) steps: Vec<Step>,
    /// Delays of messages on the path, if requested.
    pub(crate) delays: Option<DelaySums>,
    /// Packet counts.
    pub(crate) packets: Option<PhasePackets>,
    /// Bytes that links carried in its time.
    pub(crate) carried: LinkBytes,
    /// Shares of its time.
    pub(crate) unshared: Option<f64>,
    pub(crate) unlimited: Option<f64>,
}

impl Estimate {
    /// Relative error of the time.
    pub(crate) fn error(&self) -> f64 {
        let time = self.time as f64;
        if self.time == 0 || !self.left_out {
            return 0.0;
        }
        ((self.variance.sqrt() + self.shift) / time).max(LEAST_ERROR)
    }

    /// Adds the estimate of other units of the phase.
    fn add(&mut self, other: Self) {
        let both = |a: Option<f64>, b: Option<f64>, other: &Self, own: Picoseconds| {
            let parts = [(a, own), (b, other.time)].into_iter().filter(|part| part.1 > 0);
            let sum = parts.clone().filter_map(|(part, time)| Some(part? * time as f64)).sum::<f64>();
            let time: f64 = parts.filter(|part| part.0.is_some()).map(|part| part.1 as f64).sum();
            (time > 0.0).then(|| sum / time)
        };
        self.unshared = both(self.unshared, other.unshared, &other, self.time);
        self.unlimited = both(self.unlimited, other.unlimited, &other, self.time);
        self.recorded_ns = self.recorded_ns.saturating_add(other.recorded_ns);
        self.time = self.time.saturating_add(other.time);
        self.variance += other.variance;
        self.shift += other.shift;
        self.left_out |= other.left_out;
        self.simulated += other.simulated;
        self.account.include(&other.account);
        self.accounts.resize(self.accounts.len().max(other.accounts.len()), Account::default());
        self.accounts.iter_mut().zip(&other.accounts).for_each(|(sum, own)| sum.add(own, 1));
        self.path.ranks = self.path.ranks.saturating_add(other.path.ranks);
        self.path.network = self.path.network.saturating_add(other.path.network);
        self.path.messages = self.path.messages.saturating_add(other.path.messages);
        self.steps.extend(other.steps);
        if let Some(delays) = &other.delays {
            self.delays.get_or_insert_default().add_all(delays, 1.0);
        }
        if let Some(packets) = &other.packets {
            self.packets.get_or_insert_default().add(packets);
        }
        self.carried.add(other.carried.iter(), 1.0);
    }

    /// The part of the phase in a stretch of this recorded time.
    pub(crate) fn share(&self, recorded_ns: u64) -> f64 {
        if self.recorded_ns == 0 { 0.0 } else { recorded_ns as f64 / self.recorded_ns as f64 }
    }

    /// Simulated time until this recorded time of the phase has passed. The last call returns the
    /// whole time, so rounding does not add up.
    pub(crate) fn until(&self, recorded_ns: u64) -> Picoseconds {
        (self.time as f64 * self.share(recorded_ns)).round() as Picoseconds // saturates
    }
}

impl Estimates {
    /// The estimate of a phase, or of idle stretches.
    pub(crate) fn of(&self, phase: Option<u32>) -> Option<&Rc<Estimate>> {
        match phase {
            Some(phase) => self.phases.get(phase as usize)?.as_ref(),
            None => self.idle.as_ref(),
        }
    }

    /// Estimates from the replays of the windows; keeps the `path_steps` longest steps of each
    /// phase.
    pub(crate) fn new(found: &WindowReplays, strata: &[Stratum], path_steps: usize) -> Self {
        let found = &Measured::new(found, strata);
        let usual = found.usual_shift(strata);
        // A phase whose blocks repeat to the nanosecond is in a steady state; shifts of other
        // phases do not apply to it.
        let settled: BTreeSet<Option<u32>> =
            strata.iter().filter(|stratum| stratum.identical).map(|stratum| stratum.phase).collect();
        let mut of_phase: BTreeMap<Option<u32>, Estimate> = BTreeMap::new();
        for stratum in strata {
            let least = if settled.contains(&stratum.phase) { 0.0 } else { LEAST_USUAL * LEAST_USUAL };
            of_phase.entry(stratum.phase).or_default().add(found.estimate(stratum, usual.max(least)));
        }
        let mut estimates = Self { phases: Vec::new(), idle: None };
        for (phase, mut estimate) in of_phase {
            keep_longest(&mut estimate.steps, path_steps);
            let estimate = Some(Rc::new(estimate));
            match phase {
                None => estimates.idle = estimate,
                Some(phase) => {
                    let phase = phase as usize;
                    estimates.phases.resize(estimates.phases.len().max(phase + 1), None);
                    estimates.phases[phase] = estimate;
                }
            }
        }
        estimates
    }
}

/// The replays of the windows.
pub(crate) struct WindowReplays {
    pub(crate) result: ReplayResult,
    /// By stretch; none of flows.
    pub(crate) packets: Vec<PhasePackets>,
    /// By stretch: bytes that links carried.
    pub(crate) carried: Vec<Vec<(LinkId, f64)>>,
    pub(crate) bounds: Bounds,
    /// With less before samples.
    pub(crate) again: Vec<Stretch>,
}

/// The replays of the windows, and the times of pieces in them.
struct Measured<'a> {
    found: &'a WindowReplays,
    /// Phases whose occurrences reduce the process skew: at the beginning of a window ranks are
    /// further apart than in the run.
    gathering: BTreeSet<Option<u32>>,
}

impl<'a> Measured<'a> {
    fn new(found: &'a WindowReplays, strata: &[Stratum]) -> Self {
        // Reduction of the lag in each inner piece.
        let mut nearer: BTreeMap<Option<u32>, Vec<f64>> = BTreeMap::new();
        for stratum in strata {
            for sample in stratum.samples.iter().chain(&stratum.certain) {
                let pieces = sample.stretches.iter().zip(&sample.edges);
                let inner = pieces.filter(|(_, edges)| **edges == (false, false));
                let stretches = inner.filter_map(|(number, _)| found.result.stretches.get(*number));
                let by = stretches.map(|stretch| stretch.lag as f64 - stretch.next_lag as f64);
                nearer.entry(stratum.phase).or_default().extend(by);
            }
        }
        let gathering = nearer.into_iter().filter(|(_, by)| is_above_0(by)).map(|(phase, _)| phase);
        Self { found, gathering: gathering.collect() }
    }

    /// Simulated time of a sample of a phase, picoseconds.
    fn time(&self, phase: Option<u32>, sample: &SampledUnit) -> f64 {
        self.time_of(phase, &self.found.result.stretches, &sample.stretches, &sample.edges)
    }

    /// Simulated time of the sample with the shorter warm-up.
    fn time_again(&self, phase: Option<u32>, sample: &SampledUnit) -> f64 {
        self.time_of(phase, &self.found.again, &sample.again, &sample.edges)
    }

    /// Simulated time of stretches, picoseconds: from last entry to last entry at the edges of an
    /// occurrence, from mean entry to mean entry within one. Within an occurrence the lag is the
    /// same at both ends of a piece but for chance. The mean has less variance than the last entry.
    /// If the phase reduces the lag, means overestimate the time, and all times are from last entry
    /// to last entry. Over all pieces of an occurrence both add up to its time.
    fn time_of(
        &self,
        phase: Option<u32>,
        stretches: &[Stretch],
        numbers: &[usize],
        edges: &[(bool, bool)],
    ) -> f64 {
        let gathers = self.gathering.contains(&phase);
        let time = |(number, (begins, ends)): (&usize, &(bool, bool))| {
            let Some(stretch) = stretches.get(*number) else { return 0.0 };
            let before = if *begins || gathers { 0 } else { stretch.lag };
            let after = if *ends || gathers { 0 } else { stretch.next_lag };
            stretch.time as f64 + before as f64 - after as f64
        };
        numbers.iter().zip(edges).map(time).sum()
    }

    /// Relative shifts of the samples of a stratum with a shorter warm-up; one per sample that is
    /// replayed again.
    fn shifts(&self, stratum: &Stratum) -> Vec<f64> {
        let all = || stratum.samples.iter().chain(&stratum.certain);
        let mean =
            all().map(|sample| self.time(stratum.phase, sample)).sum::<f64>() / all().count().max(1) as f64;
        let again = all().filter(|sample| mean > 0.0 && !sample.again.is_empty());
        let change =
            |sample: &SampledUnit| self.time(stratum.phase, sample) - self.time_again(stratum.phase, sample);
        again.map(|sample| change(sample) / mean).collect()
    }

    /// The mean square of all shifts.
    fn usual_shift(&self, strata: &[Stratum]) -> f64 {
        let shifts: Vec<f64> = strata
            .iter()
            .filter(|stratum| stratum.phase.is_some())
            .flat_map(|stratum| self.shifts(stratum))
            .collect();
        mean_square(&shifts)
    }

    fn estimate(&self, stratum: &Stratum, usual_shift: f64) -> Estimate {
        let time = |sample: &SampledUnit| self.time(stratum.phase, sample);
        // Idle stretches have few messages.
        let unit = |traits: &Traits| unit(traits, stratum.phase.is_none());
        let measured = |samples: &[SampledUnit]| -> Vec<(Unit, f64)> {
            samples.iter().map(|sample| (unit(&sample.traits), time(sample))).collect()
        };
        let (sample, alone) = (measured(&stratum.samples), measured(&stratum.certain));
        let others = if stratum.identical {
            identical(stratum, &sample)
        } else {
            total(stratum.units, &unit(&stratum.total), &sample, &alone)
        };
        let certain: f64 = alone.iter().map(|(_, value)| value).sum();
        let value = others.value + certain;

        let shifts = self.shifts(stratum);
        let mean = shifts.iter().sum::<f64>() / shifts.len().max(1) as f64;
        let begins =
            || stratum.samples.iter().chain(&stratum.certain).filter(|sample| sample.begins).count() as f64;
        let shift = if begins() == 0.0 {
            0.0
        } else if (stratum.samples.len() as u64) < stratum.units {
            // Shifts that vary between samples are part of the sampling error, except with a single
            // sample.
            if stratum.identical { SHIFTS * mean.abs() } else { mean.abs() }
        } else {
            let count = shifts.len() as f64;
            let square = (mean_square(&shifts) * count + usual_shift * PRIOR) / (count + PRIOR);
            let all = stratum.samples.len().max(1) as f64;
            mean.abs() + SHIFTS * (square * begins()).sqrt() / all
        };
        let is_drawn = (stratum.samples.len() as u64) < stratum.units && !stratum.identical;
        // A unit that represents only itself does not count for others.
        let mut estimate = self.sum(&stratum.certain).scaled(certain, 1.0);
        // Packets and link bytes scale with bytes, which are known of all units.
        let bytes: f64 = stratum.samples.iter().map(|sample| sample.traits.bytes as f64).sum();
        let by_count = stratum.units as f64 / stratum.samples.len().max(1) as f64;
        let factor = if bytes > 0.0 { stratum.total.bytes as f64 / bytes } else { by_count };
        estimate.add(self.sum(&stratum.samples).scaled(others.value, factor));
        Estimate {
            recorded_ns: stratum.recorded_ns,
            time: value.round() as Picoseconds,
            variance: others.error.powi(2),
            shift: shift * value,
            left_out: is_drawn || shift > SAME,
            simulated: stratum
                .samples
                .iter()
                .chain(&stratum.certain)
                .filter(|sample| !sample.stretches.is_empty())
                .count() as u64,
            ..estimate
        }
    }

    /// The sum of the accounts of samples.
    fn sum(&self, samples: &[SampledUnit]) -> Sum {
        let mut sum = Sum::default();
        for sample in samples {
            sample.stretches.iter().for_each(|stretch| sum.add(self.found, *stretch));
        }
        sum
    }
}

/// Weight of the shifts of other phases, in samples of the phase itself. Half and double change the
/// mean stated error of the bench at `WORTH` in regression.rs by at most 0.01 %.
const PRIOR: f64 = 2.0;
/// Least relative shift of windows that begin within the run. Neither replay has the process skew
/// from before the whole warm-up, so the measured shift can be too small. Quantum ESPRESSO on 8
/// ranks is off by 1.6 % where the replays show a shift, and by 1.5 % where they show none
/// (benches/README.md, *Recordings, sampled and whole*). The error of a phase all of whose units
/// are replayed is proportional to it. In the bench at `WORTH` in regression.rs, half leaves the
/// mean stated error at 1.74 %, double gives 1.77 %.
const LEAST_USUAL: f64 = 0.01;
/// Least relative error of a phase with units that are left out: the time from last entry to last
/// entry depends on which rank is last. In the same bench, half leaves the mean stated error at
/// 1.74 %, double gives 1.78 %.
const LEAST_ERROR: f64 = 0.003;
/// Relative rounding error of sums of times: a sum of n terms in `f64` errs by up to n·2⁻⁵³, so
/// this allows ten million terms.
const SAME: f64 = 1e-9;
/// Half-width of the interval for the mean of a few shifts, in their root mean square: three
/// standard deviations. In the same bench, half gives a mean stated error of 1.72 %, double 1.81 %.
const SHIFTS: f64 = 3.0;

/// True if the mean is significantly above 0 (Student's test at 1 %).
fn is_above_0(values: &[f64]) -> bool {
    let count = values.len() as f64;
    if values.len() < 2 {
        return false;
    }
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    mean > student(count - 1.0) * (variance / count).sqrt()
}

fn mean_square(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>() / values.len().max(1) as f64
}

/// Units that are all like the simulated one.
fn identical(stratum: &Stratum, sample: &[(Unit, f64)]) -> Total {
    let all: f64 = sample.iter().map(|(_, value)| value).sum();
    Total { value: all / sample.len().max(1) as f64 * stratum.units as f64, error: 0.0 }
}

/// The accounts of samples.
#[derive(Default)]
struct Sum {
    time: Picoseconds,
    account: RankSum,
    accounts: Vec<Account>,
    path: PathShare,
    steps: Vec<Step>,
    delays: Option<DelaySums>,
    packets: Option<PhasePackets>,
    carried: LinkBytes,
    unshared: Option<Picoseconds>,
    unlimited: Option<Picoseconds>,
}

impl Sum {
    /// The account of all units, whose total time is `value` and whose bytes are `bytes` times
    /// those of the samples.
    fn scaled(&self, value: f64, bytes: f64) -> Estimate {
        let measured = self.time as f64;
        let factor = if measured > 0.0 { value / measured } else { 0.0 };
        let scaled = |time: Picoseconds| (time as f64 * factor).round() as Picoseconds;
        let scaled_sum = |time: u128| (time as f64 * factor).round() as u128;
        let account = |account: &Account| Account {
            compute: scaled(account.compute),
            overhead: scaled(account.overhead),
            late_sender: scaled(account.late_sender),
            late_receiver: scaled(account.late_receiver),
            network: scaled(account.network),
        };
        let share = |bound: Option<Picoseconds>| {
            bound.filter(|_| measured > 0.0).map(|bound| bound as f64 / measured)
        };
        let mut carried = LinkBytes::default();
        carried.add(self.carried.iter(), bytes);
        Estimate {
            time: value.round() as Picoseconds,
            account: RankSum {
                compute: scaled_sum(self.account.compute),
                overhead: scaled_sum(self.account.overhead),
                late_sender: scaled_sum(self.account.late_sender),
                late_receiver: scaled_sum(self.account.late_receiver),
                network: scaled_sum(self.account.network),
            },
            accounts: self.accounts.iter().map(account).collect(),
            path: PathShare {
                ranks: scaled(self.path.ranks),
                // Together they are the time.
                network: (value.round() as Picoseconds).saturating_sub(scaled(self.path.ranks)),
                messages: (self.path.messages as f64 * factor).round() as u64,
            },
            steps: self.steps.clone(),
            delays: self.delays.as_ref().map(|delays| {
                let mut all = DelaySums::default();
                all.add_all(delays, factor);
                all
            }),
            packets: self.packets.as_ref().map(|packets| packets.scaled(bytes)),
            carried,
            unshared: share(self.unshared),
            unlimited: share(self.unlimited),
            ..Estimate::default()
        }
    }

    fn add(&mut self, found: &WindowReplays, number: usize) {
        let WindowReplays { result, bounds, .. } = found;
        let Some(stretch) = result.stretches.get(number) else { return };
        self.time += stretch.time;
        self.account.include(&stretch.account);
        if let Some(packets) = found.packets.get(number) {
            self.packets.get_or_insert_default().add(packets);
        }
        if let Some(carried) = found.carried.get(number) {
            self.carried.add(carried.iter().copied(), 1.0);
        }
        self.path.ranks += stretch.path.ranks;
        self.path.network += stretch.path.network;
        self.path.messages += stretch.path.messages;
        if let Some(details) = &result.details {
            self.steps.extend_from_slice(details.steps_of(number));
            if let Some(delays) = &details.delays {
                self.delays.get_or_insert_default().add_all(&delays[number], 1.0);
            }
        }
        let ranks = result.accounts.len();
        self.accounts.resize(ranks, Account::default());
        let own = result.accounts_by_stretch.get(number * ranks..(number + 1) * ranks).unwrap_or_default();
        self.accounts.iter_mut().zip(own).for_each(|(sum, own)| sum.add(own, 1));
        // The stretch before can end later without other messages; the present one is then shorter.
        let bound = |sum: &mut Option<Picoseconds>, bound: Option<Picoseconds>| {
            *sum = bound.map(|bound| sum.unwrap_or(0).saturating_add(bound.min(stretch.time)));
        };
        bound(&mut self.unshared, bounds.unshared(number));
        let unlimited =
            bounds.unlimited(number).map(|time| time.min(bounds.unshared(number).unwrap_or(time)));
        bound(&mut self.unlimited, unlimited);
    }
}

/// The size of a stretch is its number of messages, or its recorded time.
fn unit(traits: &Traits, is_idle: bool) -> Unit {
    let Traits { duration_ns, messages, bytes, critical_ns } = *traits;
    let [duration, messages, bytes, critical] =
        [duration_ns, messages, bytes, critical_ns].map(|number| number as f64);
    if is_idle {
        Unit { size: duration, traits: [0.0; TRAITS] }
    } else {
        // Times in picoseconds, the unit of the values.
        Unit { size: messages, traits: [critical * 1000.0, duration * 1000.0, bytes] }
    }
}
