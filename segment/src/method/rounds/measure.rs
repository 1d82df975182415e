//! How different two stretches behave, from 0 to about 1.
//!
//! For each view of the [sketch](crate::window::sketch) the Jensen-Shannon divergence (Lin 1991) of the two distributions in
//! bits, 0 for equal and 1 for disjoint ones, both sides weighing the same so that a short stretch is told from a long one.
//! What two samples of one distribution would show by chance is taken off: (k−1)/(8 ln 2) · (1/m + 1/n) for k bins and m and n
//! messages in the mean, and as many standard deviations as [`SURE`] says (the divergence of samples is a χ² in the limit;
//! Grosse et al. 2002). The mean over the views, and the difference of the rates, make the measure.

use crate::window::sketch::{BINS, Sketch, VIEWS};

/// Standard deviations of the sampling error that a difference must exceed.
const SURE: f32 = 2.0;

/// Rates that differ by up to so many octaves are equal …
const STEADY: f32 = 0.25;
/// … and each octave more counts as much as this, …
const OCTAVE: f32 = 0.25;
/// … up to so much.
const FASTEST: f32 = 0.5;

/// The first views are of offsets and pairs.
const PAIRS: usize = 2;

/// A stretch as it is compared with others.
#[derive(Clone, Debug)]
pub(super) struct Behaviour {
    pub(super) sketch: Sketch,
    /// Messages.
    pub(super) messages: f64,
    /// Time without idleness, nanoseconds; 0 if it is not known.
    pub(super) active_ns: f64,
    /// Whole rounds were seen, so that pairs and offsets mean something.
    pub(super) whole: bool,
    shares: Box<[f32; BINS]>,
    /// Σ p log₂ p of each view.
    inner: [f32; VIEWS.len()],
}

impl Behaviour {
    pub(super) fn new(sketch: Sketch, active_ns: f64, whole: bool) -> Self {
        let messages = sketch.messages() as f64;
        let mut behaviour = Self {
            sketch,
            messages,
            active_ns,
            whole,
            shares: Box::new([0.0; BINS]),
            inner: [0.0; VIEWS.len()],
        };
        behaviour.settle();
        behaviour
    }

    /// Adds what another stretch did.
    pub(super) fn merge(&mut self, other: &Behaviour) {
        self.add(other);
        self.settle();
    }

    /// As [`merge`](Self::merge), to be followed by [`settle`](Self::settle).
    pub(super) fn add(&mut self, other: &Behaviour) {
        self.sketch.merge(&other.sketch);
        self.messages += other.messages;
        self.active_ns += other.active_ns;
        self.whole |= other.whole;
    }

    /// A stretch of which `share` is like `self`, the rest like `other`.
    pub(super) fn mixture(&self, other: &Behaviour, share: f64) -> Behaviour {
        let mut mixture = self.clone();
        for (mine, theirs) in mixture.shares.iter_mut().zip(other.shares.iter()) {
            *mine = share as f32 * *mine + (1.0 - share as f32) * theirs;
        }
        for (view, inner) in VIEWS.into_iter().zip(&mut mixture.inner) {
            *inner = view.of(&mixture.shares[..]).iter().map(|share| weighted_log(*share)).sum();
        }
        mixture.messages = self.messages.min(other.messages);
        mixture
    }

    /// Computes what comparisons need.
    pub(super) fn settle(&mut self) {
        for (view, inner) in VIEWS.into_iter().zip(&mut self.inner) {
            let counts = view.of(&self.sketch.0);
            let sum = counts.iter().sum::<u64>().max(1) as f32;
            let shares = view.of_mut(&mut self.shares[..]);
            *inner = 0.0;
            for (share, count) in shares.iter_mut().zip(counts) {
                *share = *count as f32 / sum;
                *inner += weighted_log(*share);
            }
        }
    }

    /// How different `self` and `other` are.
    pub(super) fn difference(&self, other: &Behaviour) -> f32 {
        self.difference_of_messages(other) + self.difference_of_rates(other)
    }

    /// How different the messages are, whatever the rate.
    pub(super) fn difference_of_messages(&self, other: &Behaviour) -> f32 {
        let mut sum = 0.0;
        let inverse = (1.0 / self.messages.max(1.0) + 1.0 / other.messages.max(1.0)) as f32;
        let scale = inverse / (8.0 * std::f32::consts::LN_2);
        // Parts of rounds have pairs and offsets of their own, whatever they are parts of.
        let first = if self.whole || other.whole { 0 } else { PAIRS };
        for (number, view) in VIEWS.into_iter().enumerate().skip(first) {
            let (one, other_shares) = (view.of(&self.shares[..]), view.of(&other.shares[..]));
            let (mut outer, mut used) = (0.0, 0.0);
            for (p, q) in one.iter().zip(other_shares) {
                let mean = 0.5 * (p + q);
                outer += weighted_log(mean);
                used += if mean > 0.0 { 1.0 } else { 0.0 };
            }
            let divergence = 0.5 * (self.inner[number] + other.inner[number]) - outer;
            let freedom: f32 = (used - 1.0f32).max(0.0);
            let chance = scale * (freedom + SURE * (2.0 * freedom).sqrt());
            sum += (divergence - chance.min(0.5)).clamp(0.0, 1.0);
        }
        sum / VIEWS.len() as f32
    }

    /// How different the rates are.
    pub(super) fn difference_of_rates(&self, other: &Behaviour) -> f32 {
        if self.active_ns <= 0.0 || other.active_ns <= 0.0 {
            return 0.0;
        }
        let ratio = (self.messages / self.active_ns) / (other.messages / other.active_ns);
        let octaves = ratio.log2().abs() as f32;
        ((octaves - STEADY) * OCTAVE).clamp(0.0, FASTEST)
    }
}

/// x log₂ x, 0 for 0; the logarithm by 2 artanh((m−1)/(m+1)) of the mantissa, to seven terms' accuracy of a float.
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
