//! How different two stretches behave, from 0 to about 1.
//!
//! Each view of the [sketch](crate::first_pass::window::sketch) gives the Jensen-Shannon divergence
//! (Lin 1991) of two distributions in bits: 0 for equal and 1 for disjoint ones. Both sides weigh
//! the same, so that a short stretch is told from a long one. The divergence of two samples of one
//! distribution is subtracted: (k−1)/(8 ln 2) · (1/m + 1/n) in the mean, for k bins and m and n
//! messages, and [`SURE`] standard deviations more. In the limit, it is a χ² (Grosse et al. 2002).
//! The measure is the root mean square over the views, plus the difference of the rates.

use std::sync::Arc;

use phaseflow_collect::trace::Operation;

use super::pairs::{self, GROUPS, Pairs};
use super::windows::RoundWindow;
use crate::first_pass::window::sketch::{BINS, Sketch, VIEWS};

/// Standard deviations of the sampling error that a difference must exceed.
const SURE: f32 = 3.0;

/// Octaves up to which two rates are equal.
const STEADY: f32 = 0.25;
/// So are rates that differ by no more than this number of standard deviations of the windows'
/// rates.
const USUAL: f32 = 1.5;
/// Each octave beyond these counts this much.
const OCTAVE: f32 = 0.25;
/// Rates add at most this to a difference.
const FASTEST: f32 = 0.5;
/// Windows from which a rate is fully trusted; from fewer, it counts in proportion.
const TRUSTED: f32 = 8.0;

/// The views of offsets and of pairs; finer distributions replace pairs.
const OFFSETS: usize = 0;
const PAIRS: usize = 1;
/// The view of sizes.
const SIZES: usize = 2;
/// The view of senders.
const SOURCES: usize = 3;
/// The view of operations.
const OPERATIONS: usize = 5;
/// Sizes that differ by this number of octaves in the mean count as completely different.
const OCTAVES: f32 = 2.0;
/// In each bin, a part of a round may have this many times the round's share.
const EXCERPT: f32 = 4.0;
/// A kind of message is strange to a stretch that has less than this part of its share. Pairs have
/// a limit of their own, as there may be many.
const RARE: f32 = 1.0 / 8.0;
const RARE_PAIR: f32 = 1.0 / 64.0;
/// All of a behaviour's bins.
const ALL: usize = BINS + GROUPS * pairs::BINS;
/// Distributions that are compared.
const PARTS: usize = VIEWS.len() + GROUPS;

/// A stretch, prepared for comparison.
#[derive(Clone, Debug)]
pub(super) struct Behaviour {
    sketch: Sketch,
    pairs: Pairs,
    /// Messages.
    pub(super) messages: f64,
    /// Time without idleness, nanoseconds; 0 if it is not known.
    active_ns: f64,
    /// Messages and windows in that time.
    active_messages: f64,
    active_windows: f32,
    /// Sums of weights, of the windows' rates in octaves, and of their squares. A window weighs the
    /// root of its messages, as few messages give its rate badly.
    octaves: [f64; 3],
    /// Whole rounds were seen, so pairs and offsets mean something.
    whole: bool,
    /// It holds nothing but stray messages.
    pub(super) stray: bool,
    /// Shares of each bin. Copies and stretches that behave alike have them in common.
    shares: Arc<[f32; ALL]>,
    /// Σ p log₂ p of each distribution, and the inverse of its number of messages.
    inner: [f32; PARTS],
    inverse: [f32; PARTS],
}

/// How different two stretches are. *Sure* differences leave out what chance explains.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Difference {
    /// In all views and in rates.
    pub(super) all: f32,
    /// The same without the mean effect of chance.
    pub(super) fair: f32,
    pub(super) sure: f32,
    /// In who sends to whom, and for which operation, which do not drift.
    pub(super) sure_partners: f32,
}

/// Sums of squares over the views: of all, without the mean effect of chance, and without what
/// chance explains.
#[derive(Clone, Copy, Debug, Default)]
struct Squares(f32, f32, f32);

impl Squares {
    fn add(&mut self, (all, fair, sure): (f32, f32, f32)) {
        self.0 += all * all;
        self.1 += fair * fair;
        self.2 += sure * sure;
    }

