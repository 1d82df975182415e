//! Families of labelled runs: what a method of segmentation has to get right, one difficulty each.
//!
//! A family draws a run from a seed: which patterns, how long, how large. All sizes are relative to the number of messages that
//! is wanted, so that 16 and 1024 ranks make runs of like length. The table is [`FAMILIES`]; benches and tests go through it.

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Disturbance, LabelledRun, Program};
use crate::Result;
use crate::export::SummaryExport;
use crate::units::parse_size;

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
pub const FAMILIES: [Family; 17] = [
    family("stationary", "one phase: nothing to find", stationary),
    family("sequence", "six patterns, each once", sequence),
    family("abab", "two patterns in turn, four to six times", abab),
    family("short", "phases of a hundredth of the run between long ones", short),
    family("rate", "the same messages, three to six times as often", rate),
    family("size", "the same partners, messages four to sixteen times as large", size),
    family("pairs", "the same sizes and rates between other pairs", pairs),
    family("drift", "messages that grow to twice to four times within a phase", drift),
    family("idle", "idle stretches between phases", idle),
    family("noise", "background traffic of a tenth of the messages", noise),
    family("jitter", "messages late by up to three times their duration", jitter),
    Family { nested: true, ..family("nested", "two phases in a loop, between others", nested) },
    Family { nested: true, ..family("nested-idle", "the same with idle stretches in the loop", nested_idle) },
    family("half", "half of the ranks change what they do", half),
    family("collectives", "rounds of several operations", collectives),
    family("skew", "ranks that are behind by up to a round", skew),
    family("hard", "all at once: two patterns in turn, noise, jitter, skew, idle stretches", hard),
];

const fn family(name: &'static str, about: &'static str, make: fn(&mut Draw) -> Result<()>) -> Family {
    Family { name, about, nested: false, make }
}

impl Family {
    /// The run of this family for a seed, of about `messages` messages (noise apart; a few rounds of each phase are the least).
    ///
    /// # Errors
    /// Fewer ranks than its patterns need: 8.
    pub fn run(&self, ranks: u32, messages: u64, seed: u64) -> Result<LabelledRun> {
        let mut draw = Draw {
            ranks,
            messages: messages as f64,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            items: Vec::new(),
            ns: 0,
            disturbance: Disturbance::default(),
        };
        (self.make)(&mut draw)?;
        let program = Program::parse(&draw.items.join(","))?;
        Ok(LabelledRun { seed, disturbance: draw.disturbance, ..LabelledRun::new(program, ranks) })
    }
}

/// A run that is being drawn.
struct Draw {
    ranks: u32,
    /// Messages that are wanted.
    messages: f64,
    random: Xoshiro256PlusPlus,
    items: Vec<String>,
    /// Time of all phases so far.
    ns: u64,
    disturbance: Disturbance,
}

/// A round as text, its messages and its time.
#[derive(Clone, Debug)]
struct Round {
    text: String,
    messages: u64,
    ns: u64,
}

impl Draw {
    /// Measures a round, the pause after it included.
    fn round(&self, text: &str) -> Result<Round> {
        let sums = |rounds: u64| -> Result<(u64, u64)> {
            let run = LabelledRun { repeat: rounds, ..LabelledRun::new(Program::parse(text)?, self.ranks) };
            let summary = run.generate(&mut SummaryExport::new(std::io::sink()), &mut |_| Ok(()))?;
            Ok((summary.messages, summary.duration_ns.unwrap_or_default()))
        };
        let ((messages, one), (_, two)) = (sums(1)?, sums(2)?);
        Ok(Round { text: text.into(), messages, ns: two - one })
    }

    /// Rounds of a phase that make up a part of all messages, at least `least`.
    fn rounds(&mut self, round: &Round, part: f64, least: u64) -> String {
        let rounds = ((self.messages * part / round.messages.max(1) as f64).round() as u64).max(least);
        self.ns = self.ns.saturating_add(round.ns.saturating_mul(rounds));
        format!("{}*{rounds}", round.text)
    }

    fn phase(&mut self, round: &Round, part: f64) {
        let text = self.rounds(round, part, 3);
        self.items.push(text);
    }

