//! Families modelled on real programs, with the phases that a person sees in their time line.
//!
//! The steps of a round are no phases, and a loop of single rounds is one phase. Kernels of several
//! rounds that alternate are phases in a loop. An event that comes once between long phases, such
//! as a rebuild or output, is a phase.

use rand::Rng;
use rand::seq::SliceRandom;

use super::draw::Draw;
use crate::Result;
use crate::pattern::Irregular;

/// Adds the disturbances of real runs.
fn untidy(draw: &mut Draw) {
    draw.disturbance = draw.disturbance.as_real(&mut draw.random);
}

/// Exchanges with neighbours, regular and not.
const EXCHANGES: [&str; 3] = ["halo2d", "halo3d", "contacts"];

impl Draw {
    /// A time step of a simulation: exchange with neighbours, often a small sum over all.
    fn step(&mut self) -> String {
        let name = EXCHANGES.choose(&mut self.random).copied().unwrap_or(EXCHANGES[0]);
        self.step_of(name)
    }

    fn step_of(&mut self, exchange: &str) -> String {
        let (bytes, gap, seed) = (self.bytes(), self.gap(), self.seed());
        let seed = if exchange == "contacts" { format!(",{seed}") } else { String::new() };
        let halo = format!("{exchange}[bytes={bytes}{seed}");
        match self.random.gen_range(0..4) {
            0 => format!("{halo},gap={gap}us]"),
            1 => format!("{halo},gap={}us]+{halo}]+allreduce[bytes=8,gap={gap}us]", gap / 4),
            2 => format!("{halo}]+allreduce[bytes=64,gap={gap}us]"),
            _ => format!("{halo},gap={}us]+{halo},gap={gap}us]", gap / 2),
        }
    }

    fn seed(&mut self) -> String {
        format!("seed={}", self.random.gen_range(1..1 << 20))
    }

    /// An alltoall among groups of at most 16 ranks.
    fn groups(&self, spec: &str) -> String {
        vec![spec; (self.ranks / 16).max(1) as usize].join("|")
    }

    /// A phase that makes up a part of the run.
    fn add(&mut self, text: &str, part: f64) -> Result<()> {
        let round = self.round(text)?;
        self.phase(&round, part);
        Ok(())
    }

    /// Adds a phase of `rounds` rounds.
    fn event(&mut self, text: &str, rounds: u64) {
        self.items.push(format!("{text}*{rounds}"));
    }

    /// A loop that makes up a part of the run, and is passed at least twice; the rounds of each
    /// phase in it.
    fn add_loop(&mut self, phases: &[(&str, u64)], part: f64) -> Result<()> {
        let inner: Vec<String> = phases.iter().map(|(text, rounds)| format!("{text}*{rounds}")).collect();
        let pass = self.round(&format!("({})", inner.join(",")))?;
        let text = self.rounds(&pass, part, 2);
        self.items.push(text);
        Ok(())
    }

    /// Input: parameters for all, then a share for each rank.
    fn start(&mut self) {
        let (bytes, share) = (self.bytes(), self.bytes());
        self.event(&format!("broadcast[bytes={bytes},gap=20us]+scatter[bytes={share},gap=50us]"), 1);
    }

    /// Output: rank 0 collects.
    fn output(&mut self) -> String {
        format!("incast[bytes={},gap={}us]", self.bytes(), self.gap())
    }
}

