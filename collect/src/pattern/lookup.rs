//! A program with resolved names: pattern, level and outer loop of each phase.

use super::every::Every;
use super::program::{Item, Phase, Spec};
use super::side_by_side::SideBySide;
use super::tracker::Name;
use super::{LabelledRun, Pattern};
use crate::{Error, Result};

/// The program with everything looked up.
pub(super) enum Node {
    Phase { round: usize, name: Name, level: i32, rounds: u64 },
    Idle { name: Name, ns: u64 },
    Loop { nodes: Vec<Node>, times: u64, outer: usize },
}

/// One round of a phase.
pub(super) struct Round {
    /// Index of the phase's name.
    pub(super) label: usize,
    pub(super) level: i32,
    pub(super) parts: Vec<Part>,
}

pub(super) struct Part {
    pub(super) pattern: Box<dyn Pattern>,
    /// Pause after it, if it has its own.
    pub(super) gap_ns: Option<u64>,
    pub(super) drift: f64,
}

/// Looks up what a program names.
pub(super) struct Plan<'a> {
    run: &'a LabelledRun,
    pub(super) rounds: Vec<Round>,
    /// Names of phases and loops; the first is idle.
    pub(super) names: Vec<String>,
    leaves: i32,
}

impl<'a> Plan<'a> {
    pub(super) fn new(run: &'a LabelledRun) -> Self {
        Self { run, rounds: Vec::new(), names: vec!["idle".into()], leaves: 0 }
    }

    /// The nodes of the whole program.
    pub(super) fn nodes(&mut self) -> Result<Vec<Node>> {
        self.run.program.items.iter().map(|item| self.node(item, None)).collect()
    }

    /// `outer` is the outermost loop around, if there is one.
    fn node(&mut self, item: &Item, outer: Option<usize>) -> Result<Node> {
        Ok(match item {
            Item::Idle(ns) => {
                let ns = ns.unwrap_or(self.run.idle_ns);
                if ns == 0 {
                    return Err(Error::usage("`idle` has no length, give it a time: idle[time=1ms]"));
                }
                Node::Idle { name: Name { label: 0, outer: outer.unwrap_or(0) }, ns }
            }
            Item::Loop(inner) => {
                let outer = outer.unwrap_or_else(|| self.name(&inner.label));
                let nodes = inner.items.iter().map(|item| self.node(item, Some(outer)));
                Node::Loop { nodes: nodes.collect::<Result<_>>()?, times: inner.times, outer }
            }
            Item::Phase(phase) => {
                self.leaves = self.leaves.saturating_add(1);
                let label = self.name(&phase.label);
                let known = self.rounds.iter().position(|round| round.label == label);
                if known.is_none() {
                    let parts = self.parts(phase)?;
                    self.rounds.push(Round { label, level: self.leaves, parts });
                }
                let round = known.unwrap_or(self.rounds.len() - 1);
                Node::Phase {
                    round,
                    name: Name { label, outer: outer.unwrap_or(label) },
                    level: self.rounds[round].level,
                    rounds: phase.rounds.unwrap_or(self.run.repeat),
                }
            }
        })
    }

    fn name(&mut self, text: &str) -> usize {
        self.names.iter().position(|name| name == text).unwrap_or_else(|| {
            self.names.push(text.into());
            self.names.len() - 1
        })
    }

    fn parts(&self, phase: &Phase) -> Result<Vec<Part>> {
        let run = self.run;
        let build = |spec: &Spec, ranks: u32| -> Result<Box<dyn Pattern>> {
            let (bytes, seed) = (spec.bytes.unwrap_or(run.bytes), spec.seed.unwrap_or(run.seed));
            let Some(every) = spec.every else { return spec.name.build(ranks, bytes, seed) };
            let pattern = spec.name.build(ranks.div_ceil(every), bytes, seed)?;
            Ok(Box::new(Every { pattern, every }))
        };
        let part = |specs: &Vec<Spec>| {
            let pattern = match &specs[..] {
                [spec] => build(spec, run.ranks)?,
                several => Box::new(SideBySide::new(run.ranks, several.len(), |(i, ranks)| {
                    build(&several[i], ranks)
                })?),
            };
            // Side by side the largest counts.
            let drifts = specs.iter().filter_map(|spec| spec.drift);
            let drift = drifts.reduce(f64::max).unwrap_or(run.disturbance.drift);
            Ok(Part { pattern, gap_ns: specs.iter().filter_map(|spec| spec.gap_ns).max(), drift })
        };
        phase.parts.iter().map(part).collect()
    }
}