    fn root(self) -> (f32, f32, f32) {
        let root = |sum: f32| (sum / VIEWS.len() as f32).sqrt();
        (root(self.0), root(self.1), root(self.2))
    }
}

/// The bins of distribution number `part` in `shares`.
fn part(shares: &[f32; ALL], part: usize) -> &[f32] {
    match part.checked_sub(VIEWS.len()) {
        None => VIEWS[part].of(&shares[..]),
        Some(group) => &shares[BINS + group * pairs::BINS..BINS + (group + 1) * pairs::BINS],
    }
}

impl Behaviour {
    /// The behaviour of a window. `before` may be the behaviour of the window before; if both saw
    /// the same, that spares the work.
    pub(super) fn new(window: &RoundWindow, active_ns: Option<u64>, before: Option<&Behaviour>) -> Self {
        let same = |before: &&Behaviour| {
            before.sketch.is_shared_with(&window.sketch) && before.pairs.is_shared_with(&window.pairs)
        };
        let before = before.filter(same);
        let mut behaviour = Self {
            sketch: window.sketch.clone(),
            pairs: window.pairs.clone(),
            messages: window.messages as f64,
            active_ns: active_ns.unwrap_or(0) as f64,
            active_messages: active_ns.map_or(0.0, |_| window.messages as f64),
            active_windows: active_ns.map_or(0.0, |_| 1.0),
            octaves: octaves(window.messages, active_ns),
            whole: !window.part,
            stray: window.stray,
            shares: before.map_or_else(|| Arc::new([0.0; ALL]), |before| Arc::clone(&before.shares)),
            inner: before.map_or([0.0; PARTS], |before| before.inner),
            inverse: before.map_or([0.0; PARTS], |before| before.inverse),
        };
        if before.is_none() {
            behaviour.settle();
        }
        behaviour
    }

    /// Adds another stretch.
    pub(super) fn merge(&mut self, other: &Behaviour) {
        self.sketch.merge(&other.sketch);
        self.pairs.merge(&other.pairs);
        self.messages += other.messages;
        self.active_ns += other.active_ns;
        self.active_messages += other.active_messages;
        self.active_windows += other.active_windows;
        self.add_octaves(other.octaves);
        self.whole |= other.whole;
        self.stray &= other.stray;
        if Arc::ptr_eq(&self.shares, &other.shares) {
            self.count();
        } else {
            self.settle();
        }
    }

    /// Adds a window; [`settle`](Self::settle) has to follow.
    pub(super) fn add(&mut self, window: &RoundWindow, active_ns: Option<u64>) {
        self.sketch.merge(&window.sketch);
        self.pairs.merge(&window.pairs);
        self.messages += window.messages as f64;
        if let Some(active_ns) = active_ns {
            self.active_ns += active_ns as f64;
            self.active_messages += window.messages as f64;
            self.active_windows += 1.0;
        }
        self.add_octaves(octaves(window.messages, active_ns));
        self.whole |= !window.part;
        self.stray &= window.stray;
    }

    /// A mixture: `share` of it is like `self`, the rest like `other`.
    pub(super) fn mixture(&self, other: &Behaviour, share: f64) -> Behaviour {
        let mut mixture = self.clone();
        for (mine, theirs) in Arc::make_mut(&mut mixture.shares).iter_mut().zip(other.shares.iter()) {
            *mine = share as f32 * *mine + (1.0 - share as f32) * theirs;
        }
        for (inverse, theirs) in mixture.inverse.iter_mut().zip(&other.inverse) {
            *inverse = inverse.max(*theirs);
        }
        mixture.settle_inner();
        mixture
    }