pub(super) fn hpcc(draw: &mut Draw) -> Result<()> {
    let size = |draw: &mut Draw, least: u32| format!("{}KiB", 1 << draw.random.gen_range(least..least + 3));
    let (panel, block, large) = (size(draw, 5), size(draw, 6), size(draw, 7));
    let (gap, seed) = (draw.gap(), draw.seed());
    let pair = size(draw, 2);
    let fft = draw.groups(&format!("alltoall[bytes={pair},gap={gap}us]"));
    for (kernel, share) in [
        (format!("shift[bytes={panel},drift=-0.8]+broadcast[bytes={panel},drift=-0.8,gap={gap}us]"), 0.25),
        (format!("transpose[bytes={block}]+bisection[bytes={block},gap={gap}us]"), 0.1),
        (format!("random[bytes=1KiB,gap={}us]", 5 + gap / 10), 0.2),
        (fft, 0.2),
        ("shift[bytes=8,gap=2us]".into(), 0.05),
        (format!("shift[bytes={large}]"), 0.1),
        (format!("permutation[bytes={large},{seed}]"), 0.1),
    ] {
        let part = share * draw.random.gen_range(0.6..1.4);
        draw.add(&kernel, part)?;
        if draw.random.gen_bool(0.3) {
            let ns = draw.ns / 12;
            draw.items.push(format!("idle[time={ns}ns]"));
        }
    }
    untidy(draw);
    Ok(())
}

/// Molecular dynamics as in LAMMPS: steps, every now and then new neighbour lists, seldom output.
pub(super) fn molecular(draw: &mut Draw) -> Result<()> {
    let (bytes, gap) = (1 << draw.random.gen_range(1..5), draw.gap());
    let halo = format!("halo3d[bytes={bytes}KiB");
    let step = format!("{halo},gap={}us]+{halo},gap={gap}us]", gap / 2);
    let rebuild = format!(
        "halo3d[bytes={}KiB]+halo3d[bytes={}KiB]+allreduce[bytes=64,gap={}us]",
        4 * bytes,
        2 * bytes,
        3 * gap
    );
    let output = draw.output();
    draw.start();
    draw.add(&format!("{step}+allreduce[bytes=8,gap={gap}us]"), 0.2)?;
    let (steps, rebuilds) = (draw.random.gen_range(8..=20), draw.random.gen_range(2..=4));
    draw.add_loop(&[(&format!("({step}*{steps},{rebuild}*2)"), rebuilds), (&output, 2)], 0.8)?;
    untidy(draw);
    Ok(())
}

/// A conjugate gradient solver: set-up, iterations, checkpoints, at the end the result.
pub(super) fn gradient(draw: &mut Draw) -> Result<()> {
    let (bytes, gap, seed) = (draw.bytes(), draw.gap(), draw.seed());
    let exchange = ["halo2d", "halo3d"].choose(&mut draw.random).copied().unwrap_or("halo2d");
    let iteration = format!(
        "{exchange}[bytes={bytes},gap={gap}us]+allreduce[bytes=8,gap={}us]+allreduce[bytes=8]",
        gap / 3
    );
    let setup = format!("contacts[bytes={bytes},gap={gap}us,{seed}]");
    let output = draw.output();
    draw.start();
    draw.add(&setup, 0.15)?;
    let iterations = draw.random.gen_range(12..=40);
    draw.add_loop(&[(&iteration, iterations), (&output, 3)], 0.75)?;
    draw.add(&draw.groups("alltoall[bytes=4KiB,gap=50us]"), 0.1)?;
    untidy(draw);
    Ok(())
}

/// Full multigrid: sweeps on the coarse levels, on which fewer ranks work, then on finer ones, then
/// whole cycles.
pub(super) fn multigrid(draw: &mut Draw) -> Result<()> {
    let (bytes, gap) = (1024 << draw.random.gen_range(3..7), draw.gap());
    let levels: Vec<u32> = [1, 4, 16].into_iter().filter(|every| draw.ranks / every >= 4).collect();
    let sweep = |every: u32, gap: u32| format!("halo2d[bytes={},every={every},gap={gap}us]", bytes / every);
    for every in levels.iter().rev() {
        let part = draw.random.gen_range(0.1..0.2);
        draw.add(&sweep(*every, gap), part)?;
    }
    let down = levels.iter().map(|every| sweep(*every, gap / every));
    let up = levels.iter().rev().skip(1).map(|every| sweep(*every, gap / every));
    let cycle: Vec<String> = down.chain(up).collect();
    let part = draw.random.gen_range(0.4..0.7);
    draw.add(&format!("{}+allreduce[bytes=8,gap={gap}us]", cycle.join("+")), part)?;
    untidy(draw);
    Ok(())
}