    /// `count` of the patterns that all ranks take part in, with sizes and pauses, in random order.
    fn patterns(&mut self, count: usize) -> Result<Vec<Round>> {
        // More than some hundred ranks exchange with all others only among some of them.
        let groups = (self.ranks / 64).max(1) as usize;
        let mut texts: Vec<String> = Vec::new();
        for name in [
            "shift",
            "halo2d",
            "halo3d",
            "transpose",
            "permutation",
            "bisection",
            "sweep",
            "incast",
            "random",
        ] {
            let bytes = self.bytes();
            let gap = self.gap();
            texts.push(format!("{name}[bytes={bytes},gap={gap}us]"));
        }
        let (bytes, gap) = (self.bytes(), self.gap());
        texts.push(vec![format!("alltoall[bytes={bytes},gap={gap}us]"); groups].join("|"));
        texts.push(format!("allreduce[bytes=4KiB,gap={gap}us]"));
        texts.shuffle(&mut self.random);
        texts.truncate(count);
        texts.iter().map(|text| self.round(text)).collect()
    }

    fn bytes(&mut self) -> String {
        format!("{}KiB", 1 << self.random.gen_range(1..7))
    }

    fn gap(&mut self) -> u32 {
        self.random.gen_range(20..200)
    }

    /// A sequence of distinct patterns, each between half and one and a half times its share.
    fn sequence(&mut self, count: usize) -> Result<Vec<Round>> {
        let rounds = self.patterns(count)?;
        for round in &rounds {
            let part = self.random.gen_range(0.5..1.5) / count as f64;
            self.phase(round, part);
        }
        Ok(rounds)
    }

    /// Idle stretches between the phases so far, each half to one and a half times `part` of the time of all of them.
    fn idle_after_each(&mut self, part: f64) {
        let items = std::mem::take(&mut self.items);
        let last = items.len().saturating_sub(1);
        for (i, item) in items.into_iter().enumerate() {
            self.items.push(item);
            if i < last {
                let ns = (self.ns as f64 * part * self.random.gen_range(0.5..1.5)) as u64;
                self.items.push(format!("idle[time={ns}ns]"));
            }
        }
    }
}

fn stationary(draw: &mut Draw) -> Result<()> {
    let rounds = draw.patterns(1)?;
    draw.phase(&rounds[0], 1.0);
    Ok(())
}

fn sequence(draw: &mut Draw) -> Result<()> {
    draw.sequence(6)?;
    Ok(())
}

fn abab(draw: &mut Draw) -> Result<()> {
    let rounds = draw.patterns(2)?;
    let times = draw.random.gen_range(4..=6);
    for _ in 0..times {
        for round in &rounds {
            draw.phase(round, 0.5 / f64::from(times));
        }
    }
    Ok(())
}

fn short(draw: &mut Draw) -> Result<()> {
    let rounds = draw.patterns(4)?;
    for _ in 0..3 {
        draw.phase(&rounds[0], 0.3);
        let brief = draw.random.gen_range(1..4);
        let part = draw.random.gen_range(0.008..0.015);
        draw.phase(&rounds[brief], part);
    }
    draw.phase(&rounds[0], 0.1);
    Ok(())
}

/// The same pattern in two versions in turn, five stretches.
fn versions(draw: &mut Draw, one: &str, other: &str) -> Result<()> {
    let rounds = [draw.round(one)?, draw.round(other)?];
    for i in 0..5 {
        let part = draw.random.gen_range(0.1..0.3);
        draw.phase(&rounds[i % 2], part);
    }
    Ok(())
}

const PLAIN: [&str; 4] = ["shift", "halo2d", "transpose", "halo3d"];

fn plain(draw: &mut Draw) -> &'static str {
    PLAIN.choose(&mut draw.random).copied().unwrap_or(PLAIN[0])
}

fn rate(draw: &mut Draw) -> Result<()> {
    let name = plain(draw);
    let factor = draw.random.gen_range(3..=6);
    let round = draw.round(&format!("{name}[bytes=4KiB]"))?;
    // Pauses such that a round lasts `factor` times as long.
    let (fast, slow) = (round.ns / 4, round.ns / 4 + (factor - 1) * round.ns * 5 / 4);
    versions(draw, &format!("{name}[bytes=4KiB,gap={fast}ns]"), &format!("{name}[bytes=4KiB,gap={slow}ns]"))
}

fn size(draw: &mut Draw) -> Result<()> {
    let name = plain(draw);
    let small = draw.bytes();
    let large = parse_size(&small)? << draw.random.gen_range(2..=4);
    // The same time between rounds, so that sizes alone tell them apart, as well as they do.
    versions(draw, &format!("{name}[bytes={small},gap=50us]"), &format!("{name}[bytes={large},gap=50us]"))
}

fn pairs(draw: &mut Draw) -> Result<()> {
    let bytes = draw.bytes();
    let one = format!("permutation[bytes={bytes},gap=50us,seed={}]", draw.random.gen_range(1..1 << 20));
    let other =
        format!("permutation[bytes={bytes},gap=50us,seed={}]", draw.random.gen_range(1 << 20..1 << 21));
    versions(draw, &one, &other)
}