    /// Computes shares, logarithms and numbers of messages for comparisons.
    pub(super) fn settle(&mut self) {
        let counts = self
            .sketch
            .0
            .iter()
            .map(|count| *count as f32)
            .chain(self.pairs.0.iter().map(|count| *count as f32));
        let shares = Arc::make_mut(&mut self.shares);
        shares.iter_mut().zip(counts).for_each(|(share, count)| *share = count);
        let sums: [f32; PARTS] = std::array::from_fn(|number| part(shares, number).iter().sum());
        for (number, view) in VIEWS.into_iter().enumerate() {
            let sum = sums[number].max(1.0);
            view.of_mut(&mut shares[..]).iter_mut().for_each(|share| *share /= sum);
        }
        for (group, shares) in shares[BINS..].chunks_mut(pairs::BINS).enumerate() {
            let sum = sums[VIEWS.len() + group].max(1.0);
            shares.iter_mut().for_each(|share| *share /= sum);
        }
        self.settle_inner();
        self.count();
    }

    /// Updates the numbers of messages that comparisons use.
    fn count(&mut self) {
        let views = 1.0 / (self.messages as f32).max(1.0);
        self.inverse = std::array::from_fn(|number| match number.checked_sub(VIEWS.len()) {
            None => views,
            Some(_) => 1.0 / (self.messages_of(number) as f32).max(1.0),
        });
    }

    fn settle_inner(&mut self) {
        for number in 0..PARTS {
            let (chunks, _) = part(&self.shares, number).as_chunks::<LANES>();
            self.inner[number] = chunks.iter().fold(0.0, sum_of_logs);
        }
    }

    /// How different `self` and `other` are.
    pub(super) fn difference(&self, other: &Behaviour) -> Difference {
        if self.stray != other.stray {
            return Difference { all: 1.0, fair: 1.0, sure: 1.0, sure_partners: 1.0 };
        }
        let mut difference = self.difference_of_messages(other);
        let rates = self.difference_of_rates(other);
        difference.all += rates;
        difference.fair += rates;
        difference.sure += rates;
        difference
    }

    /// How different the messages are, whatever the rate.
    pub(super) fn difference_of_messages(&self, other: &Behaviour) -> Difference {
        if Arc::ptr_eq(&self.shares, &other.shares) {
            return Difference::default();
        }
        // Parts of rounds have pairs and offsets of their own, even if they are parts of one round.
        let whole = self.whole || other.whole;
        let mut partners = Squares::default();
        for number in (0..VIEWS.len()).filter(|number| *number != PAIRS && *number != SIZES) {
            if number != OFFSETS || whole {
                partners.add(self.divergence(other, number));
            }
        }
        if whole {
            let groups = (VIEWS.len()..PARTS).map(|number| self.divergence(other, number));
            let larger = |a: (f32, f32, f32), b: (f32, f32, f32)| (a.0.max(b.0), a.1.max(b.1), a.2.max(b.2));
            partners.add(groups.fold((0.0, 0.0, 0.0), larger));
        }
        let mut all = partners;
        all.add(self.distance_of_sizes(other));
        let (all, fair, sure) = all.root();
        Difference { all, fair, sure, sure_partners: partners.root().2 }
    }

    /// How far sizes have to move to become the other's, in the mean (earth mover's distance). A
    /// step of a factor is a larger difference than half of it, which a divergence of bins does not
    /// see.
    fn distance_of_sizes(&self, other: &Behaviour) -> (f32, f32, f32) {
        let (mut sum, mut distance) = (0.0f32, 0.0f32);
        for (p, q) in part(&self.shares, SIZES).iter().zip(part(&other.shares, SIZES)) {
            sum += p - q;
            distance += sum.abs();
        }
        let distance = (distance / OCTAVES).min(1.0);
        let (all, fair, sure) = self.divergence(other, SIZES);
        (distance, (distance - (all - fair)).max(0.0), (distance - (all - sure)).max(0.0))
    }