/// A spectral method: transforms of planes first, then there and back over rows and columns in each
/// step, seldom diagnostics.
pub(super) fn spectral(draw: &mut Draw) -> Result<()> {
    let (bytes, gap) = (1 << draw.random.gen_range(0..5), draw.gap());
    let lines = |name: &str, gap: u32| format!("{name}[bytes={bytes}KiB,gap={gap}us]");
    let there = format!("{}+{}", lines("rows", gap / 4), lines("columns", gap));
    let back = format!("{there}+{}+{}", lines("columns", gap / 4), lines("rows", gap));
    let output = draw.output();
    draw.start();
    draw.add(&lines("rows", gap), 0.2)?;
    let steps = draw.random.gen_range(6..=15);
    draw.add_loop(&[(&back, steps), (&format!("allreduce[bytes=1KiB]+{output}"), 2)], 0.8)?;
    untidy(draw);
    Ok(())
}

/// Data-parallel training: gradients of a few tensors by ring in each step, after some steps an
/// evaluation.
pub(super) fn training(draw: &mut Draw) -> Result<()> {
    let gap = 2 * draw.gap();
    let mut size = |least: u32| least << draw.random.gen_range(0..5);
    let (first, second, weights) = (size(64), size(64), size(64));
    let tensor = |size: u32| draw.groups(&format!("allreduce[bytes={size}KiB,gap=20us]"));
    let tensors = [tensor(first), tensor(second)];
    let train =
        format!("{}+{}", tensors.join("+"), draw.groups(&format!("allreduce[bytes=4KiB,gap={gap}us]")));
    let evaluate = format!("allreduce[bytes=8,gap={}us]", gap / 2);
    draw.event(&format!("broadcast[bytes={weights}KiB,gap=50us]"), 3);
    let (steps, evaluations) = (draw.random.gen_range(4..=8), draw.random.gen_range(8..=20));
    draw.add_loop(&[(&train, steps), (&evaluate, evaluations)], 0.95)?;
    untidy(draw);
    Ok(())
}

/// Tasks that a master hands out: input, tasks of two kinds, results.
pub(super) fn tasks(draw: &mut Draw) -> Result<()> {
    let (gap, seed) = (draw.gap(), draw.seed());
    let (small, large) = (draw.random.gen_range(0..3), draw.random.gen_range(4..7));
    draw.start();
    for bytes in [1 << small, 1 << large] {
        let part = draw.random.gen_range(0.3..0.6);
        draw.add(&format!("farm[bytes={bytes}KiB,gap={gap}us,{seed}]"), part)?;
    }
    let output = draw.output();
    draw.event(&output, 3);
    untidy(draw);
    Ok(())
}

/// Contacts that change a little each round; between long stretches the load is balanced anew.
pub(super) fn contacts(draw: &mut Draw) -> Result<()> {
    let (bytes, gap, seed) = (draw.bytes(), draw.gap(), draw.seed());
    let step = format!("contacts[bytes={bytes},gap={gap}us,{seed}]");
    let step = if draw.random.gen_bool(0.5) { format!("{step}+allreduce[bytes=8]") } else { step };
    let all = draw.groups("alltoall[bytes=8KiB]");
    let balance = format!("allreduce[bytes=1KiB]+{all}+{all}");
    for last in [false, false, true] {
        let part = draw.random.gen_range(0.2..0.45);
        draw.add(&step, part)?;
        if !last {
            draw.event(&balance, 1);
        }
    }
    untidy(draw);
    Ok(())
}

