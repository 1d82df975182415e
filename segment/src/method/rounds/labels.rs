//! Which stretches are the same phase: agglomerative clustering (average linkage) of stretches by
//! the evidence that they differ.
//!
//! The evidence between two stretches is the model's own, over all that they hold. Neighbours have
//! been found to differ, so they never get one label.

use kodama::{Method, linkage};

use super::cost::{Noise, PRICE, ROUNDS_OF_RATE, SCALES, nats, weaker};
use super::features::{LABELLED, Profile, Units, View};

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
    let spans: Vec<(usize, usize)> = (0..starts.len()).map(|at| (starts[at], end(at))).collect();
    let usual: Vec<[f64; LABELLED.len()]> = spans.iter().map(|span| noise_inside(noise, *span)).collect();
    let profiles: Vec<Profile> =
        spans.iter().map(|span| Profile::new(units, std::iter::once(*span))).collect();
    let dissimilarity = |one: usize, other: usize| {
        if one.abs_diff(other) == 1 && !units.locked[starts[one.max(other)]] {
            return NEVER;
        }
        let distance = |view: View| profiles[one].distance(&profiles[other], view);
        against(units, (spans[one], spans[other]), (&usual[one], &usual[other]), distance)
    };
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by(|one, other| {
        let messages = |at: usize| units.rates(spans[at].0, spans[at].1).messages;
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
    let mut found = vec![0; spans.len()];
    for (at, own) in order.iter().enumerate() {
        let mut cluster = at;
        while becomes[cluster] != cluster {
            cluster = becomes[cluster];
        }
        found[*own] = cluster;
    }
    let mut known = order;
    for own in rest {
        let nearest = known.iter().map(|other| (dissimilarity(own, *other), *other));
        match nearest.min_by(|one, other| one.0.total_cmp(&other.0)) {
            Some((nats, other)) if nats < PRICE => found[own] = found[other],
            _ => {
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

/// The noise in the middle of a stretch, at the largest scale that is not longer than the stretch.
fn noise_inside(noise: &Noise, (from, to): (usize, usize)) -> [f64; LABELLED.len()] {
    let scale = SCALES.iter().rposition(|scale| *scale <= to - from).unwrap_or(0);
    let middle = usize::midpoint(from, to);
    std::array::from_fn(|view| 0.5 * (noise.at(scale, view, 0, middle) + noise.at(scale, view, 1, middle)))
}

/// The evidence in nats that two stretches, which are as far apart as `distance` says for each
/// view, are two phases.
fn against(
    units: &Units<'_>,
    (one, other): ((usize, usize), (usize, usize)),
    usual: (&[f64; LABELLED.len()], &[f64; LABELLED.len()]),
    distance: impl Fn(View) -> f64,
) -> f64 {
    let (a, b) = (units.rates(one.0, one.1), units.rates(other.0, other.1));
    let largest = SCALES[SCALES.len() - 1] as f64;
    let rounds = weaker((a.rounds, b.rounds), (a.messages, b.messages)).min(largest);
    // The rates come first: they cost least, and often decide alone.
    let mut most = 0.0f64;
    for (view, own) in LABELLED.into_iter().enumerate().rev() {
        if own.is_rate() && a.rounds.min(b.rounds) < ROUNDS_OF_RATE {
            continue;
        }
        let normal = 0.5 * (usual.0[view] + usual.1[view]);
        let rounds = if own == View::Bytes {
            rounds.min(units.effective_messages(one.0, one.1)).min(units.effective_messages(other.0, other.1))
        } else {
            rounds
        };
        // No distance of shares is greater than 1.
        if own.is_rate() || nats(1.0, normal, rounds, own) > most {
            most = most.max(nats(distance(own), normal, rounds, own));
        }
        if most >= MOST {
            return MOST;
        }
    }
    most
}