    /// Jensen-Shannon divergence of one distribution: as it is, without the mean effect of chance,
    /// and without what chance explains.
    fn divergence(&self, other: &Behaviour, number: usize) -> (f32, f32, f32) {
        let (own, theirs) = (part(&self.shares, number), part(&other.shares, number));
        if are_equal(own, theirs) {
            return (0.0, 0.0, 0.0);
        }
        let (mut outer, mut used) = (0.0f32, 0.0f32);
        for (p, q) in own.as_chunks::<LANES>().0.iter().zip(theirs.as_chunks::<LANES>().0) {
            let means: [f32; LANES] = std::array::from_fn(|bin| 0.5 * (p[bin] + q[bin]));
            outer = sum_of_logs(outer, &means);
            used += means.iter().map(|mean| if *mean > 0.0 { 1.0 } else { 0.0 }).sum::<f32>();
        }
        let divergence = (0.5 * (self.inner[number] + other.inner[number]) - outer).clamp(0.0, 1.0);
        let freedom = (used - 1.0).max(0.0);
        let scale = (self.inverse[number] + other.inverse[number]) / (8.0 * std::f32::consts::LN_2);
        let (mean, most) = (scale * freedom, scale * (freedom + SURE * (2.0 * freedom).sqrt()));
        (divergence, (divergence - mean).max(0.0), (divergence - most).max(0.0))
    }

    /// The part of these messages that the other stretch could have sent in a part of a round. Each
    /// bin counts up to [`EXCERPT`] times the other's share; of offsets and pairs, the smaller
    /// result counts.
    pub(super) fn covered_by(&self, other: &Behaviour) -> f32 {
        let covered = |number: usize| {
            let messages = 1.0 / self.inverse[number];
            let bins = part(&self.shares, number).iter().zip(part(&other.shares, number));
            // The share of a single message is unreliable.
            let most = |share: f32| (EXCERPT * share * messages + 0.75).floor();
            bins.map(|(own, theirs)| (own * messages).min(most(*theirs))).sum::<f32>()
        };
        let pairs: f32 = (VIEWS.len()..PARTS).map(covered).sum();
        covered(OFFSETS).min(pairs) * self.inverse[OFFSETS]
    }

    /// The part of these messages whose size, operation or pair hardly occurs in the other stretch.
    pub(super) fn strange_to(&self, other: &Behaviour) -> f32 {
        let strange = |number: usize, least: f32| -> f32 {
            let bins = part(&self.shares, number).iter().zip(part(&other.shares, number));
            bins.filter(|(own, theirs)| **theirs <= least * **own).map(|(own, _)| own).sum()
        };
        let pairs: f32 = (VIEWS.len()..PARTS)
            .map(|number| strange(number, RARE_PAIR) * self.messages_of(number) as f32)
            .sum();
        let pairs = pairs / (self.messages as f32).max(1.0);
        strange(SIZES, RARE).max(strange(OPERATIONS, RARE)).max(pairs)
    }

    /// Whether messages are spread over pairs more evenly than the other's, by entropy. Pairs that
    /// share a bin may hide it from one of the two histograms, hardly from both.
    pub(super) fn is_more_even(&self, other: &Behaviour) -> bool {
        // `inner` holds negative entropies.
        let by_group = |own: &Behaviour| -> f32 {
            let groups = (VIEWS.len()..PARTS).map(|number| {
                let share = (own.messages_of(number) / own.messages.max(1.0)) as f32;
                share * own.inner[number] + weighted_log(share)
            });
            groups.sum()
        };
        by_group(self) < by_group(other) || self.inner[PAIRS] < other.inner[PAIRS]
    }

    /// Apparent number of senders: the number with the same entropy if all sent alike.
    pub(super) fn senders(&self) -> f32 {
        (-self.inner[SOURCES]).exp2()
    }

    /// Whether most messages are of barriers.
    pub(super) fn is_barrier(&self) -> bool {
        self.barriers() > 0.5
    }

    /// The part of messages that is of barriers.
    pub(super) fn barriers(&self) -> f32 {
        part(&self.shares, OPERATIONS).get(Operation::Barrier as usize).copied().unwrap_or(0.0)
    }

    /// Messages of a group of pairs.
    fn messages_of(&self, number: usize) -> f64 {
        let group = number - VIEWS.len();
        self.pairs.0[group * pairs::BINS..(group + 1) * pairs::BINS].iter().sum::<u64>() as f64
    }

    /// How different the rates are.
    pub(super) fn difference_of_rates(&self, other: &Behaviour) -> f32 {
        self.gap_of_rates(other) * self.trust(other)
    }