/// Transforms and neighbours in turn, two to four rounds each.
pub(super) fn alternation(draw: &mut Draw) -> Result<()> {
    let (bytes, gap) = (draw.bytes(), draw.gap());
    let transform = match draw.random.gen_range(0..3) {
        0 => draw.groups(&format!("alltoall[bytes=4KiB,gap={gap}us]")),
        1 => format!("rows[bytes=8KiB]+columns[bytes=8KiB,gap={gap}us]"),
        _ => format!("transpose[bytes=64KiB]+shift[bytes=32KiB,gap={gap}us]"),
    };
    let halo = format!("halo2d[bytes={bytes},gap={gap}us]");
    let sum = format!("allreduce[bytes=512,gap={}us]", gap / 2);
    let mut rounds = || draw.random.gen_range(2..=4);
    let (first, second, third) = (rounds(), rounds(), rounds());
    let mut phases = vec![(transform.as_str(), first), (halo.as_str(), second)];
    if draw.random.gen_bool(0.4) {
        phases.push((sum.as_str(), third));
    }
    draw.add_loop(&phases, 0.85)?;
    let step = draw.step_of("halo3d");
    draw.add(&step, 0.15)?;
    untidy(draw);
    Ok(())
}

/// Long stretches of one step with growing imbalance, between which the load is moved.
pub(super) fn balance(draw: &mut Draw) -> Result<()> {
    let (step, seed) = (draw.step(), draw.seed());
    let size = 64 << draw.random.gen_range(0..4);
    let moved = format!("allreduce[bytes=2KiB]+permutation[bytes={size}KiB,gap=50us,{seed}]");
    let times = draw.random.gen_range(3..=5);
    for i in 0..times {
        let part = draw.random.gen_range(0.5..1.5) / f64::from(times);
        draw.add(&step, part)?;
        if i + 1 < times {
            draw.event(&moved, 2);
        }
    }
    untidy(draw);
    draw.disturbance.imbalance = draw.random.gen_range(0.3..1.0);
    Ok(())
}

/// The same step, for a while two to four times as long.
pub(super) fn slow(draw: &mut Draw) -> Result<()> {
    let name = ["halo2d", "halo3d", "shift"].choose(&mut draw.random).copied().unwrap_or("shift");
    let (bytes, gap) = (1 << draw.random.gen_range(1..5), draw.gap());
    let step = |gap: u64| format!("{name}[bytes={bytes}KiB,gap={gap}ns]");
    let usual = 1000 * u64::from(gap);
    let ns = draw.round(&step(usual))?.ns;
    let longer = usual + (ns as f64 * draw.random.gen_range(1.0..3.0)) as u64;
    for (gap, part) in [(usual, 0.4), (longer, 0.25), (usual, 0.35)] {
        let part = part * draw.random.gen_range(0.6..1.4);
        draw.add(&step(gap), part)?;
    }
    untidy(draw);
    Ok(())
}

/// A whole program: input, in half of the runs some computation alone, a main loop, output.
pub(super) fn whole(draw: &mut Draw) -> Result<()> {
    draw.start();
    let step = draw.step();
    let main = draw.round(&step)?;
    let main = draw.rounds(&main, 0.9, 3);
    if draw.random.gen_bool(0.5) {
        let ns = (draw.ns as f64 * draw.random.gen_range(0.03..0.1)) as u64;
        draw.items.push(format!("idle[time={ns}ns]"));
    }
    draw.items.push(main);
    let (output, bytes) = (draw.output(), draw.bytes());
    draw.event(&format!("{output}+bisection[bytes={bytes}]"), 4);
    untidy(draw);
    Ok(())
}

