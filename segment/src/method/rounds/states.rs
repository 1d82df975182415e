//! Recurring behaviours: each window is of the phase that it is most like, by a hidden Markov
//! model.
//!
//! Merging neighbours takes nothing back. In a loop of short phases, stretches that took in two
//! phases early hide the boundaries between them, and their noise hides more. The other stretches
//! of both phases tell where these boundaries are. The labels are the states. A window costs in
//! each of them the evidence that it differs from all that has this label. The cheapest sequence of
//! states is found as in Viterbi, Error bounds for convolutional codes, IEEE Transactions on
//! Information Theory 13, 1967.
//!
//! A boundary that has been found is paid for. A new one costs what its transition costs:
//! [`PRICE`] once for the kind of transition, divided among all of this kind, and the logarithm of
//! its frequency for each. That is the length of a code that learns the transitions (Rissanen,
//! Modeling by shortest data description, Automatica 14, 1978). No transition costs more than
//! [`PRICE`], so what recurs is found for less. In the next merging, each boundary has to be worth
//! [`PRICE`] by itself again.

use super::cost::{PRICE, nats};
use super::features::{LABELLED, Profile, Units, View};
use super::noise::Noise;

/// States, at most: the labels with the most windows. Stretches with other labels stay.
const MOST: usize = 64;

/// Nats for each window that leaves its label: where windows tell nothing, they keep it. Any small
/// number does.
const LEAVES: f64 = 1e-3;

/// The states, and how often each follows another.
struct States {
    profiles: Vec<Profile>,
    /// By state and the state that follows, in nats.
    prices: Vec<f64>,
}

/// Stretches after each window has got its state: where each begins, and its label.
pub(super) fn assigned(
    units: &Units<'_>,
    noise: &Noise,
    starts: &[usize],
    labels: &[u32],
) -> (Vec<usize>, Vec<u32>) {
    let end = |at: usize| starts.get(at + 1).copied().unwrap_or(units.len());
    let kinds = labels.iter().max().map_or(0, |most| *most as usize + 1);
    let mut lengths = vec![0usize; kinds];
    for (at, label) in labels.iter().enumerate() {
        lengths[*label as usize] += end(at) - starts[at];
    }
    let mut largest: Vec<usize> = (0..kinds).collect();
    largest.sort_by_key(|label| (std::cmp::Reverse(lengths[*label]), *label));
    largest.truncate(MOST);
    let state_of = |label: u32| largest.iter().position(|own| *own == label as usize);
    let own: Vec<Option<usize>> = labels.iter().map(|label| state_of(*label)).collect();
    let known: Vec<Option<usize>> =
        (0..starts.len()).flat_map(|at| std::iter::repeat_n(own[at], end(at) - starts[at])).collect();
    let profile = |state: usize| {
        let stretches = (0..starts.len()).filter(|at| own[*at] == Some(state));
        Profile::new(units, stretches.map(|at| (starts[at], end(at))))
    };
    let states =
        States { profiles: (0..largest.len()).map(profile).collect(), prices: prices(&known, largest.len()) };
    let path = states.path(units, noise, starts, &known);
    // A window whose label is no state keeps it.
    let path: Vec<Option<usize>> =
        known.iter().zip(path).map(|(known, found)| known.and(Some(found))).collect();
    let begins = |unit: &usize| {
        let Some(last) = unit.checked_sub(1) else { return true };
        let stays = path[last].is_none() || path[*unit].is_none();
        path[last] != path[*unit] || units.locked[*unit] || stays && starts.binary_search(unit).is_ok()
    };
    let label = |unit: usize| match path[unit] {
        Some(state) => largest[state] as u32,
        None => labels[starts.partition_point(|start| *start <= unit) - 1],
    };
    (0..units.len()).filter(begins).map(|unit| (unit, label(unit))).unzip()
}

/// What each transition costs in nats, by the states of all windows; to stay costs nothing.
fn prices(states: &[Option<usize>], count: usize) -> Vec<f64> {
    let (mut transitions, mut windows) = (vec![0u32; count * count], vec![0u32; count]);
    states.iter().flatten().for_each(|state| windows[*state] += 1);
    for pair in states.windows(2) {
        if let (Some(one), Some(other)) = (pair[0], pair[1])
            && one != other
        {
            transitions[one * count + other] += 1;
        }
    }
    let price = |(at, times): (usize, &u32)| match *times {
        _ if at / count == at % count => 0.0,
        0 => PRICE,
        times => {
            let times = f64::from(times);
            PRICE.min(PRICE / times - (times / f64::from(windows[at / count])).ln())
        }
    };
    transitions.iter().enumerate().map(price).collect()
}