    /// How far both rates can be trusted, from 0 to 1.
    pub(super) fn trust(&self, other: &Behaviour) -> f32 {
        (self.active_windows.min(other.active_windows) / TRUSTED).min(1.0)
    }

    /// How different the rates are, without regard to trust.
    pub(super) fn gap_of_rates(&self, other: &Behaviour) -> f32 {
        if self.active_ns <= 0.0 || other.active_ns <= 0.0 {
            return 0.0;
        }
        let ratio = (self.active_messages / self.active_ns) / (other.active_messages / other.active_ns);
        let octaves = ratio.log2().abs() as f32;
        let usual = USUAL * (0.5 * (self.variance() + other.variance())).sqrt();
        ((octaves - STEADY - usual) * OCTAVE).clamp(0.0, FASTEST)
    }

    fn add_octaves(&mut self, sums: [f64; 3]) {
        self.octaves.iter_mut().zip(sums).for_each(|(sum, own)| *sum += own);
    }

    /// Variance of the windows' rates in octaves.
    fn variance(&self) -> f32 {
        let [weights, sum, squares] = self.octaves;
        let weights = weights.max(1.0);
        let mean = sum / weights;
        (squares / weights - mean * mean).max(0.0) as f32
    }
}

/// The weight of a window, and its rate in octaves and the rate's square, both times the weight; 0
/// if its time is unknown.
fn octaves(messages: u64, active_ns: Option<u64>) -> [f64; 3] {
    let Some(ns) = active_ns else { return [0.0; 3] };
    let messages = messages.max(1) as f64;
    let (weight, octaves) = (messages.sqrt(), (messages / ns.max(1) as f64).log2());
    [weight, weight * octaves, weight * octaves * octaves]
}

/// As `==`, but without an early exit: as vectors, it takes a fraction of the time.
fn are_equal(own: &[f32], theirs: &[f32]) -> bool {
    own.iter().zip(theirs).fold(true, |equal, (own, theirs)| equal & (own.to_bits() == theirs.to_bits()))
}

/// Bins whose logarithms are computed together; each distribution has a multiple of this number.
const LANES: usize = 32;

/// `sum` plus Σ x log₂ x, added in order; logarithms are computed as vectors first.
#[inline]
fn sum_of_logs(sum: f32, shares: &[f32; LANES]) -> f32 {
    let mut logs = [0.0; LANES];
    logs.iter_mut().zip(shares).for_each(|(log, share)| *log = weighted_log(*share));
    logs.iter().fold(sum, |sum, log| sum + log)
}