/// One pair has heavy messages for a part of the run, in the time of the others' pause.
pub(super) fn heavy_pair(draw: &mut Draw) -> Result<()> {
    let name = ["halo2d", "shift", "halo3d"].choose(&mut draw.random).copied().unwrap_or("shift");
    let seed = draw.seed();
    let (bytes, heavy) = (1 << draw.random.gen_range(1..4), 128u64 << draw.random.gen_range(0..4));
    let ns = heavy * 1024 + 1000;
    let gap = ns + 1000 * u64::from(draw.gap());
    let light = format!("{name}[bytes={bytes}KiB,gap={gap}ns]");
    let loaded = format!("{name}[bytes={bytes}KiB]+pair[bytes={heavy}KiB,gap={}ns,{seed}]", gap - ns);
    for text in [&light, &loaded, &light] {
        let part = draw.random.gen_range(0.4..0.9);
        draw.add(text, part)?;
    }
    untidy(draw);
    Ok(())
}

/// Two models side by side that exchange their boundary after some steps each.
pub(super) fn coupled(draw: &mut Draw) -> Result<()> {
    let (bytes, gap) = (draw.bytes(), draw.gap());
    let steps = format!("halo2d[bytes={bytes},gap={gap}us]|halo3d[bytes={bytes},gap={gap}us]");
    let exchange = format!("bisection[bytes={},gap=50us]", draw.bytes());
    draw.start();
    let (rounds, exchanges) = (draw.random.gen_range(8..=30), draw.random.gen_range(1..=3));
    draw.add_loop(&[(&steps, rounds), (&exchange, exchanges)], 0.95)?;
    untidy(draw);
    Ok(())
}

/// Transport by sweeps, accelerated by diffusion after some of them.
pub(super) fn transport(draw: &mut Draw) -> Result<()> {
    let (bytes, gap) = (draw.bytes(), draw.gap());
    let sweep = format!("sweep[bytes=4KiB,gap={gap}us]");
    let diffusion = format!("halo2d[bytes={bytes}]+allreduce[bytes=8,gap={gap}us]");
    draw.add(&diffusion, 0.2)?;
    let (sweeps, iterations) = (draw.random.gen_range(3..=10), draw.random.gen_range(6..=20));
    draw.add_loop(&[(&sweep, sweeps), (&diffusion, iterations)], 0.8)?;
    untidy(draw);
    Ok(())
}

/// One step all along, however irregular.
pub(super) fn steady(draw: &mut Draw) -> Result<()> {
    let step = draw.step();
    draw.add(&step, 1.0)?;
    untidy(draw);
    draw.disturbance.irregular =
        Some(if draw.random.gen_bool(0.5) { Irregular::Exponential } else { Irregular::Pareto });
    Ok(())
}

/// Stages of a simulation one after the other, each with a step of its own.
pub(super) fn stages(draw: &mut Draw) -> Result<()> {
    draw.start();
    let count = draw.random.gen_range(3..=5u32);
    // Neighbours differ in whom they exchange with.
    let mut exchanges = EXCHANGES;
    exchanges.shuffle(&mut draw.random);
    let steps: Vec<String> =
        exchanges.iter().cycle().take(count as usize).map(|exchange| draw.step_of(exchange)).collect();
    for step in steps {
        let part = draw.random.gen_range(0.5..1.5) / f64::from(count);
        draw.add(&step, part)?;
    }
    untidy(draw);
    Ok(())
}

/// Sizes that differ widely: a few messages are up to a thousand times as large or as small.
pub(super) fn sizes(draw: &mut Draw) -> Result<()> {
    let mut names = ["halo2d", "contacts", "shift", "halo3d"];
    names.shuffle(&mut draw.random);
    for name in &names[1..] {
        let (bytes, gap) = (draw.random.gen_range(1..5), draw.gap());
        draw.add(&format!("{name}[bytes={bytes}KiB,gap={gap}us]"), 0.33)?;
    }
    untidy(draw);
    draw.disturbance.heavy = draw.random.gen_range(0.0005..0.005);
    draw.disturbance.light = draw.random.gen_range(0.0..0.1);
    Ok(())
}