impl States {
    /// The state of each unit in the cheapest sequence.
    fn path(
        &self,
        units: &Units<'_>,
        noise: &Noise,
        starts: &[usize],
        known: &[Option<usize>],
    ) -> Vec<usize> {
        let count = self.profiles.len();
        let mut costs = self.costs(units, noise, 0, known[0]);
        // For each unit but the first, and each of its states, the state before.
        let mut before: Vec<u8> = Vec::with_capacity(units.len() * count);
        for (unit, own) in known.iter().enumerate().skip(1) {
            let paid = starts.binary_search(&unit).is_ok();
            let cheapest = |state: usize| {
                let cost =
                    |other: usize| costs[other] + if paid { 0.0 } else { self.prices[other * count + state] };
                // Of equal ones, the state stays.
                let stay = (costs[state], state);
                let other = (0..count).map(|other| (cost(other), other));
                other.fold(stay, |best, other| if other.0 < best.0 { other } else { best })
            };
            let best: Vec<(f64, usize)> = (0..count).map(cheapest).collect();
            before.extend(best.iter().map(|best| best.1 as u8));
            costs = self.costs(units, noise, unit, *own);
            costs.iter_mut().zip(best).for_each(|(cost, best)| *cost += best.0);
        }
        let last = (0..count).min_by(|one, other| costs[*one].total_cmp(&costs[*other])).unwrap_or(0);
        let mut path = vec![last];
        for before in before.rchunks_exact(count) {
            path.push(usize::from(before[path[path.len() - 1]]));
        }
        path.reverse();
        path
    }

    /// The evidence in nats against each state of a unit whose state is `known`.
    fn costs(&self, units: &Units<'_>, noise: &Noise, unit: usize, known: Option<usize>) -> Vec<f64> {
        let own = Profile::new(units, std::iter::once((unit, unit + 1)));
        let rounds = units.rates(unit, unit + 1).rounds;
        let effective = units.effective_messages(unit, unit + 1);
        let against = |(at, state): (usize, &Profile)| {
            let leaves = if known == Some(at) { 0.0 } else { LEAVES };
            let nats = LABELLED.into_iter().enumerate().map(|(at, view)| {
                let usual = 0.5 * (noise.at(0, at, 0, unit) + noise.at(0, at, 1, unit + 1));
                let rounds = if view == View::Bytes { rounds.min(effective) } else { rounds };
                nats(own.distance(state, view), usual, rounds, view)
            });
            nats.fold(leaves, f64::max)
        };
        self.profiles.iter().enumerate().map(against).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::features::Rates;
    use super::super::noise::Neighbours;
    use super::*;
    use crate::first_pass::rounds::sums::Sums;

    /// Where stretches of windows of one round each begin, given by the pair that sends eight
    /// messages in it, where stretches with these labels were found.
    fn found(pairs: &[u32], starts: &[usize], labels: &[u32]) -> Vec<usize> {
        let mut sums = vec![Sums::default()];
        for pair in pairs {
            let mut next = sums[sums.len() - 1].clone();
            (0..8).for_each(|_| next.add(*pair, 64));
            sums.push(next);
        }
        let rates = vec![Rates::new(8.0, 512.0, 100.0, 1.0); pairs.len()];
        let sums: Vec<&Sums> = sums.iter().collect();
        let units = Units::new(&sums, (0..=pairs.len()).collect(), &rates, vec![false; pairs.len()]);
        let noise = Neighbours::new(&units).noise(&[], &[]);
        assigned(&units, &noise, starts, labels).0
    }

    #[test]
    fn pure_stretches_tell_what_is_in_a_mixed_one() {
        // Two windows of each of two phases in turn. The stretch from 8 to 16 joined four of them.
        let pairs: Vec<u32> = (0..24).map(|window| window / 2 % 2).collect();
        let starts = [0, 2, 4, 6, 8, 16, 18, 20, 22];
        let own = found(&pairs, &starts, &[0, 1, 0, 1, 2, 0, 1, 0, 1]);
        assert_eq!(own, (0..24).step_by(2).collect::<Vec<_>>());
    }

    #[test]
    fn frequent_transitions_are_cheap() {
        // Two windows of each of two states in turn, and at the end one of a third state.
        let states: Vec<Option<usize>> =
            (0..24).map(|window| Some(window / 2 % 2)).chain([Some(2)]).collect();
        let prices = prices(&states, 3);
        // Six stretches of the first state have twelve windows, and a boundary after each. The
        // second state is followed by the first five times, and by the third once.
        for (at, times) in [(1, 6.0f64), (3, 5.0)] {
            assert!((prices[at] - (PRICE / times - (times / 12.0).ln())).abs() < 1e-9);
        }
        for (at, price) in [(0, 0.0), (2, PRICE), (5, PRICE), (6, PRICE)] {
            assert!((prices[at] - price).abs() < 1e-9, "{at}: {}", prices[at]);
        }
    }

    #[test]
    fn stretches_of_rare_labels_stay() {
        // One more label than there may be states, each of two windows but for the last.
        let pairs: Vec<u32> = (0..2 * MOST as u32 + 1).map(|window| window / 2).collect();
        let starts: Vec<usize> = (0..=MOST).map(|at| 2 * at).collect();
        let labels: Vec<u32> = (0..=MOST as u32).collect();
        assert_eq!(found(&pairs, &starts, &labels), starts);
    }
}