/// x log₂ x, 0 for 0.
///
/// The logarithm of the mantissa m is 2 artanh((m−1)/(m+1)), a series up to the seventh power,
/// which is as accurate as a float.
#[inline]
fn weighted_log(x: f32) -> f32 {
    // √½ as bits: the mantissa lies between √½ and √2.
    const ROOT: u32 = 0x3f35_04f3;
    let bits = x.to_bits().wrapping_sub(ROOT);
    let exponent = (bits.cast_signed() >> 23) as f32;
    let mantissa = f32::from_bits((bits & 0x007f_ffff).wrapping_add(ROOT));
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let series = s * (1.0 + square * (1.0 / 3.0 + square * (1.0 / 5.0 + square / 7.0)));
    x * (exponent + series * (2.0 / std::f32::consts::LN_2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behaviour(messages: &[(u32, u32, u64)], active_ns: u64) -> Behaviour {
        let columns: (Vec<u32>, Vec<u32>, Vec<u64>) = (
            messages.iter().map(|m| m.0).collect(),
            messages.iter().map(|m| m.1).collect(),
            messages.iter().map(|m| m.2).collect(),
        );
        let mut window = RoundWindow { messages: messages.len() as u64, ..RoundWindow::default() };
        window.add_columns(&columns.0, &columns.1, &columns.2, &vec![0; messages.len()]);
        let mut behaviour = Behaviour::new(&window, Some(active_ns), None);
        // As if known from many windows.
        behaviour.active_windows = TRUSTED;
        behaviour
    }

    fn ring(ranks: u32, step: u32, bytes: u64, rounds: usize) -> Vec<(u32, u32, u64)> {
        (0..ranks).map(|rank| (rank, (rank + step) % ranks, bytes)).collect::<Vec<_>>().repeat(rounds)
    }

    #[test]
    fn weighted_logarithms_are_accurate() {
        for x in [1e-6f32, 0.001, 0.1, 0.3, 0.5, 0.7, 0.99, 1.0, 3.0, 1000.0] {
            let exact = f64::from(x) * f64::from(x).log2();
            assert!((f64::from(weighted_log(x)) - exact).abs() < 1e-6 * (1.0 + exact.abs()), "{x}");
        }
        assert_eq!(weighted_log(0.0), 0.0);
    }

    #[test]
    fn every_bin_of_every_distribution_is_compared() {
        let shares = [0.0; ALL];
        assert!((0..PARTS).all(|number| part(&shares, number).len().is_multiple_of(LANES)));
    }

    #[test]
    fn equal_stretches_do_not_differ_however_long_they_are() {
        let (short, long) =
            (behaviour(&ring(64, 1, 4096, 3), 300), behaviour(&ring(64, 1, 4096, 300), 30_000));
        let difference = short.difference(&long);
        assert!(difference.all < 1e-3 && difference.sure < 1e-3, "{difference:?}");
    }

    #[test]
    fn what_is_shared_is_what_would_be_computed() {
        let (src, dst): (Vec<u32>, Vec<u32>) = ring(64, 1, 0, 3).iter().map(|m| (m.0, m.1)).unzip();
        let bytes: Vec<u64> = (0..src.len()).map(|at| 100 + 7 * at as u64).collect();
        let mut window = RoundWindow { messages: src.len() as u64, ..RoundWindow::default() };
        window.add_columns(&src, &dst, &bytes, &vec![0; src.len()]);
        let one = Behaviour::new(&window, Some(100), None);
        let mut both = Behaviour::new(&window.clone(), Some(100), Some(&one));
        both.merge(&one);
        assert!(Arc::ptr_eq(&both.shares, &one.shares));
        let mut computed = both.clone();
        computed.settle();
        assert_eq!(
            (computed.shares, computed.inner, computed.inverse),
            (both.shares, both.inner, both.inverse)
        );
    }

    #[test]
    fn other_partners_differ_at_any_number_of_ranks() {
        for ranks in [16, 64, 256, 1024, 4096] {
            let one = behaviour(&ring(ranks, 1, 4096, 50), 100);
            let other = behaviour(&ring(ranks, 7, 4096, 50), 100);
            let difference = one.difference(&other);
            // Offsets and pairs are disjoint, the other four views equal.
            let expected = (2.0f32 / 6.0).sqrt();
            assert!((difference.sure_partners - expected).abs() < 0.15, "{ranks}: {difference:?}");
        }
    }

    #[test]
    fn sizes_differ_by_octaves_and_rates_too() {
        let difference = |bytes, active_ns| {
            behaviour(&ring(64, 1, 4096, 50), 1000).difference(&behaviour(&ring(64, 1, bytes, 50), active_ns))
        };
        // Two octaves are as much as one view can show; one is half of it.
        let whole = (1.0f32 / 6.0).sqrt();
        assert!((difference(4 * 4096 + 3, 1000).all - whole).abs() < 0.01);
        assert!((difference(2 * 4096 + 1, 1000).all - whole / 2.0).abs() < 0.01);
        assert!(difference(2 * 4096 + 1, 1000).sure_partners < 1e-3);
        // Four times as slow: two octaves less a quarter octave, each counting a quarter.
        assert!((difference(4096, 4000).all - 1.75 * 0.25).abs() < 1e-3);
        assert!(difference(4096, 1100).all < 1e-3);
    }

    #[test]
    fn a_part_of_a_round_is_covered_by_it_and_strangers_are_not() {
        let round = behaviour(&ring(64, 1, 4096, 50), 100);
        assert!(behaviour(&ring(64, 1, 4096, 1)[..32], 1).covered_by(&round) > 0.99);
        assert!(behaviour(&ring(64, 9, 4096, 1)[..32], 1).covered_by(&round) < 0.1);
    }
}
