//! Families of labelled runs: what a method of segmentation has to get right, one difficulty each.
//!
//! A family draws a run from a seed: which patterns, how long, how large. All sizes are relative to the number of messages that
//! is wanted, so that 16 and 1024 ranks make runs of like length. The table is [`FAMILIES`]; benches and tests go through it.

mod draw;
mod kinds;

use draw::Draw;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Disturbance, LabelledRun, Program};
use crate::Result;

/// Runs of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its name in tables.
    pub name: &'static str,
    /// What is difficult about it.
    pub about: &'static str,
    /// True if the outermost level of its truth differs from the phases.
    pub nested: bool,
    make: fn(&mut Draw) -> Result<()>,
}

/// All families.
pub const FAMILIES: [Family; 20] = [
    family("stationary", "one phase: nothing to find", kinds::stationary),
    family("sequence", "six patterns, each once", kinds::sequence),
    family("abab", "two patterns in turn, four to six times", kinds::abab),
    family("short", "phases of a hundredth of the run between long ones", kinds::short),
    family("rate", "the same messages, three to six times as often", kinds::rate),
    family("size", "the same partners, messages four to sixteen times as large", kinds::size),
    family("pairs", "the same sizes and rates between other pairs", kinds::pairs),
    family("part", "rounds with and without one more operation in turn", kinds::part),
    family("drift", "messages that grow to twice to four times within a phase", kinds::drift),
    family("idle", "idle stretches between phases", kinds::idle),
    family("noise", "background traffic, a message for three to twenty of the program", kinds::noise),
    family("jitter", "messages late by up to eight times their duration, pauses as irregular", kinds::jitter),
    Family { nested: true, ..family("nested", "two phases in a loop, between others", kinds::nested) },
    Family {
        nested: true,
        ..family("nested-idle", "the same with idle stretches in the loop", kinds::nested_idle)
    },
    Family { nested: true, ..family("deep", "a loop in a loop, between others", kinds::deep) },
    family("half", "half of the ranks change what they do", kinds::half),
    family("collectives", "rounds of several operations", kinds::collectives),
    family("skew", "ranks that are behind by up to a round", kinds::skew),
    family("clocks", "ranks that are behind by up to five rounds", kinds::clocks),
    family("hard", "all at once: two patterns in turn, noise, jitter, skew, idle stretches", kinds::hard),
];

const fn family(name: &'static str, about: &'static str, make: fn(&mut Draw) -> Result<()>) -> Family {
    Family { name, about, nested: false, make }
}

impl Family {
    /// The run of this family for a seed, of about `messages` messages (noise apart; a few rounds of each phase are the least).
    ///
    /// # Errors
    /// A number of ranks that one of its patterns does not exist for: fewer than 8, or a prime.
    pub fn run(&self, ranks: u32, messages: u64, seed: u64) -> Result<LabelledRun> {
        let mut draw = Draw {
            ranks,
            messages: messages as f64,
            random: Xoshiro256PlusPlus::seed_from_u64(self.own_seed(ranks, seed)),
            items: Vec::new(),
            ns: 0,
            disturbance: Disturbance::default(),
        };
        (self.make)(&mut draw)?;
        let program = Program::parse(&draw.items.join(","))?;
        Ok(LabelledRun { seed, disturbance: draw.disturbance, ..LabelledRun::new(program, ranks) })
    }

    /// Different families and numbers of ranks draw different runs from one seed (FNV-1a, 64 bits).
    fn own_seed(&self, ranks: u32, seed: u64) -> u64 {
        let bytes = self.name.bytes().chain(ranks.to_le_bytes()).chain(seed.to_le_bytes());
        bytes
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::SummaryExport;

    #[test]
    fn names_differ() {
        for (i, family) in FAMILIES.iter().enumerate() {
            assert!(FAMILIES[..i].iter().all(|other| other.name != family.name), "{}", family.name);
        }
    }

    /// What holds for every truth: it tiles the run, every message of the program is in one stretch, positions ascend.
    #[test]
    fn every_family_makes_runs_of_the_wanted_length_that_its_truth_tiles() {
        for family in FAMILIES {
            for (ranks, messages) in [(8, 6_000), (16, 30_000), (100, 300_000)] {
                for seed in 1..4 {
                    let run = family.run(ranks, messages, seed).unwrap();
                    let (mut end, mut labels, mut outers) = (0, Vec::new(), Vec::new());
                    let mut last = None;
                    let summary = run
                        .generate(&mut SummaryExport::new(std::io::sink()), &mut |stretch| {
                            assert_eq!(stretch.start_ns, end, "{} {ranks} {seed}", family.name);
                            assert!(stretch.end_ns > stretch.start_ns);
                            end = stretch.end_ns;
                            assert_eq!(stretch.messages.is_none(), stretch.label == "idle");
                            if let Some(messages) = stretch.messages {
                                assert!(messages.0 <= messages.1 && last < Some(messages.1));
                                last = Some(messages.1);
                            }
                            labels.push(stretch.label.to_string());
                            outers.push(stretch.outer.unwrap().to_string());
                            Ok(())
                        })
                        .unwrap();
                    assert_eq!(summary.duration_ns, Some(end));
                    let share = summary.messages as f64 / messages as f64;
                    assert!((0.4..2.5).contains(&share), "{} {ranks} {seed}: {share}", family.name);
                    let phases = |names: &mut Vec<String>| {
                        names.dedup();
                        names.len()
                    };
                    assert_eq!(phases(&mut labels) != phases(&mut outers), family.nested, "{}", family.name);
                    assert_eq!(labels.len() == 1, family.name == "stationary");
                }
            }
        }
    }
}
