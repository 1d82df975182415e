//! Families of labelled runs for tests of segmentation: one difficulty each, or models of real
//! programs.
//!
//! A family draws the patterns, lengths and sizes of a run from a seed. All lengths are relative to
//! the requested number of messages, so that 16 and 1024 ranks have runs of equal length. The
//! tables are [`FAMILIES`] and [`PROGRAM_FAMILIES`]; benches and tests go through them.

mod draw;
mod kinds;
mod programs;

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
    /// Its difficulty.
    pub about: &'static str,
    /// True if the outermost level of its truth differs from the phases.
    pub nested: bool,
    make: fn(&mut Draw) -> Result<()>,
}

/// Families of one difficulty each.
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

/// Families modelled on real programs, with their disturbances.
pub const PROGRAM_FAMILIES: [Family; 18] = [
    family("hpcc", "seven kernels of a benchmark, each once, some after a pause", programs::hpcc),
    nested(
        "molecular",
        "steps, rebuilt neighbour lists after some, output after some of those",
        programs::molecular,
    ),
    nested("gradient", "a solver's iterations with checkpoints between", programs::gradient),
    family("multigrid", "levels on which fewer ranks work, then cycles through all", programs::multigrid),
    nested("spectral", "transforms over rows and columns, diagnostics after some", programs::spectral),
    nested("training", "rings of a few sizes in each step, evaluations after some", programs::training),
    family("tasks", "a master hands out small tasks, then large ones", programs::tasks),
    family("contacts", "partners of whom a few change each round, balanced anew twice", programs::contacts),
    nested("alternation", "two or three kernels in turn, two to four rounds each", programs::alternation),
    family("balance", "long stretches of one step, between which the load is moved", programs::balance),
    family("slow", "the same step, for a while two to four times as long", programs::slow),
    family("whole", "input, perhaps a pause, one main loop, output", programs::whole),
    family("heavy-pair", "one pair with heavy messages for a while", programs::heavy_pair),
    nested("coupled", "two models side by side that exchange after some steps", programs::coupled),
    nested("transport", "sweeps, and iterations of neighbours after some of them", programs::transport),
    family("steady", "one step all along, however irregular its times", programs::steady),
    family("stages", "three to five steps of a simulation, one after the other", programs::stages),
    family("sizes", "a few messages up to a thousand times as large", programs::sizes),
];

const fn nested(name: &'static str, about: &'static str, make: fn(&mut Draw) -> Result<()>) -> Family {
    Family { nested: true, ..family(name, about, make) }
}

const fn family(name: &'static str, about: &'static str, make: fn(&mut Draw) -> Result<()>) -> Family {
    Family { name, about, nested: false, make }
}

impl Family {
    /// The run of this family for a seed, of about `messages` messages (noise apart; a few rounds
    /// of each phase are the least).
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
    use crate::pattern::Irregular;

    #[test]
    fn names_differ() {
        let families = [&FAMILIES[..], &PROGRAM_FAMILIES].concat();
        for (i, family) in families.iter().enumerate() {
            assert!(families[..i].iter().all(|other| other.name != family.name), "{}", family.name);
        }
    }

    /// What holds for every truth: it tiles the run, every message of the program is in one
    /// stretch, positions ascend. The messages, and how often the label and the outer one change.
    fn checked(run: &LabelledRun, what: &str) -> (u64, usize, usize) {
        let (mut end, mut labels, mut outers) = (0, Vec::new(), Vec::new());
        let mut last = None;
        let summary = run
            .generate(&mut SummaryExport::new(std::io::sink()), &mut |stretch| {
                assert_eq!(stretch.start_ns, end, "{what}");
                assert!(stretch.end_ns > stretch.start_ns, "{what}");
                end = stretch.end_ns;
                assert_eq!(stretch.messages.is_none(), stretch.label == "idle");
                if let Some(messages) = stretch.messages {
                    assert!(messages.0 <= messages.1 && last < Some(messages.1), "{what}");
                    last = Some(messages.1);
                }
                labels.push(stretch.label.to_string());
                outers.push(stretch.outer.unwrap().to_string());
                Ok(())
            })
            .unwrap();
        assert_eq!(summary.duration_ns, Some(end));
        labels.dedup();
        outers.dedup();
        (summary.messages, labels.len(), outers.len())
    }

    #[test]
    fn every_family_makes_runs_of_the_wanted_length_that_its_truth_tiles() {
        for family in FAMILIES {
            for (ranks, messages) in [(8, 6_000), (16, 30_000), (100, 300_000)] {
                for seed in 1..4 {
                    let what = format!("{} {ranks} {seed}", family.name);
                    let (found, labels, outers) = checked(&family.run(ranks, messages, seed).unwrap(), &what);
                    let share = found as f64 / messages as f64;
                    assert!((0.4..2.5).contains(&share), "{what}: {share}");
                    assert_eq!(labels != outers, family.nested, "{what}");
                    assert_eq!(labels == 1, family.name == "stationary");
                }
            }
        }
    }

    #[test]
    fn every_family_of_programs_does_so_with_disturbances_of_its_own() {
        for family in PROGRAM_FAMILIES {
            for (ranks, messages) in [(16, 60_000), (64, 60_000), (100, 150_000)] {
                for seed in 1..6 {
                    let what = format!("{} {ranks} {seed}", family.name);
                    let (found, labels, outers) = checked(&family.run(ranks, messages, seed).unwrap(), &what);
                    let share = found as f64 / messages as f64;
                    assert!((0.25..2.5).contains(&share), "{what}: {share}");
                    assert_eq!(labels != outers, family.nested, "{what}");
                    assert_eq!(labels == 1, family.name == "steady", "{what}");
                }
            }
        }
    }

    #[test]
    fn every_disturbance_goes_with_every_family() {
        let disturbances = [
            Disturbance { waits: true, ..Disturbance::default() },
            Disturbance { waits: true, jitter: 0.2, noise: 0.02, ..Disturbance::default() },
            Disturbance { waits: true, irregular: Some(Irregular::Exponential), ..Disturbance::default() },
            Disturbance { irregular: Some(Irregular::Pareto), imbalance: 0.5, ..Disturbance::default() },
            Disturbance { heavy: 0.001, light: 0.05, renumber: true, ..Disturbance::default() },
        ];
        for family in FAMILIES.into_iter().chain(PROGRAM_FAMILIES) {
            for (disturbance, seed) in disturbances.into_iter().zip(1..) {
                let run = LabelledRun { disturbance, ..family.run(16, 20_000, seed).unwrap() };
                let (_, labels, outers) = checked(&run, &format!("{} {disturbance:?}", family.name));
                assert_eq!(labels != outers, family.nested);
            }
        }
    }
}
