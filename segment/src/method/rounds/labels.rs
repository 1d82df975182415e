//! Which stretches are the same phase: agglomerative clustering (average linkage) of stretches by
//! the evidence that they differ.
//!
//! The evidence between two stretches is the model's own, over all that they hold. Neighbours have
//! been found to differ, so they never get one label.

use kodama::{Method, linkage};

use super::cost::{PRICE, ROUNDS_OF_NUMBER, nats, weaker};
use super::features::{LABELLED, Profile, Rates, SCALES, Units, View};
use super::noise::Noise;

/// Stretches, at most, that are all compared with each other. If there are more, those with the
/// fewest messages join the nearest of these, or found a label.
const COMPARED: usize = 512;

/// Nats of one comparison, at most: three prices. Otherwise one odd pair would decide for whole
/// clusters.
const MOST: f64 = 3.0 * PRICE;

/// Dissimilarity of neighbours. Even as a part of the mean over all pairs of two clusters, it
/// exceeds any price.
const NEVER: f64 = 1e9;

/// Labels of the stretches that begin at `starts`, numbered as they first come.
pub(super) fn labels(units: &Units<'_>, noise: &Noise, starts: &[usize]) -> Vec<u32> {
    let end = |at: usize| starts.get(at + 1).copied().unwrap_or(units.len());
    let stretches: Vec<Stretch> =
        (0..starts.len()).map(|at| Stretch::new(units, noise, (starts[at], end(at)))).collect();
    let dissimilarity = |one: usize, other: usize| {
        if one.abs_diff(other) == 1 && !units.locked[starts[one.max(other)]] {
            return NEVER;
        }
        stretches[one].against(&stretches[other])
    };
    let mut order: Vec<usize> = (0..stretches.len()).collect();
    order.sort_by(|one, other| {
        let messages = |at: usize| stretches[at].rates.messages;
        messages(*other).total_cmp(&messages(*one)).then(one.cmp(other))
    });
    let rest = order.split_off(order.len().min(COMPARED));
    order.sort_unstable();
    let count = order.len();
    let mut condensed = Vec::with_capacity(count * count.saturating_sub(1) / 2);
    for (at, one) in order.iter().enumerate() {
        condensed.extend(order[at + 1..].iter().map(|other| dissimilarity(*one, *other)));
    }
    let steps = linkage(&mut condensed, count, Method::Average);
    // Clusters get the numbers after the stretches, in the order of the steps.
    let mut becomes: Vec<usize> = (0..count + steps.steps().len()).collect();
    for (at, step) in steps.steps().iter().enumerate().filter(|(_, step)| step.dissimilarity < PRICE) {
        becomes[step.cluster1] = count + at;
        becomes[step.cluster2] = count + at;
    }
    let mut found = vec![0; stretches.len()];
    for (at, own) in order.iter().enumerate() {
        let mut cluster = at;
        while becomes[cluster] != cluster {
            cluster = becomes[cluster];
        }
        found[*own] = cluster;
    }
    let mut known = order;
    for own in rest {
        let mut nearest = (PRICE, None);
        for other in &known {
            let nats = dissimilarity(own, *other);
            if nats < nearest.0 {
                nearest = (nats, Some(*other));
            }
            // None is nearer than one that does not differ.
            if nats <= 0.0 {
                break;
            }
        }
        match nearest.1 {
            Some(other) => found[own] = found[other],
            None => {
                found[own] = becomes.len() + own;
                known.push(own);
            }
        }
    }
    let mut names = std::collections::BTreeMap::new();
    let named = found.into_iter().map(|cluster| {
        let next = names.len() as u32;
        *names.entry(cluster).or_insert(next)
    });
    named.collect()
}

/// A stretch, as it is compared with others.
struct Stretch {
    profile: Profile,
    rates: Rates,
    /// [`Units::effective_messages`].
    effective: f64,
    /// For each view, the noise in the middle at the largest scale that is not longer.
    usual: [f64; LABELLED.len()],
}

impl Stretch {
    fn new(units: &Units<'_>, noise: &Noise, (from, to): (usize, usize)) -> Self {
        let scale = SCALES.iter().rposition(|scale| *scale <= to - from).unwrap_or(0);
        let middle = usize::midpoint(from, to);
        let usual = |view: usize| 0.5 * (noise.at(scale, view, 0, middle) + noise.at(scale, view, 1, middle));
        Self {
            profile: Profile::new(units, std::iter::once((from, to))),
            rates: units.rates(from, to),
            effective: units.effective_messages(from, to),
            usual: std::array::from_fn(usual),
        }
    }

    /// The evidence in nats that this one and another are two phases.
    fn against(&self, other: &Self) -> f64 {
        let (one, two) = (&self.rates, &other.rates);
        let largest = SCALES[SCALES.len() - 1] as f64;
        let rounds = weaker((one.rounds, two.rounds), (one.messages, two.messages)).min(largest);
        // The rates come first: they cost least, and often decide alone.
        let mut most = 0.0f64;
        for (at, view) in LABELLED.into_iter().enumerate().rev() {
            if view.is_rate() && one.rounds.min(two.rounds) < ROUNDS_OF_NUMBER {
                continue;
            }
            let normal = 0.5 * (self.usual[at] + other.usual[at]);
            let effective = self.effective.min(other.effective);
            let rounds = if view == View::Bytes { rounds.min(effective) } else { rounds };
            // No distance of shares is greater than 1.
            if view.is_rate() || nats(1.0, normal, rounds, view) > most {
                most = most.max(nats(self.profile.distance(&other.profile, view), normal, rounds, view));
            }
            if most >= MOST {
                return MOST;
            }
        }
        most
    }
}