fn drift(draw: &mut Draw) -> Result<()> {
    draw.sequence(4)?;
    draw.disturbance.drift = draw.random.gen_range(1.0..3.0);
    Ok(())
}

fn idle(draw: &mut Draw) -> Result<()> {
    draw.sequence(5)?;
    draw.idle_after_each(0.04);
    Ok(())
}

fn noise(draw: &mut Draw) -> Result<()> {
    draw.sequence(6)?;
    draw.disturbance.noise = draw.random.gen_range(0.05..0.15);
    Ok(())
}

fn jitter(draw: &mut Draw) -> Result<()> {
    draw.sequence(6)?;
    draw.disturbance.jitter = draw.random.gen_range(1.0..3.0);
    Ok(())
}

/// Before the loop a phase, after it another; in it two phases of some rounds each, and what `between` says after each.
fn in_a_loop(draw: &mut Draw, between: f64) -> Result<()> {
    let rounds = draw.patterns(4)?;
    draw.phase(&rounds[0], 0.15);
    let times = draw.random.gen_range(8..=16u32);
    let mut inner = Vec::new();
    let ns = draw.ns;
    for round in &rounds[1..3] {
        let part = draw.random.gen_range(0.2..0.4);
        inner.push(draw.rounds(round, part / f64::from(times), 3));
    }
    draw.ns = ns.saturating_add((draw.ns - ns).saturating_mul(u64::from(times)));
    if between > 0.0 {
        let ns = (draw.ns as f64 * between / f64::from(times)) as u64;
        inner.push(format!("idle[time={ns}ns]"));
    }
    draw.items.push(format!("({})*{times}", inner.join(",")));
    draw.phase(&rounds[3], 0.15);
    Ok(())
}

fn nested(draw: &mut Draw) -> Result<()> {
    in_a_loop(draw, 0.0)
}

fn nested_idle(draw: &mut Draw) -> Result<()> {
    in_a_loop(draw, 0.3)
}

fn half(draw: &mut Draw) -> Result<()> {
    let (bytes, gap) = (draw.bytes(), draw.gap());
    let spec = |name: &str| format!("{name}[bytes={bytes},gap={gap}us]");
    let rest = spec("shift");
    let mut others = ["halo2d", "bisection", "permutation", "shift"].map(spec);
    others.shuffle(&mut draw.random);
    for other in others {
        let round = draw.round(&format!("{rest}|{other}"))?;
        let part = draw.random.gen_range(0.15..0.35);
        draw.phase(&round, part);
    }
    Ok(())
}

fn collectives(draw: &mut Draw) -> Result<()> {
    let groups = (draw.ranks / 64).max(1) as usize;
    let all = vec!["alltoall[bytes=2KiB,gap=60us]"; groups].join("|");
    let mut texts = [
        "halo2d[bytes=16KiB]+allreduce[bytes=1KiB,gap=80us]".to_string(),
        all.clone(),
        format!("halo3d[bytes=8KiB,gap=20us]+{all}"),
        "sweep[bytes=4KiB,gap=30us]+allreduce[bytes=512,gap=70us]".to_string(),
    ];
    texts.shuffle(&mut draw.random);
    for text in &texts {
        let round = draw.round(text)?;
        let part = draw.random.gen_range(0.15..0.35);
        draw.phase(&round, part);
    }
    Ok(())
}

/// The median time of a round.
fn median_ns(rounds: &[Round]) -> u64 {
    let mut times: Vec<u64> = rounds.iter().map(|round| round.ns).collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn skew(draw: &mut Draw) -> Result<()> {
    let rounds = draw.sequence(6)?;
    draw.disturbance.skew_ns = median_ns(&rounds);
    Ok(())
}

fn hard(draw: &mut Draw) -> Result<()> {
    let rounds = draw.patterns(3)?;
    for i in [0, 1, 0, 2, 1, 0] {
        let part = draw.random.gen_range(0.1..0.2);
        draw.phase(&rounds[i], part);
    }
    draw.idle_after_each(0.04);
    draw.disturbance = Disturbance { jitter: 1.0, noise: 0.05, drift: 0.0, skew_ns: median_ns(&rounds) / 2 };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
            for (ranks, messages) in [(8, 4_000), (16, 20_000), (100, 40_000)] {
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
                            outers.push(stretch.outer.to_string());
                            Ok(())
                        })
                        .unwrap();
                    assert_eq!(summary.duration_ns, Some(end));
                    let share = summary.messages as f64 / messages as f64;
                    assert!((0.5..2.5).contains(&share), "{} {ranks} {seed}: {share}", family.name);
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
