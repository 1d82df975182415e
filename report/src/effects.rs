//! What each axis of a sweep does: its alternatives beside each other, all else equal.
//!
//! A comparison is of runs that chose the same on every other axis. Whatever else these choices do,
//! they do it to all runs of a comparison; so what remains is the axis.

use std::collections::BTreeMap;

use crate::axes::{self, Choices};
use crate::number;

/// Values nearer than this part of them are ties: they read alike in three digits.
pub(crate) const TIE: f64 = 0.001;

/// Seeds are no choice that anyone makes.
const SEED: usize = axes::AXES.len() - 1;

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Effect {
    /// Its number among [`axes::AXES`].
    pub(crate) axis: usize,
    /// How many comparisons there are.
    pub(crate) comparisons: usize,
    /// In order of their names.
    pub(crate) alternatives: Vec<Alternative>,
}

/// A choice on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Alternative {
    pub(crate) choice: String,
    /// Comparisons that it wins alone.
    pub(crate) wins: usize,
    /// Where it wins, how much less it takes than the next, part of that; the median.
    pub(crate) gain: f64,
    /// How much more it takes than the best of a comparison, part of that; the median of all.
    pub(crate) above_best: f64,
}

/// The effect of every axis on which the runs differ and can be compared; `values` are what runs
/// are ranked by, smaller is better.
pub(crate) fn effects(choices: &[&Choices], values: &[f64]) -> Vec<Effect> {
    let differ = axes::differing(choices);
    if differ.iter().filter(|axis| **axis != SEED).count() < 2 {
        return Vec::new();
    }
    let of = differ.into_iter().filter(|axis| *axis != SEED);
    of.filter_map(|axis| effect(choices, values, axis)).collect()
}

/// `None` if no two runs differ on the axis alone.
fn effect(choices: &[&Choices], values: &[f64], axis: usize) -> Option<Effect> {
    let mut alike: BTreeMap<Vec<&str>, Vec<usize>> = BTreeMap::new();
    for (run, choices) in choices.iter().enumerate() {
        let others = (0..choices.len()).filter(|other| *other != axis);
        alike.entry(others.map(|other| &choices[other][..]).collect()).or_default().push(run);
    }
    alike.retain(|_, runs| runs.len() > 1);
    // By choice: gains where it wins, and how far above the best it is.
    let mut found: BTreeMap<&str, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for runs in alike.values() {
        let best = runs.iter().map(|run| values[*run]).fold(f64::INFINITY, f64::min);
        for run in runs {
            let (gains, above) = found.entry(&choices[*run][axis]).or_default();
            above.push(if best > 0.0 { values[*run] / best - 1.0 } else { 0.0 });
            let others = runs.iter().filter(|other| *other != run).map(|other| values[*other]);
            let next = others.fold(f64::INFINITY, f64::min);
            let gain = if next > 0.0 { 1.0 - values[*run] / next } else { 0.0 };
            // A tie is nobody's win.
            if gain > TIE {
                gains.push(gain);
            }
        }
    }
    let alternatives = found.into_iter().map(|(choice, (mut gains, mut above))| Alternative {
        choice: choice.into(),
        wins: gains.len(),
        gain: median(&mut gains),
        above_best: median(&mut above),
    });
    let alternatives: Vec<Alternative> = alternatives.collect();
    (!alternatives.is_empty()).then_some(Effect { axis, comparisons: alike.len(), alternatives })
}

impl Effect {
    /// Its name.
    pub(crate) fn name(&self) -> &'static str {
        axes::AXES[self.axis]
    }

    /// `router: greedy is best in 40 of 48 comparisons, in the median by 12 % against the next.`
    pub(crate) fn sentence(&self) -> String {
        let winner = self.alternatives.iter().reduce(|a, b| if b.wins > a.wins { b } else { a });
        match winner.filter(|winner| winner.wins > 0) {
            None => format!("{}: no difference.", self.name()),
            Some(winner) => format!(
                "{}: {} is best in {} of {} comparisons, in the median by {} against the next.",
                self.name(),
                winner.choice,
                winner.wins,
                self.comparisons,
                number::percent(winner.gain),
            ),
        }
    }
}

impl Alternative {
    /// `+12.5 %`, of the time or load of the best; empty for the best.
    pub(crate) fn above_best_text(&self) -> String {
        if self.above_best > TIE { format!("+{}", number::percent(self.above_best)) } else { String::new() }
    }
}

/// 0 of nothing; of an even number the upper one of both.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(mapper: &str, router: &str, seed: &str) -> Choices {
        let mut choices = Choices::default();
        (choices[3], choices[4], choices[SEED]) = (mapper.into(), router.into(), seed.into());
        choices
    }

    /// Three mappers and two routers: greedy takes 1, 2 and 3, dmodk 2, 2 and 4.
    #[test]
    fn alternatives_are_compared_all_else_equal() {
        let mut runs = Vec::new();
        let mut values = Vec::new();
        for (mapper, greedy, dmodk) in [("block", 1.0, 2.0), ("cyclic", 2.0, 2.0), ("random", 3.0, 4.0)] {
            runs.extend([choice(mapper, "greedy", "1"), choice(mapper, "dmodk", "1")]);
            values.extend([greedy, dmodk]);
        }
        let found = effects(&runs.iter().collect::<Vec<_>>(), &values);
        assert_eq!(found.iter().map(Effect::name).collect::<Vec<_>>(), ["process mapper", "router"]);
        let router = &found[1];
        assert_eq!(router.comparisons, 3);
        let of = |choice: &str| router.alternatives.iter().find(|own| own.choice == choice).unwrap();
        assert_eq!((of("greedy").wins, of("greedy").gain, of("greedy").above_best), (2, 0.5, 0.0));
        assert_eq!(of("dmodk").wins, 0);
        assert!((of("dmodk").above_best - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(of("dmodk").above_best_text(), "+33.3 %");
        assert_eq!(
            router.sentence(),
            "router: greedy is best in 2 of 3 comparisons, in the median by 50 % against the next."
        );
    }

    /// Runs that differ in their seed alone have nothing to choose; nor have runs of which each
    /// differs from any other on two axes.
    #[test]
    fn what_cannot_be_compared_is_no_effect() {
        let seeds = [choice("block", "dmodk", "1"), choice("block", "dmodk", "2")];
        assert_eq!(effects(&seeds.iter().collect::<Vec<_>>(), &[1.0, 2.0]), []);
        let apart = [choice("block", "dmodk", "1"), choice("cyclic", "greedy", "1")];
        assert_eq!(effects(&apart.iter().collect::<Vec<_>>(), &[1.0, 2.0]), []);
    }
}
